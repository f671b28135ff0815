import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import fc from "fast-check";
import { toInput } from "../../../../lib/session/json.ts";
import { runBuiltin } from "../../../../lib/tools/builtin/catalog.ts";
import { type Folder, makeFolder } from "../../folder.ts";

const git = (() => {
  try {
    return execFileSync("git", ["--version"], { encoding: "utf8" }) !== "";
  } catch {
    // Not installed: the comparison is skipped.
    return false;
  }
})();

const PATHS = [
  "a.log",
  "b.txt",
  "build",
  "x/a.log",
  "x/build/c.txt",
  "x/y/a.log",
  "x/y/b.txt",
  "x/y/build",
  "x [z]/a.log",
  "x [z]/b.txt",
  "x/#h",
  "x/!n",
];

describe("ignore rules", () => {
  test.skipIf(!git)("of any files in any folders mean what git says they mean", async () => {
    const pattern = fc.tuple(
      fc.constantFrom("", "", "!"),
      fc.constantFrom(
        "a.log",
        "*.log",
        "*.txt",
        "build",
        "build/",
        "/build",
        "x/",
        "x/y",
        "x/y/",
        "**/build",
        "y/**",
        "/x/*/a.log",
        "[ab].*",
        "\\#h",
        "\\!n",
        "?.txt",
        "*",
        "*/",
        "# c",
        "b.txt  ",
      ),
    ).map((parts) => parts.join(""));
    const rules = fc.array(pattern, { maxLength: 4 }).map((lines) => lines.join("\n"));
    await using root = await makeFolder();
    await mkdir(root.at("ws"));
    for (const path of PATHS) await root.write(`ws/${path}`, "");
    execFileSync("git", ["init", "-q"], { cwd: root.at("ws"), env: gitEnvironment(root) });
    await fc.assert(
      fc.asyncProperty(rules, rules, rules, rules, async (top, x, y, special) => {
        const files = { ".gitignore": top, "x/.gitignore": x, "x/y/.gitignore": y, "x [z]/.gitignore": special };
        for (const [path, text] of Object.entries(files)) await root.write(`ws/${path}`, `${text}\n`);
        expect({ files, paths: await ours(root) }).toEqual({ files, paths: theirs(root) });
      }),
      { seed: 40, numRuns: 120 },
    );
  }, 60_000);
});

async function ours(root: Folder): Promise<readonly string[]> {
  const { text } = await runBuiltin("search", toInput({ glob: "**", limit: 500 }), { workspace: root.at("ws"), env: {} });
  return text.startsWith("No files") ? [] : (text.split("\n\n")[0] ?? "").split("\n").sort();
}

function theirs(root: Folder): readonly string[] {
  const args = ["ls-files", "-z", "--others", "--exclude-standard"];
  return execFileSync("git", args, { cwd: root.at("ws"), encoding: "utf8", env: gitEnvironment(root) }).split("\0").filter((path) =>
    path !== ""
  ).sort();
}

/** Nobody's settings but the repository's own. */
function gitEnvironment(root: Folder): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: root.path, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
}
