import { describe, expect, test } from "bun:test";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { type Captured, NOTHING_CAPTURED, type ProcessLaunch, type Run } from "../../../lib/session/launch.ts";
import { parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import { scriptTool } from "../../../lib/tools/nanocoder/script-tool.ts";
import type { PlanContext, ReadResult, Tool } from "../../../lib/tools/tool.ts";
import { type Bench, openBench } from "../../fixtures/supervision.ts";

const ORIGIN = { origin: { system: "nanocoder", scope: "workspace", path: "/ws/t.md" }, digest: "d" } as const;

async function toolOf(body: string, lines = ""): Promise<Tool> {
  const { definition, diagnostics } = await parseDefinition(`---\nname: t\ndescription: d\n${lines}\n---\n${body}\n`, {
    defaultShell: "bash",
  });
  if (definition === null) throw new Error(JSON.stringify(diagnostics));
  return scriptTool(definition, ORIGIN);
}

function contextOf(workspace: string, env: Readonly<Record<string, string>> = { PATH: "/usr/bin:/bin" }): PlanContext {
  return { workspace, env, state: { reads: {}, tasks: {}, scratch: {} } };
}

/** What a call comes to under the real supervisor. */
async function call(bench: Bench, tool: Tool, input: JsonObject = {}, env?: Readonly<Record<string, string>>): Promise<ReadResult> {
  const plan = tool.plan(toInput(input), contextOf(bench.folder, env));
  if (plan.kind === "unable") return { result: { is_error: true, text: plan.problem } };
  if (plan.kind !== "launch" || plan.launch.kind !== "process") throw new Error("Not a process");
  const { argv, ...options } = plan.launch;
  return tool.read(await bench.run(argv, options), toInput(input));
}

function launchOf(tool: Tool, input: JsonObject, env?: Readonly<Record<string, string>>): ProcessLaunch {
  const plan = tool.plan(toInput(input), contextOf("/", env));
  if (plan.kind !== "launch" || plan.launch.kind !== "process") throw new Error(JSON.stringify(plan));
  return plan.launch;
}

describe("a plan", () => {
  const lines = "parameters:\n  a: {type: string, default: dflt}\n  f: {type: string}";

  test("is the shell with the rendered script, an empty standard input and the file's timeout", async () => {
    const launch = launchOf(await toolOf("echo {{ a }}", `${lines}\ntimeout_ms: 5000\nshell: sh\nenv: {X: '\${PATH}'}`), {
      a: "it's",
      other: "x",
    });
    expect(launch).toEqual({
      kind: "process",
      argv: ["/bin/sh", "-c", "echo 'it'\\''s'"],
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", X: "/usr/bin:/bin" },
      stdin: null,
      timeout_ms: 5000,
      cap_bytes: 65536,
    });
  });

  test("has the defaults in it, for sections too, whether the input was completed before or not", async () => {
    const tool = await toolOf("x {{# a }}{{ a }}{{/ a }}{{# f }}F{{/ f }}", lines);
    const completed = tool.complete?.(toInput({ other: 1 }));
    expect(completed?.value).toEqual({ a: "dflt" });
    for (const input of [{}, completed?.value ?? {}]) expect(launchOf(tool, input).argv[2]).toBe("x 'dflt'");
    expect(launchOf(tool, { a: null }).argv[2]).toBe("x ");
  });

  test("does not show undeclared arguments to the template", async () => {
    const tool = await toolOf("x {{ secret }}{{# secret }}y{{/ secret }}", lines);
    expect(launchOf(tool, { secret: "v" }).argv[2]).toBe("x ");
  });

  test("expands its folder from what the tool inherits", async () => {
    const launch = launchOf(await toolOf("x", "cwd: '${ENV:-tmp}'"), {}, { PATH: "/usr/bin:/bin", ENV: "usr" });
    expect(launch.cwd).toBe("/tmp");
  });

  test("keeps the text of numbers", async () => {
    const tool = await toolOf("x {{ n }}", "parameters: {n: {type: number, required: true}}");
    const plan = tool.plan({ value: { n: 9007199254740992 }, text: '{"n":9007199254740993}' }, contextOf("/"));
    expect(plan).toMatchObject({ launch: { argv: ["/bin/bash", "-c", "x '9007199254740993'"] } });
  });

  test("is refused for a script that is too long for an argument, and for a value that would end a here-document", async () => {
    const long = (await toolOf("echo {{ a }}", lines)).plan(toInput({ a: "x".repeat(140_000) }), contextOf("/"));
    expect(long).toEqual({ kind: "unable", problem: expect.stringContaining("Custom tool failed to start: its script has 14") });
    const ended = (await toolOf("cat <<'E'\n{{ a }}\nE", lines)).plan(toInput({ a: "x\nE" }), contextOf("/"));
    expect(ended).toEqual({ kind: "unable", problem: expect.stringContaining("would end the here-document") });
  });
});

describe("a call", () => {
  test("sees the value and nothing else of it", async () => {
    await using bench = openBench();
    const tool = await toolOf("printf '%s|' {{ a }} end", "parameters: {a: {type: string}}");
    for (const value of ["a$'b", "$&", "$`", "$$", "$1", "; touch pwned; #", "$(touch pwned)"]) {
      expect((await call(bench, tool, { a: value })).result.text).toBe(`EXIT_CODE: 0\n${value}|end|`);
    }
    expect(await readdir(bench.folder)).not.toContain("pwned");
  });

  test("starts with its exit code, and has sections when it wrote to standard error", async () => {
    await using bench = openBench();
    const results = [
      ["echo oops >&2; exit 3", { is_error: false, text: "EXIT_CODE: 3\nSTDERR:\noops\nSTDOUT:\n" }],
      ["printf 'table\\n'; exit 1", { is_error: false, text: "EXIT_CODE: 1\ntable" }],
      [":", { is_error: false, text: "EXIT_CODE: 0\n", empty: true }],
      ["echo out; echo ' ' >&2", { is_error: false, text: "EXIT_CODE: 0\nout" }],
      ["kill -9 $$", { is_error: false, text: "EXIT_CODE: 137\nSIGNAL: SIGKILL\n", empty: true }],
    ] as const;
    for (const [body, result] of results) expect((await call(bench, await toolOf(body))).result).toEqual(result);
  });

  test("that reads finds the end of its input at once", async () => {
    await using bench = openBench();
    expect((await call(bench, await toolOf('read x; echo "rc=$?"'))).result.text).toBe("EXIT_CODE: 0\nrc=1");
  });

  test("that does not end in time is an error that says so, with what was printed", async () => {
    await using bench = openBench();
    const { result } = await call(bench, await toolOf("trap '' TERM; echo begun; sleep 5 & wait; sleep 5", "timeout_ms: 300"));
    expect(result).toEqual({ is_error: true, text: "Custom tool timed out after 300 ms\nbegun" });
  });

  test("that cannot start says so in one form for every reason", async () => {
    await using bench = openBench();
    await writeFile(join(bench.folder, "file"), "");
    const file = await call(bench, await toolOf("echo hi", "cwd: ./file"));
    expect([file.result.is_error, file.result.text.startsWith("Custom tool failed to start: ")]).toEqual([true, true]);
    const large = await call(bench, await toolOf("echo {{ a }}", "parameters: {a: {type: string}}"), { a: "x".repeat(131_000) });
    expect(large.result.text).toMatch(/^(?:EXIT_CODE: 0|Custom tool failed to start: )/);
  });

  test("in a directory outside the project is refused, and nothing runs", async () => {
    await using bench = openBench();
    await symlink("/tmp", join(bench.folder, "s"));
    await mkdir(join(bench.folder, "in"));
    for (const cwd of ["./s", "../", "${HOME}", "/"]) {
      const { result } = await call(bench, await toolOf("touch here", `cwd: ${cwd}`), {}, { HOME: "/tmp", PATH: "/usr/bin:/bin" });
      expect(result).toEqual({ is_error: true, text: "Custom tool cwd escapes the project directory" });
    }
    await call(bench, await toolOf("touch here", "cwd: ./in"));
    await call(bench, await toolOf("touch root", "cwd: ./missing"));
    expect([(await readdir(bench.folder)).toSorted(), await readdir(join(bench.folder, "in"))]).toEqual([["in", "root", "s"], ["here"]]);
  });

  test("gets its own environment, and no file runs before it", async () => {
    await using bench = openBench();
    await writeFile(join(bench.folder, "profile"), "echo intruder");
    const env = { PATH: "/usr/bin:/bin", BASH_ENV: join(bench.folder, "profile"), ENV: join(bench.folder, "profile"), FOO: "keep" };
    const tool = await toolOf('echo "$FOO:$A:$B"', "env: {A: 'x${FOO}', B: 'pa$$word'}");
    expect((await call(bench, tool, {}, env)).result.text).toBe("EXIT_CODE: 0\nkeep:xkeep:pa$$word");
  });

  test("whose output is cut says how much is missing, per stream", async () => {
    await using bench = openBench();
    const { result, truncated } = await call(bench, await toolOf("head -c 300000 /dev/zero | tr '\\0' x; echo end >&2"));
    expect(truncated).toEqual({ stdout_bytes: 300_000, stderr_bytes: 4 });
    expect(result.text.slice(0, 40)).toContain("EXIT_CODE: 0\nSTDERR:\nend\nSTDOUT:\nxxx");
    expect(result.text.match(/bytes omitted/g)).toHaveLength(1);
    expect(result.text.length).toBeLessThan(67_000);
  });
});

test("endings that are no exit of the script are errors", async () => {
  const tool = await toolOf("x");
  const read = (run: Partial<Run>) =>
    tool.read(
      { outcome: { kind: "cancelled" }, stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED, duration_ms: 1, reaped: [], ...run },
      toInput({}),
    ).result;
  const printed: Captured = { text: "so far\n", bytes: 7, cut: false };
  expect(read({ stdout: printed })).toEqual({ is_error: true, text: "Custom tool was cancelled\nso far" });
  expect(read({ outcome: { kind: "not_started", reason: "cannot_start" }, problem: "/bin/bash is missing" })).toEqual({
    is_error: true,
    text: "Custom tool failed to start: /bin/bash is missing",
  });
  expect(read({ outcome: { kind: "unknown", cause: "worker_died" } }).text).toContain("unknown outcome (worker_died)");
  expect(read({ outcome: { kind: "timed_out", after_ms: 5 }, stderr: printed }).text).toBe(
    "Custom tool timed out after 5 ms\nSTDERR:\nso far\nSTDOUT:\n",
  );
});
