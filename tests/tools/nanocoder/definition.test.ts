import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { readFileSync } from "node:fs";
import type { Diagnostic } from "../../../lib/tools/diagnostic.ts";
import { type ParsedDefinition, parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import { renderTemplate } from "../../../lib/tools/nanocoder/render.ts";

const BASH = { defaultShell: "bash" } as const;

function parse(source: string): Promise<ParsedDefinition> {
  return parseDefinition(source, BASH);
}

/** A tool with these lines in its frontmatter besides. */
function withLines(lines: string, body = "echo hi"): Promise<ParsedDefinition> {
  return parse(`---\nname: t\ndescription: d\n${lines}\n---\n${body}\n`);
}

function short({ severity, code, line, column }: Diagnostic): string {
  return `${severity} ${code} ${line}:${column}`;
}

async function saidOf(source: Promise<ParsedDefinition>): Promise<readonly string[]> {
  return (await source).diagnostics.map(short);
}

test("the seed's example loads as it is and renders as printed", async () => {
  const source = readFileSync(fileURLToPath(import.meta.resolve("../../fixtures/nanocoder/k8s-pods.md")), "utf8");
  const { definition, diagnostics } = await parse(source);
  expect(diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  expect(definition).toMatchObject({
    name: "k8s_pods",
    approval: "never",
    read_only: true,
    timeout_ms: 30000,
    cwd: null,
    env: {},
    shell: "bash",
  });
  const render = (values: object) => renderTemplate(definition?.pieces ?? [], new Map(Object.entries(values)));
  expect(render({ namespace: "default" })).toEqual({ kind: "script", text: "kubectl get pods -n 'default' " });
  expect(render({ namespace: "x", selector: "app=api" })).toEqual({ kind: "script", text: "kubectl get pods -n 'x' -l 'app=api'" });
});

describe("the two parts of a file", () => {
  const lines = ["---", "name: t", 'description: "a --- b"', "---", "", "echo hi", "---", "echo ho", ""];

  test("are found with LF, CRLF, a byte order mark, and spaces after the dashes", async () => {
    const variants = [
      lines.join("\n"),
      lines.join("\r\n"),
      `\uFEFF${lines.join("\r\n")}`,
      lines.join("\n").replaceAll("---\n", "---  \n").replace('"a ---  ', '"a --- '),
    ];
    for (const source of variants) {
      const { definition, diagnostics } = await parse(source);
      expect(diagnostics).toEqual([]);
      expect(definition?.pieces).toMatchObject([{ kind: "text", text: expect.stringMatching(/^echo hi\n--- {0,2}\necho ho$/) }]);
    }
  });

  test("are an error where they are not, and never a tool with defaults", async () => {
    const faults: readonly (readonly [string, string])[] = [
      ["", "no_frontmatter"],
      ["echo hi\n", "no_frontmatter"],
      [`\n${lines.join("\n")}`, "no_frontmatter"],
      [`----\n${lines.slice(1).join("\n")}`, "no_frontmatter"],
      [`---yaml\n${lines.slice(1).join("\n")}`, "no_frontmatter"],
      ["---\nname: t\ndescription: d\necho hi\n", "unclosed_frontmatter"],
      ["---\nname: t\n ---\n", "unclosed_frontmatter"],
    ];
    for (const [source, code] of faults) {
      const { definition, diagnostics } = await parse(source);
      expect([definition, diagnostics.map((said) => said.code)]).toEqual([null, [code]]);
    }
  });

  test("need a name, a description and a body", async () => {
    expect(await saidOf(parse("---\n---\nx"))).toEqual(["error missing_name 2:1", "error missing_description 2:1"]);
    expect(await saidOf(parse("---\n\n# nothing\n---\n \n"))).toEqual([
      "error missing_name 2:1",
      "error missing_description 2:1",
      "error empty_body 6:1",
    ]);
  });
});

describe("YAML", () => {
  test("that cannot be read is an error with its line and column", async () => {
    const faults: readonly (readonly [string, string])[] = [
      ["description: core rule: x", "error yaml_syntax 4:14"],
      ["cwd: [a] b", "error yaml_syntax 4:10"],
      ["cwd: @x", "error yaml_syntax 4:6"],
      ["cwd: *x", "error yaml_alias 4:6"],
      ["env:\n\tA: b", "error yaml_syntax 5:1"],
      ['cwd: "^\\d+$"', "error yaml_syntax 4:8"],
      ["name: again", "error duplicate_key 4:1"],
      ["cwd: !!str 1", "error yaml_tag 4:12"],
      ["<<: {cwd: x}", "error yaml_merge 4:1"],
      ["...\nx: 1", "error yaml_documents 5:1"],
      ["cwd: 1e999", "error wrong_type 4:6"],
    ];
    for (const [line, said] of faults) expect(await saidOf(withLines(line))).toContain(said);
  });

  test("has one error for one mistake, also where the parser then loses its way, and one for each of several", async () => {
    const unquoted = withLines("parameters:\n  a: { type: string, pattern: ^[a-z]+$ }\ncwd: x");
    expect(await saidOf(unquoted)).toEqual(["error yaml_syntax 5:32"]);
    expect(await saidOf(withLines("cwd: @x\nshell: `sh`"))).toEqual(["error yaml_syntax 4:6", "error yaml_syntax 5:8"]);
  });

  test("says what would be right", async () => {
    const { diagnostics } = await parse("---\nname: t\ndescription: core rule: x\n---\nx");
    expect(diagnostics[0]?.remedy).toBe("Put the text in quotes.");
    const escape = await withLines('cwd: "^\\d+$"');
    expect(escape.diagnostics[0]?.remedy).toContain("single quotes");
    expect((await withLines("cwd: !!str 1")).diagnostics[0]?.message).toBe("The tag !!str is not allowed");
    expect((await withLines("cwd: !own 1")).diagnostics[0]?.message).toBe("The tag !own is not allowed");
  });

  test("that is no mapping, or nested without end, is an error", async () => {
    expect(await saidOf(parse("---\n- a\n---\nx"))).toEqual(["error not_a_mapping 2:1"]);
    expect(await saidOf(parse("---\njust text\n---\nx"))).toEqual(["error not_a_mapping 2:1"]);
    for (
      const nested of [
        "[".repeat(100_000),
        `\n${"- ".repeat(50_000)}`,
        Array.from({ length: 600 }, (_, depth) => `\n${" ".repeat(depth)}a:`).join(""),
      ]
    ) {
      expect(await saidOf(parse(`---\na: ${nested}\n---\nx`))).toEqual([expect.stringContaining("yaml_too_deep")]);
    }
  });

  test("keeps a description that has quotes, and warns of a comment that was meant as text", async () => {
    const told = async (value: string) => {
      const { description, diagnostics } = await parse(`---\nname: t\ndescription: ${value}\n---\nx`);
      return [description, ...diagnostics.map(({ code }) => code)];
    };
    expect(await told('Optional label selector (e.g. "app=api")')).toEqual(['Optional label selector (e.g. "app=api")']);
    expect(await told("uses foo #bar")).toEqual(["uses foo", "comment_in_text"]);
    expect(await told("issue # 5")).toEqual(["issue", "comment_in_text"]);
    expect(await told("Shown to the model   # required")).toEqual(["Shown to the model"]);
    expect(await told("two\n  lines")).toEqual(["two lines"]);
    expect(await told("{{ name }}")).toEqual([null, "yaml_key"]);
  });

  test("cannot reach a prototype", async () => {
    const { definition, diagnostics } = await withLines(
      "__proto__: {polluted: true}\nenv:\n  __proto__: x\nparameters:\n  constructor: {type: string}",
      "echo {{ constructor }}",
    );
    expect(diagnostics.map(short)).toEqual(["warning unknown_key 4:1"]);
    expect(Object.keys(definition?.env ?? {})).toEqual(["__proto__"]);
    expect(definition?.parameters.map(({ name }) => name)).toEqual(["constructor"]);
  });
});

describe("everything that is wrong is said at once", () => {
  const wrong = [
    "approval: sometimes",
    "timeout_ms: 9999999",
    "parameters:",
    "  n: {type: strin}",
    "  s: {type: string, minLength: x}",
  ].join("\n");
  const body = "echo $(( {{ n }} )) {{ s }}\n{{# s }}";
  const said = (line: number) => [
    `error wrong_type ${line}:11`,
    `error invalid_timeout ${line + 1}:13`,
    `error invalid_type ${line + 3}:13`,
    `error wrong_type ${line + 4}:32`,
    `error tag_arithmetic ${line + 6}:10`,
    `error unclosed_section ${line + 7}:1`,
  ];

  test("whatever YAML has that is no fault of its syntax", async () => {
    const faults: readonly (readonly [string, string])[] = [
      ["name: again", "error duplicate_key 4:1"],
      ["cwd: *x", "error yaml_alias 4:6"],
      ["cwd: !!str 1", "error yaml_tag 4:12"],
      ["read_only: !own yes", "error yaml_tag 4:17"],
      ["env: !!map {A: b}", "error yaml_tag 4:12"],
      ["<<: *x", "error yaml_merge 4:1"],
      ["cwd: {{ name }}", "error yaml_key 4:7"],
      ["? [a]\n: b", "error yaml_key 4:3"],
    ];
    for (const [line, fault] of faults) {
      const below = 4 + line.split("\n").length;
      expect(await saidOf(withLines(`${line}\n${wrong}`, body))).toEqual([fault, ...said(below)]);
    }
  });

  test("of the body, where nothing but that can be read", async () => {
    const faults = ["error tag_arithmetic 6:10", "error unclosed_section 7:1"];
    expect(await saidOf(withLines("cwd: @x", body))).toEqual(["error yaml_syntax 4:6", ...faults]);
    expect(await saidOf(parse(`---\n- a\n---\n\n\n${body}`))).toEqual(["error not_a_mapping 2:1", ...faults]);
    expect(await saidOf(withLines("...\nx: 1", ""))).toEqual(["error yaml_documents 5:1", "error empty_body 8:1"]);
  });

  test("and nothing that only follows from something else", async () => {
    const followed: readonly (readonly [string, string])[] = [
      ["parameters: *x", "error yaml_alias 4:13"],
      ["parameters:\n  s: *x", "error yaml_alias 5:6"],
      ["parameters:\n  <<: *x", "error yaml_merge 5:3"],
      ["parameters:\n  s:\n    <<: *x\n    description: d", "error yaml_merge 6:5"],
      ["parameters:\n  - *x", "error yaml_alias 5:5"],
      ["parameters:\n  s: {type: !!str string}", "error yaml_tag 5:19"],
      ["parameters:\n  s: {type: strin}", "error invalid_type 5:13"],
      ["parameters:\n  s: {type: string, default: *x, enum: [*x, a]}", "error yaml_alias"],
      ["parameters:\n  s: {type: array, default: [*x], items: {type: *x}}", "error yaml_alias"],
    ];
    for (const [lines, fault] of followed) {
      const found = (await saidOf(withLines(lines, "echo {{ s }}{{# s }}{{/ s }}"))).filter((each) => !each.startsWith(fault));
      expect([lines, found]).toEqual([lines, []]);
    }
    expect(await saidOf(parse("---\n<<: *x\nname: *y\n---\necho {{ s }}"))).toEqual(["error yaml_merge 2:1", "error yaml_alias 3:7"]);
    expect(await saidOf(parse("---\nname: t\ndescription: {{ x }}\n---\nx"))).toEqual(["error yaml_key 3:15"]);
  });

  test("also below a collection with a tag, at whose place its first key stands", async () => {
    expect(await saidOf(withLines("parameters: !!map\n  A: {type: string}"))).toEqual([
      "error yaml_tag 5:3",
      "error invalid_parameter_name 5:3",
    ]);
  });
});

describe("the fields", () => {
  test("have the documented defaults", async () => {
    const { definition } = await withLines("");
    expect(definition).toMatchObject({ approval: "always", read_only: false, timeout_ms: 30000, cwd: null, shell: "bash", parameters: [] });
    expect((await withLines("approval: never")).definition?.read_only).toBe(true);
    expect((await withLines("approval: never\nread_only: false")).definition?.read_only).toBe(false);
    expect((await withLines("approval: destructive")).definition?.read_only).toBe(false);
    expect((await parseDefinition("---\nname: t\ndescription: d\n---\nx", { defaultShell: "sh" })).definition?.shell).toBe("sh");
  });

  test("that are empty count as absent", async () => {
    const { definition, diagnostics } = await withLines("parameters:\napproval: ~\nread_only: null\ntimeout_ms:\ncwd:\nenv:\nshell:");
    expect([diagnostics, definition?.approval]).toEqual([[], "always"]);
  });

  test("of a wrong type or value are errors", async () => {
    const faults: readonly (readonly [string, string])[] = [
      ["approval: sometimes", "error wrong_type 4:11"],
      ["read_only: yes", "error wrong_type 4:12"],
      ["timeout_ms: 30_000", "error invalid_timeout 4:13"],
      ["timeout_ms: 300001", "error invalid_timeout 4:13"],
      ["timeout_ms: 0", "error invalid_timeout 4:13"],
      ["timeout_ms: 1.5", "error invalid_timeout 4:13"],
      ["shell: zsh", "error wrong_type 4:8"],
      ["cwd: 5", "error wrong_type 4:6"],
      ["env: x", "error wrong_type 4:6"],
      ["env:\n  A: [1]", "error wrong_type 5:6"],
      ["env:\n  'A=B': x", "error env_name 5:3"],
      ["env:\n  1A: x", "warning env_name 5:3"],
      ["env:\n  my-name: x", "warning env_name 5:3"],
      [`env:\n  A: ${"x".repeat(140_000)}`, "error env_too_large 5:6"],
      ['env:\n  A: "a\\0b"', "error nul_character 5:6"],
      ['cwd: "a\\0b"', "error nul_character 4:6"],
    ];
    for (const [line, said] of faults) expect(await saidOf(withLines(line))).toEqual([said]);
    expect((await withLines("timeout_ms: 3e4")).definition?.timeout_ms).toBe(30000);
  });

  test("that are not known warn with the nearest name", async () => {
    const { definition, diagnostics } = await withLines("timeout: 5\nreadonly: true\nsubscribe: []");
    expect(diagnostics.map(short)).toEqual(["warning unknown_key 4:1", "warning unknown_key 5:1", "warning subscribe_ignored 6:1"]);
    expect(diagnostics.map(({ remedy }) => remedy)).toEqual(["Did you mean timeout_ms?", "Did you mean read_only?", "Remove it."]);
    expect(definition).not.toBe(null);
  });

  test("take numbers and booleans of env as they are written", async () => {
    const { definition } = await withLines("env:\n  PORT: 0080\n  ON: True\n  NONE:\n  S: 'x ${HOME}'");
    expect({ ...definition?.env }).toEqual({ PORT: "0080", ON: "True", NONE: "", S: "x ${HOME}" });
  });

  test("warn of a variable that tools do not get", async () => {
    const options = { defaultShell: "sh", withheld: ["API_KEY"] } as const;
    const { diagnostics } = await parseDefinition("---\nname: t\ndescription: d\nenv:\n  A: ${API_KEY:-none}\n---\nx", options);
    expect(diagnostics.map(short)).toEqual(["warning variable_withheld 5:6"]);
    const { diagnostics: said } = await withLines("env:\n  A: ${BASH_ENV:-none}");
    expect(said.map(({ code, remedy }) => `${code} ${remedy}`)).toEqual(["variable_withheld Use another variable."]);
  });

  test("refuse a name that is not valid or not free, and propose one", async () => {
    const named = async (name: string) =>
      (await parse(`---\nname: ${name}\ndescription: d\n---\nx`)).diagnostics.map(({ code, remedy }) => `${code}: ${remedy}`);
    expect(await named("k8s-Pods")).toEqual(["invalid_name: Write k8s_pods."]);
    expect(await named("'a.b'")).toEqual(["invalid_name: Write a_b."]);
    expect(await named("read_file")).toEqual(["reserved_name: Choose another name."]);
    expect(await named("mcp__x__y")).toEqual(["reserved_name: Choose another name."]);
    expect(await named("5")).toEqual(["wrong_type: Put the text in quotes."]);
    expect(await named("ok_1")).toEqual([]);
  });
});

describe("parameters", () => {
  const parameters = (lines: string, body = "echo hi") => withLines(`parameters:\n${lines}`, body);

  test("come in both forms, in their order", async () => {
    const mapping = await parameters("  b: {type: string, required: true}\n  a: {type: array, items: {type: integer}}");
    const list = await parameters("  - name: b\n    type: string\n    required: true\n  - {name: a, type: array, items: {type: integer}}");
    expect(mapping.diagnostics).toEqual([]);
    expect(list).toEqual(mapping);
    expect(list.definition?.parameters.map(({ name }) => name)).toEqual(["b", "a"]);
  });

  test("without a type are told what else is wrong, whatever the type will be", async () => {
    const { diagnostics } = await parameters("  a: {required: 5, description: 6, min: x, minLength: -1, pattern: '(', items: 7}");
    expect(diagnostics.map(({ code, line }) => `${code} ${line}`).toSorted()).toEqual([
      "invalid_pattern 5",
      "missing_type 5",
      ...["required", "description", "min", "minLength", "items"].map(() => "wrong_type 5"),
    ]);
  });

  test("that are wrong are errors, all of them, each at its place", async () => {
    const lines = [
      "  A: {type: string}",
      "  a: 5",
      "  b: {}",
      "  c: {type: object}",
      "  d: {type: string, required: 'yes'}",
      "  e: {type: string, pattern: '('}",
      "  f: {type: string, minLength: -1}",
      "  g: {type: array, items: string}",
      "  h: {type: number, min: x}",
    ];
    expect(await saidOf(parameters(lines.join("\n")))).toEqual([
      "error invalid_parameter_name 5:3",
      "error wrong_type 6:6",
      "error missing_type 7:3",
      "error invalid_type 8:13",
      "error wrong_type 9:31",
      "error invalid_pattern 10:30",
      "error wrong_type 11:32",
      "error wrong_type 12:27",
      "error wrong_type 13:26",
    ]);
    expect(await saidOf(parameters("  - {name: a, type: string}\n  - {name: a, type: string}\n  - {type: string}\n  - x"))).toEqual([
      "error duplicate_parameter 6:12",
      "error wrong_type 7:5",
      "error wrong_type 8:5",
    ]);
    expect(await saidOf(withLines("parameters: text"))).toEqual(["error wrong_type 4:13"]);
  });

  test("may have a pattern of 1024 characters and none that backtracks", async () => {
    expect((await parameters(`  a: {type: string, pattern: '${"a".repeat(1024)}'}`)).diagnostics).toEqual([]);
    expect(await saidOf(parameters(`  a: {type: string, pattern: '${"a".repeat(1025)}'}`))).toEqual(["error pattern_too_long 5:30"]);
    expect(await saidOf(parameters(`  a: {type: string, pattern: '(a)\\1'}`))).toEqual(["error invalid_pattern 5:30"]);
  });

  test("warn of what does not fit their type, and go on without it", async () => {
    const { definition, diagnostics } = await parameters(
      [
        "  a: {type: number, pattern: x, minLength: 1, enum: [1, two]}",
        "  b: {type: string, min: 1, items: {type: string}}",
        "  c: {type: array, enum: [[1]], items: {type: string, pattern: x}}",
        "  d: {type: string, maxlength: 5}",
        "  e: {type: integer, min: 5, max: 1}",
      ].join("\n"),
    );
    expect(diagnostics.map(({ severity, code, line }) => `${severity} ${code} ${line}`)).toEqual([
      "warning ignored_constraint 5",
      "warning ignored_constraint 5",
      "warning ignored_constraint 5",
      "warning ignored_constraint 6",
      "warning ignored_constraint 6",
      "warning ignored_constraint 7",
      "warning unknown_key 7",
      "warning unknown_key 8",
      "warning empty_range 9",
    ]);
    expect(diagnostics[7]?.remedy).toBe("Did you mean maxLength?");
    expect(definition?.parameters[0]).toMatchObject({ enum: [1], pattern: null, minLength: null });
  });

  test("have defaults that are converted when nothing is lost, and left out otherwise", async () => {
    const lines = [
      "a: {type: integer, default: '5'}",
      "b: {type: string, default: 007}",
      "c: {type: boolean, default: 'true'}",
      "d: {type: integer, default: 1.5}",
      "e: {type: number, default: 3.0}",
      "f: {type: array, items: {type: string}, default: [x, 1]}",
      "g: {type: array, default: x}",
      "h: {type: string, default: null}",
      "i: {type: string, required: true, default: x}",
    ];
    const { definition, diagnostics } = await parameters(lines.map((line) => `  ${line}`).join("\n"));
    expect(definition?.parameters.map((parameter) => parameter.default)).toEqual([
      "5",
      '"007"',
      "true",
      null,
      "3",
      '["x","1"]',
      null,
      null,
      '"x"',
    ]);
    expect(diagnostics.map(({ code, line }) => `${code} ${line}`)).toEqual([
      "converted_value 5",
      "quote_it 6",
      "converted_value 7",
      "ignored_default 8",
      "quote_it 10",
      "ignored_default 11",
      "unused_default 13",
    ]);
  });

  test("have lists as defaults whose elements are told where they do not fit", async () => {
    const { definition, diagnostics } = await parameters(
      "  a: {type: array, items: {type: integer}, default: [a, 1, 1.5]}\n  b: {type: string, default: [x]}",
    );
    expect(definition?.parameters.map((parameter) => parameter.default)).toEqual([null, null]);
    expect(diagnostics.map(({ message, column }) => `${column} ${message}`)).toEqual([
      '54 Parameter "a" has a string in its default, which is no integer; the default is not used',
      '60 Parameter "a" has the number 1.5 in its default, which is no integer; the default is not used',
      '30 Parameter "b" has a list as its default, which is no string; the default is not used',
    ]);
  });

  test("have defaults that a call could give", async () => {
    const lines = [
      "a: {type: string, default: '; x', pattern: '^[a-z]+$'}",
      "b: {type: integer, default: 50, max: 10}",
      "c: {type: string, default: zz, enum: [a, b]}",
    ];
    const { definition, diagnostics } = await parameters(lines.map((line) => `  ${line}`).join("\n"));
    expect(definition).toBe(null);
    expect(diagnostics.map(({ severity, code, line }) => `${severity} ${code} ${line}`)).toEqual([
      "error invalid_default 5",
      "error invalid_default 6",
      "error invalid_default 7",
    ]);
  });

  test("keep words as words in an enum, and say to quote what is none", async () => {
    const { definition, diagnostics } = await parameters(
      "  a: {type: string, enum: [no, yes, NO, 2024-01-02]}\n  b: {type: string, enum: [1, true, 010]}",
    );
    expect(definition?.parameters.map((parameter) => parameter.enum)).toEqual([["no", "yes", "NO", "2024-01-02"], ["1", "true", "010"]]);
    expect(diagnostics.map(({ code, remedy }) => `${code} ${remedy}`)).toEqual([
      "quote_it Quote it: '1'.",
      "quote_it Quote it: 'true'.",
      "quote_it Quote it: '010'.",
    ]);
  });
});

describe("the body", () => {
  const P =
    "parameters:\n  a: {type: string}\n  l: {type: array}\n  n: {type: integer, min: 0}\n  p: {type: string, pattern: '^[^-]'}\n  q: {type: string, pattern: '^[a-z-]+$'}";

  test("has its faults at their line and column in the file", async () => {
    expect(await saidOf(withLines(P, "echo hi\n\n  echo $(( {{ a }} ))\n"))).toEqual(["error tag_arithmetic 13:12"]);
    expect(await saidOf(withLines(P, "coproc x\necho {{ a }}"))).toEqual(["error tag_unreadable 12:6"]);
    const { diagnostics } = await withLines(P, "coproc x\necho {{ a }}");
    expect(diagnostics[0]?.message).toContain("`coproc` (line 11)");
  });

  test("warns of an undeclared name with the nearest one", async () => {
    const { diagnostics } = await withLines("parameters:\n  namespace: {type: string}", "echo {{ namespac }}");
    expect(diagnostics.map(({ code, remedy }) => `${code} ${remedy}`)).toEqual(["undeclared_parameter Did you mean namespace?"]);
  });

  test("warns of every place but a word", async () => {
    const body = [
      "x={{ a }}",
      'x="{{ a }}"',
      "x='{{ a }}'",
      "x=`echo -- {{ a }}`",
      "# {{ a }}",
      "cat <<E",
      "{{ a }}",
      "E",
      "cat <<'E'",
      "{{ a }}",
      "E",
    ].join("\n");
    expect((await withLines(P, body)).diagnostics.map(({ code, line }) => `${code} ${line}`)).toEqual([
      "tag_in_quotes 12",
      "tag_in_quotes 13",
      "tag_in_backticks 14",
      "tag_in_comment 15",
      "tag_in_here_document 17",
      "tag_in_quoted_here_document 20",
    ]);
  });

  test("warns of what is evaluated a second time", async () => {
    const body = [
      "eval echo {{ a }}",
      "sh -c {{ a }}",
      "/bin/bash -ec {{ a }}",
      "ssh host ls {{ a }}",
      "xargs sh -c {{ a }}",
      "sh -c 'echo \"$1\"' sh {{ a }}",
      "echo $(( $(wc -l < {{ a }}) ))",
      "trap {{ a }} EXIT",
    ].join("\n");
    const { diagnostics } = await withLines(P, body);
    expect(diagnostics.filter(({ code }) => code === "second_evaluation").map(({ line }) => line)).toEqual([11, 12, 13, 14, 15, 17, 18]);
  });

  test("may not have a list where one word is meant", async () => {
    expect(await saidOf(withLines(P, "x={{ l }}; y=pre{{ l }}; z=({{ l }})\nwc -l < {{ l }}\n> {{ l }}\nexport A={{ l }}"))).toEqual([
      "error tag_list 11:3",
      "error tag_list 11:17",
      "error tag_list 12:9",
      "error tag_list 13:3",
      "error tag_list 14:10",
    ]);
  });

  test("warns of an option in a tool that can run unasked", async () => {
    const body = [
      "ls {{ a }}",
      "ls -- {{ a }}",
      "ls ./{{ a }}",
      "head {{ n }}",
      "ls {{ p }}",
      "ls {{ q }}",
      "cat < {{ a }}",
      "ls {{ l }}",
      "grep -e {{ a }}",
      "x={{ a }}",
    ].join("\n");
    const options = async (line: string) =>
      (await withLines(`${line}\n${P}`, body)).diagnostics.filter(({ code }) => code === "option_injection").map(({ severity, line }) =>
        `${severity} ${line}`
      );
    const expected = ["warning 12", "warning 17", "warning 19", "info 20"];
    expect(await options("approval: never")).toEqual(expected);
    expect(await options("approval: destructive")).toEqual(expected);
    expect(await options("read_only: true")).toEqual(expected);
    expect(await options("approval: always")).toEqual([]);
  });

  test("warns of what another shell reads, on whatever way it gets there", async () => {
    const body = [
      "command eval {{ a }}",
      "builtin eval {{ a }}",
      "$SHELL -c {{ a }}",
      "bash -c -e {{ a }}",
      `eval "$(printf 'ls %s' {{ a }})"`,
      "echo {{ a }} | sh",
      "env BASH_ENV={{ a }} bash -c :",
      "bash <<< {{ a }}",
      "x={{ a }}",
      'eval "$x"',
      'bash -c "$x"',
      'ssh host "$x"',
      "n=$(jq .n < {{ a }}); echo $((n))",
    ].join("\n");
    const { diagnostics } = await withLines(P, body);
    const lines = diagnostics.filter(({ code }) => code === "second_evaluation").map(({ line }) => line);
    expect(lines).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23]);
    for (const document of ["ssh host <<E\ncd {{ a }}\nE", "bash <<E\n{{ a }}\nE", "cat <<E | sh\n{{ a }}\nE"]) {
      expect(await saidOf(withLines(P, document))).toContain("warning second_evaluation 12:" + (document.startsWith("ssh") ? 4 : 1));
    }
    expect(await saidOf(withLines(P, "d=x; $d {{ a }}"))).toEqual(["warning unknown_command 11:9"]);
  });

  test("follows the remedy for what is calculated: a number, or a pattern of digits, may be", async () => {
    const declared =
      "parameters:\n  i: {type: integer}\n  d: {type: string, pattern: '^[0-9]+$'}\n  e: {type: string, enum: [f, d]}\n  w: {type: string, pattern: '^[a-z]+$'}";
    const { diagnostics } = await withLines(declared, "n={{ i }}; echo $((n + 1)); m={{ d }}; echo $((m)); test -{{ e }} x");
    expect(diagnostics).toEqual([]);
    expect(await saidOf(withLines(declared, "n={{ w }}; echo $((n))"))).toEqual(["error tag_arithmetic 10:21"]);
    expect((await withLines(P, "n={{ a }}; echo $((n))")).diagnostics[0]).toMatchObject({
      code: "tag_arithmetic",
      remedy: expect.stringContaining("type: integer"),
    });
  });

  test("may not hold a NUL character", async () => {
    expect(await saidOf(withLines("", "echo a\0b"))).toEqual(["error nul_character 6:7"]);
  });
});
