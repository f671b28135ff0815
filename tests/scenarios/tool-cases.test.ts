/** Public bug reports about definitions, schemas and environments of tools, as one sees them from the command line. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { chmod, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type FixtureEndpoint, startScriptEndpoint } from "../fixtures/endpoint.ts";
import { isAlive } from "../fixtures/alive.ts";
import fc from "fast-check";
import { parseArguments } from "../../lib/session/arguments.ts";
import { parseScript } from "../../lib/model/script.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

interface Called {
  readonly is_error: boolean;
  readonly text: string;
  readonly outcome: Readonly<Record<string, unknown>>;
  readonly exports?: { readonly made: readonly string[]; readonly withheld: readonly { readonly name: string; readonly reason: string }[] };
}

interface Checked {
  readonly tool?: string;
  readonly diagnostics: readonly { readonly severity: string; readonly code: string; readonly message: string; readonly line?: number }[];
}

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;
beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
});
afterEach(async () => {
  await endpoint?.close();
  await workspace.remove();
});

async function call(
  name: string,
  input: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Called & { readonly code: number | null }> {
  const args = ["tools", "call", name, "--trust-workspace", "--json", "--input", "-"];
  const { code, stdout } = await runOrrery(args, { cwd: workspace.path, home: workspace.home, input, env });
  return { code, ...JSON.parse(stdout) as Called };
}

/** What is said of each file, by the file's name. */
async function check(): Promise<{ readonly code: number | null; readonly files: Readonly<Record<string, Checked>> }> {
  const { code, stdout } = await runOrrery(["tools", "--validate", "--json"], { cwd: workspace.path, home: workspace.home });
  const { files } = JSON.parse(stdout) as { files: readonly (Checked & { readonly path: string })[] };
  return { code, files: Object.fromEntries(files.map((file) => [file.path.split("/").at(-1) ?? "", file])) };
}

const worst = (file: Checked | undefined) =>
  ["error", "warning", "info"].find((severity) => file?.diagnostics.some((said) => said.severity === severity)) ?? "clean";
const wide = (text: string, count: number) => text.repeat(count);

describe("what upstream never tested", () => {
  test("an input that is not read, or closed early, changes nothing about the outcome", async () => {
    const input = JSON.stringify({ text: wide("x", 300_000) });
    await workspace.tool("deaf", "exit 0");
    await workspace.tool("closes", "exec 0<&-; sleep 0.2; echo ok");
    expect(await call("deaf", input)).toMatchObject({ code: 0, outcome: { kind: "exited", code: 0 } });
    expect(await call("closes", input)).toMatchObject({ code: 0, text: "ok\n" });
  });

  test("keys that collide export nothing, and all of them are on standard input", async () => {
    await workspace.tool("keys", 'printf "%s|%s|" "${STELLA_INPUT_DRY_RUN-unset}" "${STELLA_INPUT_OTHER-unset}"; cat');
    const { text, exports } = await call("keys", '{"dry_run":1,"dry-run":2,"other":3}');
    expect(text).toBe('unset|3|{"dry-run":2,"dry_run":1,"other":3}');
    expect(exports).toMatchObject({ made: ["STELLA_INPUT_OTHER"], withheld: [{ name: "STELLA_INPUT_DRY_RUN" }] });
  });

  test("a camel-cased key has both names, unless the second is another key's", async () => {
    await workspace.tool("keys", 'printf "%s %s" "${STELLA_INPUT_DRYRUN-unset}" "${STELLA_INPUT_DRY_RUN-unset}"');
    expect((await call("keys", '{"dryRun":1}')).text).toBe("1 1");
    expect((await call("keys", '{"dryRun":1,"dry_run":2}')).text).toBe("1 2");
  });

  test("output that is no UTF-8 is well-formed when it arrives", async () => {
    await workspace.tool("binary", "printf 'a\\377\\376b'");
    expect((await call("binary", "{}")).text).toBe("a\ufffd\ufffdb");
  });

  test("a script without a first line that names a shell is run by /bin/sh", async () => {
    await chmod(await workspace.write("bin/plain", 'echo "plain $1 $(cat)"\n'), 0o755);
    await workspace.write(".stella/tools/plain.toml", 'name = "plain"\ndescription = "x"\ncommand = ["bin/plain", "one"]\n');
    expect(await call("plain", "{}")).toMatchObject({ code: 0, text: "plain one {}\n" });
  });

  test("a script that cannot be executed, is missing or is a folder: an error that names it", async () => {
    await workspace.write("bin/plain", "#!/bin/sh\necho plain\n");
    for (const program of ["bin/plain", "bin/missing", "bin"]) {
      await workspace.write(".stella/tools/plain.toml", `name = "plain"\ndescription = "x"\ncommand = ["./${program}"]\n`);
      const { code, text, outcome } = await call("plain", "{}");
      expect([program, code, outcome["kind"], text.includes(program)]).toEqual([program, 1, "not_started", true]);
    }
  });

  test("a broken pipe ends a child as it ends any process", async () => {
    await workspace.tool("pipe", "exec bash -c 'yes | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}'");
    expect((await call("pipe", "{}")).text).toBe("141\n");
  });

  test("what a script leaves behind is gone when its call has ended", async () => {
    await workspace.tool("leaves", "setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > pid; echo left");
    expect(await call("leaves", "{}")).toMatchObject({ code: 0, text: "left\n" });
    expect(isAlive(Number(readFileSync(join(workspace.path, "pid"), "utf8")))).toBe(false);
  });

  test("a script that is a link is followed, and starts in the workspace's root", async () => {
    await workspace.tool("real", "pwd");
    await symlink("real", join(workspace.path, "bin/link"));
    await workspace.write(".stella/tools/link.toml", 'name = "link"\ndescription = "x"\ncommand = ["bin/link"]\n');
    expect((await call("link", "{}")).text).toBe(`${workspace.path}\n`);
  });
});

describe("any input", () => {
  test("reaches the script intact on standard input, or is refused before the process", async () => {
    // One start of the program for many inputs: each script call is a call of its own, made by a scripted model.
    await workspace.tool("keep", 'cat > "got-$$"; cat "got-$$"');
    const inputs = fc.sample(fc.json({ maxDepth: 4, stringUnit: "binary" }), { numRuns: 40, seed: 9 });
    const texts = [...inputs, '{"a":9007199254740993,"b":3.0,"a":1e400}', '{"__proto__":{"x":-0}}', '{"k":"\\u0000\\ud800"}', "[1]", "{"];
    const model = await workspace.script(
      { calls: texts.map((text) => ({ name: "keep", arguments: text })) },
      { text: "done" },
    );
    const args = ["run", "--trust-workspace", "--model", model, "--output-format", "json", "--events", "go"];
    const { stdout } = await runOrrery(args, { cwd: workspace.path, home: workspace.home });
    const { events } = JSON.parse(stdout) as { events: readonly Record<string, unknown>[] };
    const asked = events.flatMap(({ type, calls }) =>
      type === "reply_committed" ? calls as readonly { call: string; arguments: string }[] : []
    );
    const ends = new Map(events.flatMap((event) => event["type"] === "call_ended" ? [[event["call"], event] as const] : []));
    const started = new Set(events.flatMap(({ type, call }) => type === "call_started" ? [call] : []));
    expect(asked.length).toBe(texts.length);
    for (const { call, arguments: text } of asked) {
      const { result } = ends.get(call) as unknown as { readonly result: { readonly text: string } };
      const parsed = parseArguments(text);
      expect([text, started.has(call)]).toEqual([text, parsed.kind === "input"]);
      if (parsed.kind === "input") expect(result.text).toBe(parsed.input.text);
    }
  }, 60_000);

  test("of null or nothing is refused from a person; a model means an empty object by it", async () => {
    await workspace.tool("keep", "touch canary; cat");
    for (const input of ["null", " null ", "", "  \n"]) {
      const { code, outcome, text } = await call("keep", input);
      expect([input, code, outcome["kind"], text.includes("JSON object")]).toEqual([input, 1, "not_started", true]);
    }
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    const model = await workspace.script({ calls: [{ name: "keep", arguments: "null" }] }, { text: "{{result}}" });
    const { stdout } = await runOrrery(["run", "--trust-workspace", "--model", model, "go"], { cwd: workspace.path, home: workspace.home });
    expect(stdout).toContain("{}");
  });
});

describe("environment", () => {
  test("case 21: one value that is too long, and many that are together, are said and are on standard input", async () => {
    await workspace.tool("sizes", 'printf "%s " "${#STELLA_INPUT_PATH}"; wc -c | tr -d " \\n"');
    const long = JSON.stringify({ content: wide("a", 200_000), path: "x" });
    const one = await call("sizes", long);
    expect([one.code, one.text, one.exports?.withheld.map(({ name }) => name)]).toEqual([0, `1 ${long.length}`, ["STELLA_INPUT_CONTENT"]]);
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 3000 }, (_none, index) => [`k${index}`, wide("v", 1024)])));
    const all = await call("sizes", many);
    expect([all.code, all.text.endsWith(String(many.length))]).toEqual([0, true]);
    expect(all.exports?.withheld.length).toBeGreaterThan(0);
  });

  test("case 22: a NUL is not exported and arrives on standard input", async () => {
    await workspace.tool("nul", 'printf "%s %s " "$STELLA_INPUT_N" "${STELLA_INPUT_PATH-unset}"; cat');
    const { text, exports } = await call("nul", '{"path":"a\\u0000b","n":1}');
    expect(text).toBe('1 unset {"n":1,"path":"a\\u0000b"}');
    expect(exports).toMatchObject({ made: ["STELLA_INPUT_N"], withheld: [{ name: "STELLA_INPUT_PATH" }] });
  });

  test("cases 21 and 22: what a manifest itself sets is an error of the manifest", async () => {
    await workspace.tool("big", "true", `[env]\nBIG = "${wide("x", 200_000)}"`);
    await workspace.tool("null", "true", '[env]\nNUL = "a\\u0000b"');
    await workspace.write(".stella/tools/argv.toml", 'name = "argv"\ndescription = "x"\ncommand = ["bin/big", "a\\u0000b"]\n');
    const { code, files } = await check();
    expect([code, worst(files["big.toml"]), worst(files["null.toml"]), worst(files["argv.toml"])]).toEqual([5, "error", "error", "error"]);
  });

  test("case 24: keys of providers are not in it, everything else of the user's is", async () => {
    await workspace.tool("show", "env");
    const { text } = await call("show", "{}", {
      OPENAI_API_KEY: "canary",
      FOO: "keep",
      GH_TOKEN: "mine",
      STELLA_INPUT_OLD: "canary",
      BUN_OPTIONS: "--smol",
    });
    expect(text).not.toContain("canary");
    for (const kept of ["FOO=keep", "GH_TOKEN=mine"]) expect(text).toContain(kept);
    expect(text).not.toContain("BUN_OPTIONS=");
  });

  test("what is inherited and what [env] sets arrive under any name", async () => {
    await workspace.tool("show", "env", '[env]\nBUN_OPTIONS = "--smol"\nBUN_BE_BUN = "1"\n"__proto__" = "own"\nprototype = "own"');
    const { text } = await call("show", "{}", { constructor: "inherited", BUN_OPTIONS: "" });
    for (const line of ["BUN_OPTIONS=--smol", "BUN_BE_BUN=1", "__proto__=own", "prototype=own", "constructor=inherited"]) {
      expect(text.split("\n")).toContain(line);
    }
    await workspace.tool("bare", "env");
    // No test can hand it over by itself: `spawn` leaves it out.
    const through = { cwd: workspace.path, home: workspace.home, through: ["env", "__proto__=inherited"] };
    const { stdout } = await runOrrery(["tools", "call", "bare", "--trust-workspace"], through);
    expect(stdout.split("\n")).toContain("__proto__=inherited");
  });
});

describe("schemas", () => {
  const withSchema = (name: string, schema: string) => workspace.tool(name, "cat", schema);

  test("case 63: definitions are kept, on the wire and when an input is checked; what leads nowhere is an error", async () => {
    await withSchema(
      "fit",
      '[input_schema]\ntype = "object"\nadditionalProperties = false\n[input_schema.properties.f]\n"$ref" = "#/$defs/F"\n[input_schema."$defs".F]\nenum = ["fit", "raw"]',
    );
    await withSchema(
      "tree",
      '[input_schema]\n"$ref" = "#/$defs/node"\n[input_schema."$defs".node]\ntype = "object"\n[input_schema."$defs".node.properties.children]\ntype = "array"\nitems = { "$ref" = "#/$defs/node" }',
    );
    await withSchema("nowhere", '[input_schema.properties.f]\n"$ref" = "#/$defs/Missing"');
    await withSchema("remote", '[input_schema.properties.f]\n"$ref" = "https://example.invalid/schema"');
    expect(await call("fit", '{"f":"bad"}')).toMatchObject({
      code: 1,
      outcome: { kind: "not_started" },
      text: expect.stringContaining("/f"),
    });
    expect((await call("fit", '{"f":"raw"}')).code).toBe(0);
    expect(await call("tree", '{"children":[{"children":[{"children":1}]}]}')).toMatchObject({
      code: 1,
      text: expect.stringContaining("/children/0/children/0/children"),
    });
    const { code, files } = await check();
    expect([code, worst(files["nowhere.toml"]), worst(files["remote.toml"])]).toEqual([5, "error", "error"]);

    endpoint = await startScriptEndpoint(parseScript(JSON.stringify({ replies: [{ text: "done" }] })));
    await runOrrery(["run", "--trust-workspace", "--model", "local/x", "--base-url", endpoint.url, "go"], {
      cwd: workspace.path,
      home: workspace.home,
    });
    const tools = endpoint.requests[0]?.body["tools"] as readonly {
      readonly function: { readonly name: string; readonly parameters: Readonly<Record<string, unknown>> };
    }[];
    const sent = (name: string) => tools.find((tool) => tool.function.name === name)?.function.parameters;
    expect(sent("fit")?.["$defs"]).toEqual({ F: { enum: ["fit", "raw"] } });
    expect([sent("nowhere"), sent("remote")]).toEqual([undefined, undefined]);
  });

  test("case 64: no schema, an empty one and one without properties all take an empty input", async () => {
    await withSchema("none", "");
    await withSchema("empty", "[input_schema]");
    await withSchema("object", '[input_schema]\ntype = "object"');
    for (const name of ["none", "empty", "object"]) expect(await call(name, "{}")).toMatchObject({ code: 0, text: "{}" });
  });

  test("case 65: every draft, twice the same id, and one bad schema that takes nothing down", async () => {
    const drafts = [
      "http://json-schema.org/draft-04/schema#",
      "http://json-schema.org/draft-07/schema#",
      "https://json-schema.org/draft/2019-09/schema",
      "https://json-schema.org/draft/2020-12/schema",
    ];
    for (const [index, draft] of drafts.entries()) {
      await withSchema(
        `draft${index}`,
        `[input_schema]\n"$schema" = "${draft}"\n"$id" = "https://example.invalid/same"\ntype = "object"\n[input_schema.properties.n]\ntype = "integer"\nmarkdownDescription = "x"`,
      );
    }
    await withSchema("bad_output", '[output_schema]\n"$ref" = "#/$defs/Missing"');
    for (const index of drafts.keys()) {
      expect([index, (await call(`draft${index}`, '{"n":1}')).code, (await call(`draft${index}`, '{"n":"x"}')).code]).toEqual([
        index,
        0,
        1,
      ]);
    }
    expect((await call("bad_output", "{}")).code).toBe(5);
  });

  test("case 67: parameters may have the names of keywords; a property that is no schema is reported", async () => {
    await withSchema(
      "words",
      ["type", "properties", "required", "items"].map((word) => `[input_schema.properties.${word}]\ntype = "string"`).join("\n"),
    );
    await withSchema("bare", '[input_schema]\ntype = "object"\nproperties = { type = "object" }');
    expect((await call("words", '{"type":"a","properties":"b","required":"c","items":"d"}')).code).toBe(0);
    expect((await call("words", '{"type":1}')).text).toContain("/type");
    const { files } = await check();
    expect(["error", "warning"]).toContain(worst(files["bare.toml"]));
  });

  test("no pattern of a manifest can stall a call", async () => {
    await withSchema("slow", "[input_schema.properties.text]\ntype = \"string\"\npattern = '^(a+)+$'");
    const text = JSON.stringify({ text: `${wide("a", 50_000)}!` });
    await withSchema("fast", "");
    const took = async (name: string) => {
      const before = performance.now();
      const { outcome } = await call(name, text);
      return { kind: outcome["kind"], ms: performance.now() - before };
    };
    const fast = await took("fast");
    const slow = await took("slow");
    expect([fast.kind, slow.kind]).toEqual(["exited", "not_started"]);
    // What a start of the program takes is not the check's.
    expect(slow.ms).toBeLessThan(3 * fast.ms + 2000);
  });

  test("a hostile manifest keeps no other from being there at once", async () => {
    await withSchema("fine", "");
    await withSchema("deep", `[input_schema.${wide("a.", 60_000)}a]\nx = 1`);
    const refs = Array.from({ length: 5000 }, (_none, index) => `p${index} = { "$ref" = "#/$defs/nope${index}" }`);
    await withSchema("refs", `[input_schema.properties]\n${refs.join("\n")}`);
    const patterns = Array.from({ length: 150 }, (_none, index) => `p${index} = { pattern = "${wide("ab{1000}", 200)}${index}" }`);
    await withSchema("patterns", `[input_schema.properties]\n${patterns.join("\n")}`);
    const before = performance.now();
    expect(await call("fine", "{}")).toMatchObject({ code: 0, text: "{}" });
    expect(performance.now() - before).toBeLessThan(5000);
    const { files } = await check();
    expect(["deep", "refs", "patterns", "fine"].map((name) => worst(files[`${name}.toml`]))).toEqual(["error", "error", "error", "info"]);
  });
});

describe("files", () => {
  const markdown = (path: string, text: string) => workspace.write(`.nanocoder/tools/${path}`, text);

  test("case 79: marks and line ends of other systems are read, a file without frontmatter is an error", async () => {
    const text = '---\nname: NAME\ndescription: "has --- in it"\napproval: never\n---\necho hi\n---\n';
    await markdown("lf.md", text.replace("NAME", "lf").replace("\n---\n\n", "\n"));
    await markdown("crlf.md", "---\nname: crlf\ndescription: x\napproval: never\n---\necho hi\n".replaceAll("\n", "\r\n"));
    await markdown("bom.md", "\ufeff---\r\nname: bom\r\ndescription: x\r\napproval: never\r\n---\r\necho hi\r\n");
    await markdown("four.md", "----\nname: four\ndescription: x\n----\necho hi\n");
    await markdown("open.md", "---\nname: open\ndescription: x\necho hi\n");
    const { code, files } = await check();
    expect(code).toBe(5);
    expect(Object.fromEntries(Object.entries(files).map(([name, file]) => [name, worst(file) === "error"]))).toEqual({
      "bom.md": false,
      "crlf.md": false,
      "four.md": true,
      "lf.md": false,
      "open.md": true,
    });
    for (const name of ["crlf", "bom"]) {
      const { text } = await call(name, "{}");
      expect([name, text.includes("hi"), text.includes("\r")]).toEqual([name, true, false]);
    }
  });

  test("case 81: a description that YAML reads as something else is an error or a warning, with its line, and harms nobody", async () => {
    const of = (name: string, description: string) => `---\nname: ${name}\ndescription: ${description}\napproval: never\n---\necho hi\n`;
    await markdown("colon.md", of("colon", "core rule: x"));
    await markdown("hash.md", of("hash", "uses foo #bar"));
    await markdown("list.md", of("list", "[a] b"));
    await markdown("mustache.md", of("mustache", "{{ name }}"));
    await markdown("at.md", of("at", "@x"));
    await markdown("alias.md", of("alias", "*x"));
    await markdown("fine.md", of("fine", "'core rule: x #y'"));
    const { files } = await check();
    const table = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, worst(file)]));
    expect(table).toEqual({
      "alias.md": "error",
      "at.md": "error",
      "colon.md": "error",
      "fine.md": "clean",
      "hash.md": "warning",
      "list.md": "error",
      "mustache.md": "error",
    });
    for (const name of ["colon.md", "list.md", "mustache.md"]) expect(files[name]?.diagnostics[0]?.line).toBe(3);
    expect((await call("fine", "{}")).code).toBe(0);
  });

  test("case 83: yes and no are strings, and a flag is true or false and nothing else", async () => {
    await markdown("flags.md", "---\nname: flags\ndescription: x\napproval: never\nread_only: yes\n---\necho hi\n");
    await markdown(
      "countries.md",
      "---\nname: countries\ndescription: x\napproval: never\nparameters:\n  code: {type: string, enum: [no, yes, NO]}\n---\necho {{ code }}\n",
    );
    const { files } = await check();
    expect([worst(files["flags.md"]), worst(files["countries.md"])]).toEqual(["error", "clean"]);
    expect((await call("countries", '{"code":"no"}')).text).toContain("no");
    expect((await call("countries", '{"code":false}')).code).toBe(1);
  });

  test("case 83: choices, defaults and bounds fit their type, or the manifest is an error that says what would be right", async () => {
    await workspace.tool("first", "true");
    const head = (name: string) => `name = "${name}"\ndescription = "x"\ncommand = ["bin/first"]\n[input_schema.properties.a]\n`;
    const bodies = {
      choices: 'type = "string"\nenum = [1, true]',
      fallback: 'type = "string"\ndefault = 7',
      bounds: 'type = "integer"\nminimum = 5\nmaximum = 3',
      fits: 'type = "string"\nenum = ["no", "yes", "NO"]\ndefault = "no"',
    };
    for (const [name, body] of Object.entries(bodies)) await workspace.write(`.stella/tools/${name}.toml`, `${head(name)}${body}\n`);
    const { code, files } = await check();
    const errors = ["bounds", "choices", "fallback", "fits"].map((name) =>
      files[`${name}.toml`]?.diagnostics.flatMap((said) => said.severity === "error" ? [`${said.code} ${said.line}`] : [])
    );
    expect([code, errors]).toEqual([5, [["schema_bounds 6"], ["schema_enum 6"], ["schema_default 6"], []]]);
    expect((await call("fits", '{"a":"no"}')).code).toBe(0);
  });

  test("TOML: a mark at its beginning is read; a key that slid under a table is said; names from the prototype are names", async () => {
    await workspace.tool("first", "true");
    await writeFile(join(workspace.path, ".stella/tools/bom.toml"), '\ufeffname = "bom"\ndescription = "x"\ncommand = ["bin/first"]\n');
    await workspace.write(".stella/tools/slid.toml", 'name = "slid"\ndescription = "x"\ncommand = ["bin/first"]\n[env]\ntimeout_ms = 5\n');
    await workspace.write(
      ".stella/tools/proto.toml",
      'name = "proto"\ndescription = "x"\ncommand = ["bin/first"]\n[input_schema.properties.__proto__]\ntype = "string"\n[input_schema.properties.constructor]\ntype = "string"\n',
    );
    const { files } = await check();
    expect(files["bom.toml"]?.tool).toBe("bom");
    expect(files["slid.toml"]?.diagnostics.map(({ message }) => message).join(" ")).toContain("timeout_ms");
    expect((await call("proto", '{"constructor":1}')).code).toBe(1);
    expect((await call("proto", '{"constructor":"a"}')).code).toBe(0);
  });
});
