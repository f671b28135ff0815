import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { findIgnoredFiles, readToolFiles } from "../../lib/tools/tool-files.ts";
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

test("a file that is not UTF-8 is told the line and column where that begins", async () => {
  await using folder = await makeFolder();
  const cases: readonly (readonly [name: string, bytes: readonly number[], line: number, column: number])[] = [
    ["a.md", [0xff, 0xfe, 0x2d, 0], 1, 1],
    ["b.md", [...Buffer.from("\uFEFF---\nd: é😀"), 0xe9, 0x0a, 0x41, 0xe9], 2, 7],
    ["c.md", [...Buffer.from("ab\n\u0394"), 0xe2, 0x82], 2, 2],
    ["d.md", [...Buffer.from("\n\nx"), 0xed, 0xa0, 0x80], 3, 2],
  ];
  for (const [name, bytes] of cases) await writeFile(folder.at(name), Uint8Array.from(bytes));
  const told = (await readToolFiles(folder.path, ".md")).map((file) => file.kind === "text" ? null : file.diagnostic);
  expect(told.map((said) => [said?.code, said?.line, said?.column])).toEqual(
    cases.map(([, , line, column]) => ["unreadable", line, column]),
  );
});
