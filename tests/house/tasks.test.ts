/** The tasks of deno.json, called the way a person calls them. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

test("deno task orrery runs the command line from source", () => {
  const { status, stdout } = spawnSync(join(root, "node_modules/deno/deno"), ["task", "--quiet", "orrery", "version"], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: "/usr/bin:/bin", HOME: process.env["HOME"] ?? "/tmp", DENO_NO_UPDATE_CHECK: "1" },
  });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^orrery .*deno/)]);
}, 30_000);
