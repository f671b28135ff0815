/** A session that was forked in the middle of a step and is taken up: what is told of the run is what it did. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agent: Agent;

beforeEach(async () => {
  workspace = await createWorkspace();
  await workspace.tool("mark", "echo ok");
  const model = await workspace.script({ calls: [{ name: "mark", arguments: {} }] }, { text: "done" });
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model, env });
});

afterEach(async () => {
  await agent.close();
  await workspace.remove();
});

async function eventsOf(session: string): Promise<readonly SessionEvent[]> {
  return (await agent.events(session)).flatMap((row): readonly SessionEvent[] =>
    row.kind === "event" && isKnown(row.event) ? [row.event] : []
  );
}

describe("the steps of a run that takes up a fork", () => {
  test("are as many as the replies that the model gave in it, wherever the log was cut", async () => {
    const whole = await agent.create();
    await whole.prompt("go", { source: "test" });
    const events = await eventsOf(whole.id);
    const begun = events.findIndex((event) => event.type === "prompted") + 1;
    for (let at = begun; at < events.length; at++) {
      const { session } = await agent.fork(whole.id, at);
      const fork = await agent.open(session);
      const result = await fork.resume({});
      const replies = (await eventsOf(session)).slice(at).filter((event) => event.type === "reply_committed").length;
      expect([at, events[at - 1]?.type, result?.reason, result?.steps]).toEqual([at, events[at - 1]?.type, "completed", replies]);
      await fork.close();
    }
  });
});
