import { expect, test } from "bun:test";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { distinctFolders, isWorthALook } from "../../lib/tools/folder-names.ts";
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

test("every file that is not read is named to whoever asks for a check, and the first hundred to a session", async () => {
  await using folder = await makeFolder();
  for (let each = 0; each < 101; each++) await folder.write(`${each}.txt`, "");
  const told = async (who: "session" | "check") => await findIgnoredFiles(folder.path, { read: [".toml"], reserved: [] }, who);
  expect(new Set((await told("check")).map(({ path }) => path)).size).toBe(101);
  expect((await told("check")).some(({ path }) => path === folder.path)).toBe(false);
  expect((await told("session")).length).toBe(101);
  expect((await told("session")).at(-1)).toMatchObject({
    path: folder.path,
    diagnostics: [{ message: expect.stringContaining("More than 100") }],
  });
  await folder.write("0.toml", "");
  execFileSync("rm", [folder.at("100.txt")]);
  expect((await told("session")).length).toBe(100);
});

test("a folder that is a link to nowhere, to itself or below one is an error; one that is not there is nothing", async () => {
  await using folder = await makeFolder();
  await symlink(folder.at("gone"), folder.at("dangling"));
  await symlink(folder.at("loop"), folder.at("loop"));
  const codes = async (path: string) =>
    (await findIgnoredFiles(path, { read: [".toml"], reserved: [] })).flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code));
  for (const path of ["dangling", "loop", "dangling/tools", "loop/tools"].map(folder.at)) {
    expect([await codes(path), isWorthALook(path)]).toEqual([["unreadable"], true]);
  }
  for (const path of ["gone", "gone/tools"].map(folder.at)) expect([await codes(path), isWorthALook(path)]).toEqual([[], false]);
});

test("one folder under several paths is one, and where it truly lies decides whose it is", async () => {
  await using root = await makeFolder();
  for (const path of ["ws/.stella/tools", "home/.config/stella/tools"]) await mkdir(root.at(path), { recursive: true });
  await mkdir(root.at("ws/.orrery"));
  await symlink(root.at("ws/.stella/tools"), root.at("ws/.orrery/tools"));
  await symlink(root.at("home/.config/stella/tools"), root.at("ws/stolen"));
  await symlink(root.at("home/.config"), root.at("home/xdg"));
  await symlink(root.at("ws/.stella/tools"), root.at("home/mine"));
  const at = (path: string, scope: "workspace" | "user") => ({ path: root.at(path), scope });
  const folders = [
    at("ws/.orrery/tools", "workspace"),
    at("ws/.stella/tools", "workspace"),
    at("ws/stolen", "workspace"),
    at("home/.config/stella/tools", "user"),
    at("home/xdg/stella/tools", "user"),
    at("home/mine", "user"),
    at("home/none", "user"),
    at("home/none", "user"),
  ];
  expect(distinctFolders(folders, root.at("ws")).map(({ path }) => path.slice(root.path.length + 1))).toEqual([
    "ws/.orrery/tools",
    "home/.config/stella/tools",
    "home/none",
  ]);
});

test("a name that is not UTF-8 is told as such, of a file that would be read and of any other", async () => {
  await using folder = await makeFolder();
  execFileSync("sh", [
    "-c",
    "touch \"$1/$(printf 'lat\\351.toml')\" \"$1/$(printf 'x\\351.sh')\"; mkdir \"$1/$(printf 'd\\351')\"",
    "sh",
    folder.path,
  ]);
  const [file] = await readToolFiles(folder.path, ".toml");
  expect(file).toMatchObject({ kind: "unreadable", diagnostic: { message: expect.stringContaining("its name is not UTF-8") } });
  const ignored = await findIgnoredFiles(folder.path, { read: [".toml"], reserved: [] });
  expect(ignored.map(({ diagnostics: [{ message }] }) => message.includes("its name is not UTF-8"))).toEqual([true, true]);
});
