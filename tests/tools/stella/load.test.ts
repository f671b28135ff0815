import { describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { type LoadContext, loadManifests, validateManifests } from "../../../lib/tools/stella/load.ts";
import { describeDiagnostic } from "../../../lib/tools/diagnostic.ts";
import { withLostNames } from "../../../lib/tools/lost-names.ts";
import type { ToolFolder } from "../../../lib/tools/tool-folder.ts";
import { createToolbox } from "../../../lib/tools/toolbox.ts";
import { type Folder, makeFolder } from "../folder.ts";

const TRUSTED = { kind: "trusted" } as const;
const UNTRUSTED = { kind: "untrusted", reason: 'the workspace is not trusted; run "orrery trust"' } as const;

function manifest(name: string, command = "scripts/run.sh"): string {
  return `name = "${name}"\ndescription = "Does ${name}."\ncommand = ["${command}"]\ntimeout_ms = 1000\n[input_schema]\ntype = "object"\n`;
}

function folders(root: Folder): readonly ToolFolder[] {
  return [
    { path: root.at("ws/.stella/tools"), scope: "workspace", family: "stella" },
    { path: root.at("ws/.orrery/tools"), scope: "workspace", family: "orrery" },
    { path: root.at("home/.config/stella/tools"), scope: "user", family: "stella" },
  ];
}

async function prepare(): Promise<Folder> {
  const root = await makeFolder();
  await root.write("ws/scripts/run.sh", "#!/bin/sh\necho hi\n", 0o755);
  return root;
}

function context(root: Folder, trust: LoadContext["trust"] = TRUSTED): LoadContext {
  return { workspace: root.at("ws"), env: { PATH: "/usr/bin:/bin" }, trust };
}

async function validated(root: Folder) {
  return withLostNames(await validateManifests(folders(root), context(root)), folders(root).map(({ path }) => path));
}

async function toolboxOf(root: Folder, trust: LoadContext["trust"] = TRUSTED) {
  const { candidates, notices } = await loadManifests(folders(root), context(root, trust));
  const box = createToolbox(candidates, { notices });
  const shown = box.listings.map(({ name, status, origin }) => `${name} ${status} ${relative(root.path, origin.path ?? "")}`);
  return { box, shown };
}

/** `file: severity code line, …` of each. */
async function codesIn(root: Folder): Promise<readonly string[]> {
  return (await validated(root)).map(({ path, diagnostics }) =>
    `${basename(path)}: ${diagnostics.map(({ severity, code, line }) => `${severity} ${code} ${line}`).join(", ")}`
  );
}

describe("discovery", () => {
  test("finds manifests by their exact extension, sorted, not in subfolders", async () => {
    await using root = await prepare();
    for (
      const [file, name] of [["b.toml", "bb"], ["a.toml", "aa"], [".hidden.toml", "hidden"], [".toml", "none"], ["X.TOML", "upper"], [
        "c.toml.bak",
        "bak",
      ], ["sub/d.toml", "sub"]] as const
    ) {
      await root.write(`ws/.stella/tools/${file}`, manifest(name));
    }
    const { candidates } = await loadManifests(folders(root), context(root));
    expect(candidates.map((candidate) => candidate.kind === "tool" ? candidate.tool.name : candidate.reason)).toEqual([
      "hidden",
      "aa",
      "bb",
    ]);
  });

  test("follows links to manifests", async () => {
    await using root = await prepare();
    const target = await root.write("elsewhere/real", manifest("linked"));
    await mkdir(root.at("ws/.stella/tools"), { recursive: true });
    await symlink(target, root.at("ws/.stella/tools/link.toml"));
    expect((await toolboxOf(root)).shown).toEqual(["linked offered ws/.stella/tools/link.toml"]);
  });

  test("lists what cannot be read and what is broken, and loads the rest", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools/good.toml", manifest("good"));
    await root.write("ws/.stella/tools/syntax.toml", "name = ");
    await root.write("ws/.stella/tools/latin1.toml", Uint8Array.from([0x6e, 0xe9]));
    await root.write("ws/.stella/tools/large.toml", "# ".padEnd(300_000, "x"));
    await root.write("ws/.stella/tools/reserved.toml", manifest("bash"));
    await mkdir(root.at("ws/.stella/tools/folder.toml"));
    await symlink("nowhere", root.at("ws/.stella/tools/dangling.toml"));
    const { box, shown } = await toolboxOf(root);
    expect(shown).toEqual([
      "bash broken ws/.stella/tools/reserved.toml",
      "good offered ws/.stella/tools/good.toml",
      "null broken ws/.stella/tools/dangling.toml",
      "null broken ws/.stella/tools/folder.toml",
      "null broken ws/.stella/tools/large.toml",
      "null broken ws/.stella/tools/latin1.toml",
      "null broken ws/.stella/tools/syntax.toml",
    ]);
    expect(box.notices.filter(({ level }) => level === "error").length).toBe(6);
    expect(box.notices.find(({ text }) => text.includes("syntax.toml"))?.text).toContain("line 1");
  });

  test("of folders that are missing finds nothing and says nothing", async () => {
    await using root = await prepare();
    expect(await loadManifests(folders(root), context(root))).toEqual({ candidates: [], notices: [] });
  });

  test("lets the workspace win over the user, Orrery's folder over Stella's, and the first file of a folder", async () => {
    await using root = await prepare();
    for (
      const path of ["ws/.stella/tools/x.toml", "ws/.stella/tools/y.toml", "ws/.orrery/tools/z.toml", "home/.config/stella/tools/x.toml"]
    ) {
      await root.write(path, manifest("same"));
    }
    const { box, shown } = await toolboxOf(root);
    expect(shown).toEqual([
      "same offered ws/.orrery/tools/z.toml",
      "same shadowed ws/.stella/tools/x.toml",
      "same shadowed ws/.stella/tools/y.toml",
      "same shadowed home/.config/stella/tools/x.toml",
    ]);
    expect(box.listings[0]?.shadows?.map(({ path = "" }) => relative(root.path, path))).toEqual([
      "ws/.stella/tools/x.toml",
      "ws/.stella/tools/y.toml",
      "home/.config/stella/tools/x.toml",
    ]);
  });

  test("lets an inert or broken copy shadow nothing", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools/x.toml", manifest("same"));
    await root.write("ws/.orrery/tools/x.toml", 'name = "same"\n');
    await root.write("home/.config/stella/tools/x.toml", manifest("same", "/bin/echo"));
    expect((await toolboxOf(root, UNTRUSTED)).shown.sort()).toEqual([
      "same broken ws/.orrery/tools/x.toml",
      "same offered home/.config/stella/tools/x.toml",
      "same untrusted ws/.stella/tools/x.toml",
    ]);
  });

  test("keeps a user's tool inert if its program lies in an untrusted workspace, through links and PATH too", async () => {
    await using root = await prepare();
    await root.write("home/.config/stella/tools/direct.toml", manifest("direct"));
    await root.write("home/.config/stella/tools/outside.toml", manifest("outside", "/bin/echo"));
    await symlink(root.at("ws/scripts/run.sh"), root.at("home/linked.sh"));
    await root.write("home/.config/stella/tools/linked.toml", manifest("linked", root.at("home/linked.sh")));
    await root.write("home/.config/stella/tools/path.toml", manifest("path", "run.sh"));
    const env = { PATH: `${root.at("ws/scripts")}:/bin` };
    const { candidates } = await loadManifests(folders(root), { workspace: root.at("ws"), env, trust: UNTRUSTED });
    const inert = candidates.flatMap((candidate) =>
      candidate.kind === "tool" && candidate.untrusted !== undefined ? [candidate.tool.name] : []
    );
    expect(inert).toEqual(["direct", "linked", "path"]);
  });

  test("records the digest of the manifest's bytes, so that one changed byte shows", async () => {
    await using root = await prepare();
    const digest = async () => (await toolboxOf(root)).box.recorded()[0]?.digest;
    await root.write("ws/.stella/tools/x.toml", manifest("xx"));
    const before = await digest();
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    await root.write("ws/.stella/tools/x.toml", manifest("xx") + "\n");
    expect(await digest()).not.toBe(before);
  });

  test("starts nothing", async () => {
    await using root = await prepare();
    await root.write("ws/scripts/run.sh", `#!/bin/sh\ntouch ${root.at("canary")}\n`, 0o755);
    await root.write("ws/.stella/tools/x.toml", manifest("xx"));
    await loadManifests(folders(root), context(root));
    await validateManifests(folders(root), context(root));
    expect(existsSync(root.at("canary"))).toBe(false);
  });
});

describe("validation", () => {
  test("has nothing to say of a clean file", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools/x.toml", manifest("xx"));
    expect(await validated(root)).toEqual([{
      path: root.at("ws/.stella/tools/x.toml"),
      tool: "xx",
      diagnostics: [],
    }]);
  });

  test("warns the copy that loses, and tells the same folder from another", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools/x.toml", manifest("same"));
    await root.write("ws/.stella/tools/y.toml", manifest("same"));
    await root.write("home/.config/stella/tools/x.toml", manifest("same"));
    expect(await codesIn(root)).toEqual([
      "x.toml: ",
      "y.toml: warning duplicate_name 1",
      "x.toml: warning shadowed_name 1",
    ]);
  });

  test("judges the program and the name of a file that has errors too, in a session as well", async () => {
    await using root = await prepare();
    const wrong = 'read_only = "yes"\n';
    await root.write("ws/.stella/tools/a.toml", manifest("same"));
    await root.write("ws/.stella/tools/b.toml", wrong + manifest("same", "scripts/missing.sh"));
    await root.write("ws/.stella/tools/c.toml", wrong + manifest("other"));
    await root.write("ws/.stella/tools/d.toml", `${wrong}name = "other"\ndescription = 5\ncommand = ["scripts/missing.sh", 5]\n`);
    await root.write("ws/.stella/tools/e.toml", `${manifest("deep", "scripts/missing.sh")}[x${".y".repeat(300)}]\n`);
    await root.write("ws/.stella/tools/f.toml", manifest("nul", "scripts/\\u0000.sh"));
    const { box } = await toolboxOf(root);
    expect(await codesIn(root)).toEqual([
      "a.toml: ",
      "b.toml: error wrong_type 1, warning duplicate_name 2, warning program_missing 4",
      "c.toml: error wrong_type 1",
      "d.toml: error wrong_type 1, warning duplicate_name 2, error wrong_type 3, error wrong_type 4, warning program_missing 4, " +
      "info default_timeout undefined, info no_input_schema undefined",
      "e.toml: warning program_missing 3, warning unknown_key 7, error too_deep 7",
      "f.toml: error command_nul 3",
    ]);
    const told = box.notices.map(({ level, code, text }) => `${level} ${code} ${text}`);
    const wanted = (await validated(root)).flatMap(({ path, diagnostics }) =>
      diagnostics.map((said) => `${said.severity} ${said.code} ${path}: ${describeDiagnostic(said)}`)
    );
    expect(told.sort()).toEqual(wanted.sort());
  });

  test("lets a file that works keep its name before a broken one that comes first, and tells neither", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools/a.toml", `read_only = 5\n${manifest("same")}`);
    await root.write("ws/.stella/tools/b.toml", manifest("same"));
    await root.write("ws/.stella/tools/c.toml", manifest("same"));
    expect(await codesIn(root)).toEqual(["a.toml: error wrong_type 1", "b.toml: ", "c.toml: warning duplicate_name 1"]);
    expect((await validated(root)).at(-1)?.diagnostics[0]?.message).toContain("b.toml");
  });

  test("says of a tools folder that it cannot be looked into", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools", "no folder");
    expect(await codesIn(root)).toEqual(["tools: error unreadable undefined"]);
  });

  test("warns of programs that could not be started here, at the command's line", async () => {
    await using root = await prepare();
    await root.write("ws/scripts/plain.sh", "#!/bin/sh\n", 0o644);
    await root.write("ws/scripts/crlf.sh", "#!/bin/sh\r\n", 0o755);
    await root.write("ws/scripts/lost.sh", "#!/nowhere/python\n", 0o755);
    await root.write("ws/scripts/env.sh", "#!/usr/bin/env no-such-interpreter-here\n", 0o755);
    await root.write("ws/scripts/split.sh", "#!/usr/bin/env -S no-such-interpreter -u\n", 0o755);
    await root.write("ws/scripts/split2.sh", "#!/usr/bin/env -iS A=1 no-such-interpreter\n", 0o755);
    await root.write("ws/scripts/setting.sh", "#!/usr/bin/env -S PATH=/nowhere sh\n", 0o755);
    await root.write("ws/scripts/inside.sh", "#!/usr/bin/env scripts/no-such-runner\n", 0o755);
    await root.write("ws/scripts/unset.sh", "#!/usr/bin/env -S -u HOME no-such-interpreter\n", 0o755);
    await root.write("ws/scripts/script.sh", "#!scripts/lost.sh\n", 0o755);
    await root.write("ws/scripts/folder.sh", "#!/usr\n", 0o755);
    await root.write("ws/scripts/found.sh", "#!/usr/bin/env -S -i A=1 sh -e\n", 0o755);
    await root.write("ws/rootrun", "#!/bin/sh\n", 0o755);
    const expected: Record<string, string> = {
      "scripts/missing.sh": "warning program_missing 3",
      "scripts": "warning program_not_on_path 3",
      "./scripts": "warning program_not_file 3",
      ".": "warning program_not_file 3",
      "scripts/plain.sh": "warning program_not_executable 3",
      "scripts/crlf.sh": "warning shebang_crlf 3",
      "scripts/lost.sh": "warning interpreter_missing 3",
      "scripts/env.sh": "warning interpreter_missing 3",
      "scripts/split.sh": "warning interpreter_missing 3",
      "scripts/split2.sh": "warning interpreter_missing 3",
      "scripts/setting.sh": "warning interpreter_missing 3",
      "scripts/inside.sh": "warning interpreter_missing 3",
      "scripts/unset.sh": "warning interpreter_missing 3",
      "scripts/script.sh": "warning interpreter_missing 3",
      "scripts/folder.sh": "warning interpreter_missing 3",
      "scripts/found.sh": "",
      "no-such-program-here": "warning program_not_on_path 3",
      "rootrun": "info bare_name_in_root 3",
      "scripts/run.sh": "",
      "sh": "",
    };
    for (const [index, command] of Object.keys(expected).entries()) {
      await root.write(`ws/.stella/tools/${String(index).padStart(2, "0")}.toml`, manifest(`tool_${index}`, command));
    }
    const files = await validateManifests(folders(root), context(root));
    const said = files.map(({ diagnostics }) => diagnostics.map(({ severity, code, line }) => `${severity} ${code} ${line}`).join());
    expect(said).toEqual(Object.values(expected));
  });

  test("looks a bare name up on the PATH that the manifest gives the child", async () => {
    await using root = await prepare();
    await root.write("ws/.stella/tools/x.toml", `${manifest("xx", "run.sh")}\n[env]\nPATH = "${root.at("ws/scripts")}"\n`);
    expect((await validateManifests(folders(root), context(root))).flatMap(({ diagnostics }) => diagnostics)).toEqual([]);
  });

  test("always says what would be right, whatever it says", async () => {
    await using root = await prepare();
    const head = (name: string, command = '["sh"]') => `name = "${name}"\ndescription = "d"\ncommand = ${command}\n`;
    const long = "x".repeat(2000);
    await root.write("ws/scripts/plain.sh", "#!/bin/sh\n", 0o644);
    await root.write("ws/scripts/crlf.sh", "#!/bin/sh\r\n", 0o755);
    await root.write("ws/scripts/lost.sh", "#!/nowhere/python\n", 0o755);
    await root.write("ws/rootrun", "#!/bin/sh\n", 0o755);
    const texts: readonly string[] = [
      "name = ",
      "",
      `name = 5\ndescription = 5\ncommand = 5\ntimeout_ms = 5.0\nenv = 5\ninput_schema = 5\noutput_schema = 5\nread_only = 5\napproval = "${long}"`,
      `name = "${long}"\ndescription = " "\ncommand = []\ntimeout_ms = -1\nspeculation_safe = true\n${
        long.slice(0, 900)
      } = 1\nrisk = "low"`,
      `${
        head("bash", `["\\u0000", "${"a".repeat(140_000)}"]`)
      }timeout_ms = 700000\n[env]\nA = "\\u0000"\n"A=B" = "x"\nSTELLA_INPUT_A = "x"`,
      `${head("large_env")}[env]\nORRERY_CALL = "x"\nB = "${"b".repeat(140_000)}"`,
      `${head("properties")}[input_schema.properties]\n"" = {}\nb-b = {}\nb_b = {}`,
      `${
        head("task_start")
      }[input_schema]\ntype = "array"\n"$schema" = "https://example.com/${long}"\n[input_schema.properties]\n"" = {}\na = 5\nb-b = {}\nb_b = {}\nc = { pattern = "(" }\nd = { pattern = "(?<=x)" }\ne = { "$ref" = "#/${long}" }\nf = { minimum = "x" }\ng = { maximum = nan }\nh = { not = 5 }`,
      `${head("deep")}[input_schema${".properties.a".repeat(70)}]\ntimeout_ms = 5`,
      `${head("deeper")}[${"a.".repeat(300)}a]\nx = {}`,
      `${head("key_long")}${long} = 5`,
      `${head("many")}${Array.from({ length: 300 }, (_none, index) => `k${index} = 1`).join("\n")}`,
      head("missing", `["scripts/${long}"]`),
      ...["./scripts", "scripts/plain.sh", "scripts/crlf.sh", "scripts/lost.sh", "no-such-program", "rootrun"].map((program, index) =>
        head(`machine_${index}`, `["${program}"]`)
      ),
      head("same"),
      head("same"),
      `${
        head("contradictory")
      }[input_schema]\nrequird = ["a"]\nrequired = ["a", "nope"]\nproperties.a = { type = "string", enum = [1], default = 2, const = 3, minLength = 2, maxLength = 1, minimum = 1 }`,
    ];
    for (const [index, text] of texts.entries()) await root.write(`ws/.stella/tools/${String(index).padStart(2, "0")}.toml`, text);
    await root.write("home/.config/stella/tools/same.toml", head("same"));
    await root.write("ws/.stella/tools/X.TOML", "");
    await root.write("ws/.stella/tools/latin.toml", Uint8Array.from([0xe9]));
    await mkdir(root.at("ws/.stella/tools/folder.toml"));
    for (let index = 0; index <= 5000; index++) writeFileSync(root.at(`home/.config/stella/tools/z${index}.toml`), "");
    const said = (await validated(root)).flatMap(({ diagnostics }) => diagnostics);
    expect(said.filter(({ message, remedy }) => remedy.length <= 5 || message.length >= 700)).toEqual([]);
    const documented =
      (await readFile(join(import.meta.dirname, "../../../docs/tools.md"), "utf8")).split("## Diagnostics")[1]?.split("\n## ")[0] ?? "";
    const codes = new Set([...documented.matchAll(/`([a-z]+_?[a-z_]*)`/g)].map(([, code]) => code ?? ""));
    const walked = new Set(said.map(({ code }) => code));
    expect([...walked].filter((code) => !codes.has(code))).toEqual([]);
    // It takes a mount to walk: tests/cli/doctor.test.ts.
    const unwalked = ["program_on_noexec"];
    const notCodes = ["risk", "idempotent", "foundry", "remedy", "notice", ...unwalked];
    expect([...codes].filter((code) => !walked.has(code) && !notCodes.includes(code))).toEqual([]);
  }, 30_000);
});
