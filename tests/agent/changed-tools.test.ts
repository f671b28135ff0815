/** A runtime that lives on while the files of its tools change. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import { onDeno } from "../fixtures/supervision.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agent: Agent;

beforeEach(async () => {
  workspace = await createWorkspace();
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model: await workspace.script({ text: "done" }), env });
});
afterEach(async () => {
  await agent.close();
  await workspace.remove();
});

async function offered(): Promise<readonly string[]> {
  const session = await agent.create();
  const tools = session.state().header?.tools ?? [];
  return tools.filter(({ origin }) => origin.system === "stella").map(({ name, description }) => `${name}: ${description}`);
}

test("a session has the manifests that there are when it opens, however they came to be", async () => {
  const manifest = (description: string) => `name = "look"\ndescription = "${description}"\ncommand = ["bin/look"]\n`;
  await workspace.tool("look", "echo seen");
  expect(await offered()).toEqual(["look: A tool of a test."]);
  const file = await workspace.write(".stella/tools/look.toml", manifest("Looks one."));
  expect(await offered()).toEqual(["look: Looks one."]);
  // As long as before, and with the time that it had.
  const at = new Date("2026-01-02T03:04:05Z");
  await utimes(file, at, at);
  await offered();
  await workspace.write(".stella/tools/look.toml", manifest("Looks two."));
  // Deno 2.9.6 tells when an inode changed in whole seconds: within one, only the file's own time can tell there.
  if (!onDeno) await utimes(file, at, at);
  expect(await offered()).toEqual(["look: Looks two."]);
  await workspace.tool("away", "echo away");
  expect(await offered()).toEqual(["away: A tool of a test.", "look: Looks two."]);
  await rename(join(workspace.path, ".stella"), join(workspace.path, ".orrery"));
  expect(await offered()).toEqual(["away: A tool of a test.", "look: Looks two."]);
  await rm(join(workspace.path, ".orrery"), { recursive: true });
  expect(await offered()).toEqual([]);
});

test("a question that a manifest has come to ask for is asked in the next session", async () => {
  await workspace.tool("look", "echo seen", "read_only = true");
  const asks = async () => {
    const model = await workspace.script({ calls: [{ name: "look", arguments: {} }] }, { text: "done" });
    const session = await agent.create({ model });
    const result = await session.prompt("go", { source: "test" });
    return result.calls.map(({ outcome }) => outcome.kind);
  };
  expect(await asks()).toEqual(["exited"]);
  await workspace.tool("look", "echo seen", 'read_only = true\napproval = "always"');
  expect(await asks()).toEqual(["not_started"]);
});
