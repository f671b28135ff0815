/** The example of the format's own documentation, byte for byte, from a manifest in a repository to a model's answer. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

const seed = join(import.meta.dirname, "../fixtures/stella/seed");

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
  await workspace.write(".stella/tools/wordcount.toml", await readFile(join(seed, "wordcount.toml"), "utf8"));
  await chmod(await workspace.write("scripts/wordcount.sh", await readFile(join(seed, "wordcount.sh"), "utf8")), 0o755);
  await workspace.write("src/lib.rs", "fn main() { one two three }\n");
});
afterEach(async () => {
  await workspace.remove();
});

const orrery = (...args: readonly string[]) => runOrrery(args, { cwd: workspace.path, home: workspace.home });

test("it passes validation without a word", async () => {
  const { code, stdout } = await orrery("tools", "--validate", "--json");
  const { ok, files } = JSON.parse(stdout) as { ok: boolean; files: unknown };
  expect([code, ok, files]).toEqual([0, true, [{
    path: join(workspace.path, ".stella/tools/wordcount.toml"),
    tool: "wordcount",
    diagnostics: [],
  }]]);
});

test("it runs by hand", async () => {
  const { code, stdout } = await orrery("tools", "call", "wordcount", "--trust-workspace", "--input", '{"path":"src/lib.rs"}');
  expect([code, stdout.trim()]).toEqual([0, "7"]);
});

test("it runs for a model, next to the built-in tools", async () => {
  const model = await workspace.script(
    { calls: [{ name: "read_file", arguments: { path: "src/lib.rs" } }, { name: "wordcount", arguments: { path: "src/lib.rs" } }] },
    { text: "{{result wordcount}}" },
  );
  const { code, stdout } = await orrery("run", "--trust-workspace", "--model", model, "How many words?");
  expect([code, stdout.trim()]).toEqual([0, "7"]);
});

test("a missing path never reaches the script", async () => {
  const { code, stdout } = await orrery("tools", "call", "wordcount", "--trust-workspace", "--input", "{}");
  expect(code).toBe(1);
  expect(stdout).toContain("path");
});
