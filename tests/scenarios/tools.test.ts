/** `orrery tools`: what was found, what became of it and why; checking files; writing new ones. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";
import { runOrrery } from "../host/orrery.ts";

interface Row {
  readonly name: string | null;
  readonly origin: { readonly system: string; readonly scope: string; readonly path?: string };
  readonly status: string;
  readonly reason?: string;
  readonly shadows?: readonly unknown[];
  readonly always_allowed?: boolean;
}

interface Checked {
  readonly path: string;
  readonly tool?: string;
  readonly diagnostics: readonly {
    readonly severity: string;
    readonly code: string;
    readonly line?: number;
    readonly column?: number;
    readonly remedy?: string;
  }[];
}

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(async () => {
  await workspace.remove();
});

const orrery = (...args: readonly string[]) => runOrrery(args, { cwd: workspace.path, home: workspace.home });

async function list(...args: readonly string[]) {
  const { code, stdout } = await orrery("tools", "--json", ...args);
  const { schema_version, tools, notices } = JSON.parse(stdout) as {
    schema_version: number;
    tools: readonly Row[];
    notices: readonly { code: string }[];
  };
  expect([code, schema_version]).toEqual([0, 1]);
  return { tools, notices, find: (name: string | null) => tools.filter((row) => row.name === name) };
}

async function check(...args: readonly string[]) {
  const { code, stdout } = await orrery("tools", "--validate", "--json", ...args);
  const report = JSON.parse(stdout) as { schema_version: number; ok: boolean; files: readonly Checked[] };
  expect(report.schema_version).toBe(1);
  return { code, ...report };
}

async function inHome(path: string, text: string): Promise<string> {
  const file = join(workspace.home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

const manifest = (name: string, more = "") => `name = "${name}"\ndescription = "A tool of a test."\ncommand = ["bin/x"]\n${more}\n`;
const markdown = (name: string, more = "") => `---\nname: ${name}\ndescription: A tool of a test\n${more}---\necho hello\n`;

describe("orrery tools", () => {
  test("lists what is offered, off, shadowed, broken and untrusted, each with its reason", async () => {
    await workspace.tool("fine", "echo fine");
    await workspace.tool("both", "echo workspace");
    await workspace.tool("quiet", "echo quiet");
    await workspace.write(".stella/tools/broken.toml", "name = \n");
    await workspace.write(".nanocoder/tools/pods.md", markdown("pods", "approval: always\n"));
    await inHome(".config/stella/tools/both.toml", manifest("both").replace("bin/x", "bin/both"));
    await inHome("config/settings.json", JSON.stringify({ tools: { bash: "off" }, disabledTools: ["quiet"], alwaysAllow: ["pods"] }));

    const { find, tools } = await list("--trust-workspace");
    expect(find("fine")).toMatchObject([{
      status: "offered",
      origin: { system: "stella", scope: "workspace", path: join(workspace.path, ".stella/tools/fine.toml") },
    }]);
    expect(find("read_file")).toMatchObject([{
      status: "offered",
      origin: { system: "builtin", scope: "builtin" },
      read_only: true,
      speculation_safe: true,
      approval: "never",
    }]);
    expect(find("bash")).toMatchObject([{ status: "off", reason: expect.stringContaining("settings.json") }]);
    expect(find("quiet")).toMatchObject([{ status: "off", reason: expect.stringContaining("disabledTools") }]);
    expect(find("pods")).toMatchObject([{ status: "offered", approval: "always", always_allowed: true, origin: { system: "nanocoder" } }]);
    const [winner, loser] = find("both");
    expect(winner).toMatchObject({ status: "offered", shadows: [{ scope: "user" }] });
    expect(loser).toMatchObject({ status: "shadowed", reason: expect.stringContaining(join(workspace.path, ".stella/tools/both.toml")) });
    expect(tools.find(({ origin }) => origin.path?.endsWith("broken.toml") === true)).toMatchObject({
      name: null,
      status: "broken",
      reason: expect.stringContaining("line 1"),
    });

    const untrusted = await list();
    expect(untrusted.find("fine")).toMatchObject([{ status: "untrusted", reason: expect.stringContaining("orrery trust") }]);
    // An inert copy shadows nothing.
    expect(untrusted.find("both").map(({ status, origin }) => [origin.scope, status])).toEqual([["workspace", "untrusted"], [
      "user",
      "untrusted",
    ]]);
    expect(untrusted.notices.map(({ code }) => code)).toContain("workspace_untrusted");
  });

  test("groups them by source for people, with the command that trusts", async () => {
    await workspace.tool("fine", "echo fine");
    await workspace.write(".nanocoder/tools/pods.md", markdown("pods"));
    const { code, stdout, stderr } = await orrery("tools");
    expect(code).toBe(0);
    const headings = stdout.split("\n").filter((line) => line !== "" && !line.startsWith(" "));
    expect(headings).toEqual(["Built-in", "Custom, Stella", "Custom, Nanocoder"]);
    expect(stdout.split("Custom, Stella")[1]).toContain("untrusted: ");
    expect(stderr).toContain(`orrery trust ${workspace.path}`);
  });

  test.skipIf(!hasTerminal)("keeps to 40 columns, NO_COLOR, TERM=dumb, no TERM (by util-linux script)", async () => {
    await workspace.tool("fine", "echo fine");
    const start = { cwd: workspace.path, home: workspace.home, columns: 40 };
    const narrow = await startOnTerminal(["tools", "--trust-workspace"], start).ended();
    expect(narrow.shown).toContain("\x1b[1m");
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { TERM: "" }]) {
      const plain = await startOnTerminal(["tools", "--trust-workspace"], { ...start, env }).ended();
      expect([plain.code, plain.shown.includes("\x1b")]).toEqual([0, false]);
      expect(plain.shown.split(/\r?\n/).filter((line) => [...line].length > 40)).toEqual([]);
      expect(plain.shown).toContain("fine");
    }
  });

  test("says that a folder is checked with --validate, and refuses an unknown word", async () => {
    const { code, stdout, stderr } = await orrery("tools", "./mytools");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("--validate ./mytools");
  });
});

describe("orrery tools --validate", () => {
  test("reports everything of every file at once, with place and remedy, and starts nothing", async () => {
    await workspace.write(".stella/tools/bad.toml", 'name = "Bad Name"\ndescription = ""\ncommand = []\ntimeout = 5\n');
    await workspace.write(".stella/tools/good.toml", manifest("good", 'timeout_ms = 1000\n[input_schema]\ntype = "object"'));
    await chmod(await workspace.write("bin/x", "#!/bin/sh\ntouch canary\n"), 0o755);
    await workspace.write(".nanocoder/tools/bad.md", "no frontmatter\n");
    await workspace.write(".nanocoder/tools/good.md", markdown("other"));
    await workspace.write(".orrery/tools/third.toml", manifest("third", "timeout_ms = 1"));
    await workspace.write(".orrery/tools/fourth.md", markdown("fourth"));
    await workspace.write(".orrery/tools/fifth.ts", "throw new Error('ran')\n");
    const { code, ok, files } = await check();
    expect([code, ok]).toEqual([5, false]);
    const of = (path: string) => files.find((file) => file.path === join(workspace.path, path));
    const bad = of(".stella/tools/bad.toml")?.diagnostics ?? [];
    expect(bad.filter(({ severity }) => severity === "error").length).toBeGreaterThanOrEqual(3);
    const lines = bad.map(({ line = Infinity }) => line);
    expect(lines).toEqual(lines.toSorted((left, right) => left - right || 0));
    expect(bad.find(({ code }) => code === "invalid_name")).toMatchObject({ line: 1, remedy: expect.any(String) });
    expect(bad.find(({ code }) => code === "unknown_key")).toMatchObject({ severity: "warning", line: 4 });
    expect(of(".stella/tools/good.toml")).toEqual({ path: join(workspace.path, ".stella/tools/good.toml"), tool: "good", diagnostics: [] });
    expect(of(".nanocoder/tools/bad.md")?.diagnostics).toMatchObject([{ severity: "error" }]);
    expect(of(".nanocoder/tools/good.md")).toMatchObject({ tool: "other" });
    expect([of(".orrery/tools/third.toml")?.tool, of(".orrery/tools/fourth.md")?.tool]).toEqual(["third", "fourth"]);
    expect(of(".orrery/tools/fifth.ts")?.diagnostics).toMatchObject([{ severity: "info", code: "not_loaded" }]);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);

    const plain = await orrery("tools", "--validate");
    expect(plain.code).toBe(5);
    expect(plain.stdout).toMatch(/bad\.toml[\s\S]*error 1:\d+: /);
    expect(plain.stderr).toContain("2 with errors");
  });

  test("exits 0 with warnings only, and with nothing to check", async () => {
    expect(await check()).toMatchObject({ code: 0, ok: true, files: [] });
    await workspace.write(".stella/tools/slow.toml", manifest("slow", "timeout_ms = 700000"));
    const { code, ok, files } = await check();
    expect([code, ok]).toEqual([0, true]);
    expect(files[0]?.diagnostics.map((said) => said.severity)).toContain("warning");
  });

  test("checks one folder only, and 2 if there is none", async () => {
    await workspace.write(".stella/tools/bad.toml", "nonsense");
    await workspace.write("mytools/a.toml", manifest("aa"));
    await workspace.write("mytools/b.md", markdown("bb"));
    const { code, files } = await check("./mytools");
    expect([code, files.map(({ tool }) => tool)]).toEqual([0, ["aa", "bb"]]);
    for (const folder of ["./missing", "./mytools/a.toml"]) {
      const { code, stdout, stderr } = await orrery("tools", "--validate", folder);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain("Cannot validate");
    }
  });

  test("runs no file in code of another folder, trusted or not, and does not take a text for a tool", async () => {
    const canary = join(workspace.path, "canary");
    const python = `open(${JSON.stringify(canary)}, "w").close()\n`;
    const script = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(canary)}, "");\n`;
    await workspace.write("setup.py", python);
    await workspace.write("src/index.ts", script);
    for (const folder of ["mytools", "package/.orrery/tools", "package/.stella/tools"]) {
      await workspace.write(`${folder}/deploy.toml`, `${manifest("deploy")}\n`);
      await workspace.write(`${folder}/deploy.py`, python);
      await workspace.write(`${folder}/deploy.js`, script);
    }
    await workspace.write("mytools/README.md", "# The tools of this team\n\n---\n\nname: no frontmatter\n");
    await workspace.write("mytools/torn.md", "\n---\nname: torn\n");
    await workspace.write("mytools/large.md", "x".repeat(300 * 1024));
    await workspace.write("mytools/large.js", "/".repeat(300 * 1024));
    for (const folder of [".", "mytools", "package/.orrery/tools", "package/.stella/tools"]) {
      const { files } = await check(folder, "--trust-workspace");
      const errors = files.filter(({ diagnostics }) => diagnostics.some(({ severity }) => severity === "error"));
      expect({ folder, errors: errors.map(({ path }) => path.split("/").at(-1)) }).toEqual({
        folder,
        errors: folder === "mytools" ? ["torn.md"] : [],
      });
      const code = files.filter(({ path }) => /\.(?:py|js)$/.test(path)).flatMap(({ diagnostics }) => diagnostics.map((said) => said.code));
      expect(new Set(code)).toEqual(new Set([folder.includes(".stella") ? "ignored_file" : "not_loaded"]));
    }
    expect((await check(".")).files.map(({ path }) => path)).not.toContain(join(workspace.path, "src"));
    expect(existsSync(canary)).toBe(false);
  });

  test("judges a folder that sessions read as they do, under whatever path it is named", async () => {
    const text = "No frontmatter.\n";
    await workspace.write(".stella/tools/NOTES.md", text);
    await workspace.write(".nanocoder/tools/NOTES.md", text);
    await workspace.write(".orrery/tools/code.js", "export {};\n");
    await inHome(".config/stella/tools/NOTES.md", text);
    await inHome(".stella/tools/NOTES.md", text);
    await symlink(".stella", join(workspace.path, "stella-link"));
    await symlink(".nanocoder/tools", join(workspace.path, "nanocoder-link"));
    await symlink(".orrery/tools", join(workspace.path, "orrery-link"));
    const verdict = async (folder: string) =>
      (await check(folder, "--trust-workspace")).files.flatMap(({ diagnostics }) =>
        diagnostics.map(({ severity, code }) => `${severity} ${code}`)
      );
    for (
      const folder of [
        ".stella/tools",
        "stella-link/tools",
        ...[".config/stella/tools", ".stella/tools"].map((each) => join(workspace.home, each)),
      ]
    ) {
      expect({ folder, said: await verdict(folder) }).toEqual({ folder, said: ["info ignored_file"] });
    }
    for (const folder of [".nanocoder/tools", "nanocoder-link"]) expect(await verdict(folder)).toEqual(["error no_frontmatter"]);
    // Loaded, and found to have none.
    for (const folder of [".orrery/tools", "orrery-link"]) expect(await verdict(folder)).toEqual(["info no_tools"]);
  });

  test("a name that another dialect has taken is a warning on the file that loses it", async () => {
    await workspace.write(".nanocoder/tools/a.md", markdown("twin"));
    await workspace.write(".stella/tools/z.toml", manifest("twin"));
    const { code, files } = await check();
    expect(code).toBe(0);
    const codes = Object.fromEntries(files.map(({ path, diagnostics }) => [path.split("/").at(-1), diagnostics.map((said) => said.code)]));
    expect(codes["a.md"]).toContain("shadowed_name");
    expect(codes["z.toml"]).not.toContain("shadowed_name");
  });

  test("what it says reaches a session as notices, one for each, with the same level and code", async () => {
    await workspace.write(".stella/tools/bad.toml", 'name = "bad"\ndescription = "x"\ncommand = []\nrisk = "low"\n');
    await workspace.write(".stella/tools/odd.toml", manifest("odd", "timeout = 5"));
    await workspace.write(".stella/tools/odd2.toml", manifest("odd", "timeout_ms = 5"));
    await workspace.write(".stella/tools/odd3.toml", manifest("odd", 'read_only = "yes"').replace("bin/x", "bin/missing"));
    await workspace.write(".nanocoder/tools/odd4.md", markdown("odd").replace("description:", "shell: zsh\ndescription:"));
    await workspace.write(".stella/tools/UP.TOML", "");
    await workspace.write(".orrery/tools/first.toml", manifest("twin"));
    await workspace.write(".nanocoder/tools/twin.md", markdown("twin"));
    await workspace.write(".nanocoder/tools/none.md", "no frontmatter\n");
    const model = await workspace.script({ text: "done" });
    const { stdout } = await orrery("run", "--trust-workspace", "--model", model, "--output-format", "json", "--events", "go");
    const { events } = JSON.parse(stdout) as { events: readonly { type: string; level?: string; code?: string; text?: string }[] };
    const { files } = await check();
    const wanted = files.flatMap(({ path, diagnostics }) => diagnostics.map(({ severity, code }) => `${severity} ${code} ${path}`)).sort();
    const told = events.filter(({ type, text }) => type === "notice" && text?.startsWith(workspace.path) === true)
      .map(({ level, code, text = "" }) => `${level} ${code} ${text.split(": ")[0]}`).sort();
    expect(told).toEqual(wanted);
    for (
      const code of [
        "program_missing",
        "empty_command",
        "ignored_key",
        "unknown_key",
        "duplicate_name",
        "shadowed_name",
        "ignored_file",
        "default_timeout",
      ]
    ) {
      expect(wanted.some((line) => line.includes(` ${code} `))).toBe(true);
    }
  });

  test("a file that is not read is a note, here and beside the list", async () => {
    await workspace.write(".stella/tools/UP.TOML", "");
    await workspace.write(".stella/tools/.toml", "");
    await workspace.write(".stella/tools/old.toml.bak", "");
    await workspace.write(".stella/tools/sub/deep.toml", "");
    await workspace.write(".stella/tools/scripts/run.sh", "");
    await workspace.write(".stella/tools/helper.sh", "");
    await workspace.write(".orrery/tools/x.Md", "");
    await workspace.write(".stella/tools/.hidden.md", "");
    await workspace.write(".stella/tools/.notes.txt.swp", "");
    await workspace.write(".nanocoder/tools/.hidden.toml", "");
    const { ok, files } = await check();
    expect([ok, files.map(({ path, diagnostics }) => [path.slice(workspace.path.length + 1), diagnostics.map(({ code }) => code).join()])])
      .toEqual([
        true,
        [
          [".orrery/tools/x.Md", "ignored_file"],
          [".stella/tools/.hidden.md", "ignored_file"],
          [".stella/tools/.notes.txt.swp", "ignored_file"],
          [".stella/tools/.toml", "ignored_file"],
          [".stella/tools/UP.TOML", "ignored_file"],
          [".stella/tools/helper.sh", "ignored_file"],
          [".stella/tools/old.toml.bak", "ignored_file"],
          [".stella/tools/sub", "ignored_file"],
          [".nanocoder/tools/.hidden.toml", "ignored_file"],
        ],
      ]);
    expect((await list()).notices.filter(({ code }) => code === "ignored_file").length).toBe(9);
    expect((await orrery("tools")).stderr).toContain("UP.TOML");
  });

  test("one folder under two paths is read once, and a link to nowhere in the place of one is an error", async () => {
    await workspace.write(".stella/tools/a.toml", manifest("once"));
    await workspace.write("bin/x", "#!/bin/sh\n");
    await chmod(join(workspace.path, "bin/x"), 0o755);
    await mkdir(join(workspace.path, ".orrery"));
    await symlink("../.stella/tools", join(workspace.path, ".orrery/tools"));
    expect((await list("--trust-workspace")).find("once")).toMatchObject([{ status: "offered" }]);
    const before = await check();
    expect([before.code, before.files.map(({ tool }) => tool)]).toEqual([0, ["once"]]);
    await symlink("gone", join(workspace.path, ".nanocoder"));
    const { code, files } = await check();
    expect([code, files.at(-1)?.diagnostics.map((said) => said.code)]).toEqual([5, ["unreadable"]]);
    expect((await list()).notices.map((notice) => notice.code)).toContain("unreadable");
  }, 30_000);

  test("a user's tool that hands a workspace's file to a runner is inert until the workspace is trusted", async () => {
    const commands = [["sh", "check.sh"], ["python3", "check.py"], ["/usr/bin/env", "scripts/x.sh"], ["env", "-i", "bash", "./x.sh"]];
    for (const [index, command] of commands.entries()) {
      await inHome(`.config/stella/tools/t${index}.toml`, manifest(`tool_${index}`).replace('["bin/x"]', JSON.stringify(command)));
    }
    await inHome(".config/stella/tools/own.toml", manifest("own").replace('["bin/x"]', '["sh", "-c", "echo own"]'));
    const before = await list();
    expect(before.find("tool_0")[0]?.reason).toContain('its command, by "check.sh", may lead into the workspace');
    for (const index of commands.keys()) {
      expect(before.find(`tool_${index}`)).toMatchObject([{
        status: "untrusted",
        reason: expect.stringContaining("may lead into the workspace"),
      }]);
    }
    expect(before.find("own")).toMatchObject([{ status: "offered" }]);
    await workspace.write("check.sh", "touch canary\n");
    expect((await orrery("tools", "call", "tool_0")).code).toBe(4);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    expect((await orrery("tools", "call", "tool_0", "--trust-workspace")).code).toBe(0);
    expect(existsSync(join(workspace.path, "canary"))).toBe(true);
  }, 30_000);

  test("a user's tool or hook whose interpreter comes from the workspace is inert until the workspace is trusted", async () => {
    const evil = "#!/bin/sh\ntouch canary\n";
    for (const name of ["node_modules/.bin/my-runner", "bin/mytool", "scripts/x.sh"]) {
      await chmod(await workspace.write(name, evil), 0o755);
    }
    const lines = ["#!/usr/bin/env my-runner", "#!bin/mytool", "#!/bin/sh scripts/x.sh", "#!/bin/sh"];
    for (const [index, line] of lines.entries()) {
      const own = await inHome(`own/report${index}`, `${line}\n`);
      await chmod(own, 0o755);
      await inHome(`.config/stella/tools/t${index}.toml`, manifest(`tool_${index}`).replace('["bin/x"]', JSON.stringify([own])));
    }
    const command = join(workspace.home, "own/report0");
    await inHome("config/settings.json", JSON.stringify({ hooks: { SessionStart: [{ hooks: [{ type: "command", command }] }] } }));
    const env = { PATH: `./node_modules/.bin:${process.env["PATH"] ?? ""}` };
    const here = { cwd: workspace.path, home: workspace.home, env };
    const { tools } = JSON.parse((await runOrrery(["tools", "--json"], here)).stdout) as { tools: readonly Row[] };
    const found = tools.filter(({ name }) => name?.startsWith("tool_") === true);
    expect(found.map(({ status }) => status)).toEqual(["untrusted", "untrusted", "untrusted", "offered"]);
    expect(found[0]?.reason).toContain("own/report0 (#!/usr/bin/env my-runner)");
    const calls = lines.map((_, index) => ({ name: `tool_${index}`, arguments: {} }));
    const model = await workspace.script({ calls }, { text: "done" });
    const { stderr } = await runOrrery(["run", "--model", model, "go"], here);
    expect(stderr).toContain("not active");
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    await runOrrery(["run", "--trust-workspace", "--model", model, "go"], here);
    expect(existsSync(join(workspace.path, "canary"))).toBe(true);
  }, 60_000);

  test("the journal says by digest what a call ran: the interpreter and the script that it was given", async () => {
    const script = await workspace.write("scripts/a.sh", "echo a\n");
    await workspace.write(".stella/tools/a.toml", manifest("given").replace('["bin/x"]', '["sh", "scripts/a.sh"]'));
    const model = await workspace.script({ calls: [{ name: "given", arguments: {} }] }, { text: "done" });
    const started = async () => {
      const { stdout } = await orrery("run", "--trust-workspace", "--model", model, "--output-format", "json", "--events", "go");
      const { events } = JSON.parse(stdout) as { events: readonly { type: string; program_digest?: string; script_digest?: string }[] };
      return events.find(({ type }) => type === "call_started");
    };
    const digestOf = async (path: string) => createHash("sha256").update(await readFile(path)).digest("hex");
    const first = await started();
    expect(first).toMatchObject({ script_digest: await digestOf(script), program_digest: await digestOf("/bin/sh") });
    await writeFile(script, "echo b\n");
    const second = await started();
    expect([second?.program_digest, second?.script_digest === first?.script_digest]).toEqual([first?.program_digest, false]);
  });

  test("the journal has the digest of a script outside of the workspace too, however it is started", async () => {
    const script = await inHome("bin/p.sh", "exit 0\n");
    await chmod(script, 0o755);
    const digest = createHash("sha256").update(await readFile(script)).digest("hex");
    const path = `PATH = ${JSON.stringify(`${dirname(script)}:/usr/bin:/bin`)}`;
    const commands = [["sh", "-e", script], ["/usr/bin/env", "sh", script], ["sh", "-c", `true; sh ${script}`], ["env", "p.sh"]];
    for (const [index, command] of commands.entries()) {
      const text = manifest(`given_${index}`, `[env]\n${path}`).replace('["bin/x"]', JSON.stringify(command));
      await inHome(`.config/stella/tools/t${index}.toml`, text);
    }
    const calls = commands.map((_, index) => ({ name: `given_${index}`, arguments: {} }));
    const model = await workspace.script({ calls }, { text: "done" });
    const { stdout } = await orrery("run", "--trust-workspace", "--model", model, "--output-format", "json", "--events", "go");
    const { events } = JSON.parse(stdout) as { events: readonly { type: string; script_digest?: string }[] };
    expect(events.filter(({ type }) => type === "call_started").map((event) => event.script_digest)).toEqual(commands.map(() => digest));
  }, 30_000);

  test("a link, an upper-case extension and a folder with the right name are what they are", async () => {
    const elsewhere = await workspace.write("elsewhere.txt", manifest("linked"));
    await mkdir(join(workspace.path, ".stella/tools/folder.toml"), { recursive: true });
    await symlink(elsewhere, join(workspace.path, ".stella/tools/linked.toml"));
    await workspace.write(".stella/tools/LOUD.TOML", "nonsense");
    await workspace.write(".stella/tools/latin.toml", "");
    await writeFile(join(workspace.path, ".stella/tools/latin.toml"), new Uint8Array([0x6e, 0xe9]));
    const { files } = await check();
    expect(files.map(({ path, tool, diagnostics }) => [path.split("/").at(-1), tool ?? diagnostics[0]?.code])).toEqual([
      ["folder.toml", "unreadable"],
      ["latin.toml", "unreadable"],
      ["linked.toml", "linked"],
      ["LOUD.TOML", "ignored_file"],
    ]);
  });
});

describe("orrery tools create", () => {
  for (
    const [format, name, tool, mode] of [["stella", "hello_you", "hello_you", "auto-accept"], [
      "nanocoder",
      "k8s-pods",
      "k8s_pods",
      "yolo",
    ]] as const
  ) {
    test(`writes a ${format} tool that passes validation, runs, and is trusted until it is changed`, async () => {
      const created = await orrery("tools", "create", name, "--format", format, "--json");
      const { files } = JSON.parse(created.stdout) as { files: readonly string[] };
      expect(created.code).toBe(0);
      const { ok, files: checked } = await check();
      expect([ok, checked[0]?.tool, checked[0]?.diagnostics.filter(({ severity }) => severity !== "info")]).toEqual([true, tool, []]);
      const called = await orrery("tools", "call", tool, "--mode", mode, "--input", '{"message":"it\'s $(touch pwned)"}');
      expect([called.code, called.stdout]).toEqual([0, expect.stringContaining("it's $(touch pwned)")]);
      expect(existsSync(join(workspace.path, "pwned"))).toBe(false);
      const model = await workspace.script({ calls: [{ name: tool, arguments: { message: "from a model" } }] }, { text: "{{result}}" });
      expect((await orrery("run", "--mode", mode, "--model", model, "go")).stdout).toContain("from a model");

      const [definition = ""] = files;
      await writeFile(definition, `${await readFile(definition, "utf8")}\n# changed\n`);
      expect((await orrery("tools", "call", tool, "--mode", mode, "--input", '{"message":"x"}')).code).toBe(4);
      // Nothing else in the workspace became trusted with it.
      await workspace.tool("other", "touch canary");
      expect((await orrery("tools", "call", "other")).code).toBe(4);
      expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    });
  }

  test("never replaces a file, and leaves nothing behind when it refuses", async () => {
    await workspace.write("scripts/taken.sh", "mine\n");
    const refused = await orrery("tools", "create", "taken");
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain("scripts/taken.sh");
    expect(await readFile(join(workspace.path, "scripts/taken.sh"), "utf8")).toBe("mine\n");
    expect(existsSync(join(workspace.path, ".stella"))).toBe(false);
  });

  test("refuses names that are no names, are reserved or are taken", async () => {
    await workspace.write(".stella/tools/other-file.toml", manifest("mine"));
    for (const name of ["../evil", "Upper", "bash", "task", "mcp__a__b", "search", "a/b", "mine", "x", "", "nl\nname", '"'] as const) {
      const { code, stdout, stderr } = await orrery("tools", "create", "--", name);
      expect([name, code, stdout]).toEqual([name, 2, ""]);
      expect(stderr).toContain(name === "" ? "must not be empty" : "Cannot create");
    }
    for (const name of ["../evil", "bash", "a/b"]) {
      expect((await orrery("tools", "create", "--format", "nanocoder", "--", name)).code).toBe(2);
    }
    expect(existsSync(join(workspace.path, "../evil.md"))).toBe(false);
  }, 30_000);

  test("proposes a call that allows nothing but itself", async () => {
    for (const format of ["stella", "nanocoder"]) {
      const { code, stderr } = await orrery("tools", "create", `of_${format}`, "--format", format);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^ {2}orrery tools call of_\w+ --input '\{"message":"hello"\}'/m)]);
      expect([stderr.includes("yolo"), stderr.includes("asks on the terminal")]).toEqual([false, format === "nanocoder"]);
    }
  });

  test("does not follow a link out of the workspace", async () => {
    const outside = join(workspace.home, "outside");
    await mkdir(outside);
    await symlink(outside, join(workspace.path, ".stella"));
    const { code, stderr } = await orrery("tools", "create", "hello");
    expect(code).toBe(2);
    expect(stderr).toContain("outside the workspace");
    expect(existsSync(join(outside, "tools"))).toBe(false);
  });
});
