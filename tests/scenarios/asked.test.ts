/** Questions of `run` and `tools call` on a terminal: what ends one without an answer, and what happens beside one. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal, type TerminalRun } from "../host/terminal.ts";
import { noTmux, openWindow } from "../host/tmux.ts";

const LIMIT = 60_000;
const CTRL_C = "\x03";
const CTRL_D = "\x04";
const QUESTION = "Run it? [y/N] ";
/** The signal of a terminal that went away ends nothing, as under `nohup`. */
const DEAF = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"];

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

const start = () => ({ cwd: workspace.path, home: workspace.home });
const there = (name: string) => existsSync(join(workspace.path, name));
const call = (name: string, more: object = {}) => ({ name, arguments: more });

/** A tool that is asked about and leaves a file. */
async function mark(name: string): Promise<void> {
  await workspace.tool(name, `touch ${name}-ran`, 'approval = "always"');
}

async function events(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const listed = JSON.parse((await runOrrery(["sessions", "list", "--json"], start())).stdout) as { sessions: { session: string }[] };
  const id = listed.sessions[0]?.session;
  if (id === undefined) return [];
  const { stdout } = await runOrrery(["sessions", "events", id], start());
  return stdout.trim().split("\n").map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

async function recorded(type: string): Promise<void> {
  while (!(await events()).some((event) => event["type"] === type)) await delay(20);
}

describe.skipIf(!hasTerminal)("a question on a terminal (by util-linux script)", () => {
  const callMark = (through: readonly string[] = []) =>
    startOnTerminal(["tools", "call", "mark", "--trust-workspace"], { ...start(), through });
  const runModel = (model: string, ...more: readonly string[]) =>
    startOnTerminal(["run", "--trust-workspace", "--mode", "normal", "--model", model, ...more], start());

  for (const [keys, what] of [[CTRL_D, "Ctrl-D"], [`y${CTRL_D}${CTRL_D}`, "a yes that was not entered, and Ctrl-D"]] as const) {
    test(`of tools call: ${what} is a no`, async () => {
      await mark("mark");
      const run = callMark();
      await run.waitFor(QUESTION);
      run.type(keys);
      const { code, shown } = await run.ended();
      expect([code, there("mark-ran")]).toEqual([4, false]);
      expect(shown).toContain(`${QUESTION}\r\nthe user gave no answer`);
    }, LIMIT);
  }

  test("of run: Ctrl-D answers one with no, and the next can still be answered", async () => {
    for (const name of ["one", "two"]) await mark(name);
    const run = runModel(await workspace.script({ calls: [call("one"), call("two")] }, { text: "The end." }), "go");
    await run.next(QUESTION);
    run.type(CTRL_D);
    await run.next(QUESTION);
    run.type("y\n");
    const { code, shown } = await run.ended();
    expect([code, there("one-ran"), there("two-ran")]).toEqual([0, false, true]);
    expect(shown).toContain("The end.");
  }, LIMIT);

  test("can be answered although the prompt, or the input of a call, was ended by Ctrl-D", async () => {
    await mark("mark");
    const answered = async (run: TerminalRun, typed: string) => {
      run.type(`${typed}\n${CTRL_D}`);
      await run.next(QUESTION);
      run.type("y\n");
      expect((await run.ended()).code).toBe(0);
      expect(there("mark-ran")).toBe(true);
    };
    await answered(runModel(await workspace.script({ calls: [call("mark")] }, { text: "The end." }), "-"), "go");
    const input = startOnTerminal(["tools", "call", "mark", "--trust-workspace", "--input", "-"], start());
    await answered(input, "{}");
  }, LIMIT);

  test("whether to trust: Ctrl-D is a no, and the run goes on", async () => {
    await mark("mark");
    const model = await workspace.script({ text: "The end." });
    const run = startOnTerminal(["run", "--model", model, "go"], start());
    await run.waitFor("Trust them now? [y/N] ");
    run.type(CTRL_D);
    const { code, shown } = await run.ended();
    expect(code).toBe(0);
    expect(shown).toMatch(/\[y\/N\] \r\n[\s\S]*Not active[\s\S]*The end\./);
  }, LIMIT);

  test("of chat, whether to trust: Ctrl-D is a no, and leaves", async () => {
    await mark("mark");
    const model = await workspace.script({ text: "never" });
    const run = startOnTerminal(["chat", "--model", model], start());
    await run.next("Trust them now? [y/N] ");
    run.type(CTRL_D);
    const { code, shown } = await run.ended();
    expect([code, shown.split("[y/N]").length - 1]).toEqual([0, 1]);
  }, LIMIT);

  test("of chat: Ctrl-D is a no, and leaves", async () => {
    await mark("mark");
    for (const [TERM, enter, keys] of [["xterm", "\r", CTRL_D], ["dumb", "\n", CTRL_D], ["dumb", "\n", `y${CTRL_D}${CTRL_D}`]] as const) {
      const model = await workspace.script({ calls: [call("mark")] }, { text: "The end." });
      const run = startOnTerminal(["chat", "--trust-workspace", "--model", model], { ...start(), env: { TERM } });
      await run.next("normal> ");
      run.type(`go${enter}`);
      await run.next(QUESTION);
      run.type(keys);
      expect([(await run.ended()).code, there("mark-ran")]).toEqual([0, false]);
    }
  }, LIMIT);

  test("is a no when the terminal goes away, also where its signal is ignored", async () => {
    await mark("mark");
    const model = await workspace.script({ calls: [call("mark")] }, { text: "The end." });
    for (const [through, ending] of [[[], "cancelled"], [DEAF, "completed"]] as const) {
      const args = ["run", "--trust-workspace", "--mode", "normal", "--model", model, "go"];
      const run = startOnTerminal(args, { ...start(), through });
      await run.next(QUESTION);
      run.hangUp();
      await recorded("turn_ended");
      const end = (await events()).find(({ type }) => type === "turn_ended");
      expect([end?.["reason"], there("mark-ran")]).toEqual([ending, false]);
    }
  }, LIMIT);

  test("is not put any more once the turn is stopped", async () => {
    for (const name of ["one", "two"]) await mark(name);
    const run = runModel(await workspace.script({ calls: [call("one"), call("two")] }, { text: "never" }), "go");
    await run.next(QUESTION);
    run.type(CTRL_C);
    const { code, shown } = await run.ended();
    expect([code, shown.split(QUESTION).length - 1]).toEqual([130, 1]);
    expect(shown).toMatch(/\[y\/N\] (?:\^C)?\r\norrery: Stopping/);
  }, LIMIT);
});

describe.skipIf(noTmux !== null)(`beside a question${noTmux === null ? "" : ` (not looked at, as ${noTmux})`}`, () => {
  for (const TERM of ["screen-256color", "dumb"]) {
    test(`the result of a call that ran along comes when it is answered, with TERM=${TERM}`, async () => {
      await mark("mark");
      const slow = "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done";
      await workspace.tool("slow", slow, "read_only = true\ntimeout_ms = 50000");
      await workspace.tool("ask", "echo answered", 'read_only = true\napproval = "always"');
      const model = await workspace.script({ calls: [call("slow"), call("ask")] }, { text: "The end." });
      const args = ["run", "--trust-workspace", "--mode", "normal", "--model", model, "go"];
      const window = openWindow(args, { ...start(), env: { TERM, NO_COLOR: "1" } });
      try {
        await window.until("the question", (rows) => rows.at(-1) === QUESTION.trim());
        while (!there("begun")) await delay(20);
        const asked = window.screen();
        await workspace.write("go", "");
        await recorded("call_ended");
        // What was recorded was shown at once, before; an answer shows that nothing is on its way.
        window.type("y");
        await window.until("the answer", (rows) => rows.at(-1) === `${QUESTION}y`);
        expect(window.screen()).toEqual([...asked.slice(0, -1), `${QUESTION}y`]);
        window.press("Enter");
        expect(await window.ended()).toBe(0);
        const all = window.everything().split("\n");
        // A dumb terminal is told once of what takes longer than a second.
        const after = all.slice(all.indexOf(`${QUESTION}y`) + 1).filter((row) => !row.startsWith("  running slow"));
        expect(after.slice(0, 3).map((row) => row.replace(/ · .*/, ""))).toEqual(["  slow ok", "  ask ok", "The end."]);
      } finally {
        window.close();
      }
    }, LIMIT);
  }
});
