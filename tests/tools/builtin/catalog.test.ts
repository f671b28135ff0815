import { describe, expect, test } from "bun:test";
import { parseArguments } from "../../../lib/session/arguments.ts";
import { type JsonInput, toInput } from "../../../lib/session/json.ts";
import { CATALOG, RESERVED_NAMES, runBuiltin } from "../../../lib/tools/builtin/catalog.ts";
import { compileOwnSchema } from "../../../lib/tools/own-schema.ts";
import { builtinTools } from "../../../lib/tools/builtin/tools.ts";
import { NOTHING_CAPTURED, type Run } from "../../../lib/session/launch.ts";

describe("the catalog of built-ins", () => {
  test("marks exactly these six as read-only (pin)", () => {
    expect(CATALOG.filter(({ read_only }) => read_only).map(({ name }) => name).sort()).toEqual([
      "get_environment",
      "get_state",
      "list_state",
      "read_file",
      "search",
      "task_list",
    ]);
  });

  test("shows schemas that compile, in the form that compiling gives them", () => {
    const definitions = CATALOG.flatMap(({ definition }) => definition === undefined ? [] : [definition]);
    expect(definitions.map(({ input_schema }) => compileOwnSchema(input_schema).declared)).toEqual(
      definitions.map(({ input_schema }) => input_schema),
    );
  });

  test("reserves exactly the fifteen documented names (pin)", () => {
    expect([...RESERVED_NAMES].sort()).toEqual([
      "bash",
      "delegate",
      "delete_file",
      "delete_state",
      "edit_file",
      "get_environment",
      "get_state",
      "list_state",
      "read_file",
      "save_state",
      "search",
      "task_assign",
      "task_create",
      "task_list",
      "write_file",
    ]);
  });

  test("lets only reads that cost nothing run on suspicion (pin)", () => {
    const safe = CATALOG.filter(({ speculation_safe }) => speculation_safe);
    expect(safe.map(({ name }) => name).sort()).toEqual(["get_environment", "get_state", "list_state", "read_file", "task_list"]);
    expect(safe.every(({ read_only }) => read_only)).toBe(true);
  });

  test("gives as tools only what can be run", () => {
    expect(builtinTools().map(({ name }) => name)).toEqual(
      CATALOG.filter(({ definition }) => definition !== undefined).map(({ name }) => name),
    );
  });

  test("refuses half of a surrogate pair in whatever a tool is given, saying where", () => {
    const texts = CATALOG.flatMap(({ name, definition }) => textInputs(definition?.input_schema).map((input) => ({ name, input })));
    expect(texts.length).toBeGreaterThan(20);
    for (const { name, input } of texts) {
      const half = parseInput(`{${JSON.stringify(input)}:"a\\ud800b"}`);
      expect(violationsOf(name, half)).toContain(
        `/${input} This text has half of a surrogate pair, which UTF-8 cannot hold; write the whole character`,
      );
      const whole = parseInput(`{${JSON.stringify(input)}:"a\\ud83d\\ude00b \\\\ud800"}`);
      expect(violationsOf(name, whole).filter((each) => each.includes("surrogate"))).toEqual([]);
    }
    const deep = parseInput('{"path":"x","edits":[{"old_string":"a","new_string":"\\udc00"}],"\\ud800":1}');
    const places = violationsOf("edit_file", deep).filter((each) => each.includes("surrogate")).map((each) => each.split(" ")[0]);
    expect(places.sort()).toEqual(["/edits/0/new_string", "/\ufffd"]);
  });

  test("refuses to run what is not a tool of a host, as a reply", async () => {
    for (const name of ["bash", "delegate", "nothing", "__proto__"]) {
      expect((await runBuiltin(name, toInput({}), { workspace: "/", env: {} })).is_error).toBe(true);
    }
  });

  test("turns a failure inside a built-in into a reply", async () => {
    const reply = await runBuiltin("delete_file", toInput({ path: 5 }), { workspace: "/", env: {} });
    expect(reply).toEqual({ is_error: true, text: 'delete_file failed: "path" must be a string' });
  });
});

describe("a built-in's plan", () => {
  const state = { reads: { "a.txt": { whole: true } }, tasks: {}, scratch: { note: "n" } };
  const context = { workspace: "/ws", env: { PATH: "/bin", BASH_ENV: "/evil", ENV: "/evil" }, state };
  const find = (name: string) => {
    const tool = builtinTools().find((builtin) => builtin.name === name);
    if (tool === undefined) throw new Error(name);
    return tool;
  };

  test("is a call of a tool host with the projections that it needs, and no others", () => {
    const stateFor = (name: string) => {
      const plan = find(name).plan(toInput({ id: "t1" }), context);
      return plan.kind === "launch" && plan.launch.kind === "host" ? plan.launch.context.state : null;
    };
    expect(["write_file", "edit_file"].map(stateFor)).toEqual([{ reads: state.reads }, { reads: state.reads }]);
    expect(["task_create", "task_list", "task_start", "task_complete", "task_cancel", "task_assign"].map(stateFor)).toEqual(
      Array(6).fill({ tasks: {} }),
    );
    expect(["save_state", "get_state", "list_state", "delete_state"].map(stateFor)).toEqual(Array(4).fill({ scratch: state.scratch }));
    expect(["delete_file", "search", "get_environment"].map(stateFor)).toEqual([{}, {}, {}]);
  });

  test("has the input's own text and a deadline", () => {
    expect(find("read_file").plan(toInput({ path: "a" }), context)).toEqual({
      kind: "launch",
      launch: {
        kind: "host",
        tool: "read_file",
        input: '{"path":"a"}',
        context: { workspace: "/ws", env: context.env, state: {} },
        timeout_ms: 60_000,
      },
    });
  });

  test("of bash is a shell in the workspace that reads no profile and has no input", () => {
    const plan = find("bash").plan(toInput({ command: "echo hi" }), context);
    expect(plan).toMatchObject({
      launch: { kind: "process", cwd: "/ws", stdin: null, timeout_ms: 120_000, cap_bytes: 65_536, env: { PATH: "/bin" } },
    });
    if (plan.kind !== "launch" || plan.launch.kind !== "process") throw new Error("expected a process");
    expect(plan.launch.argv.slice(1)).toEqual(["-c", "echo hi"]);
    expect(plan.launch.argv[0]).toMatch(/^\/bin\/(ba)?sh$/);
    expect(Object.keys(plan.launch.env)).toEqual(["PATH"]);
  });

  test("of bash takes its seconds from the input, up to ten minutes", () => {
    const seconds = (timeout_secs: number) => {
      const plan = find("bash").plan(toInput({ command: "x", timeout_secs }), context);
      return plan.kind === "launch" ? plan.launch.timeout_ms : null;
    };
    expect([seconds(0), seconds(5), seconds(600)]).toEqual([120_000, 5000, 600_000]);
    expect(find("bash").check(toInput({ command: "x", timeout_secs: 601 })).length).toBe(1);
  });

  test("checks its input before anything runs", () => {
    expect(find("bash").check(toInput({})).map(({ message }) => message)).toEqual(['The input lacks the required property "command"']);
    expect(find("read_file").check(toInput({ path: "a", limit: 2001 })).length).toBe(1);
    expect(find("write_file").check(toInput({ pth: "a" })).length).toBe(3);
  });
});

describe("a built-in's result", () => {
  const find = (name: string) => builtinTools().find((builtin) => builtin.name === name);
  const run = (given: Partial<Run>): Run => ({
    outcome: { kind: "returned" },
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    duration_ms: 1,
    reaped: [],
    ...given,
  });
  const captured = (text: string) => ({ text, bytes: text.length, cut: false });

  test("is the host's reply", () => {
    const reply = { is_error: false, text: "t", data: { path: "a" }, changes: [{ x: 1 }] };
    expect(find("read_file")?.read(run({ reply }), toInput({}))).toEqual({
      result: { is_error: false, text: "t", data: { path: "a" } },
      changes: [{ x: 1 }],
    });
  });

  test("is an error if the host died or timed out", () => {
    const died = find("read_file")?.read(run({ outcome: { kind: "unknown", cause: "host_died" }, problem: "killed" }), toInput({}));
    expect(died?.result).toMatchObject({ is_error: true, text: expect.stringContaining("host_died") });
  });

  test("of bash has both streams, and says when there is nothing", () => {
    const outcome = { kind: "exited", code: 0 } as const;
    expect(find("bash")?.read(run({ outcome, stdout: captured("out\n"), stderr: captured("warn\n") }), toInput({}))?.result.text).toBe(
      "out\n\n[stderr]\nwarn",
    );
    expect(find("bash")?.read(run({ outcome }), toInput({}))?.result).toMatchObject({ is_error: false, empty: true });
    const failed = find("bash")?.read(
      run({ outcome: { kind: "exited", code: 2 }, stdout: captured("1 failed\n"), stderr: captured("exit\n") }),
      toInput({}),
    );
    expect(failed?.result).toEqual({ is_error: true, text: "bash failed with exit code 2.\n[stdout]\n1 failed\n[stderr]\nexit" });
  });
});

function textInputs(schema: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const properties = (schema?.["properties"] ?? {}) as Readonly<Record<string, { readonly type: string }>>;
  return Object.entries(properties).flatMap(([name, { type }]) => type === "string" ? [name] : []);
}

function parseInput(text: string): JsonInput {
  const parsed = parseArguments(text);
  if (parsed.kind === "malformed") throw new Error(parsed.message);
  return parsed.input;
}

function violationsOf(tool: string, input: JsonInput): readonly string[] {
  const violations = builtinTools().find(({ name }) => name === tool)?.check(input) ?? [];
  return violations.map(({ pointer, message }) => `${pointer} ${message}`);
}
