/** `orrery tools call`: one tool through the same gate, hooks and supervisor as in a session. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, signal, signalHeard, startOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

interface Called {
  readonly schema_version: number;
  readonly tool: string;
  readonly is_error: boolean;
  readonly text: string;
  readonly data?: unknown;
  readonly outcome: Readonly<Record<string, unknown>>;
  readonly duration_ms: number;
  readonly truncated?: Readonly<Record<string, number>>;
  readonly reaped?: readonly { readonly pid: number; readonly command: string }[];
  readonly reaped_omitted?: number;
  readonly exports?: { readonly made: readonly string[]; readonly withheld: readonly { readonly name: string; readonly reason: string }[] };
  readonly env_withheld?: readonly string[];
  readonly refusal?: { readonly by: string; readonly reason: string };
}

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(async () => {
  await workspace.remove();
});

const start = (more: { readonly input?: string } = {}) => ({ cwd: workspace.path, home: workspace.home, ...more });
const there = (name: string) => existsSync(join(workspace.path, name));

async function call(name: string, input: string | null, ...args: readonly string[]) {
  const given = input === null ? [] : ["--input", input];
  const { code, stdout, stderr } = await runOrrery(["tools", "call", name, "--trust-workspace", "--json", ...given, ...args], start());
  return { code, stderr, record: JSON.parse(stdout) as Called };
}

async function userSettings(settings: object): Promise<void> {
  await mkdir(join(workspace.home, "config"), { recursive: true });
  await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify(settings));
}

const hook = (command: string) => [{ hooks: [{ type: "command", command, timeoutMs: 5000 }] }];

describe("a call", () => {
  test("prints exactly what a model would read, and the facts on standard error", async () => {
    await workspace.tool("bare", "printf 'no line end'");
    const { code, stdout, stderr } = await runOrrery(["tools", "call", "bare", "--trust-workspace"], start());
    expect([code, stdout]).toEqual([0, "no line end"]);
    expect(stderr).toMatch(/^bare: ok · \d+ ms\n$/);
  });

  test("says what it left behind, and that it was ended", async () => {
    await workspace.tool("leaves", "setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > pid; echo left");
    expect((await call("leaves", "{}")).record.reaped).toEqual([{
      pid: Number(readFileSync(join(workspace.path, "pid"), "utf8")),
      command: expect.stringMatching(/^(setsid|sleep)$/),
    }]);
    const plain = await runOrrery(["tools", "call", "leaves", "--trust-workspace"], start());
    expect([plain.stdout, plain.stderr]).toEqual(["left\n", expect.stringContaining("ended 1 left behind")]);
  }, 30_000);

  test("names the first of many that it left behind, and counts the others", async () => {
    const many =
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do sleep 600 </dev/null >/dev/null 2>&1 & done; echo left";
    await workspace.tool("leaves", many);
    const { record } = await call("leaves", "{}");
    expect([record.reaped?.length, record.reaped_omitted]).toEqual([20, 3]);
    const plain = await runOrrery(["tools", "call", "leaves", "--trust-workspace"], start());
    expect(plain.stderr).toContain("ended 23 left behind");
  }, 30_000);

  test("has the documented record", async () => {
    await workspace.tool("count", 'cat; printf " %s" "$STELLA_INPUT_PATH"');
    const { code, record } = await call("count", '{"path":"a b","list":[1],"nothing":null}');
    expect(code).toBe(0);
    expect(Object.keys(record)).toEqual(["schema_version", "tool", "is_error", "text", "outcome", "duration_ms", "exports"]);
    expect(record).toMatchObject({ schema_version: 1, tool: "count", is_error: false, outcome: { kind: "exited", code: 0 } });
    expect(record.text).toBe('{"list":[1],"nothing":null,"path":"a b"} a b');
    expect(record.exports?.made).toEqual(["STELLA_INPUT_PATH"]);
    expect(record.exports?.withheld.map(({ name }) => name).sort()).toEqual(["STELLA_INPUT_LIST", "STELLA_INPUT_NOTHING"]);
  });

  test("says which variables its process was not given", async () => {
    await userSettings({ tools: { env_withhold: ["DEPLOY_*"] } });
    await workspace.tool("env", 'printf "%s" "$DEPLOY_KEY$OPENAI_API_KEY$KEPT"');
    const env = { DEPLOY_KEY: "a", OPENAI_API_KEY: "b", KEPT: "c" };
    const { stdout } = await runOrrery(["tools", "call", "env", "--trust-workspace", "--json"], { ...start(), env });
    const record = JSON.parse(stdout) as Called;
    expect([record.text, record.env_withheld?.toSorted()]).toEqual(["c", ["DEPLOY_KEY", "OPENAI_API_KEY"]]);
  });

  test("names as exports only what is one, and prints only what concerns its tool", async () => {
    await workspace.tool("mine", "true", 'timeout_msec = 5\n[env]\nSTELLA_INPUT_OWN = "x"\nA = "1"');
    await workspace.tool("other", "true", "timeout_msec = 5");
    await workspace.write(".stella/tools/OTHER.TOML", "");
    const { record, stderr } = await call("mine", '{"own":1,"path":"x"}');
    expect(record.exports?.made).toEqual(["STELLA_INPUT_PATH"]);
    expect(record.exports?.withheld.map(({ name }) => name)).toEqual(["STELLA_INPUT_OWN"]);
    const notices = (record as { notices?: readonly { code: string; text: string }[] }).notices ?? [];
    expect(notices.map(({ code }) => code)).toContain("unknown_key");
    expect(notices.filter(({ text }) => !text.includes("/mine.toml"))).toEqual([]);
    expect(stderr).not.toContain("other");
  });

  test("hands numbers on as they were written, to standard input and to the environment", async () => {
    await workspace.tool("numbers", 'cat; printf " %s %s %s" "$STELLA_INPUT_A" "$STELLA_INPUT_B" "$STELLA_INPUT_C"');
    const { record } = await call("numbers", '{"a": 3.0, "b": 9007199254740993, "c": 1e3}');
    expect(record.text).toBe('{"a":3.0,"b":9007199254740993,"c":1e3} 3.0 9007199254740993 1e3');
  });

  test("takes its input from standard input, and has none without the option", async () => {
    await workspace.tool("echo_input", "cat");
    const args = ["tools", "call", "echo_input", "--trust-workspace"];
    expect((await runOrrery([...args, "--input", "-"], start({ input: '{"a": 1.50}\n' }))).stdout).toBe('{"a":1.50}');
    expect((await runOrrery(args, start({ input: '{"not":"read"}' }))).stdout).toBe("{}");
  });

  test("leaves nothing in the journal", async () => {
    await workspace.tool("quick", "echo quick");
    expect((await call("quick", null)).code).toBe(0);
    expect(existsSync(join(workspace.home, "data/journal.sqlite"))).toBe(false);
  });

  test("runs built-ins and Markdown tools alike", async () => {
    await workspace.write("notes.txt", "one\n");
    expect((await call("read_file", '{"path":"notes.txt"}')).record.text).toContain("one");
    await workspace.write(
      ".nanocoder/tools/greet.md",
      "---\nname: greet\ndescription: Greets\napproval: never\nparameters:\n  who: {type: string}\n---\necho hello {{ who }}; exit 3\n",
    );
    const { code, record } = await call("greet", '{"who":"you; touch pwned"}');
    expect([code, record.is_error, record.outcome]).toEqual([0, false, { kind: "exited", code: 3 }]);
    expect(record.text).toContain("hello you; touch pwned");
    expect([there("pwned"), record.exports]).toEqual([false, undefined]);
  });

  test("gives the model that is configured to a tool that has another session work, and to no other", async () => {
    const input = '{"description":"look","prompt":"What is there?"}';
    const report = await call("delegate", input, "--model", await workspace.script({ text: "A report." }));
    expect([report.code, report.record.text.includes("A report."), report.record.is_error]).toEqual([0, true, false]);
    expect((await runOrrery(["tools", "call", "delegate", "--input", input], start())).code).toBe(5);
    await workspace.write("notes.txt", "one\n");
    expect((await call("read_file", '{"path":"notes.txt"}', "--model", "nonsense")).code).toBe(0);
  });

  test("says what was cut", async () => {
    await workspace.tool("long", "yes | head -c 1000000");
    const { code, record } = await call("long", null);
    expect([code, record.truncated?.["stdout_bytes"]]).toEqual([0, 1_000_000]);
    expect(record.text.length).toBeLessThan(70_000);
  });
});

describe("exit code 1: an error result", () => {
  test("of the tool: its code, or its signal, or its timeout", async () => {
    await workspace.tool("fails", "echo why >&2; exit 3");
    await workspace.tool("dies", "kill -SEGV $$");
    await workspace.tool("late", "echo begun; exec sleep 60", "timeout_ms = 700");
    const fails = await call("fails", null);
    expect([fails.code, fails.record.outcome, fails.record.text.includes("why")]).toEqual([1, { kind: "exited", code: 3 }, true]);
    const dies = await call("dies", null);
    expect([dies.code, dies.record.outcome, dies.record.text.includes("SIGSEGV")]).toEqual([
      1,
      { kind: "signalled", signal: "SIGSEGV" },
      true,
    ]);
    const late = await call("late", null);
    expect([late.code, late.record.outcome, late.record.text.includes("700")]).toEqual([1, { kind: "timed_out", after_ms: 700 }, true]);
    expect(late.record.text).toContain("begun");
  }, 30_000);

  test("of an input that does not fit: every fault with its pointer, and nothing ran", async () => {
    await workspace.tool(
      "strict",
      "touch canary",
      '[input_schema]\ntype = "object"\nrequired = ["path"]\n[input_schema.properties.n]\ntype = "integer"',
    );
    const { code, record } = await call("strict", '{"n":"x"}');
    expect([code, record.refusal?.by, there("canary")]).toEqual([1, "schema", false]);
    for (const words of ["path", "/n"]) expect(record.text).toContain(words);
  });

  test("of half a character, in whose place another command would run", async () => {
    const { code, record } = await call("bash", String.raw`{"command":"touch ran; printf 'a\ud800b'"}`);
    expect([code, there("ran")]).toEqual([1, false]);
    expect(record.refusal?.by).toBe("schema");
    expect(record.text).toContain("- /command: This text has half of a surrogate pair, which UTF-8 cannot hold");
    const whole = await call("bash", String.raw`{"command":"printf 'a\ud83d\ude00b'"}`);
    expect([whole.code, whole.record.text]).toEqual([0, "a😀b"]);
  });

  test("of an input that is no JSON object", async () => {
    await workspace.tool("any", "touch canary");
    for (const input of ["{nonsense", "[1]", '"text"', "{} {}"]) {
      const { code, record } = await call("any", input);
      expect([input, code, record.refusal?.by, there("canary")]).toEqual([input, 1, "malformed", false]);
    }
  });
});

describe("exit codes of what was not run", () => {
  test("2: a name that is no tool's, with the one that was meant", async () => {
    const { code, record, stderr } = await call("read_fil", null);
    expect([code, record.refusal?.by, record.text.includes('"read_file"')]).toEqual([2, "unknown_tool", true]);
    expect(stderr).toBe("");
    const plain = await runOrrery(["tools", "call", "nonsense"], start());
    expect([plain.code, plain.stderr.includes("orrery tools")]).toEqual([2, true]);
  });

  test("5: a definition that is broken, saying how", async () => {
    await workspace.write(".stella/tools/half.toml", 'name = "half"\ndescription = "x"\n');
    const { code, record } = await call("half", null);
    expect([code, record.refusal?.by, record.text.includes("command")]).toEqual([5, "broken", true]);
  });

  test("4: a workspace that is not trusted", async () => {
    await workspace.tool("mark", "touch canary");
    const { code, stdout } = await runOrrery(["tools", "call", "mark"], start());
    expect([code, stdout.includes("orrery trust"), there("canary")]).toEqual([4, true, false]);
  });

  test("4: a mode in which it may not run, and an approval that nobody can give", async () => {
    await workspace.tool("mark", "touch canary", 'approval = "always"');
    for (const [mode, by] of [["plan", "mode"], ["headless", "mode"], ["normal", "approval"], ["auto-accept", "approval"]] as const) {
      const { code, record } = await call("mark", null, "--mode", mode);
      expect([mode, code, record.refusal?.by, record.outcome["kind"], there("canary")]).toEqual([mode, 4, by, "not_started", false]);
    }
    expect((await call("mark", null, "--mode", "yolo")).code).toBe(0);
    expect(there("canary")).toBe(true);
  }, 30_000);

  test("4: a tool that is switched off, saying where, though a model would only hear that there is none", async () => {
    await userSettings({ tools: { bash: "off" } });
    const { code, record } = await call("bash", '{"command":"touch canary"}');
    expect([code, record.refusal?.by, there("canary")]).toEqual([4, "switch", false]);
    expect(record.refusal?.reason).toContain("settings.json");
    expect(record.text).toContain("There is no tool");
  });

  test("4: a hook that refuses, whatever kind of tool it is", async () => {
    await userSettings({ hooks: { PreToolUse: hook("echo 'not today' >&2; exit 1") } });
    await workspace.tool("mark", "touch canary");
    for (
      const [name, input] of [["mark", "{}"], ["bash", '{"command":"touch canary"}'], [
        "write_file",
        '{"path":"canary","content":"x"}',
      ]] as const
    ) {
      const { code, record } = await call(name, input);
      expect([name, code, record.text, there("canary")]).toEqual([name, 4, "not today", false]);
    }
  });

  test("alwaysAllow lets exactly its tool run unasked", async () => {
    await userSettings({ alwaysAllow: ["mark"] });
    await workspace.tool("mark", "echo ran", 'approval = "always"');
    await workspace.tool("other", "echo ran", 'approval = "always"');
    expect([(await call("mark", null)).code, (await call("other", null)).code]).toEqual([0, 4]);
  });

  test("hooks see the call and its result, and can change the input", async () => {
    await userSettings({
      hooks: {
        PreToolUse: hook(`echo '{"action":"modify","payload":{"input":{"who":"them"}}}'`),
        PostToolUse: hook("cat > told"),
      },
    });
    await workspace.tool("hello", 'printf "hello %s" "$STELLA_INPUT_WHO"');
    const { record } = await call("hello", '{"who":"you"}');
    expect([record.text, record.exports?.made]).toEqual(["hello them", ["STELLA_INPUT_WHO"]]);
    expect(readFileSync(join(workspace.path, "told"), "utf8")).toContain("hello them");
  });
});

describe("stopping a call", () => {
  const begun = async () => {
    while (!there("begun")) await sleep(20);
  };

  test("one signal lets it finish, two end it and all it started, and say so", async () => {
    await workspace.tool("slow", "echo $$ > begun; until [ -e go ]; do sleep 0.02; done; echo done");
    const patient = startOrrery(["tools", "call", "slow", "--trust-workspace"], start());
    const patientEnd = ended(patient);
    await begun();
    await signalHeard(patient, "SIGINT");
    await workspace.write("go", "");
    expect(await patientEnd).toMatchObject({ code: 130, stdout: "done\n" });

    await workspace.tool("slow", "echo $$ > pid; sleep 600 & echo > begun2; wait");
    const impatient = startOrrery(["tools", "call", "slow", "--trust-workspace", "--json"], start());
    const impatientEnd = ended(impatient);
    while (!there("begun2")) await sleep(20);
    await signalHeard(impatient, "SIGINT");
    signal(impatient, "SIGINT");
    const { code, stdout } = await impatientEnd;
    expect([code, (JSON.parse(stdout) as Called).outcome]).toEqual([130, { kind: "cancelled" }]);
    expect(isAlive(Number(readFileSync(join(workspace.path, "pid"), "utf8")))).toBe(false);
  }, 30_000);
});

describe.skipIf(!hasTerminal)("on a terminal", () => {
  for (const [answer, code, ran] of [["y", 0, true], ["n", 4, false], ["", 4, false]] as const) {
    test(`a call that must ask asks, showing the whole input: "${answer}"`, async () => {
      await workspace.tool("mark", "touch canary; echo ran", 'approval = "always"');
      const run = startOnTerminal(["tools", "call", "mark", "--trust-workspace", "--input", '{"path":"some/file","n":3.0}'], {
        cwd: workspace.path,
        home: workspace.home,
      });
      await run.waitFor("Run it? [y/N]");
      expect(run.shown()).toContain('{"n":3.0,"path":"some/file"}');
      run.type(`${answer}\n`);
      const end = await run.ended();
      expect([end.code, there("canary")]).toEqual([code, ran]);
    });
  }

  test("control characters of a result do nothing", async () => {
    await workspace.tool("rude", "printf 'a\\033[2Jb\\r\\n'");
    const { shown } = await startOnTerminal(["tools", "call", "rude", "--trust-workspace"], {
      cwd: workspace.path,
      home: workspace.home,
      env: { NO_COLOR: "1" },
    }).ended();
    expect(shown).not.toContain("\x1b");
    expect(shown).toContain("a\ufffd[2Jb");
  });
});
