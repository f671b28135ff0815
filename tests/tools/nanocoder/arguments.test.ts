import { describe, expect, test } from "bun:test";
import { parseArguments } from "../../../lib/session/arguments.ts";
import type { JsonInput } from "../../../lib/session/json.ts";
import { checkArguments, completeArguments, toJsonSchema } from "../../../lib/tools/nanocoder/arguments.ts";
import { parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import type { Parameter } from "../../../lib/tools/nanocoder/parameters.ts";
import { processorTime } from "../../fixtures/processor-time.ts";

async function parametersOf(...lines: readonly string[]): Promise<readonly Parameter[]> {
  const source = `---\nname: t\ndescription: d\nparameters:\n${lines.map((line) => `  ${line}`).join("\n")}\n---\nx`;
  const { definition, diagnostics } = await parseDefinition(source, { defaultShell: "sh" });
  if (definition === null) throw new Error(JSON.stringify(diagnostics));
  return definition.parameters;
}

function input(text: string): JsonInput {
  const parsed = parseArguments(text);
  if (parsed.kind === "malformed") throw new Error(parsed.message);
  return parsed.input;
}

async function problems(line: string, text: string): Promise<readonly string[]> {
  return checkArguments(await parametersOf(line), input(text)).map(({ pointer, message }) => `${pointer} ${message}`);
}

describe("arguments", () => {
  test("that fit have no problems, and what is not declared does not count", async () => {
    const parameters = await parametersOf("a: {type: string, required: true}", "n: {type: integer}");
    for (const text of ['{"a":""}', '{"a":"x","n":1.0}', '{"a":"x","n":null,"other":{"b":1}}', '{"a":"x","n":9007199254740993}']) {
      expect(checkArguments(parameters, input(text))).toEqual([]);
    }
    expect(checkArguments(await parametersOf("a: {type: string}"), input(""))).toEqual([]);
  });

  test("that are missing or null are said in the seed's words", async () => {
    for (const text of ["{}", '{"foo":null}']) {
      expect(await problems("foo: {type: string, required: true}", text)).toEqual(["/foo ⚒ Missing required parameter: foo"]);
    }
  });

  test("are all reported, in the order of declaration", async () => {
    const parameters = await parametersOf(
      "b: {type: string, required: true}",
      "a: {type: integer, min: 1}",
      "c: {type: array, items: {type: string}}",
    );
    expect(checkArguments(parameters, input('{"a":0,"c":["x",1,null]}'))).toEqual([
      { pointer: "/b", message: "⚒ Missing required parameter: b", leads: true },
      { pointer: "/a", message: "⚒ Invalid parameter: a must be at least 1, not 0", leads: true },
      { pointer: "/c/1", message: "⚒ Invalid parameter: c (1) must be a string, not the number 1", leads: true },
      { pointer: "/c/2", message: "⚒ Invalid parameter: c (2) must be a string, not null", leads: true },
    ]);
  });

  test("are told up to a hundred, and the rest is counted", async () => {
    const parameters = await parametersOf(...Array.from({ length: 150 }, (_, index) => `p${index}: { type: string, required: true }`));
    const found = checkArguments(parameters, input("{}"));
    expect([found.length, found.at(-1)?.message]).toEqual([101, "There are 50 more violations"]);
  });

  test("are not converted", async () => {
    expect(await problems("a: {type: number}", '{"a":"5"}')).toEqual(['/a ⚒ Invalid parameter: a must be a number, not the string "5"']);
    expect(await problems("a: {type: boolean}", '{"a":1}')).toHaveLength(1);
    expect(await problems("a: {type: integer}", '{"a":1.5}')).toHaveLength(1);
    expect(await problems("a: {type: number}", '{"a":1e999}')).toHaveLength(1);
    expect(await problems("a: {type: array}", '{"a":{}}')).toEqual(["/a ⚒ Invalid parameter: a must be an array, not an object"]);
  });

  test("keep every constraint", async () => {
    const text = "a: {type: string, enum: [x, yy, '1'], minLength: 2, maxLength: 3, pattern: '^[a-z]+$'}";
    expect(await problems(text, '{"a":"yy"}')).toEqual([]);
    expect((await problems(text, '{"a":"1"}')).map((problem) => problem.replace("/a ⚒ Invalid parameter: a ", ""))).toEqual([
      "must have at least 2 characters, not 1",
      "must match the pattern ^[a-z]+$",
    ]);
    expect(await problems(text, '{"a":"zzzz"}')).toHaveLength(2);
    expect(await problems("a: {type: string, maxLength: 1}", '{"a":"😀"}')).toEqual([]);
    expect(await problems("a: {type: string, pattern: '^[a-z]+$'}", '{"a":"a\\n"}')).toHaveLength(1);
    expect(await problems("a: {type: number, min: 0, max: 1}", '{"a":1.5}')).toEqual([
      "/a ⚒ Invalid parameter: a must be at most 1, not 1.5",
    ]);
    expect(await problems("a: {type: integer, enum: [1, 2]}", '{"a":2.0}')).toEqual([]);
    expect(await problems("a: {type: number, min: 10}", '{"a":0.10e1}')).toEqual([
      "/a ⚒ Invalid parameter: a must be at least 10, not 0.10e1",
    ]);
    expect(await problems("a: {type: array, items: {type: string}}", '{"a":["x",-0]}')).toEqual([
      "/a/1 ⚒ Invalid parameter: a (1) must be a string, not the number -0",
    ]);
    expect(await problems("a: {type: number}", '{"a":1e400}')).toEqual([
      "/a ⚒ Invalid parameter: a must be a number, not the number 1e400, which is too large",
    ]);
  });

  test("that no program can receive are refused, not changed", async () => {
    expect(await problems("a: {type: string}", '{"a":"x\\u0000y"}')).toEqual([
      "/a ⚒ Invalid parameter: a has a NUL character, which no program can receive",
    ]);
    expect(await problems("a: {type: string}", '{"a":"\\ud800"}')).toHaveLength(1);
    expect(await problems("a: {type: array}", '{"a":["ok","\\u0000"]}')).toHaveLength(1);
  });

  test("are looked up as own properties only", async () => {
    expect(await problems("constructor: {type: string}", "{}")).toEqual([]);
    expect(await problems("valueof: {type: string, required: true}", "{}")).toHaveLength(1);
    const parameters = await parametersOf("constructor: {type: string, default: d}");
    expect(completeArguments(parameters, input('{"__proto__":{"constructor":"x"}}')).text).toBe('{"constructor":"d"}');
  });

  test("are checked in bounded time whatever the pattern", async () => {
    const started = processorTime();
    await problems("a: {type: string, pattern: '^(a+)+$'}", JSON.stringify({ a: `${"a".repeat(50_000)}!` }));
    expect(processorTime() - started).toBeLessThan(5000);
  });
});

describe("completing", () => {
  test("fills what was omitted, drops what is not declared, and keeps what numbers say", async () => {
    const parameters = await parametersOf(
      "n: {type: number, default: 3.10}",
      "s: {type: string, default: x}",
      "o: {type: string}",
      "l: {type: array}",
    );
    const completed = completeArguments(parameters, input('{"zzz":1,"l":[9007199254740993,1.50]}'));
    expect(completed.text).toBe('{"l":[9007199254740993,1.50],"n":3.10,"s":"x"}');
    expect(completed.value).toEqual({ l: [9007199254740992, 1.5], n: 3.1, s: "x" });
    expect(completeArguments(parameters, completed)).toEqual(completed);
  });

  test("does not take an explicit null for an omission", async () => {
    expect(completeArguments(await parametersOf("s: {type: string, default: x}"), input('{"s":null}')).text).toBe('{"s":null}');
  });
});

test("a model is shown a JSON Schema that says what was declared", async () => {
  const parameters = await parametersOf(
    "a: {type: string, required: true, description: The A, pattern: '^x', minLength: 1, maxLength: 9}",
    "b: {type: integer, min: 0, max: 5, default: 2, enum: [0, 2]}",
    "c: {type: array, items: {type: string}, default: [q]}",
  );
  expect(toJsonSchema(parameters)).toEqual({
    type: "object",
    properties: {
      a: { type: "string", description: "The A", pattern: "^x", minLength: 1, maxLength: 9 },
      b: { type: "integer", default: 2, enum: [0, 2], minimum: 0, maximum: 5 },
      c: { type: "array", default: ["q"], items: { type: "string" } },
    },
    required: ["a"],
    additionalProperties: false,
  });
  expect(toJsonSchema([])).toEqual({ type: "object", properties: {}, required: [], additionalProperties: false });
});
