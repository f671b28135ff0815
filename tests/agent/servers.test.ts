/** MCP servers in real turns: published servers, under the one supervisor and behind the one gate. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

const filesystem = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"));

let workspace: TestWorkspace;
let agents: Agent[];

beforeEach(async () => {
  workspace = await createWorkspace();
  agents = [];
  await workspace.write("notes.txt", "alpha\n");
  // The wrapper leaves its pid, and is what must be gone with the runtime.
  await workspace.write("serve.sh", `echo $$ > server-pid\nexec node "${filesystem}" "${workspace.path}"\n`);
  await workspace.write(".orrery/mcp.toml", '[servers.files]\ntransport = "stdio"\ncmd = "/bin/sh"\nargs = ["serve.sh"]\n');
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await workspace.remove();
});

async function play(replies: readonly object[], options: Partial<AgentOptions> = {}) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home, OPENAI_API_KEY: "canary" };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model: await workspace.script(...replies), env, ...options });
  agents.push(agent);
  const session = await agent.create();
  const result = await session.prompt("go", { source: "test" });
  const events = (await agent.events(session.id)).flatMap((row): readonly SessionEvent[] =>
    row.kind === "event" && isKnown(row.event) ? [row.event] : []
  );
  return { agent, session, result, events };
}

const READ = { calls: [{ name: "mcp__files__read_text_file", arguments: { path: "notes.txt" } }] };
const DONE = { text: "done" };

describe("an MCP server of a trusted workspace", () => {
  test("is called like a tool, with its intent and one end, and is gone with the runtime", async () => {
    const { agent, events } = await play([READ, DONE]);
    const types = events.map((event) => event.type).filter((type) => type.startsWith("call_"));
    expect(types).toEqual(["call_allowed", "call_started", "call_ended"]);
    expect(events.find((event) => event.type === "call_started")).toMatchObject({ worker: "mcp:files" });
    expect(events.find((event) => event.type === "call_ended")).toMatchObject({
      outcome: { kind: "returned" },
      result: { is_error: false },
    });
    const pid = Number(readFileSync(join(workspace.path, "server-pid"), "utf8"));
    expect(isAlive(pid)).toBe(true);
    await agent.close();
    expect(isAlive(pid)).toBe(false);
  });

  test("is destructive whatever it claims: in normal mode somebody must be asked", async () => {
    const { result } = await play([READ, DONE], { mode: "normal" });
    expect(result.unanswered).toBe(true);
  });

  test("gives the model an answer when its call is refused by the server", async () => {
    const { events } = await play([{ calls: [{ name: "mcp__files__read_text_file", arguments: { path: "/etc/passwd" } }] }, DONE]);
    expect(events.find((event) => event.type === "call_ended")).toMatchObject({ result: { is_error: true } });
  });
});

describe("an MCP server of an untrusted workspace", () => {
  test("is named and not started", async () => {
    const { events } = await play([DONE], { trustWorkspace: false });
    expect(existsSync(join(workspace.path, "server-pid"))).toBe(false);
    expect(events.some((event) => event.type === "notice" && event.code === "server_untrusted")).toBe(true);
  });
});
