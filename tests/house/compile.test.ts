import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./sources.ts";

describe("compile.sh", () => {
  test("refuses Windows by name and says why", () => {
    const { status, stderr } = compile("--target", "windows-x64");
    expect(status).toBe(2);
    expect(stderr).toContain("windows-x64");
    expect(stderr).toContain("process groups");
  });

  test("refuses a target it does not know and lists those it does, before it builds anything", () => {
    const { status, stderr } = compile("--target=linux-sparc");
    expect(status).toBe(2);
    expect(stderr).toContain('"linux-sparc"');
    expect(stderr).toContain("linux-x64-musl");
    expect(stderr).not.toContain("Building");
  });

  test("refuses an argument it does not know", () => {
    expect(compile("--fast")).toMatchObject({ status: 2, stdout: "" });
  });
});

function compile(...args: string[]) {
  return spawnSync("sh", [join(root, "compile.sh"), ...args], { cwd: tmpdir(), encoding: "utf8" });
}
