import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { bun } from "../../lib/platform/host.ts";
import { sourceCommand } from "../fixtures/supervision.ts";

/** A workspace with files of the names that C libraries have. */
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "orrery-libc-"));
  const names = ["libc.so.6", ...["x86_64", "aarch64"].flatMap((machine) => [`libc.musl-${machine}.so.1`, `ld-musl-${machine}.so.1`])];
  for (const name of [...names, "libSystem.B.dylib"]) await writeFile(join(folder, name), "no library");
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function callLibc(env: Readonly<Record<string, string>>) {
  const [program = "", ...args] = sourceCommand("./programs/call-libc.ts");
  const { stdout, pid } = spawnSync(program, args, { encoding: "utf8", cwd: folder, env: { ...process.env, ...env } });
  return { answer: JSON.parse(stdout) as unknown, pid };
}

test("the C library is never looked for in the current directory", () => {
  const { answer, pid } = callLibc({});
  expect(answer).toEqual({ pid });
});

// Deno's engine has no such variable.
test.skipIf(bun === null)("without the JIT it says what would be right, and looks nowhere else (Bun alone can be without)", () => {
  expect(callLibc({ BUN_JSC_useJIT: "0" }).answer).toEqual({ problem: "the engine runs without its JIT: unset BUN_JSC_useJIT" });
});
