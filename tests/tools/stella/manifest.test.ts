import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Diagnostic } from "../../../lib/tools/diagnostic.ts";
import { CATALOG } from "../../../lib/tools/builtin/catalog.ts";
import { parseManifest } from "../../../lib/tools/stella/manifest.ts";
import { processorTime } from "../../fixtures/processor-time.ts";

const MINIMAL = 'name = "wordcount"\ndescription = "Counts."\ncommand = ["scripts/wordcount.sh"]\ntimeout_ms = 60000\n';
const SCHEMA = '\n[input_schema]\ntype = "object"\n';

async function diagnosticsOf(text: string): Promise<readonly Diagnostic[]> {
  return (await parseManifest(text)).diagnostics;
}

/** `severity code line:column` of each. */
async function summaryOf(text: string): Promise<readonly string[]> {
  return (await diagnosticsOf(text)).map(({ severity, code, line, column }) =>
    `${severity} ${code}${line === undefined ? "" : ` ${line}:${column}`}`
  );
}

describe("a manifest", () => {
  test("with every field is read without a word", async () => {
    const { name, manifest, diagnostics } = await parseManifest(`
name = "wordcount"
description = "Count the words in a file and print the total."
command = ["scripts/wordcount.sh", ""]
timeout_ms = 60_000
read_only = true
speculation_safe = true
approval = "always"

[env]
WORDCOUNT_LOCALE = "en_US"

[input_schema]
type = "object"
required = ["path"]

[input_schema.properties.path]
type = "string"
description = "Path to the file whose words should be counted."

[output_schema]
type = "integer"
`);
    expect(diagnostics).toEqual([]);
    expect(name).toBe("wordcount");
    expect(manifest).toMatchObject({
      name: "wordcount",
      command: ["scripts/wordcount.sh", ""],
      timeout_ms: 60_000,
      read_only: true,
      speculation_safe: true,
      approval: "always",
    });
    expect({ ...manifest?.env }).toEqual({ WORDCOUNT_LOCALE: "en_US" });
    expect(manifest?.input.check({}).length).toBe(1);
    expect(manifest?.output?.check(3)).toEqual([]);
    expect(manifest?.output?.check("3").length).toBe(1);
  });

  test("with only what it must have gets the defaults, and is told so", async () => {
    const { manifest, diagnostics } = await parseManifest('name = "ab"\ndescription = "d"\ncommand = ["x"]');
    expect(manifest).toMatchObject({ timeout_ms: 30_000, read_only: false, speculation_safe: false, approval: "never", output: null });
    expect(diagnostics.map(({ severity, code }) => [severity, code])).toEqual([["info", "default_timeout"], ["info", "no_input_schema"]]);
  });

  test("that is wrong in many ways is told all of them at once, in the order they stand", async () => {
    const text = `name = "Word-Count"
description = "  "
command = ["", 5]
timeout_ms = -1
read_only = "yes"
speculation_safe = true
approval = "sometimes"
timeout_msec = 5
[env]
N = 1
[input_schema]
type = "objekt"
`;
    expect(await summaryOf(text)).toEqual([
      "warning unknown_key 8:1",
      "error invalid_name 1:1",
      "error blank_description 2:1",
      "error wrong_type 3:1",
      "error empty_command 3:1",
      "error negative_timeout 4:1",
      "error wrong_type 10:1",
      "error schema_type 12:1",
      "error wrong_type 5:1",
      "error invalid_approval 7:1",
    ]);
    expect((await parseManifest(text)).manifest).toBeNull();
  });

  test("that lacks fields is told which", async () => {
    expect(await summaryOf("timeout_ms = 1" + SCHEMA)).toEqual([
      "error missing_name",
      "error missing_description",
      "error missing_command",
    ]);
  });

  test("with a syntax error is told where, and nothing else", async () => {
    expect(await summaryOf('name = "a"\ndescription = \n')).toEqual(["error toml_syntax 2:15"]);
    expect(await summaryOf('name = "a"\nname = "b"\n')).toEqual(["error toml_syntax 2:1"]);
  });

  test("that starts with a byte order mark is fine; elsewhere one is a fault with its place", async () => {
    expect(await summaryOf("\uFEFF" + MINIMAL + SCHEMA)).toEqual([]);
    expect(await summaryOf(`name = "a"\n\uFEFFdescription = "x"\n`)).toEqual(["error toml_syntax 2:1"]);
    expect(await summaryOf("\uFEFFnom = 1\n" + MINIMAL + SCHEMA)).toEqual(["warning unknown_key 1:1"]);
  });

  test("with CRLF line ends has the same positions", async () => {
    expect(await summaryOf((MINIMAL + "nonsense = 1\n" + SCHEMA).replaceAll("\n", "\r\n"))).toEqual(["warning unknown_key 5:1"]);
  });

  test("with a day that no calendar has is refused, which the parser does not do (case 83)", async () => {
    for (const day of ["2023-02-29", "2024-02-30", "1900-02-29T00:00:00Z"]) {
      expect(await summaryOf(MINIMAL + `when = ${day}\n` + SCHEMA)).toContain("error toml_syntax 5:8");
    }
    expect(await summaryOf(`${MINIMAL}read_only = 2024-02-30\n${SCHEMA}`)).toEqual(["error wrong_type 5:1"]);
    expect(await summaryOf(`${MINIMAL}${SCHEMA}default = 2024-02-30\n`)).toEqual(["error schema_value 8:1"]);
    expect(await summaryOf(MINIMAL + "when = 2024-02-29\n" + SCHEMA)).toEqual(["warning unknown_key 5:1"]);
  });

  test("with a key that is too deep or too long is told what else is wrong", async () => {
    const text = `name = "ab"\ndescription = 5\ncommand = ["x"]\ntimeout_ms = 5\n"${"k".repeat(2000)}" = 1\n[env]\nA = 1\n` +
      `[input_schema${".a".repeat(300)}]\n[output_schema.properties.a]\ntype = "strng"\n`;
    expect(await summaryOf(text)).toEqual([
      "error key_too_long 5:1",
      "error too_deep 8:523",
      "error wrong_type 2:1",
      "error wrong_type 7:1",
      "error schema_keyword 10:1",
    ]);
  });

  test("whose flag is no flag is not told what would follow from it", async () => {
    expect(await summaryOf(`${MINIMAL}read_only = "yes"\nspeculation_safe = true\n${SCHEMA}`)).toEqual(["error wrong_type 5:1"]);
    expect(await summaryOf(`${MINIMAL}speculation_safe = true\n${SCHEMA}`)).toEqual(["error speculation_unsafe 5:1"]);
  });

  test("is warned of an unknown key with the known one that is meant", async () => {
    const [diagnostic] = await diagnosticsOf(MINIMAL + "timeout-ms = 5\n" + SCHEMA);
    expect(diagnostic).toMatchObject({
      severity: "warning",
      code: "unknown_key",
      line: 5,
      column: 1,
      remedy: 'Did you mean "timeout_ms"?',
    });
  });

  test("is told that what only Stella uses has no effect", async () => {
    expect(await summaryOf(MINIMAL + 'risk = "low"\n' + SCHEMA)).toEqual(["info ignored_key 5:1"]);
  });

  test("with dotted and inline tables has the positions of their keys", async () => {
    expect(await summaryOf(MINIMAL + 'env.BIG = 5\ninput_schema = { type = "object", properties = { a = { "type" = "strin" } } }\n'))
      .toEqual([
        "error wrong_type 5:5",
        "error schema_keyword 6:56",
      ]);
  });
});

describe("the name", () => {
  test("is valid by the documented pattern and by nothing else", async () => {
    for (const name of ["ab", "a1", "word_count", "a".repeat(64)]) expect((await parseManifest(named(name))).manifest?.name).toBe(name);
    for (const name of ["a", "A1", "1a", "_a", "word-count", "word count", "é1", "a".repeat(65), ""]) {
      expect(await summaryOf(named(name))).toEqual(["error invalid_name 1:1"]);
    }
  });

  test("that is not valid comes with one that would be", async () => {
    const remedies = await Promise.all(
      ["WordCount", "word-count", "9 lives", "Bash", "a", "1a", "é", "größe", "7", "-"].map(async (name) =>
        (await diagnosticsOf(named(name))).at(-1)?.remedy
      ),
    );
    expect(remedies).toEqual([
      'Write name = "word_count".',
      'Write name = "word_count".',
      'Write name = "lives".',
      "Choose another name.",
      'Write name = "a_tool".',
      'Write name = "tool_1a".',
      'Write name = "e_tool".',
      'Write name = "gro_e".',
      'Write name = "tool_7".',
      "Use lower-case letters, digits and underscores.",
    ]);
  });

  test("is reserved, in any letter case, exactly for these words (pin)", async () => {
    const reserved = [
      ...[
        "read_file",
        "search",
        "task_list",
        "get_state",
        "list_state",
        "get_environment",
        "bash",
        "write_file",
        "edit_file",
        "delete_file",
      ],
      ...["task_create", "task_assign", "delegate", "save_state", "delete_state"],
      ...["shell", "file", "task", "scratch", "environment", "question", "mcp", "custom"],
      ...["mcp__server__tool", "mcp__x"],
    ];
    for (const name of reserved) {
      expect(await summaryOf(named(name))).toEqual(["error reserved_name 1:1"]);
      expect(await summaryOf(named(name.toUpperCase()))).toEqual(["error reserved_name 1:1"]);
    }
  });

  test("of any other built-in is a warning, and the manifest works", async () => {
    const others = CATALOG.filter(({ reserved }) => !reserved).map(({ name }) => name);
    expect(others).toEqual(["task_start", "task_complete", "task_cancel"]);
    for (const name of others) expect(await summaryOf(named(name))).toEqual(["warning shadows_builtin 1:1"]);
  });

  function named(name: string): string {
    return `name = ${JSON.stringify(name)}\ndescription = "d"\ncommand = ["x"]\ntimeout_ms = 5\n${SCHEMA}`;
  }
});

describe("timeout_ms", () => {
  const withTimeout = (value: string) => parseManifest(`name = "ab"\ndescription = "d"\ncommand = ["x"]\ntimeout_ms = ${value}\n${SCHEMA}`);

  test("is kept, defaulted or clamped as documented", async () => {
    for (
      const [value, expected] of [["1", 1], ["600000", 600_000], ["30_000", 30_000], ["0", 30_000], ["600001", 600_000], [
        "9223372036854775807",
        600_000,
      ]] as const
    ) {
      expect((await withTimeout(value)).manifest?.timeout_ms).toBe(expected);
    }
    expect((await withTimeout("0")).diagnostics.map(({ code }) => code)).toEqual(["default_timeout"]);
    expect((await withTimeout("600001")).diagnostics.map(({ severity, code }) => [severity, code])).toEqual([[
      "warning",
      "timeout_clamped",
    ]]);
  });

  test("is refused if it is negative, a float or a string", async () => {
    for (const value of ["-1", "5.0", "1e3", '"5"', "inf", "true"]) {
      const { manifest, diagnostics } = await withTimeout(value);
      expect(manifest).toBeNull();
      expect(diagnostics.length).toBe(1);
    }
  });
});

describe("[env]", () => {
  const withEnv = (body: string) => `${MINIMAL}\n[env]\n${body}\n${SCHEMA}`;

  test("takes strings only, and says which top-level key slid into it (Appendix A 1)", async () => {
    const diagnostics = await diagnosticsOf(`name = "ab"\ndescription = "d"\ncommand = ["x"]\n[env]\ntimeout_ms = 5\n${SCHEMA}`);
    expect(diagnostics.map(({ severity, code, line }) => [severity, code, line])).toEqual([
      ["info", "default_timeout", undefined],
      ["warning", "misplaced_key", 5],
      ["error", "wrong_type", 5],
    ]);
  });

  test("refuses a value that no environment can hold", async () => {
    expect(await summaryOf(withEnv('A = "x\\u0000y"'))).toEqual(["error env_nul 7:1"]);
    expect(await summaryOf(withEnv(`BIG = "${"a".repeat(200_000)}"`))).toEqual(["error env_too_large 7:1"]);
    expect(await summaryOf(withEnv('"A=B" = "x"'))).toEqual(["error env_name 7:1"]);
  });

  test("is warned of a name that looks like an input", async () => {
    expect(await summaryOf(withEnv('STELLA_INPUT_PATH = "x"'))).toEqual(["warning env_input_prefix 7:1"]);
    expect(await summaryOf(withEnv('ORRERY_CALL = "x"'))).toEqual(["warning env_reserved 7:1"]);
  });

  test("called __proto__ is a variable and changes nothing else (Appendix A 2)", async () => {
    const { manifest } = await parseManifest(withEnv('__proto__ = "x"\nconstructor = "y"'));
    expect(Object.entries(manifest?.env ?? {})).toEqual([["__proto__", "x"], ["constructor", "y"]]);
    const table = await parseManifest(`${MINIMAL}${SCHEMA}[__proto__]\npolluted = "yes"\n`);
    expect(table.diagnostics.map(({ code }) => code)).toEqual(["unknown_key"]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("command", () => {
  test("must be an array of strings whose first names a program, and hold no NUL (case 22)", async () => {
    const withCommand = (value: string) => summaryOf(`name = "ab"\ndescription = "d"\ncommand = ${value}\ntimeout_ms = 5\n${SCHEMA}`);
    expect(await withCommand('["x", ""]')).toEqual([]);
    expect(await withCommand('"x y"')).toEqual(["error wrong_type 3:1"]);
    expect(await withCommand("[]")).toEqual(["error empty_command 3:1"]);
    expect(await withCommand('["  "]')).toEqual(["error empty_command 3:1"]);
    expect(await withCommand('["x", "a\\u0000"]')).toEqual(["error command_nul 3:1"]);
    expect(await withCommand(`["x", "${"a".repeat(140_000)}"]`)).toEqual(["error command_too_large 3:1"]);
  });
});

describe("[input_schema]", () => {
  test("that is no table is an error", async () => {
    expect(await summaryOf(MINIMAL + 'input_schema = "x"\n')).toEqual(["error wrong_type 5:1"]);
  });

  test("is checked as a schema, with the place of the fault", async () => {
    const text = MINIMAL +
      '\n[input_schema.properties.a]\ntype = "string"\npattern = "^\\\\d+$"\n[input_schema.properties.b]\n"$ref" = "#/$defs/nope"\n';
    expect(await summaryOf(text)).toEqual(["error schema_ref 10:1"]);
    expect(await summaryOf(MINIMAL + '\n[input_schema.properties.a]\npattern = "(?<=x)y"\n')).toEqual([
      "error schema_pattern_unsupported 7:1",
    ]);
  });

  test("with what JSON does not have is refused", async () => {
    for (const value of ["2024-01-01", "12345678901234567890", "nan"]) {
      const codes = (await diagnosticsOf(`${MINIMAL}\n[input_schema.properties.a]\ndefault = ${value}\n`)).map(({ severity, code }) =>
        `${severity} ${code}`
      );
      expect(codes).toContain("error schema_value");
    }
    expect(await summaryOf(`${MINIMAL}\n[input_schema.properties.a]\nmaximum = 9007199254740993\n`)).toEqual(["error schema_value 7:1"]);
  });

  test("is told once of each value that JSON does not have, whatever its keyword would say of it besides", async () => {
    const keywords = `multipleOf = 1e400
minimum = 1979-05-27
maximum = nan
exclusiveMaximum = 12345678901234567890
maxLength = 12345678901234567890
enum = [1979-05-27, "a"]
required = [1979-05-27]
default = inf
type = "string"
`;
    const summary = await summaryOf(`${MINIMAL}\n[input_schema.properties.a]\n${keywords}`);
    expect(summary.filter((line) => line.startsWith("error"))).toEqual(
      [7, 8, 9, 10, 11, 12, 13, 14].map((line) => `error schema_value ${line}:1`),
    );
    expect(await summaryOf(`${MINIMAL}\n[input_schema.properties]\na = 1979-05-27\n`)).toEqual(["error schema_value 7:1"]);
  });

  test("that contradicts itself is refused, with the place (case 83)", async () => {
    const text = `${MINIMAL}
[input_schema]
required = ["nope"]
[input_schema.properties.a]
type = "string"
enum = [1, "x"]
[input_schema.properties.b]
type = "array"
items = { type = "integer", default = 5, maximum = 3 }
[output_schema]
minProperties = 2
maxProperties = 1
`;
    expect(await summaryOf(text)).toEqual([
      "warning schema_required 7:1",
      "error schema_enum 10:1",
      "error schema_default 13:29",
      "error schema_bounds 15:1",
    ]);
  });

  test("is warned of a manifest's key that slid into it", async () => {
    const text = 'name = "ab"\ndescription = "d"\ncommand = ["x"]\n[input_schema]\ntype = "object"\ndescription = "fine"\ntimeout_ms = 5\n';
    expect(await summaryOf(text)).toEqual(["info default_timeout", "warning misplaced_key 7:1"]);
  });

  test("is warned of a manifest's key that slid under any later table, with its place, and of no other key", async () => {
    const slid = (header: string, key = "timeout_ms = 5000") =>
      summaryOf(`${MINIMAL}\n${header}\n${key}\n`).then((all) => all.filter((said) => said.includes("misplaced")));
    const headers = [
      "[input_schema.properties.path]",
      "[input_schema.properties]",
      '[input_schema."$defs".a.items]',
      "[output_schema.properties.a]",
      "[other]",
    ];
    for (const header of headers) expect([header, await slid(header)]).toEqual([header, ["warning misplaced_key 7:1"]]);
    for (const key of ['command = ["x"]', "read_only = true", "speculation_safe = false"]) {
      expect([key, await slid("[input_schema.properties.path]", key)]).toEqual([key, ["warning misplaced_key 7:1"]]);
    }
    const legal = ['name = { type = "string" }', 'timeout_ms = { type = "integer" }', "command = {}", "env = {}"];
    for (const key of legal) expect([key, await slid("[input_schema.properties]", key)]).toEqual([key, []]);
    expect(await slid("[input_schema.properties.a.default]")).toEqual([]);
    expect(await slid("[input_schema.properties.a]", 'description = "fine"')).toEqual([]);
  });

  test("is warned of properties that would be exported under one name", async () => {
    const text = `${MINIMAL}\n[input_schema.properties]\ndry-run = { type = "boolean" }\ndry_run = { type = "boolean" }\n`;
    expect(await summaryOf(text)).toEqual(["warning export_collision 8:1"]);
    expect(await summaryOf(`${text}\n[input_schema.properties.z]\ntype = "strnig"\n`)).toContain("warning export_collision 8:1");
  });
});

describe("parsing", () => {
  test("never throws and always ends, whatever the text", async () => {
    const fragments = fc.constantFrom(
      "name",
      "=",
      '"',
      "'''",
      "[",
      "]",
      "{",
      "}",
      "[[",
      "env",
      ".",
      ",",
      "\n",
      "#",
      "5",
      "2024-02-30",
      "\\u00",
      "\uFEFF",
      "\r\n",
      " ",
      "__proto__",
      "input_schema",
      '"x"',
      "\u2028",
      "é",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.array(fragments, { maxLength: 40 }).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(text, async (source) => {
        const { manifest, diagnostics } = await parseManifest(source);
        expect(manifest === null).toBe(diagnostics.some(({ severity }) => severity === "error"));
        expect(JSON.parse(JSON.stringify(diagnostics))).toEqual(diagnostics as Diagnostic[]);
      }),
      { numRuns: 2000, seed: 20 },
    );
  });

  test("never throws, whatever the values of the fields", async () => {
    const value = fc.constantFrom(
      '"x"',
      "5",
      "-5",
      "5.5",
      "true",
      "[]",
      '["a"]',
      "[1]",
      "{}",
      "{ a = 1 }",
      '{ type = "object" }',
      "2024-01-01",
      "inf",
      "[[1]]",
    );
    const keys = [
      "name",
      "description",
      "command",
      "timeout_ms",
      "env",
      "input_schema",
      "output_schema",
      "read_only",
      "speculation_safe",
      "approval",
    ];
    const text = fc.tuple(...keys.map((key) => fc.option(value).map((chosen) => chosen === null ? "" : `${key} = ${chosen}\n`))).map((
      lines,
    ) => lines.join(""));
    await fc.assert(
      fc.asyncProperty(text, async (source) => {
        const { manifest, diagnostics } = await parseManifest(source);
        expect(manifest === null).toBe(diagnostics.some(({ severity }) => severity === "error"));
      }),
      { numRuns: 1500, seed: 21 },
    );
  });

  test("of deep nesting ends with a diagnostic", async () => {
    for (const text of [`x = ${"[".repeat(5000)}`, `x = ${"{a=".repeat(5000)}`, `[${"a.".repeat(5000)}a]`]) {
      const { diagnostics } = await parseManifest(text);
      expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
    }
    const schema = `${MINIMAL}[input_schema${".properties.a".repeat(100)}]\n`;
    expect((await diagnosticsOf(schema)).map(({ code }) => code)).toContain("schema_too_large");
  });

  test("takes as many levels of tables and of schemas as the page says, however they are written", async () => {
    const errorsOf = async (text: string) =>
      (await diagnosticsOf(text)).flatMap(({ severity, code }) => severity === "info" || code === "unknown_key" ? [] : [code]);
    const schemas: readonly ((levels: number) => string)[] = [
      (levels) => `[input_schema${".properties.a".repeat(levels)}]\n`,
      (levels) => `input_schema = ${"{ properties = { a = ".repeat(levels)}{}${" } }".repeat(levels)}\n`,
      (levels) => `[input_schema]\n${"not.".repeat(levels)}type = "string"\n`,
      (levels) => `[input_schema]\nallOf = ${"[{ allOf = ".repeat(levels - 1)}[{}]${" }]".repeat(levels - 1)}\n`,
    ];
    for (const schema of schemas) {
      expect([await errorsOf(MINIMAL + schema(64)), await errorsOf(MINIMAL + schema(65))]).toEqual([[], ["schema_too_large"]]);
    }
    const tables: readonly ((levels: number) => string)[] = [
      (levels) => `x = ${"[".repeat(levels)}${"]".repeat(levels)}\n`,
      (levels) => `x = ${"{ a = ".repeat(levels - 1)}{}${" }".repeat(levels - 1)}\n`,
      (levels) => `[x${".a".repeat(levels - 1)}]\n`,
      (levels) => `[input_schema]\ndefault${".a".repeat(levels - 2)} = {}\n`,
    ];
    for (const table of tables) {
      expect([await errorsOf(MINIMAL + table(256)), await errorsOf(MINIMAL + table(257))]).toEqual([[], ["too_deep"]]);
    }
    expect(await diagnosticsOf(`${MINIMAL}x = ${"[".repeat(5000)}`)).toMatchObject([{ code: "too_deep", line: 5 }]);
  });

  const HEAD = 'name = "ab"\ndescription = "d"\ncommand = ["x"]\ntimeout_ms = 5\n';
  const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_none, index) => line(index)).join("\n");
  const path = (parts: number) => Array.from({ length: parts }, () => "a").join(".");
  const shapes: readonly (readonly [string, () => string, string])[] = [
    ["a key of a hundred thousand parts", () => `input_schema.${path(100_000)} = 1\n`, "too_deep"],
    ["a header of a hundred thousand parts", () => `[input_schema.${path(100_000)}]\n`, "too_deep"],
    ["deep keys beside deep keys", () => `[input_schema]\n${lines(1000, (index) => `${path(90)}.k${index} = 1`)}`, "no_error"],
    ["keys as deep as they may be", () => `[input_schema]\n${lines(400, (index) => `${path(250)}.k${index} = 1`)}`, "no_error"],
    [
      "lists as deep as they may be",
      () => `[input_schema]\n${lines(400, (i) => `k${i} = ${"[".repeat(250)}1${"]".repeat(250)}`)}`,
      "no_error",
    ],
    [
      "references that lead nowhere",
      () => `[input_schema.properties]\n${lines(5000, (i) => `p${i} = { "$ref" = "#/$defs/n${i}" }`)}`,
      "schema_ref",
    ],
    [
      "references that lead on and on",
      () => `input_schema."$ref" = "#/$defs/d0"\n${lines(4000, (i) => `[input_schema."$defs".d${i}]\n"$ref" = "#/$defs/d${i + 1}"`)}`,
      "schema_ref",
    ],
    [
      "patterns that repeat a thousand times",
      () => `[input_schema.properties]\n${lines(150, (i) => `p${i} = { pattern = "${"ab{1000}".repeat(200)}${i}" }`)}`,
      "schema_pattern_unsupported",
    ],
    [
      "patterns whose repeats multiply",
      () => `[input_schema.properties]\n${lines(150, (i) => `p${i} = { pattern = "(?:(?:a{9}){9}[bc]){0,40}${i}" }`)}`,
      "schema_too_large",
    ],
    [
      "thousands of small patterns",
      () => `[input_schema.properties]\n${lines(8000, (i) => `p${i} = { pattern = "a${i}" }`)}`,
      "schema_too_large",
    ],
    [
      "a long key with thousands of children",
      () => `[input_schema.properties."${"k".repeat(180_000)}"]\n${lines(7000, (i) => `c${i} = 1`)}`,
      "key_too_long",
    ],
    [
      "long keys within long keys with thousands of faults below",
      () => `[input_schema${`.properties.${"k".repeat(1000)}`.repeat(30)}.properties]\n${lines(19_000, (i) => `c${i} = 5`)}`,
      "no_error",
    ],
    ["thousands of unknown keys", () => lines(12_000, (i) => `timeout_m${i} = 1`), "no_error"],
    ["thousands of wrong variables", () => `[env]\n${lines(12_000, (i) => `timeout_m${i} = 1`)}`, "wrong_type"],
    [
      "thousands of wrong types",
      () => `[input_schema.properties]\n${lines(8000, (i) => `p${i} = { type = "strin${i}" }`)}`,
      "schema_keyword",
    ],
    [
      "thousands of names that collide",
      () => `[input_schema.properties]\n${lines(9000, (i) => `"a${"-_.".charAt(i / 3000)}${i % 3000}" = {}`)}`,
      "no_error",
    ],
  ];
  for (const [name, text, code] of shapes) {
    test(`takes no time for ${name}`, async () => {
      const source = HEAD + text();
      expect(source.length).toBeLessThan(262_144);
      const start = processorTime();
      const { manifest, diagnostics } = await parseManifest(source);
      // A square of these would take minutes.
      expect(processorTime() - start).toBeLessThan(4000);
      expect(manifest === null).toBe(code !== "no_error");
      if (code !== "no_error") expect(diagnostics.filter(({ severity }) => severity === "error").map((said) => said.code)).toContain(code);
      expect(diagnostics.length).toBeLessThanOrEqual(202);
      expect(Math.max(0, ...diagnostics.map(({ message }) => message.length))).toBeLessThan(1100);
    });
  }

  test("bounds the largest patterns it takes when they are run, too", async () => {
    const { manifest } = await parseManifest(`${HEAD}[input_schema.properties.a]\npattern = "^(?:[ab]?){900}a{900}$"\n`);
    const start = processorTime();
    manifest?.input.check({ a: "ab".repeat(100_000) });
    expect(processorTime() - start).toBeLessThan(1500);
    expect(manifest).not.toBeNull();
  });

  test("keeps the first error, however many warnings came before it, and says that there is more", async () => {
    const { manifest, diagnostics } = await parseManifest(`${lines(5000, (index) => `unknown${index} = 1`)}\n`);
    expect(manifest).toBeNull();
    expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
    expect(diagnostics.at(-1)?.code).toBe("more_diagnostics");
  });

  test("of any shape of keys, references and repeats ends soon, and with a verdict", async () => {
    const word = fc.tuple(fc.constantFrom("a", "$ref", "properties", "k~/", "items", "input_schema"), fc.constantFrom(1, 40, 1000)).map((
      [base, times],
    ) => base.repeat(Math.ceil(times / base.length)));
    const key = fc.array(word, { minLength: 1, maxLength: 6 });
    const repeat = fc.tuple(
      fc.constantFrom("a", "[^b]", "(?:cd|e)", "\\\\p{L}", "."),
      fc.constantFrom("", "{7}", "{0,999}", "{50,}", "*", "+"),
    )
      .map(([atom, count]) => atom + count);
    const pattern = fc.array(fc.oneof(repeat, repeat.map((inner) => `(${inner}){1,30}`)), { maxLength: 30 }).map((parts) => parts.join(""));
    const value = fc.oneof(
      fc.constantFrom("1", "{}", '"#/a"', '{ type = "string" }', "[[]]"),
      pattern.map((source) => `{ pattern = "${source}" }`),
      word.map((name) => `{ "$ref" = "#/properties/${name}" }`),
    );
    const line = fc.tuple(fc.constantFrom("input_schema", "input_schema.properties", "env", "x"), key, fc.constantFrom(1, 30), value)
      .map(([root, parts, times, written]) =>
        `${root}.${Array.from({ length: times }, () => parts).flat().map((part) => JSON.stringify(part)).join(".")} = ${written}`
      );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (all) => {
        const start = processorTime();
        const { manifest, diagnostics } = await parseManifest(HEAD + all.join("\n"));
        expect(processorTime() - start).toBeLessThan(1500);
        expect(manifest === null).toBe(diagnostics.some(({ severity }) => severity === "error"));
        manifest?.input.check({ a: "a".repeat(1000) });
      }),
      { numRuns: 200, seed: 33 },
    );
  });
});
