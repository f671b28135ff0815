/** What a machine refuses is said in a sentence, without a stack, and is no success. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { explain } from "../../cli/errors.ts";
import { openShell } from "../../cli/terminal.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { onDeno, runOrrery } from "../host/orrery.ts";

let home: string;
beforeAll(() => void (home = mkdtempSync(join(tmpdir(), "orrery-system-"))));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("the demo says that no session can be kept before it shows anything, and leaves nothing", async () => {
  const [file, temporary] = [join(home, "file"), join(home, "temporary")];
  writeFileSync(file, "");
  mkdirSync(temporary);
  const { code, stdout, stderr } = await runOrrery(["demo"], { home, env: { TMPDIR: temporary, ORRERY_HOME: file } });
  expect([code, stdout, readdirSync(temporary)]).toEqual([1, "", []]);
  expect(stderr).toMatch(/^orrery: Cannot [^\n]*\n$/);
}, 30_000);

test("the demo says that its folder cannot be made, and which variable names another", async () => {
  const { code, stdout, stderr } = await runOrrery(["demo"], { home, env: { TMPDIR: join(home, "nowhere") } });
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^orrery: Cannot make a folder for the demo in ".*nowhere" .*: set TMPDIR to one that you may write to\n$/);
});

test.skipIf(!existsSync("/dev/full"))("a version that could not be written is no success", async () => {
  for (const word of ["version", "--version", "-v"]) {
    const full = openSync("/dev/full", "w");
    try {
      const { code, stderr } = await runOrrery([word], { home, stdout: full });
      expect([word, code, stderr]).toEqual([word, 1, expect.stringContaining("Cannot write to standard output")]);
    } finally {
      closeSync(full);
    }
  }
});

const without = (closed: string) => ["/bin/sh", "-c", `exec "$@" ${closed}`, "sh"];
const script = () => {
  const path = join(home, "script.json");
  writeFileSync(path, JSON.stringify({ replies: [{ text: "done" }] }));
  return `script:${path}`;
};

test.skipIf(onDeno)("a command whose standard output is closed is no success (not Deno: it cannot tell)", async () => {
  const commands = [["version"], ["--help"], ["tools", "--json"], ["config"], ["run", "--model", script(), "go"], [
    "run",
    "--model",
    script(),
    "-o",
    "json",
    "go",
  ]];
  for (const args of commands) {
    const { code, stderr } = await runOrrery(args, { home, cwd: home, through: without(">&-") });
    expect([args, code, stderr]).toEqual([args, 1, expect.stringContaining("Cannot write to standard output: it is closed")]);
  }
}, 30_000);

test("closed standard streams are not taken by files of ours, and a journal is sound after a run without any", async () => {
  const own = join(home, "closed");
  for (const closed of [">&-", "2>&-", "<&-", "<&- >&- 2>&-"]) {
    await runOrrery(["run", "--model", script(), "go"], { home: own, cwd: home, through: without(closed) });
  }
  const { code, stdout } = await runOrrery(["sessions", "list", "--json"], { home: own, cwd: home });
  const { sessions } = JSON.parse(stdout) as { readonly sessions: readonly { readonly status: string; readonly turns: number }[] };
  expect([code, sessions.map(({ status, turns }) => [status, turns])]).toEqual([0, Array.from({ length: 4 }, () => ["idle", 1])]);
  const database = openDatabase(join(own, "data/journal.sqlite"), { busy_timeout_ms: 1000 });
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
}, 30_000);

test.skipIf(onDeno)("following a session ends where nobody can be told (not Deno: it cannot tell)", async () => {
  const { stdout } = await runOrrery(["run", "--model", script(), "-o", "json", "go"], { home, cwd: home });
  const { session } = JSON.parse(stdout) as { readonly session: string };
  const { code, stderr } = await runOrrery(["sessions", "events", session, "--follow"], { home, through: without(">&-") });
  expect([code, stderr]).toEqual([1, "orrery: Cannot write to standard output: it is closed\n"]);
}, 30_000);

test("a command whose standard error is closed does what it does", async () => {
  const { code, stdout } = await runOrrery(["run", "--model", script(), "go"], { home, cwd: home, through: without("2>&-") });
  expect([code, stdout]).toEqual([0, "done\n"]);
});

test("any other error of the system is no internal error", async () => {
  let said = "";
  const shell = openShell();
  const heard = { ...shell, err: { ...shell.err, write: (text: string) => void (said += text) } };
  const error = Object.assign(new Error("EROFS: read-only file system, mkdir '/x'"), { code: "EROFS", syscall: "mkdir" });
  expect(await explain(heard, error)).toEqual({ ending: "failed", message: error.message });
  expect(said).toBe(`orrery: Cannot go on, as the system refuses: ${error.message}\n`);
  await explain(heard, new Error("a bug"));
  expect(said).toContain("Internal error");
});

test.skipIf(onDeno)("a workspace whose name is not UTF-8 is told as such (not Deno: it does not start there)", async () => {
  const through = ["/bin/sh", "-c", 'folder="$0/$(printf "lat\\\\351")"; mkdir -p "$folder" && cd "$folder" && exec "$@"', home];
  const { code, stderr } = await runOrrery(["tools"], { home, through });
  expect([code, stderr]).toEqual([1, expect.stringContaining("a name in this path is not UTF-8: rename it")]);
}, 30_000);
