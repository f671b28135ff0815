/** MCP servers in real turns: published servers, under the one supervisor and behind the one gate. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

const fixture = fileURLToPath(new URL("../fixtures/mcp/server.mjs", import.meta.url).href);
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

async function open(replies: readonly object[], options: Partial<AgentOptions> = {}): Promise<Agent> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home, OPENAI_API_KEY: "canary" };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model: await workspace.script(...replies), env, ...options });
  agents.push(agent);
  return agent;
}

async function eventsOf(agent: Agent, id: string): Promise<readonly SessionEvent[]> {
  return (await agent.events(id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
}

/** Servers of the fixture, by name and manner, in place of the published one. */
async function withFixtures(servers: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const entries = Object.entries(servers).map(([name, args]) =>
    `[servers.${name}]\ncmd = "node"\nargs = ${JSON.stringify([fixture, ...args])}\n`
  );
  await workspace.write(".orrery/mcp.toml", entries.join(""));
}

async function play(replies: readonly object[], options: Partial<AgentOptions> = {}) {
  const agent = await open(replies, options);
  const session = await agent.create();
  const result = await session.prompt("go", { source: "test" });
  const events = await eventsOf(agent, session.id);
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

describe("a file of MCP servers", () => {
  test("that is a pipe, or endless, keeps nobody and is named", async () => {
    spawnSync("mkfifo", [join(workspace.path, ".mcp.json")]);
    rmSync(join(workspace.path, ".orrery/mcp.toml"));
    symlinkSync("/dev/zero", join(workspace.path, ".orrery/mcp.toml"));
    const { notices } = await (await open([DONE])).equip();
    const texts = notices.filter(({ code }) => code === "unreadable").map(({ text }) => text);
    expect([texts.length, texts.every((text) => text.includes("not a regular file"))]).toEqual([2, true]);
  });
});

describe("an MCP server whose entry has changed since it was trusted", () => {
  test("is not started, however long ago the workspace was looked at", async () => {
    const agent = await open([DONE], { trustWorkspace: false });
    await agent.workshop();
    await agent.trust();
    expect((await agent.workshop()).policy.trust.verdict.kind).toBe("trusted");
    await workspace.write(".orrery/mcp.toml", '[servers.files]\ncmd = "/bin/sh"\nargs = ["-c", "touch canary"]\n');
    const { live } = await agent.equip();
    expect(live?.servers.map(({ state, trusted, error }) => [state, trusted, error])).toEqual([
      ["untrusted", false, "its file has changed since this workspace was trusted"],
    ]);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  });
});

describe("tools that a server changes in the middle of a session", () => {
  const called = (name: string) => ({ name: `mcp__s__${name}`, arguments: {} });
  const names = async (agent: Agent) => (await agent.toolbox()).offered.map(({ name }) => name);

  /** Every call asks; that of `at` is let go only when the servers' tools have changed as they should. */
  async function playWaiting(replies: readonly object[], at: string, changed: (names: readonly string[]) => boolean) {
    await withFixtures({ s: [] });
    const agent = await open(replies, {
      mode: "normal",
      approver: async ({ name }) => {
        while (name === at && !changed(await names(agent))) await sleep(10);
        return { decision: "allow", by: "test" };
      },
    });
    const session = await agent.create();
    await session.prompt("go", { source: "test" });
    return await eventsOf(agent, session.id);
  }

  test("are taken over between two steps, and recorded, never within one", async () => {
    const events = await playWaiting(
      [{ calls: [called("grow")] }, { calls: [called("echo"), called("wipe")] }, { calls: [called("wipe")] }, DONE],
      "mcp__s__echo",
      (names) => names.includes("mcp__s__wipe"),
    );
    const story = events.flatMap((event) => {
      if (event.type === "step_started") return [`step ${event.step}`];
      if (event.type === "tools_changed") return [`tools ${event.tools.some(({ name }) => name === "mcp__s__wipe")}`];
      if (event.type === "call_denied") return [`denied ${event.by}`];
      return event.type === "call_started" ? [event.name] : [];
    });
    expect(story).toEqual([
      "step 1",
      "mcp__s__grow",
      "step 2",
      "mcp__s__echo",
      "denied unknown_tool",
      "tools true",
      "step 3",
      "mcp__s__wipe",
      "step 4",
    ]);
  });

  test("are not called as something else than they were offered as", async () => {
    const events = await playWaiting(
      [{ calls: [called("morph")] }, { calls: [called("environment"), called("echo"), called("raw")] }, DONE],
      "mcp__s__environment",
      (names) => !names.includes("mcp__s__raw"),
    );
    const ends = events.flatMap((event) => event.type === "call_ended" ? [event] : []);
    expect(ends.map(({ outcome }) => outcome.kind)).toEqual(["returned", "returned", "not_started", "not_started"]);
    expect(ends.slice(2).map(({ result }) => /changed this tool|no longer has/.test(result.text))).toEqual([true, true]);
  });
});

describe("ten servers of which one hangs and one crashes", () => {
  test(
    "the session starts within their time, works with the others, and says clearly which are missing",
    async () => {
      const good = Array.from({ length: 8 }, (_, index) => [`s${index}`, []] as const);
      await withFixtures({ ...Object.fromEntries(good), hangs: ["mute"], crashes: ["exit"] });
      const agent = await open([
        { calls: good.map(([name]) => ({ name: `mcp__${name}__echo`, arguments: { to: name } })) },
        { calls: [{ name: "mcp__hangs__echo", arguments: {} }] },
        DONE,
      ]);
      const session = await agent.create();
      await session.prompt("go", { source: "test" });
      const events = await eventsOf(agent, session.id);
      const ends = events.flatMap((event) => event.type === "call_ended" ? [event.result] : []);
      expect(ends.slice(0, 8).map(({ is_error, text }) => [is_error, text])).toEqual(
        good.map(([name]) => [false, `echo {"to":"${name}"}`]),
      );
      expect([ends[8]?.is_error, ends[8]?.text.includes('the MCP server "hangs" ')]).toEqual([true, true]);
      const told = events.flatMap((event) => event.type === "notice" && event.code === "mcp_server_failed" ? [event.text] : []);
      expect(told.toSorted().map((text) => text.slice(0, 60))).toEqual([
        'The MCP server "crashes" cannot be used, and its tools are n',
        'The MCP server "hangs" cannot be used, and its tools are not',
      ]);
      expect(told.join("\n")).toContain("cannot open the database");
      const { live } = await agent.equip();
      expect(live?.servers.filter(({ state }) => state === "connected")).toHaveLength(8);
    },
    40_000,
  );
});

describe("a server that hangs", () => {
  test("keeps nobody who wants to stop, and is gone with the runtime", async () => {
    await withFixtures({ s: [], hangs: ["mute"] });
    const stop = new AbortController();
    const agent = await open([DONE], { stop: stop.signal });
    const opening = agent.create();
    await sleep(500);
    stop.abort();
    await opening;
    // It is given up after ten seconds, and that would be told.
    expect((await agent.equip()).notices).toEqual([]);
    await agent.close();
  });
});

describe("what a server has to say later", () => {
  test("reaches the session at its next step, and the sessions to come as it stands", async () => {
    await withFixtures({ s: [] });
    const agent = await open([{ calls: [{ name: "mcp__s__die", arguments: {} }] }, DONE, DONE, DONE]);
    const session = await agent.create();
    await session.prompt("go", { source: "test" });
    const told = async (id: string) => (await eventsOf(agent, id)).flatMap((event) => event.type === "notice" ? [event.code] : []);
    expect(await told(session.id)).toContain("mcp_server_lost");
    while ((await agent.equip()).live?.servers[0]?.state !== "connected") await sleep(20);
    await session.prompt("again", { source: "test" });
    expect(await told(session.id)).toContain("mcp_server_back");
    const later = await agent.create();
    await later.settled();
    expect(await told(later.id)).not.toContain("mcp_server_lost");
  });
});

describe("rules for tools of servers", () => {
  const unmatched = async () =>
    (await (await open([DONE])).equip()).notices.filter(({ code }) => code.endsWith("_matches_nothing")).map(({ text }) => text);

  test("are judged when the servers have been asked; of one that is silent nobody knows the tools", async () => {
    await withFixtures({ s: [], crashes: ["exit"] });
    const hooks = ["mcp__s__*", "mcp__s__echo", "mcp__*", "mcp__crashes__*", "mcp__missing__*", "mcp__s__ecco"].map((matcher) => ({
      matcher,
      hooks: [{ type: "command", command: "true" }],
    }));
    await workspace.write(
      ".orrery/settings.json",
      JSON.stringify({ hooks: { PreToolUse: hooks }, tools: { mcp__s__grow: "off", mcp__s__gruw: "off", mcp__crashes__x: "off" } }),
    );
    const texts = await unmatched();
    expect(texts.map((text) => /mcp__\w+(?:\*)?/.exec(text)?.[0])).toEqual(["mcp__missing__*", "mcp__s__ecco", "mcp__s__gruw"]);
  });

  test("match nothing where there are no servers", async () => {
    await workspace.write(".orrery/mcp.toml", "");
    await workspace.write(".orrery/settings.json", JSON.stringify({ tools: { mcp__s__grow: "off" } }));
    expect(await unmatched()).toHaveLength(1);
  });
});
