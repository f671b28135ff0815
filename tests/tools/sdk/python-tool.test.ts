import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { existsSync, readdirSync } from "node:fs";
import { toInput } from "../../../lib/session/json.ts";
import { NOTHING_CAPTURED, type Run } from "../../../lib/session/launch.ts";
import type { Description } from "../../../lib/tools/sdk/description.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { callPython, fixtures, placeOf, runLaunch } from "./run-launch.ts";

const DESCRIPTION = {
  description: "",
  parameters: {},
  read_only: false,
  speculation_safe: false,
  approval: "never",
  timeout_ms: 30_000,
} as const;
const MANNERS = "python/manners.py";
const KINDS = "python/kinds.py";

let scratch = "";
beforeAll(() => void (scratch = mkdtempSync(join(tmpdir(), "orrery-sdk-"))));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("a Python agent whose calls overlap", () => {
  for (const how of ["as it is", "in other words"]) {
    test(`is told each result, ${how}, under the id of its own call`, async () => {
      const { messages } = await callPython("python/overlapping.py", "overlap", { how });
      const of = (type: string) => messages.flatMap((each) => each.type === type ? [each.data as Told] : []);
      const calls = new Map(of("tool_call").map((each) => [each.call_id, [each.tool_name, each.arguments?.n]]));
      const answers = of("tool_result").map(({ call_id, result }) => {
        const [name, n] = calls.get(call_id) ?? [];
        return [result, how === "as it is" ? (name === "same" ? "ok" : { n }) : { told: [name, n] }];
      });
      expect([calls.size, new Set(of("tool_result").map(({ call_id }) => call_id)).size]).toEqual([6, 6]);
      for (const [result, expected] of answers) expect(result).toEqual(expected);
    });
  }
});

interface Told {
  readonly call_id: string;
  readonly tool_name?: string;
  readonly arguments?: { readonly n: number };
  readonly result?: unknown;
}

describe("a Python tool's result", () => {
  test("is not corrupted by what the tool, a C library or a subprocess prints", async () => {
    const { result, run } = await callPython(MANNERS, "prints", {});
    expect(result).toEqual({ is_error: false, text: '"clean"', data: "clean" });
    for (const line of ['"forged"', "to stderr", "straight to descriptor 1", "from a subprocess"]) expect(run.stderr.text).toContain(line);
  });

  const holdable: Readonly<Record<string, string>> = {
    nothing: "null",
    text: '"a \\"text\\""',
    numbers: "[1,3.0,9007199254740991,1e+300,-0.0,true]",
    tuple: "[1,2]",
    unicode: '"你好 😀"',
    half: '"half \\ud83d"',
    as_deep_as_may_be: `${"[".repeat(256)}0${"]".repeat(256)}`,
  };
  for (const [what, text] of Object.entries(holdable)) {
    test(`is the JSON text of the value as Python wrote it: ${what}`, async () => {
      expect((await callPython(MANNERS, "returns", { what })).result).toEqual({ is_error: false, text, data: JSON.parse(text) });
    });
  }

  test("has no data beside the text if a number in it is too large for JavaScript", async () => {
    expect((await callPython(MANNERS, "returns", { what: "large" })).result).toEqual({ is_error: false, text: '{"id":9007199254740993}' });
  });

  const unholdable: Readonly<Record<string, string>> = {
    nan: '["rows"][1] is nan',
    infinity: "the value is -inf",
    bytes: '["raw"] is of type bytes',
    set: "[0] is of type set",
    object: '["a"]["b"] is of type Thing',
    key: 'a key of ["a"] is of type tuple',
    nan_key: 'a key of ["a"] is nan',
    cyclic: '[0]["again"] contains itself',
    deep: "it is nested too deeply: 256 levels are the most",
    deeper_than_others_read: "it is nested too deeply: 256 levels are the most",
  };
  for (const [what, fault] of Object.entries(unholdable)) {
    test(`is an error that names the place if JSON cannot hold the value: ${what}`, async () => {
      expect((await callPython(MANNERS, "returns", { what })).result).toEqual({
        is_error: true,
        text: `The tool returned what JSON cannot hold: ${fault}`,
      });
    });
  }

  test("is an error that names the place of an int that is too long to be written, where Python has such a limit", async () => {
    const { text } = (await callPython(MANNERS, "returns", { what: "digits" })).result;
    expect(text).toMatch(/^\[10{60}|^The tool returned what JSON cannot hold: \[0\] is an int of more digits than Python writes$/);
  });

  const twins: Readonly<Record<string, string>> = {
    number: '["a"][0] has two keys that are "1"',
    bool: 'the value has two keys that are "true"',
  };
  for (const [which, fault] of Object.entries(twins)) {
    test(`is an error that names the place if keys are one in JSON: ${which}`, async () => {
      expect((await callPython(KINDS, "twin_keys", { which })).result).toEqual({
        is_error: true,
        text: `The tool returned what JSON cannot hold: ${fault} in JSON`,
      });
    });
  }

  test("may have keys that are no text, as long as they differ", async () => {
    expect((await callPython(KINDS, "twin_keys", { which: "fine" })).result.data).toEqual({ "1": "a", "2": "b" });
  });

  test("of a call that ends Python is a value for the agent that made it", async () => {
    expect((await callPython(KINDS, "calls_what_leaves", {})).result.data).toEqual({ error: "The tool ended Python with sys.exit(3)" });
  });

  test("is cut in the middle if it is huge, and says its size", async () => {
    const { result, truncated, run } = await callPython(MANNERS, "returns", { what: "huge" });
    expect(result.is_error).toBe(false);
    expect(result.text).toMatch(/^"x+\n\[… \d+ bytes omitted …\]\nx+end"$/);
    expect(new TextEncoder().encode(result.text).length).toBeLessThan(64 * 1024 + 100);
    expect(truncated?.stdout_bytes).toBe(5_000_005);
    expect(run.stdout.bytes).toBeLessThan(200_000);
  });

  test("is cut at character borders", async () => {
    const { result } = await callPython(MANNERS, "returns", { what: "huge_unicode" });
    expect(result.text).toMatch(/^"你+\n\[… \d+ bytes omitted …\]\n你+"$/);
  });

  test("survives more messages than are kept", async () => {
    const { result, run } = await callPython(MANNERS, "chatters", { times: 30_000 });
    expect(run.stdout.cut).toBe(true);
    expect(result).toEqual({ is_error: false, text: "30000", data: 30000 });
  }, 20_000);

  test("comes once from a tool that forks", async () => {
    const { result, run } = await callPython(MANNERS, "forks", {});
    expect(result.data).toBe("from the parent");
    expect(run.stdout.text).not.toContain("from the child");
  });
});

describe("a Python tool's input", () => {
  for (const text of ["9007199254740993", "3.0", "-0.0", "1.5", '{"a":[1,2.0]}', '"é"', "123456789012345678901234567890"]) {
    test(`keeps ${text} as it was written`, async () => {
      expect((await callPython(MANNERS, "echo", `{"value":${text}}`)).result.text).toBe(text);
    });
  }

  for (const text of ["1e400", "-1e400"]) {
    test(`is refused if a number is too large for Python: ${text}`, async () => {
      expect((await callPython(MANNERS, "echo", `{"value":${text}}`)).result).toEqual({
        is_error: true,
        text: `The input cannot be read: ${text} is not a number that Python can hold`,
      });
    });
  }

  test("becomes members of an Enum where the signature says so", async () => {
    const { result } = await callPython("python/signatures.py", "choices", { a: "x", b: 1, c: "high", d: 2, e: ["low"], f: null });
    expect(result.data).toEqual({ c: "HIGH", d: "TWO", e: ["LOW"], f: null });
  });

  test("that is no member of an Enum is an error with the members", async () => {
    const { result } = await callPython("python/signatures.py", "choices", { a: "x", b: 1, c: "middle" });
    expect(result).toEqual({ is_error: true, text: '"c" must be one of ["low", "high"]' });
  });

  test("reaches parameters of every kind", async () => {
    const { result } = await callPython("python/signatures.py", "kinds", { a: "1", b: "2", c: 3, other: "o" });
    expect(result.data).toEqual(["1", "2", [], 3, 4, { other: "o" }]);
  });

  test("with an argument that the function does not have is refused by name", async () => {
    expect((await callPython("python/signatures.py", "documented", { query: "q", limit: 1 })).result).toEqual({
      is_error: true,
      text: 'There is no argument named "limit"',
    });
  });

  test("without an argument that the function needs is refused by name", async () => {
    expect((await callPython("python/signatures.py", "documented", {})).result).toEqual({
      is_error: true,
      text: 'The argument "query" is missing',
    });
  });
});

describe("a Python tool that fails", () => {
  const messages: Readonly<Record<string, string>> = {
    plain: "it broke",
    key: "KeyError: 'missing'",
    silent: "RuntimeError",
    interrupt: "KeyboardInterrupt",
  };
  for (const [kind, text] of Object.entries(messages)) {
    test(`is an error result with the message: ${kind}`, async () => {
      const { result, run } = await callPython(MANNERS, "raises", { kind });
      expect(result).toEqual({ is_error: true, text });
      expect(run.stderr.text).toContain("manners.py");
      expect(run.stderr.text).not.toContain("<orrery");
    });
  }

  test("with an error whose text cannot be made is an error result too", async () => {
    expect((await callPython(MANNERS, "raises", { kind: "unprintable" })).result.text).toBe("Unprintable");
  });

  test("with a ValidationError that says nothing is named by it", async () => {
    for (const [kind, text] of [["bare validation", "ValidationError"], ["wordless", "Wordless"]] as const) {
      expect((await callPython(MANNERS, "raises", { kind })).result).toEqual({ is_error: true, text });
    }
  });

  test("by calling itself for ever is an error result", async () => {
    expect((await callPython(MANNERS, "raises", { kind: "depth" })).result.text).toContain("RecursionError");
  });

  test("by sys.exit() is an error result, whatever the code", async () => {
    expect((await callPython(MANNERS, "exits", {})).result).toEqual({ is_error: true, text: "The tool ended Python with sys.exit()" });
    expect((await callPython(MANNERS, "exits", { code: 0 })).result).toEqual({
      is_error: true,
      text: "The tool ended Python with sys.exit(0)",
    });
  });

  test("by ending its process says so, with what it printed", async () => {
    expect((await callPython(MANNERS, "vanishes", {})).result).toEqual({
      is_error: true,
      text: "vanishes ended its process before it returned anything.\n[stderr]\nlast words",
    });
    expect((await callPython(MANNERS, "vanishes", { code: 9 })).result.text).toBe(
      "vanishes failed with exit code 9.\n[stderr]\nlast words",
    );
  });

  test("by a signal to itself says so, unless it had answered before", async () => {
    const file = join(scratch, "signals.py");
    const lines = ["import atexit, os, signal", "from stella_sdk import tool", "def stop(): os.kill(os.getpid(), signal.SIGTERM)"];
    writeFileSync(file, [...lines, "@tool", "def now(): stop()", "@tool", "def later(): atexit.register(stop)"].join("\n"));
    const call = async (name: string) => {
      const launch = python.call(file, { ...DESCRIPTION, name }, toInput({}), placeOf());
      return python.read(name, await runLaunch(launch)).result;
    };
    expect(await call("now")).toEqual({ is_error: true, text: "now was ended by signal SIGTERM. It printed nothing." });
    expect(await call("later")).toEqual({ is_error: false, text: "null", data: null });
  });

  test("by never returning is ended at its deadline", async () => {
    const { result } = await callPython(MANNERS, "never_returns", {}, {}, 4000);
    expect(result.is_error).toBe(true);
    expect(result.text).toContain("timed out after 4000 ms");
    expect(result.text).toContain("still here");
  });
});

describe("the process of a Python tool", () => {
  test("ends though a thread goes on", async () => {
    const { result, run } = await callPython(MANNERS, "leaves_a_thread", {});
    expect(result.data).toBe("done");
    expect(run.duration_ms).toBeLessThan(5000);
  });

  test("cancels tasks and runs exit handlers before it ends", async () => {
    const file = join(scratch, "left");
    await callPython(MANNERS, "leaves_tasks", { file });
    expect(readFileSync(file, "utf8")).toBe("task cancelled\nexit handler\n");
  });

  test("does not pass our own variables on", async () => {
    expect((await callPython(MANNERS, "environment", {}, { MINE: "1" })).result.data).toEqual(["MINE"]);
  });

  test("looks like that of a script", async () => {
    expect((await callPython(MANNERS, "surroundings", {})).result.data).toEqual({
      argv: [join(fixtures, MANNERS)],
      cwd: fixtures,
      stdin: "",
      name: "__tool_file__",
    });
  });

  test("keeps the standard library where a tool file has the name of one of its modules", async () => {
    expect((await callPython("python/email.py", "send_email", { to: "ada" })).result.data).toBe("SMTP to ada");
  });

  test("leaves no compiled file beside the tool file", async () => {
    await callPython("python/email.py", "send_email", { to: "ada" }, { PYTHONDONTWRITEBYTECODE: "" });
    expect(existsSync(join(fixtures, "python/__pycache__"))).toBe(false);
  });

  test("is not in the hands of what lies in the folder it starts in", async () => {
    const folder = mkdtempSync(join(scratch, "hostile-"));
    for (const name of ["json", "enum", "inspect", "stella_sdk", "runner", "asyncio"]) {
      writeFileSync(join(folder, `${name}.py`), 'open("canary", "w")\nraise SystemExit("taken over")\n');
    }
    const launch = python.call(
      join(fixtures, "seed/create_ticket.py"),
      { ...DESCRIPTION, name: "create_ticket" },
      toInput({ title: "a", description: "b" }),
      { ...placeOf(), workspace: folder },
    );
    expect(python.read("create_ticket", await runLaunch(launch)).result.is_error).toBe(false);
    expect(existsSync(join(folder, "canary"))).toBe(false);
  });

  test("sends what a tool tells while it runs, from sync and async tools", async () => {
    const { result, messages } = await callPython(MANNERS, "tells", {});
    expect(result.data).toBe('Cannot send a message that JSON cannot hold: ["message"]["data"] is of type set');
    const timestamp = expect.any(String);
    expect(messages).toEqual([
      { type: "agent_status", data: { status: "thinking" }, timestamp },
      { type: "progress_update", data: { task_id: "build", progress: 40, message: "compiling" }, timestamp },
      {
        type: "todo_list",
        data: { items: [{ id: "1", description: "first", status: "completed", required: true }], timestamp },
        timestamp,
      },
      { type: "custom", data: [1], timestamp },
    ]);
    const awaited = await callPython(MANNERS, "awaits_in_every_way", {});
    expect(awaited.result.data).toBe("sent");
    expect(awaited.messages.length).toBe(4);
    expect(awaited.run.stderr.text).toBe("");
  });
});

describe("an argument of a Python tool", () => {
  test("that is to be an int is one, also where JSON has 3.0", async () => {
    const floats = await callText(KINDS, "ints", '{"plain":3.0,"maybe":4.0,"either":5.0,"several":[6.0],"number":7.0}');
    expect(floats.data).toEqual(["int 3", "int 4", "int 5", "list [6]", "float 7.0"]);
    const texts = await callText(KINDS, "ints", '{"plain":1,"maybe":null,"either":"x"}');
    expect(texts.data).toEqual(["int 1", "NoneType None", "str 'x'", "list []", "int 0"]);
  });

  test("of a Literal is the member of the Enum that is written there", async () => {
    expect((await callText(KINDS, "literal", '{"color":"red"}')).data).toBe("Color True");
    expect((await callText(KINDS, "literal", '{"color":"green"}')).data).toBe("str False");
    expect((await callText(KINDS, "literal", '{"color":1.0}')).data).toBe("int False");
  });
});

/** With the numbers as they are written. */
async function callText(file: string, name: string, text: string) {
  const launch = python.call(join(fixtures, file), { name, ...DESCRIPTION }, { ...toInput({}), text }, placeOf());
  return python.read(name, await runLaunch(launch)).result;
}

describe("a file without a usable Python", () => {
  test("says that python3 is missing and which is needed", () => {
    const run: Run = {
      outcome: { kind: "not_started", reason: "cannot_start" },
      stdout: NOTHING_CAPTURED,
      stderr: NOTHING_CAPTURED,
      problem: 'Cannot start "python3": there is no such program on PATH',
      duration_ms: 0,
      reaped: [],
    };
    expect(python.read("x", run).result.text).toContain("there is no such program on PATH. A .py tool needs python3, version 3.9 or newer");
    expect(python.readDescription(run)).toMatchObject({
      kind: "broken",
      diagnostics: [{ code: "describe_failed", remedy: expect.stringContaining("Install python3") }],
    });
  });

  for (const version of ["2.7", "3.6", "3.8"]) {
    const found = findPython(version);
    test.skipIf(found === null)(`says so if python3 is ${version}`, async () => {
      const folder = mkdtempSync(join(scratch, "old-"));
      symlinkSync(found ?? "", join(folder, "python3"));
      const env = { PATH: folder };
      const { result } = await callPython(MANNERS, "echo", { value: 1 }, env);
      expect(result.is_error).toBe(true);
      expect(result.text).toContain(`python3 is version ${version}`);
      expect(result.text).toContain("needs 3.9 or newer");
      expect(codesOf(python.readDescription(await runLaunch(python.describe(join(fixtures, MANNERS), placeOf(env), 10_000))))).toEqual([
        "python_old",
      ]);
    });
  }

  for (const version of ["3.9", "3.10", "3.12", "3.13"]) {
    const found = findPython(version);
    test.skipIf(found === null)(`works with python3 ${version} as with any other`, async () => {
      const folder = mkdtempSync(join(scratch, "python-"));
      symlinkSync(found ?? "", join(folder, "python3"));
      for (const file of ["python/future.py", "python/signatures.py"]) {
        const launch = (env: Record<string, string>) =>
          runLaunch(python.describe(join(fixtures, file), placeOf(env), 20_000)).then(python.readDescription);
        const described = await launch({ PATH: folder });
        expect(described.kind).toBe("described");
        expect(described).toEqual(await launch({}));
      }
      expect((await callPython("python/future.py", "modern", { a: null, e: "red" }, { PATH: folder })).result.data).toBe("RED");
      expect((await callPython(MANNERS, "awaits_in_every_way", {}, { PATH: folder })).result.data).toBe("sent");
    }, 20_000);
  }
});

describe("what travels with a call", () => {
  test("fits into the environment and is ASCII, so that no locale matters", () => {
    const launch = python.describe("/x.py", { workspace: "/", env: {} }, 1);
    if (launch.kind !== "process") throw new Error("a Python file is not run by a host");
    for (const text of [...Object.values(launch.env), ...launch.argv]) {
      expect(text.length).toBeLessThan(64 * 1024);
      expect(/^[\x00-\x7f]*$/.test(text)).toBe(true);
    }
  });

  test("works in a locale that is not UTF-8, with no home and no folder to write to", async () => {
    const { result } = await callPython(MANNERS, "returns", { what: "unicode" }, {
      LC_ALL: "C",
      PYTHONUTF8: "0",
      PYTHONCOERCECLOCALE: "0",
      HOME: "/nowhere",
      TMPDIR: "/nowhere",
    });
    expect(result.data).toBe("你好 😀");
  });
});

function codesOf(description: Description): readonly string[] {
  return description.kind === "broken" ? description.diagnostics.map(({ code }) => code) : [];
}

/** An interpreter of that version, on the PATH or where pyenv keeps its own. */
function findPython(version: string): string | null {
  const pyenv = join(process.env["PYENV_ROOT"] ?? join(process.env["HOME"] ?? "/", ".pyenv"), "versions");
  const kept = existsSync(pyenv)
    ? readdirSync(pyenv).filter((name) => name.startsWith(`${version}.`)).map((name) => join(pyenv, name, "bin"))
    : [];
  const folders = [...kept, ...(process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("shims"))];
  return folders.map((folder) => join(folder, `python${version}`)).find((path) => existsSync(path)) ?? null;
}
