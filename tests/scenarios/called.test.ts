/** Called as "stella", as the card has it: every command line that is printed can be typed where there is no other name. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

const NOWHERE = "ses_01999999-9999-7999-8999-999999999999";
const binary = process.env["ORRERY_BINARY"];

describe.skipIf(binary === undefined)("called as stella (only the executable has a name of its own)", () => {
  let workspace: TestWorkspace;
  let model: string;

  beforeAll(async () => {
    workspace = await createWorkspace();
    symlinkSync(resolve(binary ?? ""), join(workspace.home, "stella"));
    model = await workspace.script({ text: "done" }, { text: "done" });
    await workspace.tool("mark", "true");
    await workspace.write(".stella/tools/bad.toml", "name = 1\n");
    const hook = { hooks: [{ type: "command", command: "true" }] };
    await workspace.write(".orrery/settings.json", JSON.stringify({ hooks: { Stop: [hook] } }));
    await workspace.write(".mcp.json", JSON.stringify({ mcpServers: { one: { command: "true" } } }));
    mkdirSync(join(workspace.home, "config"));
    writeFileSync(join(workspace.home, "config/settings.json"), JSON.stringify({ model }));
  });
  afterAll(async () => {
    await workspace.remove();
  });

  const CASES: readonly (readonly [words: readonly string[], remedy: string])[] = [
    [["doctor"], "-> Look at them, then stella trust"],
    [["doctor", "--json"], "then stella trust"],
    [["run", "go"], "(stella trust"],
    [["run", "--output-format", "json", "go"], '"command":"stella trust'],
    [["chat"], 'stella run "'],
    [["tools"], "To trust them: stella trust"],
    [["tools", "list", "there"], "stella tools --validate"],
    [["tools", "call", "none"], "stella tools lists"],
    [["tools", "create", "fresh"], "stella tools call fresh"],
    [["sessions", "show", NOWHERE], "see stella sessions list"],
    [["sessions", "show", NOWHERE, "--json"], "see stella sessions list"],
    [["demo"], "stella sessions list"],
  ];
  for (const [words, remedy] of CASES) {
    test(words.join(" "), () => {
      const PATH = `${workspace.home}:${process.env["PATH"]}`;
      const env = { PATH, HOME: workspace.home, ORRERY_HOME: workspace.home };
      const { stdout, stderr } = spawnSync("sh", ["-c", 'exec stella "$@"', "sh", ...words], {
        cwd: workspace.path,
        env,
        input: "",
        encoding: "utf8",
      });
      expect(stdout + stderr).toContain(remedy);
      expect((stdout + stderr).match(/(?<![\w./-])orrery (?:trust|run|chat|tools|sessions|serve|doctor|config|demo)\b.*/g)).toBe(null);
    }, 20_000);
  }
});
