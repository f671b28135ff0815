import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../lib/session/json.ts";
import type { Run } from "../../lib/session/launch.ts";
import { untilNothingIsLeft, watchdogsOf } from "../fixtures/runtimes.ts";
import { newRuntime, until } from "../fixtures/supervision.ts";

const root = fileURLToPath(new URL("../../", import.meta.url).href);

/** Case 75. */
describe("a compiled program, alone in a folder full of decoys", () => {
  let folder: string;
  let printed: { readonly own: Run; readonly host: Run };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
    const built = join(folder, "built");
    const entries = ["tests/fixtures/programs/supervised.ts", "lib/supervisor/worker.ts"];
    const flags = ["--compile", "--minify", "--no-compile-autoload-bunfig", "--no-compile-autoload-dotenv"];
    execFileSync(join(root, "node_modules/.bin/bun"), ["build", ...flags, ...entries, "--outfile", built], { cwd: root, stdio: "pipe" });
    const empty = join(folder, "empty");
    mkdirSync(join(empty, "lib/supervisor"), { recursive: true });
    copyFileSync(built, join(empty, "program"));
    for (const name of ["worker.js", "worker.ts"]) {
      writeFileSync(join(empty, "lib/supervisor", name), 'throw new Error("a decoy was loaded")');
    }
    writeFileSync(join(empty, "bunfig.toml"), 'preload = ["./preload.js"]\n');
    writeFileSync(join(empty, "preload.js"), 'console.log("a decoy was loaded")');
    writeFileSync(join(empty, ".env"), "DECOY=1\n");
    printed = JSON.parse(execFileSync(join(empty, "program"), { cwd: empty, encoding: "utf8", env: { PATH: "/usr/bin:/bin" } }));
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  test("supervises with its own worker, with real pipes and to the end", () => {
    const { own } = printed;
    expect(own.outcome).toEqual({ kind: "exited", code: 0 });
    expect(own.stdout.text).toMatch(/^in\n/);
    expect(own.stdout.text).toContain("\nORRERY_LINEAGE=rt_binary/call_1\n");
    expect(own.stdout.text).toMatch(/out\n$/);
    expect(own.stderr.text).toBe("err\n");
    expect(own.reaped.map(({ command }) => command)).toEqual(["sleep"]);
  });

  test("gives a child what was set for it, and nothing of the folder's", () => {
    expect(printed.own.stdout.text).toMatch(/^BUN_BE_BUN=1$/m);
    expect(printed.own.stdout.text).not.toContain("DECOY");
  });

  test("is its own watchdog", async () => {
    const runtime = newRuntime();
    const program = join(folder, "empty/program");
    expect(spawnSync(program, [runtime], { cwd: folder, env: { PATH: "/usr/bin:/bin" } }).signal).toBe("SIGKILL");
    expect(await untilNothingIsLeft(runtime)).toBeLessThan(2000);
    await until("the watchdog has gone", () => watchdogsOf(runtime).length === 0, 2000);
  });

  test("is its own tool host, away from the folder", () => {
    const { outcome, reply } = printed.host;
    expect(outcome).toEqual({ kind: "returned" });
    expect(reply?.text).toBe('{"n":3.0}');
    const { cwd, env } = reply?.data as { readonly cwd: string; readonly env: JsonObject };
    expect(cwd).toBe("/");
    expect(env["DECOY"]).toBe(undefined);
    expect(env["ORRERY_LINEAGE"]).toBe("rt_binary/host-w1-1");
  });
});
