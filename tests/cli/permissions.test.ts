/** Case 78: started from source on Deno with less than it needs. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const DENO = fileURLToPath(import.meta.resolve("../../node_modules/deno/deno"));
const MAIN = fileURLToPath(import.meta.resolve("../../cli/main.ts"));
const PERMISSIONS = ["run", "read", "write", "env", "net", "ffi", "sys", "import"];

for (const missing of PERMISSIONS) {
  test(`without --allow-${missing} it names what is missing and how to start it, and nothing of its inside`, () => {
    const granted = PERMISSIONS.filter((each) => each !== missing).map((each) => `--allow-${each}`);
    const { status, stdout, stderr } = spawnSync(DENO, ["run", "--no-prompt", "--no-check", ...granted, MAIN, "run", "go"], {
      encoding: "utf8",
      input: "",
    });
    expect([status, stdout, stderr]).toEqual([
      5,
      "",
      `orrery: Cannot start as Deno was not allowed to use ${missing}: start it with deno run -A\n`,
    ]);
  });
}
