/** What `orrery doctor` finds, that each finding has a remedy, and that it starts nothing of a workspace. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, openSync, readdirSync, statSync, writeSync } from "node:fs";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { checkTemporary } from "../../lib/agent/checkup/temporary.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

/** Each starts the program, some of them several times, from source. */
const LIMIT_MS = 30_000;

interface Found {
  readonly check: string;
  readonly level: string;
  readonly text: string;
  readonly remedy?: string;
}

let workspace: TestWorkspace;
let server: Server | null;
let model: string;

beforeEach(async () => {
  workspace = await createWorkspace();
  server = null;
  model = await workspace.script({ text: "never asked" });
});
afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  await workspace.remove();
});

async function doctor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await runOrrery(["doctor", "--json", ...args], { cwd: workspace.path, home: workspace.home, env });
  const { ok, findings } = JSON.parse(stdout) as { readonly ok: boolean; readonly findings: readonly Found[] };
  expect(findings.filter(({ level, remedy }) => (level === "ok") !== (remedy === undefined))).toEqual([]);
  expect([ok, stderr]).toEqual([code === 0, ""]);
  return { code, of: (check: string, level: string) => findings.filter((each) => each.check === check && each.level === level), findings };
}

/** A server that answers everything with this. */
async function serve(status: number, body = "", seen: (path: string, authorization: string) => void = () => undefined): Promise<string> {
  const started = createServer((request, response) => {
    seen(request.url ?? "", request.headers.authorization ?? "");
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  server = started;
  await new Promise<void>((listening) => void started.listen(0, "127.0.0.1", listening));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

describe("orrery doctor", () => {
  test("says of every part that it works, and exits with 0", async () => {
    const { code, findings } = await doctor(["--model", model]);
    expect(code).toBe(0);
    const well = new Set(findings.filter(({ level }) => level === "ok").map(({ check }) => check));
    for (const check of ["settings", "model", "journal", "tools", "hooks", "speculation", "worker"]) expect(well).toContain(check);
    expect(new Set(findings.map(({ check }) => check))).toContain("containment");
    expect(findings.find(({ check }) => check === "machine")?.text).toMatch(/^This is Orrery (?:built for|from source on) /);
  }, LIMIT_MS);

  test("starts nothing of the workspace, trusted or not", async () => {
    await workspace.tool("mark", "touch canary");
    const hook = { hooks: [{ type: "command", command: "touch canary" }] };
    await workspace.write(".orrery/settings.json", JSON.stringify({ hooks: { SessionStart: [hook], PreToolUse: [hook], Stop: [hook] } }));
    for (const args of [[], ["--trust-workspace"]]) expect((await doctor(["--model", model, ...args])).code).toBe(0);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  }, LIMIT_MS);

  test("names what is not trusted, tools and hooks, and the command", async () => {
    await workspace.tool("mark", "true");
    await workspace.write(
      ".orrery/settings.json",
      JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } }),
    );
    const { code, of } = await doctor(["--model", model]);
    expect(code).toBe(0);
    expect(of("tools", "warning")).toMatchObject([{
      text: expect.stringContaining("mark"),
      remedy: expect.stringContaining(`orrery trust ${workspace.path}`),
    }]);
    expect(of("hooks", "warning")).toMatchObject([{ text: expect.stringContaining("1 hook may not run") }]);
    expect((await doctor(["--model", model, "--trust-workspace"])).of("hooks", "ok")).toMatchObject([{ text: "1 hook active" }]);
  }, LIMIT_MS);

  test("takes a broken tool for an error, and early reads that are off for something to know", async () => {
    await workspace.write(".stella/tools/bad.toml", "name = 1\n");
    await mkdir(join(workspace.home, "config"), { recursive: true });
    await writeFile(join(workspace.home, "config/settings.json"), '{ "speculation": "off" }');
    const { code, of } = await doctor(["--model", model, "--trust-workspace"]);
    expect(code).toBe(1);
    expect(of("tools", "error")).toMatchObject([{ remedy: expect.stringContaining("orrery tools --validate") }]);
    expect(of("speculation", "note").length).toBe(1);
  }, LIMIT_MS);

  // Skipped where nobody may mount: not on Linux, not as root, or in a container that forbids it.
  const mayMount = process.platform === "linux" && process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;
  test.skipIf(!mayMount)("says of a noexec mount that it is one, of a tool there and of the folder for temporary files", async () => {
    await workspace.write("count.sh", "#!/bin/sh\necho 3\n");
    await chmod(join(workspace.path, "count.sh"), 0o755);
    for (const [name, command] of [["direct", '["./count.sh"]'], ["by_sh", '["sh", "count.sh"]']]) {
      await workspace.write(`.stella/tools/${name}.toml`, `name = "${name}"\ndescription = "Counts."\ncommand = ${command}\n`);
    }
    const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,noexec "$0" && exec "$@"';
    const through = ["unshare", "--mount", "sh", "-c", mount, workspace.path];
    const start = { cwd: workspace.path, home: workspace.home, env: { TMPDIR: workspace.path }, through };
    const noexec = expect.stringContaining(`is on ${workspace.path}, which is mounted noexec`);
    const { stdout } = await runOrrery(["doctor", "--json", "--trust-workspace", "--model", model], start);
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly Found[] };
    expect(findings.filter(({ check, level }) => check === "tools" && level === "error")).toMatchObject([
      { text: noexec, remedy: expect.stringContaining("name the interpreter first") },
    ]);
    expect(findings).toContainEqual({
      check: "machine",
      level: "note",
      text: expect.stringContaining(`Nothing can be started from ${workspace.path}`),
      remedy: expect.stringContaining("--tmpfs /tmp:exec"),
    });
    expect(await runOrrery(["tools", "call", "direct", "--trust-workspace"], start)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("which is mounted noexec (EACCES)"),
    });
    expect(await runOrrery(["tools", "call", "by_sh", "--trust-workspace"], start)).toMatchObject({ code: 0, stdout: "3\n" });
    expect(await runOrrery(["demo"], start)).toMatchObject({ code: 1, stderr: expect.stringContaining("mounted noexec") });
  }, LIMIT_MS);

  test.skipIf(!mayMount)("warns of a workspace that cannot be written to (if one may mount)", async () => {
    const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
    const through = ["unshare", "--mount", "sh", "-c", mount, workspace.path];
    const { stdout } = await runOrrery(["doctor", "--json", "--model", model], { cwd: workspace.path, home: workspace.home, through });
    expect((JSON.parse(stdout) as { readonly findings: readonly Found[] }).findings).toContainEqual({
      check: "tools",
      level: "warning",
      text: expect.stringMatching(/^Tools can make no files in .*, as this user \(0\) cannot write there \(EROFS\)$/),
      remedy: expect.stringContaining("docker run --user"),
    });
    expect((await doctor(["--model", model])).of("tools", "warning")).toEqual([]);
  }, LIMIT_MS);

  test("finds that no temporary file can be made, and says how bad that is", async () => {
    const TMPDIR = join(workspace.path, "none");
    const [found] = (await doctor(["--model", model], { TMPDIR })).of("machine", "warning");
    expect([found?.text, found?.remedy]).toEqual([
      expect.stringMatching(/none \(ENOENT.*\): Orrery needs none, but many tools and scripts do/),
      expect.stringContaining("TMPDIR"),
    ]);
    const nowhere = checkTemporary({ TMPDIR }, () => {
      throw new Error("there is no place for its standard input");
    });
    expect(nowhere).toEqual([{
      check: "machine",
      level: "error",
      text: expect.stringMatching(/so no script tool or hook runs: there is no place/),
      remedy: expect.any(String),
    }]);
    expect(checkTemporary({ TMPDIR: workspace.path })).toEqual([]);
  }, LIMIT_MS);

  test("says each fault of settings by itself, and checks the rest all the same", async () => {
    await workspace.write(".orrery/settings.json", '{\n  "mode": "careful",\n  "speculation": 3\n}\n');
    await workspace.write("agents.config.json", "{");
    await workspace.write(".stella/tools/bad.toml", "name = 1\n");
    await workspace.write(".mcp.json", JSON.stringify({ mcpServers: { gone: { command: "/no/such/server" } } }));
    await workspace.write(".orrery/tools/started.ts", 'import { writeFileSync } from "node:fs";\nwriteFileSync("canary", "");\n');
    await mkdir(join(workspace.home, "config"), { recursive: true });
    const hook = { hooks: [{ type: "command", command: "./no-such-guard.sh" }] };
    await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify({ hooks: { Stop: [hook] } }));
    const { code, of } = await doctor(["--model", model, "--trust-workspace"]);
    expect(code).toBe(1);
    expect(of("settings", "error").map(({ text }) => text)).toEqual([
      expect.stringContaining("settings.json:2:"),
      expect.stringContaining("settings.json:3:"),
      expect.stringContaining("agents.config.json:1:"),
    ]);
    for (const check of ["model", "journal", "worker", "tools", "speculation"]) expect([check, of(check, "ok").length]).toEqual([check, 1]);
    expect(of("settings", "note")).toMatchObject([{ text: expect.stringContaining("leaves out settings files with errors") }]);
    expect(of("tools", "error")).toMatchObject([{ text: expect.stringContaining("bad.toml") }]);
    expect(of("servers", "error")).toMatchObject([{ text: expect.stringContaining("/no/such/server") }]);
    expect(of("hooks", "error")).toMatchObject([{ text: expect.stringContaining("no-such-guard.sh") }]);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  }, LIMIT_MS);

  test("names what it could not look at, and why: settings that count for all, a variable", async () => {
    const managed = join(workspace.home, "managed.json");
    await writeFile(managed, '{ "speculation": 3 }');
    for (const env of [{ ORRERY_MANAGED_SETTINGS: managed }, { ORRERY_MODE: "careful" }]) {
      const { code, of } = await doctor(["--model", model], env);
      const [fault] = of("settings", "error");
      expect([code, fault?.text]).toEqual([1, expect.stringContaining(Object.values(env)[0] ?? "")]);
      for (const check of ["model", "journal", "worker"]) expect([check, of(check, "ok").length]).toEqual([check, 1]);
      for (const check of ["tools", "servers", "hooks", "speculation"]) {
        expect([check, of(check, "note")]).toMatchObject([check, [{ text: `Not checked, as long as this stands: ${fault?.text}` }]]);
      }
    }
  }, LIMIT_MS);

  // Who has a home directory by the list of users has one without the variable.
  const homeless = process.platform === "linux" && spawnSync("unshare", ["--user", "--map-user=54321", "true"]).status === 0;
  test.skipIf(!homeless)("checks what needs no folder of the user's where there is none (if one may be somebody else)", async () => {
    await workspace.write(".stella/tools/bad.toml", "name = 1\n");
    const through = ["unshare", "--user", "--map-user=54321", "env", "-u", "HOME", "-u", "ORRERY_HOME", "-u", "XDG_DATA_HOME"];
    // Deno itself keeps what it has compiled in a home directory.
    const start = { cwd: workspace.path, home: workspace.home, through, env: { DENO_DIR: join(workspace.home, "deno") } };
    const { code, stdout } = await runOrrery(["doctor", "--json", "--model", model], start);
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly Found[] };
    const of = (check: string, level: string) => findings.filter((each) => each.check === check && each.level === level);
    expect([code, of("journal", "error")]).toMatchObject([1, [{ text: expect.stringContaining("no home directory") }]]);
    expect(of("settings", "ok")).toMatchObject([{ text: expect.stringContaining("there is no folder for your own") }]);
    for (const check of ["model", "worker", "tools", "servers", "hooks", "speculation"]) {
      expect([check, of(check, "ok").length]).toEqual([check, 1]);
    }
    expect(of("tools", "error")).toMatchObject([{ text: expect.stringContaining("bad.toml") }]);
  }, LIMIT_MS);

  test("says that the journal cannot be written, and checks the rest all the same", async () => {
    await writeFile(join(workspace.home, "data"), "a file where a folder must be");
    const { code, of } = await doctor(["--model", model]);
    expect(code).toBe(1);
    expect(of("journal", "error")).toMatchObject([{ remedy: expect.stringContaining("ORRERY_HOME") }]);
    for (const check of ["model", "tools", "worker"]) expect([check, of(check, "ok").length]).toEqual([check, 1]);
  }, LIMIT_MS);

  test("finds the programs that tools, hooks and servers would start, and says which are not there", async () => {
    const toml = (command: string) => `name = "x"\ndescription = "A tool."\ncommand = ${command}\n`;
    await workspace.write(".stella/tools/one.toml", toml('["scripts/nope.sh"]').replace('"x"', '"one"'));
    await workspace.write(".stella/tools/two.toml", toml('["sh", "scripts/nope.sh"]').replace('"x"', '"two"'));
    await workspace.write(".stella/tools/fine.toml", toml('["sh", "-c", "echo fine"]').replace('"x"', '"fine"'));
    const hooks = ["./scripts/missing-guard.sh", "echo fine"].map((command) => ({ hooks: [{ type: "command", command }] }));
    await workspace.write(".orrery/settings.json", JSON.stringify({ hooks: { PreToolUse: hooks } }));
    const servers = {
      gone: { command: "/no/such/server" },
      fine: { command: "sh" },
      unset: { command: "sh", args: ["${NO_SUCH_VARIABLE}"] },
    };
    await workspace.write(".mcp.json", JSON.stringify({ mcpServers: servers }));
    const { code, of } = await doctor(["--model", model, "--trust-workspace"]);
    expect(code).toBe(1);
    expect(of("tools", "error").map(({ text }) => text)).toEqual([
      expect.stringMatching(/^one \(.*one\.toml\): The program "scripts\/nope\.sh" does not exist/),
      expect.stringMatching(/^two \(.*two\.toml\): The file "scripts\/nope\.sh", which sh is given, does not exist/),
    ]);
    expect(of("hooks", "error")).toMatchObject([{ text: expect.stringContaining("missing-guard.sh") }]);
    expect(of("servers", "error")).toMatchObject([
      { text: expect.stringContaining("/no/such/server") },
      { text: expect.stringContaining("NO_SUCH_VARIABLE") },
    ]);
    // It is not known whether it would answer: `sh` is no server.
    expect(of("servers", "note")).toMatchObject([{
      text: "Nothing is missing that 1 MCP server would need to start; none was started to find out more",
      remedy: expect.stringMatching(/^orrery tools starts/),
    }]);
    expect(of("servers", "ok")).toEqual([]);
    const { of: untrusted } = await doctor(["--model", model]);
    expect([untrusted("servers", "warning").length, untrusted("servers", "error").length]).toEqual([1, 0]);
  }, LIMIT_MS);

  test("tells a journal that is no journal, damaged, or newer, and how to go on", async () => {
    const file = join(workspace.home, "data/journal.sqlite");
    expect((await doctor(["--model", model])).of("journal", "error")).toEqual([]);
    const database = new DatabaseSync(file);
    const { user_version } = database.prepare("PRAGMA user_version").get() as { readonly user_version: number };
    database.exec("PRAGMA user_version = 999; PRAGMA journal_mode = DELETE");
    expect((await doctor(["--model", model])).of("journal", "error")).toMatchObject([{ remedy: expect.stringContaining("newer Orrery") }]);
    database.exec(`PRAGMA user_version = ${user_version}`);
    database.close();
    const descriptor = openSync(file, "r+");
    for (let page = 4096; page < statSync(file).size; page += 4096) writeSync(descriptor, Buffer.alloc(64, 0xff), 0, 64, page);
    const damaged = await doctor(["--model", model]);
    expect([damaged.code, damaged.of("journal", "error")]).toMatchObject([1, [{
      remedy: expect.stringContaining(`Put a copy of ${file} back`),
    }]]);
    for (const name of readdirSync(join(file, ".."))) if (name.startsWith("journal.sqlite-")) await rm(join(file, "..", name));
    await writeFile(file, "this is a note and no database".repeat(100));
    const garbage = await doctor(["--model", model]);
    expect([garbage.code, garbage.of("journal", "error")]).toMatchObject([1, [{ remedy: expect.stringContaining("move it away") }]]);
  }, LIMIT_MS);

  test("names the folder of the user's settings", async () => {
    expect((await doctor(["--model", model])).of("settings", "ok")).toMatchObject([{
      text: expect.stringContaining(join(workspace.home, "config")),
    }]);
  }, LIMIT_MS);

  test.skipIf(!hasTerminal)("keeps to the width of a narrow terminal", async () => {
    const run = startOnTerminal(["doctor", "--model", model], {
      cwd: workspace.path,
      home: workspace.home,
      columns: 60,
      env: { NO_COLOR: "1" },
    });
    const { code, shown } = await run.ended();
    expect(code).toBe(0);
    // A path that is longer stays whole, so that it can be copied.
    expect(shown.replaceAll(/ *checking: \d+ s\r\x1b\[K/g, "").split(/\r?\n/).filter((line) => line.length > 60 && !line.includes("/")))
      .toEqual(
        [],
      );
  }, LIMIT_MS);
});

describe("the model's endpoint", () => {
  const list = JSON.stringify({ object: "list", data: [{ id: "qwen3" }] });
  const answers: readonly (readonly [title: string, status: number, body: string, level: string, code: number, says: string])[] = [
    ["answers and has the model", 200, list, "ok", 0, "answers"],
    ["answers with something else than a list", 200, "<html>", "ok", 0, "answers"],
    ["does not list the model", 200, list.replace("qwen3", "other"), "warning", 0, "does not list this model"],
    ["refuses the key", 401, "{}", "error", 1, "refuses the key (401)"],
    ["has no list of models", 404, "{}", "note", 0, "404"],
    ["leads elsewhere", 302, "", "note", 0, "302"],
  ];
  for (const [title, status, body, level, code, says] of answers) {
    test(title, async () => {
      const asked: string[] = [];
      const url = await serve(status, body, (path, authorization) => asked.push(`${path} ${authorization}`));
      const found = await doctor(["--model", "local/qwen3", "--base-url", `${url}/v1/`], { ORRERY_LOCAL_API_KEY: "secret-key" });
      expect([found.code, asked]).toEqual([code, ["/v1/models Bearer secret-key"]]);
      expect(found.of("model", level)).toMatchObject([{ text: expect.stringContaining(says) }]);
      expect(JSON.stringify(found.findings)).not.toContain("secret-key");
    }, LIMIT_MS);
  }

  test("cannot be reached", async () => {
    const url = await serve(200);
    await new Promise((closed) => server?.close(closed));
    const { code, of } = await doctor(["--model", "local/qwen3", "--base-url", `${url}/v1`]);
    expect([code, of("model", "error")]).toMatchObject([1, [{ text: expect.stringContaining("cannot be reached") }]]);
  }, LIMIT_MS);

  test.skipIf(!hasTerminal)("shows on a terminal that it is waited for, on a dumb one in a plain line", async () => {
    const answers: (() => void)[] = [];
    const started = createServer((_, response) => void answers.push(() => response.end(list)));
    server = started;
    await new Promise<void>((listening) => void started.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${(started.address() as AddressInfo).port}/v1`;
    for (const [TERM, says] of [["xterm", "checking: 1 s\r\x1b[K"], ["dumb", "checking ...\r\n"]] as const) {
      const run = startOnTerminal(["doctor", "--model", "local/qwen3", "--base-url", url], {
        cwd: workspace.path,
        home: workspace.home,
        env: { TERM, NO_COLOR: "1" },
      });
      await run.waitFor(says);
      for (const answer of answers.splice(0)) answer();
      const { code, shown } = await run.ended();
      expect([TERM, code, shown.includes("\x1b") && TERM === "dumb"]).toEqual([TERM, 0, false]);
    }
  }, LIMIT_MS);

  test("is not known without a key or a name: an error that names the choices", async () => {
    const { code, of } = await doctor([]);
    expect([code, of("model", "error")]).toMatchObject([1, [{
      text: expect.stringContaining("OPENAI_API_KEY"),
      remedy: expect.stringContaining("--model"),
    }]]);
  }, LIMIT_MS);
});

describe("orrery doctor --server", () => {
  const ask = (url: string) => runOrrery(["doctor", "--server", url], { home: workspace.home });

  test("exits with 0 while the server takes work and with 1 when it does not, or is not there", async () => {
    const ready = await ask(await serve(200));
    expect(ready).toMatchObject({ code: 0, stdout: expect.stringContaining("takes work") });
    server?.close();
    const draining = await ask(`${await serve(503)}/`);
    expect(draining).toMatchObject({ code: 1, stdout: expect.stringContaining("503") });
    const gone = await serve(200);
    await new Promise((closed) => server?.close(closed));
    expect(await ask(gone)).toMatchObject({ code: 1, stdout: expect.stringContaining("cannot be reached") });
  }, LIMIT_MS);

  test("asks nothing else, and opens no journal", async () => {
    const paths: string[] = [];
    await ask(await serve(200, "", (path) => paths.push(path)));
    expect([paths, existsSync(join(workspace.home, "data"))]).toEqual([["/readyz"], false]);
  }, LIMIT_MS);

  test("refuses what is not the address of a server", async () => {
    expect(await ask("4760")).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("http://127.0.0.1:4760") });
  }, LIMIT_MS);
});
