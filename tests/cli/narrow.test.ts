/** Narrow terminals: lines keep to the width, but for what would be broken by it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fold } from "../../cli/fold.ts";
import { widthOf } from "../../cli/width.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

const LIMIT_MS = 30_000;
let workspace: TestWorkspace;
let session: string;
beforeAll(async () => {
  workspace = await createWorkspace();
  const text = "An answer that has more words in it than one line of the narrow terminal takes.\n\n```\nas it stands\n```";
  const model = await workspace.script({ text });
  mkdirSync(join(workspace.home, "config"));
  writeFileSync(join(workspace.home, "config/settings.json"), JSON.stringify({ model }));
  const prompt = "a prompt that is a good deal longer than the narrow terminal";
  const { stdout } = await runOrrery(["run", "--output-format", "json", prompt], {
    cwd: workspace.path,
    home: workspace.home,
  });
  session = (JSON.parse(stdout) as { readonly session: string }).session;
});
afterAll(() => workspace.remove());

describe.skipIf(!hasTerminal)("at 40 columns", () => {
  /** A path or a command stays whole, so that it can be copied. A model's words are shown as they come. */
  const isWhole = (line: string) => /\S{30}/.test(line) || /^\s*(?:\S*\/)?orrery |^(?:Now the workspace|It is about)/.test(line);

  for (
    const args of [["--help"], ["run", "--help"], ["serve", "--help"], ["sessions", "list"], ["sessions", "show"], ["doctor"], ["demo"]]
  ) {
    test(`orrery ${args.join(" ")} keeps to the width`, async () => {
      const run = startOnTerminal(args[1] === "show" ? [...args, session] : args, {
        cwd: workspace.path,
        home: workspace.home,
        columns: 40,
        env: { NO_COLOR: "1" },
      });
      const { code, shown } = await run.ended();
      expect(code).toBe(0);
      const lines = shown.split(/\r?\n/).map((line) => line.split("\r\x1b[K").at(-1) ?? "");
      expect(lines.filter((line) => widthOf(line) > 40 && !isWhole(line))).toEqual([]);
    }, LIMIT_MS);
  }
});

describe("fold()", () => {
  test("keeps two columns where there is room, and puts one below the other where there is none", () => {
    expect(fold("  run  Run one prompt to its end", 24)).toBe("  run  Run one prompt to\n       its end");
    expect(fold("  --trust-workspace  Let it run", 22)).toBe("  --trust-workspace\n    Let it run");
  });

  test("keeps every word, and commands on one line", () => {
    expect(fold('  orrery run --model a/b "How many words has README.md?"', 20)).toBe(
      '  orrery run --model a/b "How many words has README.md?"',
    );
    expect(fold("orrery serve [--workspace dir]... [--port n]", 20)).toBe("orrery serve\n  [--workspace\n  dir]... [--port n]");
  });

  test("does not count colours", () => {
    expect(fold("\x1b[1mone two\x1b[22m", 7)).toBe("\x1b[1mone two\x1b[22m");
  });
});
