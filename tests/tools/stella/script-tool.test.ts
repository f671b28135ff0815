import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseArguments } from "../../../lib/session/arguments.ts";
import { type Json, type JsonInput, toInput } from "../../../lib/session/json.ts";
import { type Captured, NOTHING_CAPTURED, type ProcessLaunch, type Run } from "../../../lib/session/launch.ts";
import type { Outcome } from "../../../lib/session/outcome.ts";
import { parseManifest } from "../../../lib/tools/stella/manifest.ts";
import { scriptTool } from "../../../lib/tools/stella/script-tool.ts";
import type { PlanContext, Tool } from "../../../lib/tools/tool.ts";

const CONTEXT: PlanContext = { workspace: "/ws", env: { PATH: "/bin", HOME: "/home/me" }, state: { reads: {}, tasks: {}, scratch: {} } };

async function toolOf(fields: string, bareProgram: string | null = null): Promise<Tool> {
  const { manifest, diagnostics } = await parseManifest(`name = "wordcount"\ndescription = "d"\n${fields}`);
  if (manifest === null) throw new Error(JSON.stringify(diagnostics));
  return scriptTool(manifest, {
    origin: { system: "stella", scope: "workspace", path: "/ws/.stella/tools/w.toml" },
    digest: "d",
    bareProgram,
  });
}

function launchOf(tool: Tool, input: JsonInput): ProcessLaunch {
  const plan = tool.plan(input, CONTEXT);
  if (plan.kind !== "launch" || plan.launch.kind !== "process") throw new Error("expected a process");
  return plan.launch;
}

function captured(text: string): Captured {
  return { text, bytes: Buffer.byteLength(text), cut: false };
}

function run(outcome: Outcome, streams: { readonly stdout?: string; readonly stderr?: string; readonly problem?: string } = {}): Run {
  const { stdout = "", stderr = "", problem } = streams;
  return {
    outcome,
    stdout: captured(stdout),
    stderr: captured(stderr),
    duration_ms: 1,
    reaped: [],
    ...(problem === undefined ? {} : { problem }),
  };
}

const EXIT_0: Outcome = { kind: "exited", code: 0 };

describe("the plan of a script", () => {
  test("is the argument array as written, in the workspace root, with the input on standard input", async () => {
    const tool = await toolOf('command = ["scripts/w.sh", "--x", ""]\ntimeout_ms = 60000\n[env]\nHOME = "/else"\nL = "1"\n');
    const plan = tool.plan(toInput({ path: "a", n: 1 }), CONTEXT);
    expect(plan).toEqual({
      kind: "launch",
      program: "/ws/scripts/w.sh",
      exports_made: ["STELLA_INPUT_N", "STELLA_INPUT_PATH"],
      launch: {
        kind: "process",
        argv: ["/ws/scripts/w.sh", "--x", ""],
        cwd: "/ws",
        env: { PATH: "/bin", HOME: "/else", L: "1", STELLA_INPUT_PATH: "a", STELLA_INPUT_N: "1" },
        stdin: '{"n":1,"path":"a"}',
        timeout_ms: 60_000,
        cap_bytes: 65_536,
      },
    });
  });

  test("leaves a bare name to the PATH, unless it was found in the workspace root", async () => {
    const command = 'command = ["python3", "x.py"]\n';
    expect(launchOf(await toolOf(command), toInput({})).argv).toEqual(["python3", "x.py"]);
    expect(launchOf(await toolOf(command, "/ws/python3"), toInput({})).argv).toEqual(["/ws/python3", "x.py"]);
  });

  test("takes an absolute program as it is", async () => {
    expect(launchOf(await toolOf('command = ["/bin/echo"]\n'), toInput({})).argv).toEqual(["/bin/echo"]);
  });

  test("says which inputs were not exported, and why (case 22)", async () => {
    const parsed = parseArguments('{"path":"a\\u0000b","n":1}');
    if (parsed.kind !== "input") throw new Error(parsed.message);
    const plan = (await toolOf('command = ["x"]\n')).plan(parsed.input, CONTEXT);
    expect(plan).toMatchObject({
      exports_withheld: [{ name: "STELLA_INPUT_PATH", reason: "it contains a NUL character" }],
      launch: { stdin: '{"n":1,"path":"a\\u0000b"}', env: { STELLA_INPUT_N: "1" } },
    });
  });

  test("delivers any input intact on standard input: parsed again it is what the model wrote", async () => {
    const tool = await toolOf('command = ["x"]\n');
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary", maxLength: 8 }), fc.jsonValue()), (value) => {
        const written = JSON.stringify(value);
        const parsed = parseArguments(written);
        if (parsed.kind !== "input") throw new Error(parsed.message);
        expect(JSON.parse(launchOf(tool, parsed.input).stdin ?? "")).toEqual(JSON.parse(written));
      }),
      { numRuns: 500, seed: 11 },
    );
  });

  test("keeps the digits of numbers on standard input", async () => {
    const parsed = parseArguments('{"b": 9007199254740993, "a": 3.0}');
    if (parsed.kind !== "input") throw new Error(parsed.message);
    expect(launchOf(await toolOf('command = ["x"]\n'), parsed.input).stdin).toBe('{"a":3.0,"b":9007199254740993}');
  });
});

describe("the result of a script", () => {
  const read = async (given: Run, input: JsonInput = toInput({})) => (await toolOf('command = ["x"]\n')).read(given, input);

  test("of exit code 0 is what it printed on stdout, and stderr is not part of it", async () => {
    expect(await read(run(EXIT_0, { stdout: "12\n", stderr: "warning" }))).toEqual({ result: { is_error: false, text: "12\n" } });
  });

  test("that is empty says so in a sentence and a field; a lone line break is not empty", async () => {
    const first = await read(run(EXIT_0), toInput({ a: 1 }));
    expect(first.result).toMatchObject({ is_error: false, empty: true });
    expect(first.result.text).toMatch(
      /^wordcount succeeded \(exit code 0\) and printed nothing to standard output \(input [0-9a-f]{8}\)\.$/,
    );
    expect((await read(run(EXIT_0), toInput({ a: 1 }))).result.text).toBe(first.result.text);
    expect((await read(run(EXIT_0, { stderr: "42\n" }), toInput({ a: 1 }))).result).toEqual({
      ...first.result,
      text: `${first.result.text} What it printed to standard error is not part of a result.`,
    });
    expect((await read(run(EXIT_0), toInput({ a: 2 }))).result.text).not.toBe(first.result.text);
    expect((await read(run(EXIT_0, { stdout: "\n" }))).result).toEqual({ is_error: false, text: "\n" });
  });

  test("of another exit code is an error with the code and stderr", async () => {
    const { result } = await read(run({ kind: "exited", code: 3 }, { stdout: "noise", stderr: "no such file\n" }));
    expect(result).toEqual({ is_error: true, text: "wordcount failed with exit code 3.\n[stderr]\nno such file" });
  });

  test("has the stdout of a failure if stderr is empty, and says if both are", async () => {
    expect((await read(run({ kind: "exited", code: 1 }, { stdout: "why" }))).result.text).toBe(
      "wordcount failed with exit code 1.\n[stdout]\nwhy",
    );
    expect((await read(run({ kind: "exited", code: 1 }))).result.text).toBe("wordcount failed with exit code 1. It printed nothing.");
  });

  test("names the signal", async () => {
    expect((await read(run({ kind: "signalled", signal: "SIGSEGV" }))).result.text).toContain("SIGSEGV");
  });

  test("of a timeout names the milliseconds and keeps what was printed (case 4)", async () => {
    const { result } = await read(run({ kind: "timed_out", after_ms: 1000 }, { stdout: "c\nc\n" }));
    expect(result.is_error).toBe(true);
    expect(result.text).toContain("timed out after 1000 ms");
    expect(result.text).toContain("[stdout]\nc\nc");
  });

  test("of a call that was cancelled, could not start or was lost is an error that says so", async () => {
    expect((await read(run({ kind: "cancelled" }))).result).toMatchObject({ is_error: true, text: expect.stringContaining("cancelled") });
    const unstarted = await read(run({ kind: "not_started", reason: "cannot_start" }, { problem: "scripts/w.sh does not exist" }));
    expect(unstarted.result).toEqual({ is_error: true, text: "wordcount could not start: scripts/w.sh does not exist" });
    expect((await read(run({ kind: "unknown", cause: "worker_died" }))).result.text).toContain("may or may not have taken effect");
  });

  test("tells the true sizes if a stream was cut", async () => {
    const cut: Run = {
      ...run(EXIT_0),
      stdout: { text: "head\n[… 9 bytes omitted …]\ntail", bytes: 99_999, cut: true },
      stderr: NOTHING_CAPTURED,
    };
    expect((await read(cut)).truncated).toEqual({ stdout_bytes: 99_999, stderr_bytes: 0 });
  });
});

describe("a promised result", () => {
  const promise =
    'command = ["x"]\n[output_schema]\ntype = "object"\nrequired = ["total"]\n[output_schema.properties.total]\ntype = "integer"\n';
  const read = async (stdout: string) => (await toolOf(promise)).read(run(EXIT_0, { stdout }), toInput({}));

  test("is the parsed value beside the text", async () => {
    expect(await read(' {"total": 3}\n')).toEqual({ result: { is_error: false, text: ' {"total": 3}\n', data: { total: 3 } } });
  });

  test("that does not fit is told with every fault, up to a hundred", async () => {
    const tool = await toolOf('command = ["x"]\n[output_schema]\ntype = "array"\nitems = { type = "string" }\n');
    const numbers = Array.from({ length: 130 }, (_, index) => index);
    const { text } = tool.read(run(EXIT_0, { stdout: JSON.stringify(numbers) }), toInput({})).result;
    const lines = text.split("\n[stdout]")[0]?.split("\n") ?? [];
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([
      102,
      "wordcount broke its output_schema:",
      "- (result): There are 30 more violations",
    ]);
  });

  test("that is no JSON, does not fit, is empty or too large is a broken contract", async () => {
    for (const stdout of ["three", '{"total":"3"}', "", '{"total":1} x', "[".repeat(100_000)]) {
      const { result } = await read(stdout);
      expect(result.is_error).toBe(true);
      expect(result.text).toContain("broke its output_schema");
      expect(result.data).toBeUndefined();
    }
    const cut: Run = { ...run(EXIT_0), stdout: { text: "{}", bytes: 9_000_000, cut: true } };
    expect((await toolOf(promise)).read(cut, toInput({})).result.text).toContain("9000000 bytes");
  });

  test("is refused when an object has a key twice, as readers differ in which one counts", async () => {
    const anything = await toolOf('command = ["x"]\n[output_schema]\n');
    expect(anything.read(run(EXIT_0, { stdout: '{"b":{"a":1,"a":2}}' }), toInput({})).result).toMatchObject({
      is_error: true,
      text: expect.stringContaining('"a"'),
    });
  });

  test("has no data where a number of it would come out as another one", async () => {
    const anything = await toolOf('command = ["x"]\n[output_schema]\n');
    const resultOf = (stdout: string) => anything.read(run(EXIT_0, { stdout }), toInput({})).result;
    expect(resultOf('{"n":9007199254740993}')).toEqual({ is_error: false, text: '{"n":9007199254740993}' });
    expect(resultOf('{"n":9007199254740991,"f":0.1}')).toMatchObject({ data: { n: 9007199254740991, f: 0.1 } });
  });

  test("is refused when it is nested so deep that no later reader may manage it", async () => {
    const anything = await toolOf('command = ["x"]\n[output_schema]\n');
    const printed = (levels: number) => run(EXIT_0, { stdout: `${"[".repeat(levels)}${"]".repeat(levels)}` });
    expect(anything.read(printed(256), toInput({})).result.is_error).toBe(false);
    for (const levels of [257, 1_000_000]) {
      expect(anything.read(printed(levels), toInput({})).result).toMatchObject({
        is_error: true,
        text: expect.stringContaining("nested deeper than 256 levels"),
      });
    }
  });

  test("is refused when it is made of so many values that reading it would keep others waiting; long texts are not", async () => {
    const anything = await toolOf('command = ["x"]\n[output_schema]\n');
    const printed = (members: readonly string[]) => anything.read(run(EXIT_0, { stdout: `[${members.join(",")}]` }), toInput({})).result;
    expect(printed(Array.from({ length: 49_999 }, () => "[]")).is_error).toBe(false);
    expect(printed(['"' + "x".repeat(5_000_000) + '"']).is_error).toBe(false);
    expect(printed(Array.from({ length: 50_000 }, () => "[]"))).toMatchObject({
      is_error: true,
      text: expect.stringContaining("what it printed is made of more than 50000 values"),
    });
  });

  test("of great length is whole in data and cut in the text", async () => {
    const long = { total: 1, note: "x".repeat(200_000) };
    const { result, truncated } = await read(JSON.stringify(long));
    expect(result.data).toEqual(long as unknown as Json);
    expect(Buffer.byteLength(result.text)).toBeLessThan(67_000);
    expect(truncated?.stdout_bytes).toBe(Buffer.byteLength(JSON.stringify(long)));
  });

  test("asks the supervisor to keep more than a model gets", async () => {
    expect(launchOf(await toolOf(promise), toInput({}))).toMatchObject({ cap_bytes: 65_536, whole_bytes: 8 * 1024 * 1024 });
  });
});
