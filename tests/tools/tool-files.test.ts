import { expect, test } from "bun:test";
import { findIgnoredFiles } from "../../lib/tools/tool-files.ts";
import { makeFolder } from "./folder.ts";

test("a file in another spelling of a language of tools is told the name under which it would be read", async () => {
  await using folder = await makeFolder();
  const names = ["a.mts", "b.cts", "c.tsx", "d.mjs", "e.cjs", "f.jsx", "g.pyw", "h.txt", ".i.mjs"];
  for (const name of names) await folder.write(name, "");
  const remedies = async (read: readonly string[]) =>
    new Map((await findIgnoredFiles(folder.path, { read, reserved: [] })).map(({ path, diagnostics }) => {
      return [path.slice(folder.path.length + 1), diagnostics[0].remedy];
    }));
  const found = await remedies([".toml", ".ts", ".js", ".py"]);
  expect([...found].flatMap(([name, remedy]) => /^Name it (\S+), if it is a tool;/.exec(remedy)?.[1] ?? `not ${name}`)).toEqual(
    ["not .i.mjs", "a.ts", "b.ts", "c.ts", "d.js", "e.js", "f.js", "g.py", "not h.txt"],
  );
  expect([...(await remedies([".toml"])).values()].filter((remedy) => remedy.startsWith("Name it"))).toEqual([]);
});
