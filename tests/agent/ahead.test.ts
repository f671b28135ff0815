/** A session that does not wait for the journal: what it records is one write with the first prompt, and so is a refusal. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agent: Agent;

beforeEach(async () => {
  workspace = await createWorkspace();
  const model = await workspace.script({ text: "done" });
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  agent = openAgent({ workspace: workspace.path, model, env });
  await agent.list();
});

afterEach(async () => {
  await agent.close();
  await workspace.remove();
});

describe("a session that is created ahead of the journal", () => {
  test("has its opening and its prompt recorded when the prompt ends, from the first event on", async () => {
    const session = await agent.create({ ahead: true });
    expect(session.recorded().header).toBeNull();
    const heard: number[] = [];
    session.watch((event) => void ("seq" in event && heard.push(event.seq)));
    expect(await session.prompt("go", { source: "test" })).toMatchObject({ reason: "completed", text: "done" });
    const rows = await agent.events(session.id);
    expect(rows).toHaveLength(session.state().seq);
    expect(heard).toEqual(rows.map((_, index) => index + 1));
  });

  test("is there where the journal is not: its prompt is refused, and nothing is told of a turn", async () => {
    const journal = join(workspace.home, "data/journal.sqlite");
    renameSync(journal, `${journal}.away`);
    await expect(agent.create()).rejects.toMatchObject({ name: "JournalUnavailable" });
    const session = await agent.create({ ahead: true });
    await expect(session.prompt("go", { source: "test" })).rejects.toMatchObject({ name: "JournalUnavailable", reason: "io" });
    expect(session.soFar()).toBeNull();
    renameSync(`${journal}.away`, journal);
    expect(await agent.list()).toEqual([]);
  });
});
