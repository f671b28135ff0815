/** Settings, switches, trust and hooks in real turns: hooks and tools are real processes under the one supervisor. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { Session } from "../../lib/agent/session.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { parseScript } from "../../lib/model/script.ts";
import { isAlive } from "../fixtures/alive.ts";
import { startScriptEndpoint } from "../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agents: Agent[];

beforeEach(async () => {
  workspace = await createWorkspace();
  agents = [];
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await workspace.remove();
});

async function userSettings(settings: object): Promise<void> {
  const path = join(workspace.home, "config/settings.json");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(settings));
}

const hook = (command: string, more: object = {}) => [{ ...more, hooks: [{ type: "command", command, timeoutMs: 5000 }] }];
const call = (name: string, input: object = {}) => ({ name, arguments: input });
const DONE = { text: "done" };

async function play(replies: readonly object[], options: Partial<AgentOptions> = {}) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model: await workspace.script(...replies), env, ...options });
  agents.push(agent);
  const session = await agent.create();
  const result = await session.prompt("go", { source: "test" });
  const events = (await agent.events(session.id)).flatMap((row): readonly SessionEvent[] =>
    row.kind === "event" && isKnown(row.event) ? [row.event] : []
  );
  return { agent, session, result, events };
}

function resultsOf(session: Session): readonly string[] {
  return session.messages().flatMap((message) => message.role === "tool" ? [message.text] : []);
}

const there = (name: string) => existsSync(join(workspace.path, name));

describe("a PreToolUse hook", () => {
  test("that refuses keeps every kind of tool from running, and its message is the result", async () => {
    await userSettings({ hooks: { PreToolUse: hook("echo 'not today' >&2; exit 1") } });
    await workspace.tool("mark", "touch canary");
    await workspace.tool("look", "touch canary", "read_only = true\nspeculation_safe = true");
    const { session, result } = await play([
      { stream: [{ call: { index: 0, id: "a", name: "look", arguments: {} } }, { wait_ms: 200, text: "…" }] },
      {
        calls: [
          call("mark"),
          call("bash", { command: "touch canary" }),
          call("write_file", { path: "canary", content: "x" }),
          call("read_file", { path: "x" }),
        ],
      },
      DONE,
    ]);
    expect(there("canary")).toBe(false);
    expect(resultsOf(session)).toEqual(Array.from({ length: 5 }, () => "not today"));
    expect(result.reason).toBe("completed");
  });

  test("covers a tool by a pattern, and a covered tool never runs early", async () => {
    await userSettings({ hooks: { PreToolUse: hook("cat >> asked; exit 0", { matcher: "lo*" }) } });
    await workspace.tool("look", "echo seen", "read_only = true\nspeculation_safe = true");
    const { session, events } = await play([{
      stream: [{ call: { index: 0, id: "a", name: "look", arguments: { n: 1.5 } } }, { wait_ms: 200, text: "…" }],
    }, DONE]);
    expect(events.some((event) => event.type === "speculation_started")).toBe(false);
    expect(resultsOf(session)).toEqual(["seen\n"]);
    expect(JSON.parse(readFileSync(join(workspace.path, "asked"), "utf8"))).toMatchObject({
      event: "PreToolUse",
      tool: { name: "look", input: { n: 1.5 }, read_only: true },
    });
  });

  test("can change the input; what was recorded as allowed is what runs", async () => {
    await userSettings({ hooks: { PreToolUse: hook(`echo '{"action":"modify","payload":{"input":{"who":"them"}}}'`) } });
    await workspace.tool("hello", 'printf "hello %s" "$STELLA_INPUT_WHO"');
    const { session, events } = await play([{ calls: [call("hello", { who: "you" })] }, DONE]);
    expect(resultsOf(session)).toEqual(["hello them"]);
    expect(events.find((event) => event.type === "call_allowed")).toMatchObject({ input: { who: "them" }, by: "hook" });
  });

  test("that wants approval gets it from a person for the input it left", async () => {
    await userSettings({ hooks: { PreToolUse: hook(`echo '{"action":"require_approval","reason":"look first"}'`) } });
    await workspace.tool("mark", "touch canary");
    const asked: unknown[] = [];
    const { events } = await play([{ calls: [call("mark", { a: 1 })] }, DONE], {
      approver: (question) => {
        asked.push([question.reason, question.input.text]);
        return Promise.resolve({ decision: "allow", by: "test" });
      },
    });
    expect(asked).toEqual([["look first", '{"a":1}']]);
    expect(there("canary")).toBe(true);
    expect(events.map((event) => event.type)).toContain("approval_answered");
  });

  test("case 49: that does not answer in time is a no, and is gone", async () => {
    await userSettings({
      hooks: { PreToolUse: [{ hooks: [{ type: "command", command: "echo $$ > hook-pid; sleep 30; exit 1", timeoutMs: 500 }] }] },
    });
    await workspace.tool("mark", "touch canary");
    const { session } = await play([{ calls: [call("mark")] }, DONE]);
    expect(resultsOf(session)[0]).toContain("500");
    // On a busy machine its time may be over before it has told its pid.
    const isThere = there("hook-pid") && isAlive(Number(readFileSync(join(workspace.path, "hook-pid"), "utf8")));
    expect([there("canary"), isThere]).toEqual([false, false]);
  });

  test("case 52: whose grandchild holds the pipe is decided by its own exit, and the grandchild is gone", async () => {
    await userSettings({ hooks: { PreToolUse: hook("sleep 300 & echo $! > hook-pid; exit 0") } });
    await workspace.tool("mark", "touch canary");
    const { result } = await play([{ calls: [call("mark")] }, DONE]);
    expect([result.reason, there("canary")]).toEqual(["completed", true]);
    expect(isAlive(Number(readFileSync(join(workspace.path, "hook-pid"), "utf8")))).toBe(false);
  });

  test("of an untrusted project does not run, and what it guards is refused", async () => {
    await workspace.write(
      ".orrery/settings.json",
      JSON.stringify({ hooks: { PreToolUse: hook("touch hooked; exit 0", { matcher: "bash" }) } }),
    );
    const { session } = await play([{ calls: [call("bash", { command: "touch canary" }), call("get_environment")] }, DONE], {
      trustWorkspace: false,
    });
    expect([there("hooked"), there("canary")]).toEqual([false, false]);
    expect(resultsOf(session)[0]).toContain("may not run here");
  });
});

describe("the other hooks", () => {
  test("PostToolUse is told once, also of an error, and never of a refused call", async () => {
    await userSettings({ hooks: { PostToolUse: hook("cat >> told; echo >> told") } });
    await workspace.tool("fail", "echo bad >&2; exit 3");
    await play([{ calls: [call("fail"), call("nothing_such")] }, DONE]);
    const told = readFileSync(join(workspace.path, "told"), "utf8").trim().split("\n").map((line) => JSON.parse(line) as object);
    expect(told).toMatchObject([{ event: "PostToolUse", tool: { name: "fail" } }]);
  });

  test("SessionStart adds to the system text", async () => {
    await userSettings({ hooks: { SessionStart: hook("echo 'Today is a Monday.'") } });
    const { session } = await play([DONE]);
    expect(session.state().header?.system).toContain("Today is a Monday.");
  });

  test("Stop holds the turn open with its reason, at most three times", async () => {
    await userSettings({ hooks: { Stop: hook(`echo '{"action":"deny","reason":"run the tests"}'`) } });
    const { session, result } = await play([{ text: "one" }, { text: "two" }, { text: "three" }, { text: "four" }, { text: "five" }]);
    expect(result).toMatchObject({ reason: "completed", text: "four", steps: 4 });
    expect(session.messages().filter((message) => message.role === "user").map((message) => message.text.includes("run the tests")))
      .toEqual([false, true, true, true]);
    expect(session.state().counts.turns).toBe(1);
  });
});

describe("switches", () => {
  test("withhold a tool from the model and refuse it like one that does not exist", async () => {
    await userSettings({ tools: { shell: "off" } });
    const { agent, session } = await play([{ calls: [call("bash", { command: "touch canary" })] }, DONE]);
    expect(there("canary")).toBe(false);
    expect(resultsOf(session)[0]).toContain('no tool named "bash"');
    expect((await agent.toolbox()).declarations().map(({ name }) => name)).not.toContain("bash");
  });

  test("a project can only narrow while it is not trusted", async () => {
    await userSettings({ tools: { bash: "off" } });
    await workspace.write(".orrery/settings.json", JSON.stringify({ tools: { bash: "on", delete_file: "off" }, alwaysAllow: ["bash"] }));
    const { agent } = await play([DONE], { trustWorkspace: false });
    const names = (await agent.toolbox()).declarations().map(({ name }) => name);
    expect([names.includes("bash"), names.includes("delete_file")]).toEqual([false, false]);
  });
});

describe("modes", () => {
  test("plan lets only what is read-only and never asks run", async () => {
    await workspace.write("a.txt", "alpha\n");
    const { session } = await play([{ calls: [call("read_file", { path: "a.txt" }), call("bash", { command: "touch canary" })] }, DONE], {
      mode: "plan",
    });
    expect([resultsOf(session)[0]?.includes("alpha"), there("canary")]).toEqual([true, false]);
    expect(resultsOf(session)[1]).toContain("mode plan");
  });

  test("alwaysAllow skips the prompt of exactly that tool", async () => {
    await userSettings({ alwaysAllow: ["danger"] });
    await workspace.tool("danger", "touch one", 'approval = "always"');
    await workspace.tool("other", "touch two", 'approval = "always"');
    const { result } = await play([{ calls: [call("danger"), call("other")] }, DONE]);
    expect([there("one"), there("two"), result.unanswered]).toEqual([true, false, true]);
  });
});

describe("limits", () => {
  test("a spend limit without a price is a fault, and one with a price stops the turn between steps", async () => {
    await workspace.tool("mark", "echo ok");
    await userSettings({ limits: { spend_usd: 0.001 } });
    const failure = await play([DONE]).then(() => null, (error: Error) => error);
    expect([failure?.name, failure?.message.includes("limits.prices")]).toEqual(["ConfigError", true]);
    const model = await workspace.script({ calls: [call("mark")], usage: { input_tokens: 1000, output_tokens: 1000 } }, DONE);
    await writeFile(join(workspace.home, "config/prices.json"), JSON.stringify({ [model]: { input: 1, output: 10 } }));
    await userSettings({ limits: { spend_usd: 0.001, prices: "prices.json" } });
    const { result } = await play([], { model });
    expect(result).toMatchObject({ reason: "stopped", steps: 1, usage: { cost_usd: 0.011 } });
  });

  test("a known window keeps requests within it", async () => {
    await workspace.tool("long", "yes line | head -c 60000");
    await userSettings({ limits: { context_tokens: 10_000 } });
    const replies = [{ calls: [call("long")] }, DONE];
    const endpoint = await startScriptEndpoint(parseScript(JSON.stringify({ replies })));
    try {
      const { session } = await play([], { model: "local/test", baseUrl: endpoint.url });
      const sizes = endpoint.requests.map((request) => JSON.stringify(request.body).length);
      expect(sizes).toHaveLength(2);
      expect(Math.max(...sizes)).toBeLessThan(30_000);
      expect(resultsOf(session)[0]?.length).toBe(60_000);
    } finally {
      await endpoint.close();
    }
  });
});

describe("rules that name no tool", () => {
  const wrong = {
    disabledTools: ["bahs", "search"],
    alwaysAllow: ["baash", "mcp__x__y", "deploy"],
    tools: { baha: "off" },
    hooks: { PreToolUse: hook("true", { matcher: "Bash" }), PostToolUse: hook("true", { matcher: "ba*" }) },
  };

  test("are said when a workspace is looked at, in denials too", async () => {
    await userSettings(wrong);
    await workspace.tool("deploy", "true");
    const { agent, events } = await play([DONE]);
    const said = (await agent.workshop()).notices.filter(({ code }) => code.endsWith("_matches_nothing")).map(({ text }) => text);
    expect(said.map((text) => /"(Bash|tools\.baha|bahs|baash)"/.exec(text)?.[1])).toEqual(["Bash", "tools.baha", "bahs", "baash"]);
    expect(said[2]).toContain('the nearest is "bash"');
    // A session knows its servers, so that a name of theirs is one of nobody.
    const told = events.flatMap((event) => event.type === "notice" && event.code.endsWith("_matches_nothing") ? [event.text] : []);
    expect([told.slice(0, 4), told.length, told[4]?.includes("mcp__x__y")]).toEqual([said, 5, true]);
  });

  test("are said when tool files are checked, with their place", async () => {
    await userSettings(wrong);
    const { agent } = await play([DONE]);
    const found = (await agent.validate()).flatMap(({ path, diagnostics }) =>
      diagnostics.filter(({ code }) => code.endsWith("_matches_nothing")).map(({ code, line }) => [path, code, line])
    );
    const path = join(workspace.home, "config/settings.json");
    expect(found).toEqual([
      [path, "hook_matches_nothing", 1],
      [path, "switch_matches_nothing", 1],
      [path, "name_matches_nothing", 1],
      [path, "name_matches_nothing", 1],
      [path, "name_matches_nothing", 1],
      [path, "name_matches_nothing", 1],
    ]);
  });

  test("are said when tool files are checked if no file names their server, whether it is trusted or not", async () => {
    const matchers = ["mcp__github__*", "mcp__github", "mcp__files__read", "mcp__files__*"];
    await userSettings({ hooks: { PreToolUse: matchers.flatMap((matcher) => hook("true", { matcher })) } });
    await workspace.write(".mcp.json", JSON.stringify({ mcpServers: { files: { command: "true" } } }));
    const { agent } = await play([DONE]);
    const said = (await agent.validate()).flatMap(({ diagnostics }) =>
      diagnostics.map(({ message }) => /"(mcp__[^"]*)"/.exec(message)?.[1])
    );
    expect(said).toEqual(["mcp__github__*", "mcp__github"]);
  });
});

describe("a PostToolUse hook", () => {
  test("is told of a call that ran until the turn was stopped, and not of one that never began", async () => {
    await userSettings({ hooks: { PostToolUse: hook("cat >> told") }, limits: { timeout_s: 2 } });
    await workspace.write(".orrery/tools/none.toml", 'name = "none"\ndescription = "d"\ncommand = ["./not-there"]\n');
    const { result } = await play([{ calls: [call("none")] }, { calls: [call("bash", { command: "touch happened; sleep 20" })] }, DONE]);
    expect([result.reason, result.detail]).toEqual(["stopped", expect.stringContaining("2 s")]);
    const told = readFileSync(join(workspace.path, "told"), "utf8");
    expect([there("happened"), told.includes('"name":"bash"'), told.includes('"name":"none"')]).toEqual([true, true, false]);
  }, 30_000);
});
