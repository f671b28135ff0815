/** Tool files in TypeScript, JavaScript and Python, by the command line: found, trusted, listed, checked, called, killed. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, onDeno, runOrrery, signal, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;

/** From source: it takes packages only from its own configuration. */

beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

const SHOP = `import { tool, ValidationError } from "orrery";
import * as v from "valibot";
import { writeFileSync } from "node:fs";

writeFileSync("loaded-ts", "");
export const greet = tool({
  name: "greet",
  description: "Greet somebody.",
  read_only: true,
  parameters: v.object({ name: v.string() }),
  execute({ name }, { status, progress }) {
    status("thinking", \`about \${name}\`);
    progress("greeting", 50);
    console.log("printed");
    return { text: \`hello \${name}\` };
  },
});
export const refuse = tool({
  name: "refuse",
  description: "Refuse.",
  parameters: v.object({}),
  execute() {
    throw new ValidationError("never");
  },
});
`;
const BROKEN = `import { tool } from "orrery";
import * as v from "valibot";

export const broken = tool({
  name: "broken",
  description: "Break.",
  parameters: v.object({}),
  execute() {
    console.log("before it broke");
    throw new TypeError("no till");
  },
});
`;
const PLAIN = `import { tool } from "orrery";
export default tool({ name: "plain", description: "Where it is.", parameters: { type: "object", properties: {} }, execute: () => process.cwd() });
`;
const TICKET = `from stella_sdk import tool

open("loaded-py", "w").close()

@tool
async def ticket(title: str) -> dict:
    """Make a ticket."""
    await agent.send_status("thinking", "about " + title)
    print("printed")
    return {"ticket": title}
`;

async function writeTools(): Promise<void> {
  await workspace.write(".orrery/tools/shop.ts", SHOP);
  await workspace.write(".orrery/tools/plain.js", PLAIN);
  await workspace.write(".orrery/tools/ticket.py", TICKET);
}

function orrery(...args: readonly string[]) {
  return runOrrery(args, { cwd: workspace.path, home: workspace.home });
}

interface Row {
  readonly name: string | null;
  readonly status: string;
  readonly reason?: string;
  readonly origin: { readonly system: string; readonly scope: string; readonly path?: string };
}

/** The rows of tool files in code. */
async function list(...flags: readonly string[]): Promise<readonly Row[]> {
  const { stdout } = await orrery("tools", "--json", ...flags);
  return (JSON.parse(stdout) as { tools: readonly Row[] }).tools.filter(({ origin }) => origin.system === "sdk");
}

const named = (rows: readonly Row[]) => rows.map(({ name, status }) => `${name} ${status}`);

describe("a tool file in code", () => {
  test("is listed without a name and not run before it is trusted, then with all its tools", async () => {
    await writeTools();
    expect(named(await list())).toEqual(["null untrusted", "null untrusted", "null untrusted"]);
    const { stdout } = await orrery("tools", "--validate", "--json");
    expect((JSON.parse(stdout) as { files: readonly { diagnostics: readonly object[] }[] }).files.map(({ diagnostics }) => diagnostics))
      .toMatchObject([[{ code: "not_loaded" }], [{ code: "not_loaded" }], [{ code: "not_loaded" }]]);
    const model = await workspace.script({ text: "{{tools}}" });
    await orrery("run", "--model", model, "go");
    for (const trace of ["loaded-ts", "loaded-py"]) expect(existsSync(join(workspace.path, trace))).toBe(false);

    await orrery("trust");
    const trusted = await list();
    expect(named(trusted)).toEqual(["greet offered", "plain offered", "refuse offered", "ticket offered"]);
    expect(trusted[0]).toMatchObject({ read_only: true, description: "Greet somebody.", approval: "never" });
    const checked = JSON.parse((await orrery("tools", "--validate", "--json")).stdout) as { ok: boolean; files: readonly object[] };
    expect(checked).toMatchObject({
      ok: true,
      files: [{ tool: "plain", diagnostics: [] }, { tool: "greet", tools: ["greet", "refuse"], diagnostics: [] }, {
        tool: "ticket",
      }],
    });
  }, 60_000);

  test("is called by hand and by a model, in every language, whatever it prints", async () => {
    await writeTools();
    await workspace.write(".orrery/tools/breaks.ts", BROKEN);
    await orrery("trust");
    const call = (name: string, input: object) => orrery("tools", "call", name, "--input", JSON.stringify(input));
    expect(await call("greet", { name: "ada" })).toMatchObject({ code: 0, stdout: '{"text":"hello ada"}' });
    expect(await call("plain", {})).toMatchObject({ code: 0, stdout: JSON.stringify(workspace.path) });
    expect(await call("ticket", { title: "leak" })).toMatchObject({ code: 0, stdout: '{"ticket":"leak"}' });
    expect(await call("refuse", {})).toMatchObject({ code: 1, stdout: "never" });
    // What it prints, and the stack of what it throws, are for people.
    const broken = await call("broken", {});
    expect(broken).toMatchObject({ code: 1, stdout: "TypeError: no till" });
    for (const said of ["before it broke", "breaks.ts"]) expect(broken.stderr).toContain(said);
    expect((await call("ticket", { title: "leak" })).stderr).toContain("printed");
    const brokenCall = JSON.parse((await orrery("tools", "call", "broken", "--json")).stdout) as Record<string, unknown>;
    expect(brokenCall).toMatchObject({ is_error: true, text: "TypeError: no till", printed: expect.stringContaining("before it broke") });
    expect(await call("greet", { name: 7 })).toMatchObject({ code: 1, stdout: expect.stringContaining("/name") });

    const model = await workspace.script(
      { calls: [{ name: "greet", arguments: { name: "bob" } }, { name: "ticket", arguments: { title: "tap" } }] },
      { text: "{{result}}" },
    );
    const run = await orrery("run", "--output-format", "stream-json", "--model", model, "go");
    const events = run.stdout.trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
    const ends = events.filter(({ type }) => type === "call_ended");
    expect(ends).toMatchObject([
      { outcome: { kind: "returned" }, result: { is_error: false, data: { text: "hello bob" } } },
      { outcome: { kind: "exited", code: 0 }, result: { is_error: false, data: { ticket: "tap" } } },
    ]);
    // What a tool tells is live: it has no place in the log, and the call it belongs to.
    const told = events.filter(({ type, sent }) => type === "status" && sent !== undefined);
    expect(told).toMatchObject([
      { status: "thinking", text: "about bob", call: ends[0]?.["call"], sent: { type: "agent_status" } },
      { status: "progress_update", sent: { type: "progress_update", data: { task_id: "greeting", progress: 50 } } },
      { status: "thinking", text: "about tap", call: ends[1]?.["call"] },
    ]);
    expect(told.some((event) => "seq" in event)).toBe(false);
  }, 60_000);

  test.skipIf(onDeno)("may import packages, wherever their package.json says they begin (not Deno)", async () => {
    const packages = {
      "exported/package.json": '{ "type": "module", "exports": { ".": "./lib/first.js", "./more": { "default": "./lib/second.js" } } }',
      "exported/lib/first.js": 'export const first = "first";',
      "exported/lib/second.js": 'export const second = "second";',
      "@scope/entered/package.json": '{ "main": "third" }',
      "@scope/entered/third.js": 'exports.third = "third";',
      "typed/package.json": '{ "module": "./fourth.ts" }',
      "typed/fourth.ts": 'export const fourth: string = "fourth";',
    };
    for (const [path, text] of Object.entries(packages)) await workspace.write(`node_modules/${path}`, text);
    for (const extension of ["ts", "js"]) {
      const file = `import { tool } from "orrery";
        import { first } from "exported";
        import { second } from "exported/more";
        import { third } from "@scope/entered";
        const parameters = { type: "object", properties: {} };
        const execute = async () => [first, second, third, (await import("typed")).fourth].join();
        export default tool({ name: "packed_${extension}", description: "Say what was imported.", parameters, execute });`;
      await workspace.write(`.orrery/tools/packed.${extension}`, file);
      const { stdout, stderr } = await orrery("tools", "call", `packed_${extension}`, "--trust-workspace");
      expect({ stdout, stderr }).toMatchObject({ stdout: '"first,second,third,fourth"' });
    }
  }, 60_000);

  test("that is broken, or never answers, hides no other and says what is wrong", async () => {
    await writeTools();
    await workspace.write(".orrery/tools/a-broken.ts", "export const x: = 1;\n");
    await workspace.write(".orrery/tools/b-exits.py", "import sys\nsys.exit(3)\n");
    await workspace.write(".orrery/tools/c-hangs.js", "await new Promise(() => setInterval(() => {}, 1000));\n");
    await workspace.write(".orrery/tools/d-empty.ts", "export const nothing = 1;\n");
    await workspace.write(".orrery/tools/e-types.d.ts", "export {};\n");
    await workspace.write(".orrery/tools/f-dies.ts", "process.kill(process.pid, 'SIGKILL');\n");
    const rows = await list("--trust-workspace");
    expect(rows.filter(({ status }) => status === "offered").map(({ name }) => name)).toEqual(["greet", "plain", "refuse", "ticket"]);
    const broken = new Map(
      rows.filter(({ status }) => status === "broken").map(({ origin, reason }) => [origin.path?.split("/").at(-1), reason]),
    );
    expect([...broken.keys()].toSorted()).toEqual(["a-broken.ts", "b-exits.py", "c-hangs.js", "f-dies.ts"]);
    expect(broken.get("a-broken.ts")).toMatch(/^line 1/);
    expect(broken.get("b-exits.py")).toContain("sys.exit(3)");
    expect(broken.get("c-hangs.js")).toContain("timed out after 10000 ms");
    expect(broken.get("f-dies.ts")).toContain("SIGKILL");
    const validated = await orrery("tools", "--validate", "--trust-workspace");
    expect([validated.code, validated.stderr]).toEqual([5, expect.stringContaining("4 with errors")]);
    expect(validated.stdout).toMatch(/d-empty\.ts.*\n +info: The file has no tools/);
  }, 120_000);

  test("is named to whoever calls a tool that it may have: not trusted, changed since, or broken", async () => {
    const path = await workspace.write(".orrery/tools/plain.js", PLAIN);
    const call = async (name: string, ...flags: readonly string[]) => {
      const { code, stdout } = await orrery("tools", "call", name, ...flags);
      return `${code} ${stdout}`;
    };
    // By the file's name it is nearly sure, by another it may be.
    expect(await call("plain")).toMatch(/^4 "plain" is not active: .*not trusted.*orrery trust/);
    expect(await call("other")).toMatch(/^2 There is no tool named "other"\.\nIt may be .*\n- .*plain\.js: .*not trusted.*orrery trust/);
    await orrery("trust");
    expect(await call("plain")).toStartWith("0 ");
    await writeFile(path, `${PLAIN}// changed\n`);
    expect(await call("plain")).toMatch(/^4 "plain" is not active: .*chang.*orrery trust/);
    await writeFile(path, `import "./gone.js";\n${PLAIN}`);
    expect(await call("plain", "--trust-workspace")).toMatch(/plain\.js is broken: .*gone\.js/);
    expect(await call("other", "--trust-workspace")).toMatch(/\n- .*plain\.js: .*gone\.js/);
  }, 60_000);

  test("is loaded by every check: what it imports may be gone since", async () => {
    await workspace.write(".orrery/tools/plain.js", `import "../../part.js";\n${PLAIN}`);
    const part = await workspace.write("part.js", "");
    const check = () => orrery("tools", "--validate", "--trust-workspace");
    expect(await check()).toMatchObject({ code: 0 });
    await rm(part);
    const { code, stdout } = await check();
    expect([code, stdout]).toEqual([5, expect.stringContaining("part.js")]);
    expect(named(await list("--trust-workspace"))).toEqual(["null broken"]);
  }, 60_000);

  test("loses its name to a file before it, tool by tool, and never to one that is not trusted", async () => {
    await workspace.write(".orrery/tools/a.py", TICKET);
    await workspace.write(".orrery/tools/b.ts", SHOP.replaceAll('"greet"', '"ticket"'));
    await workspace.tool("refuse", "echo");
    const mine = join(workspace.home, "config/tools/mine.py");
    await mkdir(dirname(mine), { recursive: true });
    await writeFile(mine, TICKET);
    const of = (rows: readonly Row[]) => rows.map(({ name, status, origin }) => `${origin.scope} ${name} ${status}`);
    expect(of(await list("--trust-workspace"))).toEqual([
      "workspace refuse offered",
      "workspace ticket offered",
      "workspace ticket shadowed",
      "user ticket shadowed",
    ]);
    expect(of(await list())).toEqual(["user ticket offered", "workspace null untrusted", "workspace null untrusted"]);
  }, 60_000);

  test("that has changed since the session read it is not run", async () => {
    await workspace.write(".orrery/tools/ticket.py", TICKET);
    await workspace.tool("rewrite", `printf '%s' 'open("canary", "w")' > .orrery/tools/ticket.py`);
    const model = await workspace.script(
      { calls: [{ name: "rewrite", arguments: {} }, { name: "ticket", arguments: { title: "x" } }] },
      { text: "done" },
    );
    const run = await orrery("run", "--trust-workspace", "--output-format", "json", "--model", model, "go");
    expect(JSON.parse(run.stdout)).toMatchObject({
      calls: [{ is_error: false }, { is_error: true, outcome: { kind: "not_started", reason: "cannot_start" } }],
    });
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  }, 60_000);

  test("may flood its output, never answer, or return what cannot be held: each is that call's result", async () => {
    await workspace.write(
      ".orrery/tools/bad.ts",
      `import { tool } from "orrery";
const nothing = { type: "object", properties: {} };
const define = (name, execute) => tool({ name, description: name, parameters: nothing, timeoutMs: 3000, execute });
export const flood = define("flood_ts", () => { const line = "x".repeat(1000); for (let i = 0; i < 20000; i++) console.log(line); return "flooded"; });
export const hang = define("hang_ts", () => new Promise(() => setInterval(() => {}, 1000)));
export const hold = define("hold_ts", () => ({ n: 1n }));
export const thrown = define("throw_ts", () => { throw "a text"; });
export const gone = define("gone_ts", () => process.exit(3));
`,
    );
    await workspace.write(
      ".orrery/tools/bad.py",
      `from stella_sdk import tool
import os, time
@tool
def flood_py() -> str:
    for _ in range(20000): print("x" * 1000)
    return "flooded"
@tool(timeout_ms=3000)
def hang_py() -> None:
    while True: time.sleep(1)
@tool
def hold_py() -> dict:
    return {"n": {1}}
@tool
def gone_py() -> None:
    os._exit(3)
`,
    );
    await orrery("trust");
    const outcomes: Readonly<Record<string, readonly [number, string]>> = {
      flood_ts: [0, '"flooded"'],
      flood_py: [0, '"flooded"'],
      hang_ts: [1, "timed out after 3000 ms"],
      hang_py: [1, "timed out after 3000 ms"],
      hold_ts: [1, '["n"] is of type bigint'],
      hold_py: [1, '["n"] is of type set'],
      throw_ts: [1, "what is not an error: a text"],
      gone_ts: [1, "exit code 3"],
      gone_py: [1, "exit code 3"],
    };
    for (const [name, [code, text]] of Object.entries(outcomes)) {
      const called = await orrery("tools", "call", name);
      expect([name, called.code, called.stdout]).toEqual([name, code, expect.stringContaining(text)]);
    }
  }, 120_000);

  for (const format of ["ts", "py"] as const) {
    test(`is written by orrery tools create --format ${format}, works as it is, and is trusted until it is changed`, async () => {
      const created = await orrery("tools", "create", "hello_you", "--format", format, "--json");
      expect(JSON.parse(created.stdout)).toEqual({
        schema_version: 1,
        tool: "hello_you",
        format,
        files: [join(workspace.path, `.orrery/tools/hello_you.${format}`)],
      });
      const called = await orrery("tools", "call", "hello_you", "--input", '{"message":"it\'s \\"me\\""}');
      expect([called.code, called.stdout]).toEqual([0, '"it\'s \\"me\\""']);
      expect((await orrery("tools", "create", "hello_you", "--format", format)).code).toBe(2);
      for (const name of ["bash", "Upper", "a/b", "mcp__a__b", ...(format === "py" ? ["class"] : [])]) {
        expect([name, (await orrery("tools", "create", "--format", format, "--", name)).code]).toEqual([name, 2]);
      }
      await workspace.write(`.orrery/tools/other.${format}`, format === "ts" ? SHOP : TICKET);
      expect(named(await list())).toEqual(["hello_you offered", "null untrusted"]);
      await workspace.write(`.orrery/tools/hello_you.${format}`, format === "ts" ? SHOP : TICKET);
      expect(named(await list())).toEqual(["null untrusted", "null untrusted"]);
      for (const trace of ["loaded-ts", "loaded-py"]) expect(existsSync(join(workspace.path, trace))).toBe(false);
    }, 60_000);
  }
});

const SLOW: Readonly<Record<"ts" | "py", string>> = {
  ts: `import { tool } from "orrery";
import * as v from "valibot";
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
export default tool({
  name: "slow", description: "Slow.", parameters: v.object({}),
  async execute() {
    const escaped = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
    escaped.unref();
    appendFileSync("effects", "x\\n");
    appendFileSync("pids", process.pid + "\\n" + escaped.pid + "\\n");
    await new Promise((resolve) => setTimeout(resolve, 60000));
  },
});
`,
  py: `from stella_sdk import tool
import asyncio, os, subprocess
@tool
async def slow() -> str:
    """Slow."""
    escaped = subprocess.Popen(["sleep", "60"], start_new_session=True)
    with open("effects", "a") as file: file.write("x\\n")
    with open("pids", "a") as file: file.write("%d\\n%d\\n" % (os.getpid(), escaped.pid))
    await asyncio.sleep(60)
`,
};

describe("kill -9 of the runtime in the middle of a call", () => {
  for (const language of ["ts", "py"] as const) {
    test(`of a .${language} tool ends it as unknown, leaves no process and runs nothing twice`, async () => {
      await workspace.write(`.orrery/tools/slow.${language}`, SLOW[language]);
      const model = await workspace.script({ calls: [{ name: "slow", arguments: {} }] }, { text: "It is not known." });
      const start = { cwd: workspace.path, home: workspace.home };
      const runtime = startOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "stream-json", "go"], start);
      const end = ended(runtime);
      let told = "";
      runtime.stdout?.on("data", (chunk: string) => void (told += chunk));
      await until(() => existsSync(join(workspace.path, "pids")));
      signal(runtime, "SIGKILL");
      await end;
      const session = (JSON.parse(told.slice(0, told.indexOf("\n"))) as { session: string }).session;
      const pids = readFileSync(join(workspace.path, "pids"), "utf8").trim().split("\n").map(Number);
      expect(pids.length).toBe(2);
      await until(() => !pids.some(isAlive));

      const resumed = await runOrrery(["sessions", "resume", session, "--trust-workspace", "--output-format", "json", "--events"], start);
      expect(resumed.code).toBe(0);
      const { text, calls, events } = JSON.parse(resumed.stdout) as { text: string; calls: object[]; events: { type: string }[] };
      expect([text, calls]).toMatchObject(["It is not known.", [{ name: "slow", is_error: true, outcome: { kind: "unknown" } }]]);
      expect(events.filter(({ type }) => type === "call_started").length).toBeLessThanOrEqual(1);
      expect(readFileSync(join(workspace.path, "effects"), "utf8")).toBe("x\n");
    }, 60_000);
  }
});

async function until(condition: () => boolean): Promise<void> {
  for (const began = Date.now(); !condition();) {
    if (Date.now() - began > 20_000) throw new Error(`It did not come to pass: ${condition}`);
    await sleep(20);
  }
}
