/** `orrery chat` on a real pseudo-terminal. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "../fixtures/alive.ts";
import { greetFile } from "../fixtures/greet.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal, type TerminalRun } from "../host/terminal.ts";

const CTRL_C = "\x03";
const CTRL_D = "\x04";
const UP = "\x1b[A";
const ENTER = "\r";
const LIMIT = 30_000;

let workspace: TestWorkspace;
let open: TerminalRun | null;
beforeEach(async () => {
  workspace = await createWorkspace();
  open = null;
});
afterEach(async () => {
  // Whatever a test left open ends with its input.
  open?.type(CTRL_C + CTRL_C + CTRL_C + CTRL_D);
  await open?.ended();
  await workspace.remove();
});

interface Chat {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
}

const call = (name: string, input: object) => ({ calls: [{ name, arguments: input }] });
const bash = (command: string) => call("bash", { command });

/** Starts a conversation with a model that gives these replies, and waits for its prompt. */
async function chat(replies: readonly object[], { args = [], ...start }: Chat = {}): Promise<TerminalRun> {
  const model = args.includes("--model") ? [] : ["--model", await workspace.script(...replies)];
  const run = startOnTerminal(["chat", ...model, ...args], { cwd: workspace.path, home: workspace.home, ...start });
  open = run;
  return run;
}

async function enter(run: TerminalRun, text: string, prompt = "normal> "): Promise<void> {
  await run.next(prompt);
  run.type(text + ENTER);
}

async function leave(run: TerminalRun, prompt = "normal> "): Promise<string> {
  await run.next(prompt);
  run.type(CTRL_D);
  const { code, shown } = await run.ended();
  expect(code).toBe(0);
  return shown;
}

async function json<T>(...args: readonly string[]): Promise<T> {
  return JSON.parse((await runOrrery([...args, "--json"], { cwd: workspace.path, home: workspace.home })).stdout) as T;
}

interface Summary {
  readonly session: string;
  readonly status: string;
}
const sessions = async () => (await json<{ sessions: readonly Summary[] }>("sessions", "list")).sessions;

async function promptsOf(session: string): Promise<readonly string[]> {
  const { messages } = await json<{ messages: readonly { role: string; text: string }[] }>("sessions", "show", session);
  return messages.filter(({ role }) => role === "user").map(({ text }) => text);
}

/** Why each turn of the session ended. */
async function endsOfTurns(): Promise<readonly (string | undefined)[]> {
  const { stdout } = await runOrrery(["sessions", "events", (await sessions())[0]?.session ?? ""], { home: workspace.home });
  const lines = stdout.split("\n").filter((line) => line.includes('"turn_ended"'));
  return lines.map((line) => (JSON.parse(line) as { readonly detail?: string }).detail);
}

const turnsEnded = async () => (await endsOfTurns()).length;

const at = (path: string) => join(workspace.path, path);
async function appears(path: string): Promise<void> {
  while (!existsSync(at(path))) await delay(5);
}
/** Shell text that says it has begun and waits to be let go on. */
const waitingFor = (go: string, begun: string) => `touch ${begun}; while [ ! -e ${go} ]; do sleep 0.02; done`;

describe.skipIf(!hasTerminal)("orrery chat", () => {
  describe("asks before a call that needs approval", () => {
    for (const [answer, does] of [["y", true], ["n", false], ["", false]] as const) {
      test(`showing the rendered command of a Nanocoder tool, and "${answer}" counts`, async () => {
        await workspace.write(".nanocoder/tools/greet.md", greetFile(" | tee greeted"));
        const run = await chat([call("greet", { who: "it's me" }), { text: "It said: {{result greet}}" }], { args: ["--trust-workspace"] });
        await enter(run, "greet me");
        await run.next("by /bin/bash in ");
        await run.next(`printf 'hello %s\\n' 'it'\\''s me' | tee greeted`);
        await run.next("Run it? [y/N] ");
        expect(existsSync(at("greeted"))).toBe(false);
        run.type(answer + ENTER);
        await run.next(does ? "hello it's me" : "the user said no");
        await run.next("It said: ");
        await leave(run);
        expect(existsSync(at("greeted"))).toBe(does);
      }, LIMIT);
    }

    test("showing the command of bash, and the input of what has none", async () => {
      const run = await chat([bash("touch \x1b[2Jcanary"), call("write_file", { path: "a.txt", content: "text" }), {
        text: "Both refused.",
      }]);
      await enter(run, "go");
      await run.next("touch <U+001B>[2Jcanary");
      await run.next("Run it? [y/N] ");
      run.type(`n${ENTER}`);
      await run.next('{"content":"text","path":"a.txt"}');
      await run.next("Run it? [y/N] ");
      run.type(`no${ENTER}`);
      await run.next("Both refused.");
      expect(await leave(run)).not.toContain("\x1b[2J");
    }, LIMIT);
  });

  test("a tool's and a model's control characters do not reach the terminal", async () => {
    const run = await chat([{ text: "words \x1b[2J\x1b]0;title\x07", ...bash("printf 'out \\033[2J\\033[31m'") }, { text: "done" }], {
      args: ["--mode", "yolo"],
    });
    await enter(run, "go", "yolo> ");
    await run.next("words \ufffd[2J\ufffd]0;title\ufffd");
    await run.next("out \ufffd[2J");
    await leave(run, "yolo> ");
  }, LIMIT);

  test("/mode changes what may run while the turn runs, and is asked for by its name", async () => {
    const run = await chat([bash(waitingFor("go", "begun")), bash("touch canary"), { text: "done" }], { args: ["--mode", "yolo"] });
    await enter(run, "go", "yolo> ");
    await appears("begun");
    run.type(`/mode nrmal${ENTER}`);
    await run.next("there are normal, auto-accept");
    run.type(`/mode normal${ENTER}`);
    await run.next("Mode normal");
    await workspace.write("go", "");
    await run.next("Run it? [y/N] ");
    run.type(`/mode${ENTER}`);
    await run.next("Mode normal. There are normal, auto-accept");
    await run.next("Run it? [y/N] ");
    run.type(`y${ENTER}`);
    await run.next("done");
    await leave(run);
    expect(existsSync(at("canary"))).toBe(true);
    const [session] = await sessions();
    expect(session).toMatchObject({ mode: "normal", status: "idle" });
  }, LIMIT);

  for (const [mode, ran] of [["yolo", true], ["plan", false]] as const) {
    test(`/mode ${mode} at a question takes it back and decides every call of the reply`, async () => {
      const run = await chat([{ calls: [...bash("touch one").calls, ...bash("touch two").calls] }, { text: "That was it." }]);
      await enter(run, "go");
      await run.next("needs approval in mode normal");
      await run.next("Run it? [y/N] ");
      run.type(`/mode ${mode}${ENTER}`);
      await run.next(`Mode ${mode}`);
      await run.next("That was it.");
      const shown = await leave(run, `${mode}> `);
      expect(shown.split("needs approval")).toHaveLength(2);
      expect([existsSync(at("one")), existsSync(at("two"))]).toEqual([ran, ran]);
    }, LIMIT);
  }

  test("/mode at a question that the new mode asks as well puts it again, in that mode's name", async () => {
    await workspace.write(".nanocoder/tools/greet.md", greetFile(" | tee greeted"));
    const run = await chat([call("greet", { who: "you" }), { text: "That was it." }], { args: ["--trust-workspace"] });
    await enter(run, "greet me");
    await run.next("needs approval in mode normal");
    await run.next("Run it? [y/N] ");
    run.type(`/mode architect${ENTER}`);
    await run.next("Mode architect");
    await run.next("needs approval in mode architect");
    await run.next("Run it? [y/N] ");
    run.type(`y${ENTER}`);
    await run.next("That was it.");
    await leave(run, "architect> ");
    expect(existsSync(at("greeted"))).toBe(true);
  }, LIMIT);

  test("what is shown waits while a line is typed, and the line becomes the next prompt", async () => {
    const run = await chat([bash(`${waitingFor("go", "begun")}; echo result-of-one`), bash("touch second"), { text: "first answer" }, {
      text: "second answer",
    }], { args: ["--mode", "yolo"] });
    await enter(run, "go", "yolo> ");
    await appears("begun");
    run.type("and then");
    await run.next("and then");
    await workspace.write("go", "");
    await appears("second");
    expect(run.shown()).not.toContain("result-of-one");
    run.type(ENTER);
    for (const text of ["result-of-one", "first answer", "second answer"]) await run.next(text);
    await leave(run, "yolo> ");
    expect(await promptsOf((await sessions())[0]?.session ?? "")).toEqual(["go", "and then"]);
  }, LIMIT);

  test("a line that is taken back lets what waited through, also after the turn has ended", async () => {
    const run = await chat([bash(waitingFor("go", "begun")), { text: "the answer" }], { args: ["--mode", "yolo"] });
    await enter(run, "go", "yolo> ");
    await appears("begun");
    run.type("abc");
    await run.next("abc");
    await workspace.write("go", "");
    while ((await turnsEnded()) === 0) await delay(20);
    expect(run.shown()).not.toContain("the answer");
    run.type("\x7f\x7f\x7f");
    await run.next("the answer");
    await leave(run, "yolo> ");
  }, LIMIT);

  test("Ctrl-C stops the turn at a safe point and the conversation goes on; twice at the prompt leaves", async () => {
    const run = await chat([bash(`${waitingFor("go", "begun")}; touch finished`), { text: "never said" }], { args: ["--mode", "yolo"] });
    await enter(run, "go", "yolo> ");
    await appears("begun");
    run.type(CTRL_C);
    await run.next("Stopping at the next safe point");
    await workspace.write("go", "");
    await run.next("cancelled: stopped by the user");
    expect([existsSync(at("finished")), run.shown().includes("never said")]).toEqual([true, false]);
    await enter(run, "go on", "yolo> ");
    await run.next("never said");
    await run.next("yolo> ");
    run.type(`half a line${CTRL_C}`);
    await run.next("yolo> ");
    run.type(CTRL_C);
    await run.next("once more leaves");
    run.type(CTRL_C);
    expect((await run.ended()).code).toBe(0);
  }, LIMIT);

  test("Ctrl-C twice ends a call at once and leaves", async () => {
    const run = await chat([bash("echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600"), { text: "never" }], { args: ["--mode", "yolo"] });
    await enter(run, "go", "yolo> ");
    await appears("pid");
    run.type(CTRL_C);
    await run.next("once more to stop at once and leave");
    run.type(CTRL_C);
    expect((await run.ended()).code).toBe(130);
    expect(existsSync(`/proc/${readFileSync(at("pid"), "utf8").trim()}`)).toBe(false);
    expect((await sessions())[0]?.status).toBe("idle");
  }, LIMIT);

  test("SIGTERM lets the call that runs finish, and leaves", async () => {
    const run = await chat(
      [bash(`echo $PPID > pid.tmp; mv pid.tmp pid; ${waitingFor("go", "begun")}; touch finished`), { text: "never" }],
      {
        args: ["--mode", "yolo"],
      },
    );
    await enter(run, "go", "yolo> ");
    await appears("begun");
    process.kill(Number(readFileSync(at("pid"), "utf8").trim()), "SIGTERM");
    run.type("/mode plan" + ENTER);
    await run.next("Mode plan");
    await workspace.write("go", "");
    expect((await run.ended()).code).toBe(143);
    expect([existsSync(at("finished")), await endsOfTurns()]).toEqual([true, ["SIGTERM received"]]);
  }, LIMIT);

  test("a terminal that is closed ends the call that runs and the program, and the session goes on elsewhere", async () => {
    const run = await chat([bash("echo $$ $PPID > pids.tmp; mv pids.tmp pids; trap '' HUP; exec sleep 600"), { text: "never" }], {
      args: ["--mode", "yolo"],
    });
    await enter(run, "go", "yolo> ");
    await appears("pids");
    run.hangUp();
    for (const pid of readFileSync(at("pids"), "utf8").trim().split(" ")) while (isAlive(Number(pid))) await delay(5);
    expect((await sessions())[0]?.status).toBe("idle");
    expect(await endsOfTurns()).toEqual(["SIGHUP received"]);
  }, LIMIT);

  test("a terminal that is closed at a question leaves the call unrun", async () => {
    const run = await chat([{ calls: [{ name: "bash", arguments: { command: "touch canary" } }] }, { text: "never" }]);
    await enter(run, "go");
    await run.next("Run it? [y/N] ");
    run.hangUp();
    while (await turnsEnded() === 0) await delay(20);
    expect(existsSync(at("canary"))).toBe(false);
  }, LIMIT);

  test("Ctrl-C at a question stops the turn, and the call is not run", async () => {
    const run = await chat([bash("touch canary"), { text: "never" }]);
    await enter(run, "go");
    await run.next("Run it? [y/N] ");
    run.type(`y${CTRL_C}`);
    await run.next("cancelled: stopped by the user");
    await leave(run);
    expect(existsSync(at("canary"))).toBe(false);
  }, LIMIT);

  test("a conversation in which nothing was said leaves no session", async () => {
    const run = await chat([{ text: "hello" }]);
    await enter(run, "/quit");
    expect((await run.ended()).code).toBe(0);
    expect(await sessions()).toEqual([]);
  }, LIMIT);

  test("the terminal is given back as it was, however one leaves", async () => {
    for (const keys of [CTRL_D, CTRL_C + CTRL_C, `/quit${ENTER}`]) {
      const run = await chat([]);
      await run.next("normal> ");
      run.type(keys);
      const { code, shown } = await run.ended();
      expect([code, shown.split("\x1b[?2004h").length, shown.split("\x1b[?2004l").length]).toEqual([0, 2, 2]);
    }
  }, LIMIT);

  test("/resume lists other sessions and goes on with one; --session does so from the start", async () => {
    const args = ["--model", await workspace.script({ text: "answer one" }, { text: "answer two" }, { text: "answer three" })];
    const first = await chat([], { args });
    await enter(first, "question one");
    await first.next("answer one");
    await leave(first);
    const [{ session = "" } = {}] = await sessions();

    const second = await chat([], { args });
    await enter(second, "/resume");
    await second.next("question one");
    await second.next(session);
    await enter(second, "/resume 2");
    await second.next("Cannot choose session 2");
    await enter(second, "/resume 1");
    for (const text of ["> question one", "answer one", `Session ${session}`]) await second.next(text);
    await enter(second, "question two");
    await second.next("answer two");
    await leave(second);

    const third = await chat([], { args: [...args, "--session", session] });
    await third.next("answer two");
    await enter(third, "question three");
    await third.next("answer three");
    await leave(third);
    expect(await promptsOf(session)).toEqual(["question one", "question two", "question three"]);
    expect((await sessions()).length).toBe(1);
  }, LIMIT);

  test("/resume finishes a turn that was cut off, without running its call again", async () => {
    const args = ["--mode", "yolo", "--model", await workspace.script(bash("echo $PPID >> pids; exec sleep 600"), { text: "picked up" })];
    const first = await chat([], { args });
    await enter(first, "go", "yolo> ");
    await appears("pids");
    let pid = 0;
    while (pid === 0) pid = Number(readFileSync(at("pids"), "utf8").trim());
    process.kill(pid, "SIGKILL");
    await first.ended();
    const [{ session = "" } = {}] = await sessions();

    const second = await chat([], { args: [...args, "--session", session] });
    await second.next("/resume finishes it");
    await enter(second, "hello?", "yolo> ");
    await second.next("its last turn is not finished");
    await enter(second, "/resume", "yolo> ");
    for (const text of ["resumed: 1 calls whose outcome is unknown", "picked up"]) await second.next(text);
    await leave(second, "yolo> ");
    expect(readFileSync(at("pids"), "utf8").trim().split("\n").length).toBe(1);
  }, LIMIT);

  test("/tools create scaffolds, the model fills the file in, and the tool is offered once it is trusted", async () => {
    const file = ".nanocoder/tools/say-hi.md";
    const written = "---\nname: say_hi\ndescription: Says hi.\napproval: never\n---\necho hi there\n";
    const run = await chat([
      call("read_file", { path: file }),
      call("write_file", { path: file, content: written }),
      { text: "It is written." },
      call("say_hi", {}),
      { text: "It says: {{result say_hi}}" },
    ], { args: ["--mode", "auto-accept"] });
    await enter(run, "/tools create", "auto-accept> ");
    await run.next("without a name");
    await enter(run, "/tools create ../evil", "auto-accept> ");
    await run.next("Cannot create a tool called");
    await enter(run, "/tools create say-hi", "auto-accept> ");
    await run.next(`Created ${file}, the tool "say_hi"`);
    await run.next("It is written.");
    await run.next("Trust them now? [y/N] ");
    run.type(`y${ENTER}`);
    await enter(run, "use it", "auto-accept> ");
    await run.next("hi there");
    await run.next("It says:");
    await enter(run, "/tools create say-hi", "auto-accept> ");
    await run.next("Cannot create");
    await enter(run, "/tools", "auto-accept> ");
    for (const text of ["tools, ", "Built-in", "read_file", "Custom, Nanocoder", "say_hi", file]) await run.next(text);
    await leave(run, "auto-accept> ");
    expect(readFileSync(at(file), "utf8")).toBe(written);
    const [first = ""] = await promptsOf((await sessions())[0]?.session ?? "");
    for (const text of [file, "say_hi", "parameters: a mapping by name"]) expect(first).toContain(text);
  }, LIMIT);

  test("/help lists the commands, and one that is not there is an error with the nearest", async () => {
    const run = await chat([]);
    await enter(run, "/hepl");
    await run.next("Did you mean /help?");
    await enter(run, "/help");
    for (const text of ["/mode [MODE]", "/tools create NAME", "/resume [ID]", "/quit", "Ctrl-D"]) await run.next(text);
    await leave(run);
  }, LIMIT);

  test("a text may have several lines, and what was typed can be called up again, but for answers", async () => {
    const replies = [bash("true"), ...["a", "b", "c", "d"].map((text) => ({ text: `answer ${text}` }))];
    const model = await workspace.script(...replies);
    const run = await chat([], { args: ["--model", model] });
    await enter(run, "one \\");
    await enter(run, "two", "... ");
    await run.next("Run it? [y/N] ");
    run.type(`y${ENTER}`);
    await run.next("answer a");
    await enter(run, '"""');
    await enter(run, "x \\", "... ");
    await enter(run, '"""', "... ");
    await run.next("answer b");
    await run.next("normal> ");
    run.type("\x1b[200~p1\rp2\x1b[201~");
    await run.next("p2");
    run.type(`!${ENTER}`);
    await run.next("answer c");
    await leave(run);
    const again = await chat([], { args: ["--model", model, "--session", (await sessions())[0]?.session ?? ""] });
    // p2!, p1, """ (once), "x \", two: the answer "y" is not among them.
    await enter(again, UP.repeat(5));
    await again.next("answer d");
    await leave(again);
    expect(await promptsOf((await sessions())[0]?.session ?? "")).toEqual(["one \ntwo", "x \\", "p1\np2!", "two"]);
    const history = join(workspace.home, "data/chat-history");
    expect([statSync(history).mode & 0o777, readFileSync(history, "utf8").split("\n").includes("y")]).toEqual([0o600, false]);
  }, LIMIT);

  describe("writes for the terminal that it has:", () => {
    const SGR = /\x1b\[[0-9;]*m/;
    const talk = async (start: Chat) => {
      const run = await chat([{ text: "I look.", ...bash("echo done-it") }, { text: "The answer." }], start);
      await enter(run, "go");
      await run.next("Run it? [y/N] ");
      run.type(`y${ENTER}`);
      await run.next("done-it");
      await run.next("The answer.");
      await enter(run, "/help");
      return await leave(run);
    };

    test("colours on one that has them", async () => {
      expect(await talk({})).toMatch(SGR);
    }, LIMIT);

    test("no colours with NO_COLOR", async () => {
      expect(await talk({ env: { NO_COLOR: "1" } })).not.toMatch(SGR);
    }, LIMIT);

    test("nothing but text with TERM=dumb", async () => {
      expect(await talk({ env: { TERM: "dumb" } })).not.toContain("\x1b");
    }, LIMIT);

    test("lines of its own that fit into 40 columns", async () => {
      const shown = await talk({ env: { TERM: "dumb" }, columns: 40 });
      const help = shown.slice(shown.indexOf("/mode [MODE]"), shown.lastIndexOf("normal> ")).split(/\r?\n/);
      expect(help.length).toBeGreaterThan(12);
      expect(help.filter((line) => line.length > 40)).toEqual([]);
    }, LIMIT);
  });
});

test("orrery chat without a terminal is wrong use that names orrery run", async () => {
  const { code, stdout, stderr } = await runOrrery(["chat"], { cwd: workspace.path, home: workspace.home, input: "hello\n" });
  expect([code, stdout, stderr.includes("orrery run")]).toEqual([2, "", true]);
});
