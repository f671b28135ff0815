import { describe, expect, test } from "bun:test";
import { toInput } from "../../../../lib/session/json.ts";
import { filesWith } from "../../../../lib/tools/builtin/search/ripgrep.ts";
import { runSearch } from "../../../../lib/tools/builtin/search/run.ts";
import { scanText } from "../../../../lib/tools/builtin/search/scan.ts";
import { literalTerms } from "../../../../lib/tools/builtin/search/terms.ts";
import { walk } from "../../../../lib/tools/builtin/search/walk.ts";
import { type Folder, makeFolder } from "../../folder.ts";

async function tree(): Promise<Folder> {
  const root = await makeFolder();
  for (const path of ["a/deep/x.txt", "a/y.txt", "b/y.txt", "z.txt"]) await root.write(path, "hit\n");
  return root;
}

describe("a search that comes to a limit", () => {
  test("of time or of entries says so in a field and in words", async () => {
    await using root = await tree();
    const context = { workspace: root.path, env: {} };
    const late = await runSearch(toInput({ query: "hit" }).value, context, { ms: 0, entries: 100 });
    expect(late.data).toMatchObject({ matches: 0, truncated: true, cut_by: ["time"] });
    expect(late.text).toBe("No matches in 0 files. Not everything was searched: the time for a search was over. Give a path or a glob.");
    const crowded = await runSearch(toInput({ glob: "*.txt" }).value, context, { ms: 10_000, entries: 5 });
    expect(crowded.data).toMatchObject({ files: 2, truncated: true, cut_by: ["files"] });
    expect(crowded.text).toContain("Not everything was searched: there are too many files and folders.");
  });

  test("leaves out what is deepest", async () => {
    await using root = await tree();
    const limits = { deadline: performance.now() + 10_000, entries: 5 };
    const { files, cut } = walk(root.path, "", () => true, limits);
    expect([files.map(({ path }) => path), cut]).toEqual([["z.txt", "a/y.txt"], "files"]);
  });

  test("in the middle of a file keeps what it has found there", () => {
    const limits = { bytes: 1e9, listed: 2, deadline: performance.now() - 1 };
    const { count, matches, cut } = scanText("hit\n".repeat(10_000), literalTerms("hit", false), limits);
    expect([count > 0, count < 10_000, matches.length, cut]).toEqual([true, true, 2, true]);
  });

  test("ends a ripgrep that does not", async () => {
    await using root = await tree();
    await root.write("bin/rg", "#!/bin/sh\nexec sleep 60\n", 0o755);
    const paths = Array.from({ length: 300 }, (_, index) => `f${index}`);
    const began = performance.now();
    const place = { root: root.at("a"), PATH: `${root.at("bin")}:/usr/bin:/bin` };
    expect(await filesWith({ text: "hit", ignore_case: false }, paths, place, began + 300)).toBeNull();
    expect(performance.now() - began).toBeLessThan(10_000);
  }, 20_000);
});
