/** P6: a call that another runtime allowed, or asked about, is weighed again where it is taken up. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import { ownIdentity } from "../../lib/platform/identity.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agents: Agent[];
let model: string;
beforeEach(async () => {
  workspace = await createWorkspace();
  agents = [];
  model = await workspace.script({ calls: [{ name: "leave", arguments: { a: 1 } }] }, { text: "done" });
  await workspace.tool("leave", "touch canary");
});
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await workspace.remove();
});

const ran = () => existsSync(join(workspace.path, "canary"));

function open(options: Partial<AgentOptions> = {}): Agent {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model, env, ...options });
  agents.push(agent);
  return agent;
}

async function eventsOf(agent: Agent, id: string): Promise<readonly SessionEvent[]> {
  return (await agent.events(id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
}

/** A session as a runtime leaves it that dies right after its first event of this type. */
async function leftAt(type: SessionEvent["type"], options: Partial<AgentOptions>): Promise<string> {
  const agent = open(options);
  const session = await agent.create();
  await session.prompt("go", { source: "test" });
  const events = await eventsOf(agent, session.id);
  await agent.close();
  const kept = events.slice(0, events.findIndex((event) => event.type === type) + 1);
  await rm(join(workspace.home, "data"), { recursive: true });
  const journal = openSqliteJournal({ path: join(workspace.home, "data/journal.sqlite") });
  const lease = await journal.acquire(session.id, { runtime: "run_test", ...ownIdentity() });
  await journal.append(lease, 0, kept);
  await lease.release();
  await journal.close();
  await rm(join(workspace.path, "canary"), { force: true });
  return session.id;
}

async function takeUp(id: string, options: Partial<AgentOptions> = {}): Promise<readonly string[]> {
  const agent = open(options);
  const session = await agent.open(id);
  await session.resume({});
  const events = await eventsOf(agent, id);
  await agent.close();
  const resumed = events.findIndex(({ type }) => type === "session_resumed");
  return events.slice(resumed + 1).flatMap((event) => {
    if (event.type === "call_denied") return [`denied ${event.by}: ${event.reason}`];
    if (event.type === "approval_answered") return [`answered ${event.decision}`];
    return event.type === "call_started" || event.type === "call_ended" ? [event.type] : [];
  });
}

async function userSettings(settings: object): Promise<void> {
  await mkdir(join(workspace.home, "config"), { recursive: true });
  await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify(settings));
}

const GUARD = { hooks: { PreToolUse: [{ hooks: [{ type: "command", command: "echo not today >&2; exit 1" }] }] } };
const LOUDER = {
  hooks: { PreToolUse: [{ hooks: [{ type: "command", command: 'echo \'{"action":"modify","payload":{"input":{"a":2}}}\'' }] }] },
};
const yes = { approver: () => Promise.resolve({ decision: "allow" as const, by: "test" }) };

describe("a call that was allowed and not begun", () => {
  test("runs when the gate still says so", async () => {
    const id = await leftAt("call_allowed", { mode: "auto-accept" });
    expect([await takeUp(id), ran()]).toEqual([["call_started", "call_ended"], true]);
  });

  test("does not run past a hook that is there now", async () => {
    const id = await leftAt("call_allowed", { mode: "auto-accept" });
    await userSettings(GUARD);
    expect([await takeUp(id), ran()]).toEqual([["denied hook: not today", "call_ended"], false]);
  });

  test("does not run with another input than was allowed, nor as another tool", async () => {
    const id = await leftAt("call_allowed", { mode: "auto-accept" });
    await userSettings(LOUDER);
    expect([(await takeUp(id))[0]?.startsWith("denied hook: This call of"), ran()]).toEqual([true, false]);

    await userSettings({});
    const other = await leftAt("call_allowed", { mode: "auto-accept" });
    await workspace.tool("leave", "touch canary", "timeout_ms = 5000");
    expect([(await takeUp(other))[0]?.startsWith('denied approval: "leave" is another tool'), ran()]).toEqual([true, false]);
  });

  test("does not run where it is switched off or not trusted now, nor in a mode that would ask", async () => {
    const id = await leftAt("call_allowed", { mode: "auto-accept" });
    await userSettings({ tools: { leave: "off" } });
    expect([(await takeUp(id))[0]?.startsWith("denied unknown_tool"), ran()]).toEqual([true, false]);
    await userSettings({});
    const untrusted = await leftAt("call_allowed", { mode: "auto-accept" });
    expect([(await takeUp(untrusted, { trustWorkspace: false }))[0]?.startsWith("denied trust"), ran()]).toEqual([true, false]);
    const asking = await leftAt("call_allowed", { mode: "auto-accept" });
    await userSettings({
      hooks: { PreToolUse: [{ hooks: [{ type: "command", command: 'echo \'{"action":"require_approval","reason":"ask"}\'' }] }] },
    });
    expect([(await takeUp(asking))[0]?.startsWith("denied approval: ask;"), ran()]).toEqual([true, false]);
  });

  test("keeps what a person had said of it", async () => {
    await workspace.tool("leave", "touch canary", 'approval = "always"');
    const id = await leftAt("call_allowed", { mode: "normal", ...yes });
    expect([await takeUp(id), ran()]).toEqual([["call_started", "call_ended"], true]);
  });
});

describe("a call that a person was being asked about", () => {
  test("is asked about again, and a hook that is there now comes first", async () => {
    await workspace.tool("leave", "touch canary", 'approval = "always"');
    const asked = await leftAt("approval_requested", { mode: "normal" });
    expect([await takeUp(asked, yes), ran()]).toEqual([["answered allow", "call_started", "call_ended"], true]);
    const guarded = await leftAt("approval_requested", { mode: "normal" });
    await userSettings(GUARD);
    expect([await takeUp(guarded, yes), ran()]).toEqual([["denied hook: not today", "call_ended"], false]);
  });
});
