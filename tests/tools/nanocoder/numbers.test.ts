import { describe, expect, test } from "bun:test";
import { parseArguments } from "../../../lib/session/arguments.ts";
import type { JsonInput } from "../../../lib/session/json.ts";
import { checkArguments, completeArguments, toJsonSchema } from "../../../lib/tools/nanocoder/arguments.ts";
import { parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import { wholeDigits } from "../../../lib/tools/nanocoder/numbers.ts";
import { scriptTool } from "../../../lib/tools/nanocoder/script-tool.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { openBench } from "../../fixtures/supervision.ts";

async function load(lines: readonly string[], body = "x") {
  const source = `---\nname: t\ndescription: d\n${lines.join("\n")}\n---\n${body}\n`;
  const { definition, diagnostics } = await parseDefinition(source, { defaultShell: "bash" });
  if (definition === null) throw new Error(JSON.stringify(diagnostics));
  const tool = scriptTool(definition, { origin: { system: "nanocoder", scope: "workspace", path: "/ws/t.md" }, digest: "d" });
  return { definition, tool, said: diagnostics.map(({ severity, code }) => `${severity} ${code}`) };
}

async function parametersOf(...lines: readonly string[]) {
  const { definition, said } = await load(["parameters:", ...lines.map((line) => `  ${line}`)]);
  return { parameters: definition.parameters, said };
}

function input(text: string): JsonInput {
  const parsed = parseArguments(text);
  if (parsed.kind === "malformed") throw new Error(parsed.message);
  return parsed.input;
}

function planOf(tool: Tool, text: string) {
  return tool.plan(input(text), { workspace: "/", env: { PATH: "/usr/bin:/bin" }, state: { reads: {}, tasks: {}, scratch: {} } });
}

function scriptOf(tool: Tool, text: string): string | undefined {
  const plan = planOf(tool, text);
  return plan.kind === "launch" && plan.launch.kind === "process" ? plan.launch.argv[2] : JSON.stringify(plan);
}

describe("the digits of a whole number", () => {
  const spellings: readonly (readonly [string, string | null])[] = [
    ["2.0", "2"],
    ["2e0", "2"],
    ["20e-1", "2"],
    ["1E+3", "1000"],
    ["-0", "0"],
    ["-0.0e5", "0"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993.00", "-9007199254740993"],
    ["-007", "-7"],
    ["+7", "7"],
    ["5.", "5"],
    ["0x1F", "31"],
    ["0xFFFFFFFFFFFFFFFFFF", "4722366482869645213695"],
    ["0o17", "15"],
    ["1e308", `1${"0".repeat(308)}`],
    ["1e309", null],
    ["1e99999999999999999999", null],
    ["0e99999999999999999999", "0"],
    ["1e-400", null],
    ["1.5", null],
    ["1.00000000000000000000001", null],
    [".", null],
    [".inf", null],
    ["x", null],
  ];

  test("are those of exactly that number, however it is spelled", () => {
    expect(spellings.map(([written]) => [written, wholeDigits(written)])).toEqual(spellings.map((each) => [...each]));
  });

  test("are found in linear time", () => {
    expect(wholeDigits(`1${"0".repeat(1_000_000)}1`)).toBe(null);
    expect(wholeDigits(`0.${"0".repeat(1_000_000)}1e1000001`)).toBe("1");
  });
});

describe("an integer", () => {
  test("is plain digits for the shell, whatever its spelling, also in lists and as a default", async () => {
    const { tool, said } = await load([
      "parameters:",
      "  n: {type: integer}",
      "  l: {type: array, items: {type: integer}}",
      "  d: {type: integer, default: 1.0}",
      "  h: {type: integer, default: 0x1F}",
      "  m: {type: integer, default: -007}",
      "  e: {type: integer, default: 1e3}",
      "  q: {type: integer, default: '2.0'}",
      "  b: {type: integer, default: 9007199254740993}",
      "  a: {type: array, items: {type: integer}, default: [2.0, 0x10]}",
    ], "x {{ n }} {{ l }} {{ d }} {{ h }} {{ m }} {{ e }} {{ q }} {{ b }} {{ a }}");
    expect(said.filter((each) => !each.startsWith("info"))).toEqual(["warning converted_value"]);
    expect(scriptOf(tool, '{"n":-20e-1,"l":[2e0,9007199254740993,-0]}')).toBe(
      "x '-2' '2' '9007199254740993' '0' '1' '31' '-7' '1000' '2' '9007199254740993' '2' '16'",
    );
  });

  test("that was approved is the one that runs", async () => {
    const { parameters } = await parametersOf("n: {type: integer}");
    const completed = completeArguments(parameters, input('{"n":1e3}'));
    expect(completed).toEqual({ text: '{"n":1000}', value: { n: 1000 } });
  });

  test("is one if what was written is, and not what a double makes of it", async () => {
    const { parameters } = await parametersOf("n: {type: integer}", "l: {type: array, items: {type: integer}}");
    const problems = (text: string) => checkArguments(parameters, input(text)).map(({ message }) => message);
    expect(problems('{"n":2.0,"l":[1e308]}')).toEqual([]);
    for (const written of ["1.0000000000000000000001", "1e-400", "9007199254740993.5"]) {
      expect(problems(`{"n":${written}}`)).toEqual([expect.stringContaining(`must be an integer, not the number ${written}`)]);
    }
    expect(problems('{"l":[1e400]}')).toEqual(["⚒ Invalid parameter: l (0) must be an integer, not the number 1e400, which is too large"]);
  });

  test("of an enum is compared with all its digits", async () => {
    const { parameters, said } = await parametersOf("n: {type: integer, enum: [1.0, 0x2, 9007199254740993]}");
    const accepted = ["1", "2e0", "9007199254740993.0", "9007199254740992", "3"].filter((written) =>
      checkArguments(parameters, input(`{"n":${written}}`)).length === 0
    );
    expect([said, accepted]).toEqual([[], ["1", "2e0", "9007199254740993.0"]]);
    expect(checkArguments(parameters, input('{"n":3}'))[0]?.message).toContain("must be one of 1, 2, 9007199254740993, not");
  });

  test("takes the branch and the arithmetic that its body means", async () => {
    await using bench = openBench();
    const body =
      "case {{ n }} in 1) echo one;; 2) echo two;; *) echo neither;; esac; n={{ n }}; echo $((n+1)); [ {{ n }} -gt 1 ] && echo more";
    const { tool } = await load(["parameters: {n: {type: integer, enum: [1, 2]}}"], body);
    for (const written of ["2.0", "2e0", "20e-1", "2"]) {
      const plan = planOf(tool, `{"n":${written}}`);
      if (plan.kind !== "launch" || plan.launch.kind !== "process") throw new Error("Not a process");
      const { argv, ...options } = plan.launch;
      expect((await bench.run(argv, { ...options, cwd: bench.folder })).stdout.text).toBe("two\n3\nmore\n");
    }
  });
});

test("a number is plain digits if it is whole and of ordinary size, a member of its enum, and else as written", async () => {
  const { tool } = await load(
    ["parameters: {n: {type: number}, e: {type: number, enum: [0.50, 3]}, l: {type: array}}"],
    "x {{ n }} {{ e }} {{ l }}",
  );
  expect(scriptOf(tool, '{"n":2.0,"e":0.500,"l":[1e1,1.50,{"a":2.0}]}')).toBe("x '2' '0.5' '10' '1.50' '{\"a\":2.0}'");
  expect(scriptOf(tool, '{"n":3.10,"e":3e0}')).toBe("x '3.10' '3' ");
  expect(scriptOf(tool, '{"n":1e30}')).toBe("x '1e30'  ");
  expect(scriptOf(tool, '{"n":9007199254740993}')).toBe("x '9007199254740993'  ");
});

describe("a number that no double holds", () => {
  test("is text as it is written where text is wanted", async () => {
    const { tool, definition, said } = await load([
      "parameters:",
      "  guild: {type: string, default: 175928847299117063}",
      "  far: {type: string, default: 1e400}",
      "  one: {type: string, enum: [175928847299117063, .inf], default: 175928847299117063}",
      "  all: {type: array, items: {type: string}, default: [175928847299117063]}",
      "env: {ID: 175928847299117063, FAR: 1e400}",
    ], "x {{ guild }} {{ far }} {{ one }} {{ all }}");
    expect(said.filter((each) => each !== "warning quote_it")).toEqual([]);
    expect(scriptOf(tool, "{}")).toBe("x '175928847299117063' '1e400' '175928847299117063' '175928847299117063'");
    expect({ ...definition.env }).toEqual({ ID: "175928847299117063", FAR: "1e400" });
  });

  test("is kept as the default of a number, unless it is infinite, and not shown to a model as another one", async () => {
    const { parameters, said } = await parametersOf(
      "a: {type: number, default: 175928847299117063}",
      "b: {type: number, default: 1e400}",
      "c: {type: array, default: [.nan]}",
      "d: {type: integer, enum: [175928847299117063]}",
    );
    expect(parameters.map((parameter) => parameter.default)).toEqual(["175928847299117063", null, null, null]);
    expect(said).toEqual(["warning ignored_default", "warning ignored_default"]);
    expect(toJsonSchema(parameters)).toMatchObject({ properties: { a: { type: "number" }, d: { type: "integer" } } });
    expect(JSON.stringify(toJsonSchema(parameters))).not.toContain("1759288472991170");
  });

  test("counts as a double in a bound, with a warning, and is an error there if it is infinite", async () => {
    const { said } = await parametersOf("a: {type: integer, max: 9223372036854775807}");
    expect(said).toEqual(["warning number_too_large"]);
    await expect(parametersOf("a: {type: integer, max: 1e400}")).rejects.toThrow("number_too_large");
  });
});
