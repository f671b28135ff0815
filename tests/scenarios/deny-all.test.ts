/**
 * P6: whatever way a call comes, a guard that refuses everything refuses it, and the guard's words are its result. Every
 * tool here leaves something behind if it runs; each way is played with the guard and without, so that a walk that
 * reaches nothing fails as well.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { commandTree } from "../../cli/command-tree.ts";
import { Origin } from "../../lib/session/event.ts";
import { Agent, openAgent, tool } from "../../mod.ts";
import { CATALOG } from "../../lib/tools/builtin/catalog.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { filesBelow, root } from "../house/sources.ts";
import { ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

const REFUSED = "the guard refuses everything";
const LIMIT = 120_000;

/** Every command, and the part of this walk that plays it; "nothing" is for those that start no call. */
const WAYS: Readonly<Record<string, "run" | "call" | "chat" | "resume" | "fork" | "serve" | "nothing">> = {
  "run": "run",
  "chat": "chat",
  "tools list": "nothing",
  "tools call": "call",
  "tools create": "nothing",
  "sessions list": "nothing",
  "sessions show": "nothing",
  "sessions events": "nothing",
  "sessions resume": "resume",
  "sessions fork": "fork",
  "sessions cancel": "nothing",
  "sessions export": "nothing",
  "sessions import": "nothing",
  "trust": "nothing",
  "config": "nothing",
  // A session like any other, in a folder of its own.
  "demo": "run",
  "serve": "serve",
  // Starts its own built-in by itself, and nothing that a model or a workspace names.
  "doctor": "nothing",
  "completions": "nothing",
  "man": "nothing",
  "version": "nothing",
};

/** One call of every built-in, fit to run. */
const BUILTINS: Readonly<Record<string, object>> = {
  bash: { command: "touch canary-bash" },
  read_file: { path: "kept.txt" },
  write_file: { path: "canary-write", content: "x" },
  edit_file: { path: "edited.txt", old_string: "before", new_string: "canary" },
  delete_file: { path: "deleted.txt" },
  search: { query: "before" },
  task_create: { subject: "canary" },
  task_list: {},
  task_start: { id: "t1" },
  task_complete: { id: "t1" },
  task_cancel: { id: "t1", reason: "no" },
  task_assign: { id: "t1", owner: "canary" },
  delegate: { description: "look", prompt: "Look around." },
  save_state: { key: "canary", content: "x" },
  get_state: { key: "canary" },
  list_state: {},
  delete_state: { key: "canary" },
  get_environment: {},
};

/** One tool of every other system; each leaves `canary-NAME`. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  builtin: Object.keys(BUILTINS),
  stella: ["stella_canary", "early_canary"],
  nanocoder: ["nano_canary"],
  sdk: ["ts_canary", "py_canary"],
  mcp: ["mcp__s__echo"],
};
const CANARIES = ["stella_canary", "early_canary", "nano_canary", "ts_canary", "py_canary", "mcp__s__echo", "bash", "write"];

/** Reads first: what changes something would keep them from starting early. */
const READS = [{ name: "early_canary", arguments: {} }, { name: "read_file", arguments: BUILTINS["read_file"] }];
const ALL = [
  ...READS,
  ...["stella_canary", "nano_canary", "ts_canary", "py_canary", "mcp__s__echo"].map((name) => ({ name, arguments: {} })),
  ...Object.entries(BUILTINS).map(([name, input]) => ({ name, arguments: input })),
];

let workspace: TestWorkspace;
let model: string;
beforeEach(async () => {
  workspace = await createWorkspace();
  await workspace.write("kept.txt", "kept\n");
  await workspace.write("edited.txt", "before\n");
  await workspace.write("deleted.txt", "here\n");
  await workspace.tool("stella_canary", "touch canary-stella_canary");
  await workspace.tool("early_canary", "touch canary-early_canary", "read_only = true\nspeculation_safe = true");
  await workspace.write(
    ".nanocoder/tools/nano_canary.md",
    "---\nname: nano_canary\ndescription: A tool of a test.\napproval: never\n---\n\ntouch canary-nano_canary\n",
  );
  await workspace.write(
    ".orrery/tools/canary.ts",
    'import { tool } from "orrery";\nimport * as v from "valibot";\nimport { writeFileSync } from "node:fs";\n' +
      'export const one = tool({ name: "ts_canary", description: "A tool of a test.", parameters: v.object({}),\n' +
      '  async execute() { writeFileSync("canary-ts_canary", ""); return "ran"; } });\n',
  );
  await workspace.write(
    ".orrery/tools/canary.py",
    "from stella_sdk import tool\n\n\n@tool\nasync def py_canary() -> str:\n" +
      '    """A tool of a test."""\n    open("canary-py_canary", "w").close()\n    return "ran"\n',
  );
  const server = fileURLToPath(new URL("../fixtures/mcp/server.mjs", import.meta.url).href);
  await workspace.write(
    ".orrery/mcp.toml",
    `[servers.s]\ncmd = "node"\nargs = [${JSON.stringify(server)}, "good", "canary-mcp__s__echo"]\n`,
  );
  model = await workspace.script({ calls: ALL }, { text: "done" });
});
afterEach(() => workspace.remove());

const start = () => ({ cwd: workspace.path, home: workspace.home });
const orrery = (...args: readonly string[]) => runOrrery(args, start());
const TRUSTED = ["--trust-workspace", "--mode", "yolo"];

/** A user's hook before every tool; `but` names those that it lets pass. */
async function guard(...but: readonly string[]): Promise<void> {
  const passes = but.length === 0 ? "" : `case "$(cat)" in ${but.map((name) => `*'"name":"${name}"'*`).join("|")}) exit 0;; esac; `;
  const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: `${passes}echo "${REFUSED}" >&2; exit 1` }] }] };
  await mkdir(join(workspace.home, "config"), { recursive: true });
  await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify({ hooks }));
}

function unguard(): void {
  rmSync(join(workspace.home, "config/settings.json"));
}

/** What has run, by what it has left. */
function traces(): readonly string[] {
  const left = CANARIES.filter((name) => existsSync(join(workspace.path, `canary-${name}`)));
  const edited = readFileSync(join(workspace.path, "edited.txt"), "utf8") === "before\n" ? [] : ["edit"];
  return [...left, ...edited, ...(existsSync(join(workspace.path, "deleted.txt")) ? [] : ["delete"])];
}

function clear(): void {
  for (const name of CANARIES) rmSync(join(workspace.path, `canary-${name}`), { force: true });
  writeFileSync(join(workspace.path, "edited.txt"), "before\n");
  writeFileSync(join(workspace.path, "deleted.txt"), "here\n");
}

interface Event {
  readonly type: string;
  readonly call?: string;
  readonly name?: string;
  readonly by?: string;
  readonly calls?: readonly { readonly call: string; readonly name: string }[];
  readonly outcome?: { readonly kind: string };
  readonly result?: { readonly is_error: boolean; readonly text: string };
}

async function eventsOf(session: string): Promise<readonly Event[]> {
  const { stdout } = await orrery("sessions", "events", session);
  return stdout.trim().split("\n").map((line) => JSON.parse(line) as Event);
}

async function sessions(): Promise<readonly string[]> {
  const { stdout } = await orrery("sessions", "list", "--json");
  return (JSON.parse(stdout) as { sessions: readonly { session: string }[] }).sessions.map(({ session }) => session);
}

/** Every call of a session, by what became of it. */
function endsOf(events: readonly Event[]): ReadonlyMap<string, readonly Event[]> {
  const names = new Map(
    events.flatMap(({ type, calls = [] }) => type === "reply_committed" ? calls.map(({ call, name }) => [call, name]) : []),
  );
  return Map.groupBy(events.filter(({ type }) => type === "call_ended"), ({ call = "" }) => names.get(call) ?? "?");
}

/** Each call is refused by the hook, with its words as the result, and nothing was begun, early or not. */
function expectRefused(events: readonly Event[], names: readonly string[]): void {
  expect(events.filter(({ type }) => type === "call_started" || type === "speculation_started" || type === "call_allowed")).toEqual([]);
  const ends = endsOf(events);
  expect([...ends.keys()].toSorted()).toEqual([...new Set(names)].toSorted());
  for (const [name, each] of ends) {
    for (const { outcome, result } of each) {
      expect([name, outcome?.kind, result?.is_error, result?.text]).toEqual([name, "not_started", true, REFUSED]);
    }
  }
  expect(new Set(events.flatMap(({ type, by }) => type === "call_denied" ? [by] : []))).toEqual(new Set(["hook"]));
}

const EVERY = ALL.map(({ name }) => name);
const EVERY_TRACE = [...CANARIES, "edit", "delete"].toSorted();

describe("the walk is whole:", () => {
  test("every command is in it", () => {
    const commands: string[] = [];
    const visit = (route: object, path: readonly string[]): void => {
      if (!("getAllEntries" in route)) return void commands.push(path.join(" "));
      const entries = (route.getAllEntries as () => readonly { readonly name: { readonly original: string }; readonly target: object }[])();
      for (const { name, target } of entries) visit(target, [...path, name.original]);
    };
    visit(commandTree, []);
    expect(commands.length).toBeGreaterThan(10);
    expect(commands.filter((name) => !Object.hasOwn(WAYS, name))).toEqual([]);
  });

  test("every system of tools is in it, and every built-in", () => {
    expect(Object.keys(TOOLS).toSorted()).toEqual(Origin.entries.system.options.toSorted());
    expect(Object.keys(BUILTINS).toSorted()).toEqual(CATALOG.map(({ name }) => name).toSorted());
    expect(Object.values(TOOLS).flat().toSorted()).toEqual([...new Set(EVERY)].toSorted());
  });
});

/** Whatever starts a process or sends a call, and why that cannot go past the gate. */
const STARTERS: Readonly<Record<string, string>> = {
  "lib/agent/run-call.ts": "calls, when the gate has allowed them",
  "lib/agent/early-run.ts": "early calls, when the gate would allow them without asking anybody",
  "lib/agent/sessions.ts": "hooks: they are the gate",
  "lib/agent/servers.ts": "MCP servers, if they are trusted; their tools are called by run-call.ts",
  "lib/agent/agent.ts": "files of tools in a language, if they are trusted: they say which tools they have",
  "lib/agent/checkup/worker.ts": "the check of the runtime's own processes, with a built-in that it names itself",
};

describe("the walk is whole:", () => {
  test("nothing else in the runtime starts anything", () => {
    const starting = /\bsupervis\w*(?:\(\))?\.(?:run|open)\(|\bplan\.call\(|from "node:child_process"|\bBun\.spawn|\bnew Deno\.Command/;
    const rooms = ["lib/agent", "lib/http", "lib/gate", "lib/config", "lib/journal", "lib/model", "lib/tools", "cli"];
    const found = rooms.flatMap((room) => filesBelow(room)).filter((path) => /\.tsx?$/.test(path))
      .filter((path) => starting.test(readFileSync(join(root, path), "utf8")));
    expect(found.toSorted()).toEqual(Object.keys(STARTERS).toSorted());
  });
});

describe("a guard that refuses everything, before", () => {
  test("orrery run, with what a model asks for while it still writes, and what its session was forked to", async () => {
    await guard();
    const run = async (...args: readonly string[]) => {
      const { code, stdout } = await orrery("run", ...TRUSTED, "--model", model, "--output-format", "json", ...args, "go");
      return { code, session: (JSON.parse(stdout) as { session: string }).session };
    };
    const refused = await run();
    const events = await eventsOf(refused.session);
    expectRefused(events, EVERY);
    expect([refused.code, traces()]).toEqual([0, []]);

    // Forked where the calls had been asked for and nothing was settled.
    const at = events.findIndex(({ type }) => type === "reply_committed") + 1;
    const fork = (await orrery("sessions", "fork", refused.session, "--at", String(at))).stdout.trim();
    const again = await workspace.script({ text: "unused" }, { calls: ALL }, { text: "done" });
    expect((await orrery("sessions", "resume", ...TRUSTED, "--model", again, fork)).code).toBe(0);
    const forked = await eventsOf(fork);
    expect(endsOf(forked).get("bash")?.map(({ result }) => result?.text === REFUSED)).toEqual([false, true]);
    expect([forked.some(({ type }) => type === "call_started"), traces()]).toEqual([false, []]);

    unguard();
    const { session } = await run();
    expect([(await eventsOf(session)).some(({ type }) => type === "speculation_started"), traces().toSorted()]).toEqual([
      true,
      EVERY_TRACE,
    ]);
  }, LIMIT);

  test("orrery tools call", async () => {
    await guard();
    const once = new Map(ALL.map(({ name, arguments: input }) => [name, JSON.stringify(input)]));
    for (const [name, input] of once) {
      const { code, stdout } = await orrery("tools", "call", name, ...TRUSTED, "--model", model, "--json", "--input", input);
      const { refusal, outcome } = JSON.parse(stdout) as { refusal?: object; outcome: { kind: string } };
      expect([name, code, refusal, outcome.kind]).toEqual([name, 4, { by: "hook", reason: REFUSED }, "not_started"]);
    }
    expect(traces()).toEqual([]);
    unguard();
    const leaving = ["write_file", "edit_file", "delete_file", "bash", ...CANARIES];
    for (const [name, input] of once) {
      if (leaving.includes(name)) await orrery("tools", "call", name, ...TRUSTED, "--model", model, "--json", "--input", input);
    }
    expect(traces().toSorted()).toEqual(EVERY_TRACE);
  }, LIMIT);

  test("orrery sessions resume", async () => {
    await guard();
    const interrupted = async () => {
      const slow = await workspace.script({ stream: [{ wait_ms: 100_000, text: "never" }] });
      const child = startOrrery(["run", ...TRUSTED, "--model", slow, "--output-format", "stream-json", "go"], start());
      const over = ended(child);
      const asked = Promise.withResolvers<string>();
      child.stdout?.on("data", (text: string) => {
        const line = text.split("\n").find((each) => each.includes('"attempt_started"'));
        if (line !== undefined) asked.resolve((JSON.parse(line) as { session: string }).session);
      });
      const session = await asked.promise;
      signal(child, "SIGKILL");
      await over;
      return session;
    };
    const session = await interrupted();
    expect((await orrery("sessions", "resume", ...TRUSTED, "--model", model, session)).code).toBe(0);
    expectRefused(await eventsOf(session), EVERY);
    expect(traces()).toEqual([]);
    const other = await interrupted();
    unguard();
    await orrery("sessions", "resume", ...TRUSTED, "--model", model, other);
    expect(traces().toSorted()).toEqual(EVERY_TRACE);
  }, LIMIT);

  test("a prompt over HTTP", async () => {
    const prompt = async () => {
      const child = startOrrery(["serve", ...TRUSTED, "--model", model, "--port", "0", "--json"], { ...start(), open: true });
      const over = ended(child);
      try {
        const line = await new Promise<string>((resolve) => child.stdout?.once("data", (text: string) => resolve(text)));
        const { url, token_file } = JSON.parse(line) as { url: string; token_file: string };
        const headers = { authorization: `Bearer ${readFileSync(token_file, "utf8").trim()}`, "content-type": "application/json" };
        const post = async (path: string, body: object) =>
          await (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).json() as Record<string, unknown>;
        const { session } = await post("/v1/sessions", {});
        await post(`/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
        return String(session);
      } finally {
        signal(child, "SIGTERM");
        await over;
      }
    };
    await guard();
    expectRefused(await eventsOf(await prompt()), EVERY);
    expect(traces()).toEqual([]);
    unguard();
    await prompt();
    expect(traces().toSorted()).toEqual(EVERY_TRACE);
  }, LIMIT);

  test.skipIf(!hasTerminal)("orrery chat", async () => {
    const talk = async () => {
      const before = await sessions();
      const run = startOnTerminal(["chat", ...TRUSTED, "--model", model], start());
      await run.next("yolo> ");
      run.type("go\r");
      // The line that is typed is drawn with its prompt more than once.
      await run.next("completed");
      await run.next("yolo> ");
      run.type("\x04");
      expect((await run.ended()).code).toBe(0);
      // Children of `delegate` are older than nothing and younger than the session that is theirs.
      return (await sessions()).filter((id) => !before.includes(id)).toSorted()[0] ?? "";
    };
    await guard();
    expectRefused(await eventsOf(await talk()), EVERY);
    expect(traces()).toEqual([]);
    unguard();
    await talk();
    expect(traces().toSorted()).toEqual(EVERY_TRACE);
  }, LIMIT);

  test("the calls of sessions that work for another, and theirs", async () => {
    const passed = ["task_create", "task_assign", "delegate"];
    const brief = [
      { name: "task_create", arguments: { subject: "work" } },
      { name: "task_assign", arguments: { id: "t1", briefing: "Do it." } },
      { name: "delegate", arguments: { description: "look", prompt: "Look around." } },
    ];
    const others = ALL.filter(({ name }) => !passed.includes(name));
    const parent = await workspace.script({ calls: [...brief, ...others] }, { text: "done" });
    const children = async () => {
      const before = await sessions();
      await orrery("run", ...TRUSTED, "--model", parent, "go");
      const [top, ...below] = (await sessions()).filter((id) => !before.includes(id)).toSorted();
      expect(top).toBeDefined();
      return below;
    };
    await guard(...passed);
    const guarded = await children();
    // Two for the first session, and two for that of the task; who only looks has nobody to look for him.
    expect(guarded.length).toBeGreaterThanOrEqual(2);
    for (const id of guarded) {
      for (const [name, ends] of endsOf(await eventsOf(id))) {
        if (passed.includes(name)) continue;
        for (const { outcome } of ends) expect([name, outcome?.kind]).toEqual([name, "not_started"]);
      }
    }
    const words = (await Promise.all(guarded.map(eventsOf))).flat().filter(({ result }) => result?.text === REFUSED).length;
    expect([words >= others.length, traces()]).toEqual([true, []]);
    unguard();
    clear();
    const free = await children();
    expect((await Promise.all(free.map(eventsOf))).flat().filter(({ type, name }) => type === "call_started" && name === "bash").length)
      .toBeGreaterThan(0);
    expect(traces().toSorted()).toEqual(EVERY_TRACE);
  }, LIMIT);

  test("a program that embeds it: its own tools, in the turns of its own code and outside of them", async () => {
    const leave = (file: string) => () => writeFileSync(join(workspace.path, file), "");
    const embedded = tool({
      name: "embedded_canary",
      description: "A tool of a test.",
      inProcess: true,
      parameters: v.object({}),
      execute: leave("canary-bash"),
    });
    class Embedding extends Agent {
      override readonly tools = [embedded];
      override async generateResponse(_input: string): Promise<string> {
        return JSON.stringify(await this.executeTool("embedded_canary", {}));
      }
    }
    const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
    const walk = async () => {
      await using agent = new Embedding({ workspace: workspace.path, trustWorkspace: true, mode: "yolo", model, env });
      const said = [JSON.parse(await agent.generateResponse("go")) as unknown, await agent.executeTool("embedded_canary", {})];
      // And the runtime by itself, with every tool there is.
      const runtime = openAgent({ workspace: workspace.path, trustWorkspace: true, mode: "yolo", model, env });
      try {
        const { refusal } = await runtime.callTool({ name: "write_file", arguments: JSON.stringify(BUILTINS["write_file"]) });
        return [...said, refusal?.reason];
      } finally {
        await runtime.close();
      }
    };
    await guard();
    expect(await walk()).toEqual([{ error: REFUSED }, { error: REFUSED }, REFUSED]);
    expect(traces()).toEqual([]);
    unguard();
    await walk();
    expect(traces()).toEqual(["bash", "write"]);
  }, LIMIT);

  test("orrery demo", async () => {
    const play = async () => {
      const before = await sessions();
      await orrery("demo");
      const events = await Promise.all((await sessions()).filter((id) => !before.includes(id)).map(eventsOf));
      return events.flat().filter(({ type }) => type === "call_started").length;
    };
    await guard();
    expect(await play()).toBe(0);
    unguard();
    expect(await play()).toBeGreaterThan(0);
  }, LIMIT);
});
