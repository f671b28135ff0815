import { describe, expect, test } from "bun:test";
import { mkdir, symlink, unlink, writeFile } from "node:fs/promises";
import { ESCAPES, onDisk, resolveDirectory, type StartDirectory } from "../../../lib/tools/nanocoder/directory.ts";
import { composeEnvironment, expandVariables } from "../../../lib/tools/nanocoder/environment.ts";
import { type Folder, makeFolder } from "../folder.ts";

async function project(): Promise<Folder> {
  const folder = await makeFolder();
  for (const name of ["proj/scripts/deep", "proj-evil", "other"]) await mkdir(folder.at(name), { recursive: true });
  return folder;
}

const inside = (path: string): StartDirectory => ({ kind: "directory", path });
const refused: StartDirectory = { kind: "refused", problem: ESCAPES };

describe("the directory a tool starts in", () => {
  test("is the root, a folder in it, or the root again if there is no such folder", async () => {
    await using folder = await project();
    const root = folder.at("proj");
    for (const cwd of [null, "", ".", root, "./missing", "missing/deep", "scripts/../missing", folder.at("proj/missing")]) {
      expect(resolveDirectory(cwd, root, onDisk)).toEqual(inside(root));
    }
    expect(resolveDirectory("./scripts", root, onDisk)).toEqual(inside(folder.at("proj/scripts")));
    expect(resolveDirectory(folder.at("proj/scripts/deep"), root, onDisk)).toEqual(inside(folder.at("proj/scripts/deep")));
    expect(resolveDirectory("/tmp", "/", onDisk)).toEqual(inside("/tmp"));
  });

  test("is never outside, however it is written", async () => {
    await using folder = await project();
    const root = folder.at("proj");
    await symlink(folder.at("other"), folder.at("proj/out"));
    await symlink("..", folder.at("proj/up"));
    await symlink(folder.at("other/gone"), folder.at("proj/dangling"));
    await symlink("dangling", folder.at("proj/twice"));
    for (
      const cwd of [
        "..",
        "../",
        "../other",
        "../proj-evil",
        folder.at("other"),
        folder.at("proj-evil"),
        "/",
        "out",
        "up/other",
        "scripts/../../other",
        "../nowhere",
        "/nowhere/at/all",
        "out/missing",
        "out/missing/deep",
        "up/missing",
        "dangling",
        "dangling/deep",
        "twice",
        `../${"x".repeat(5000)}`,
      ]
    ) {
      expect([cwd, resolveDirectory(cwd, root, onDisk)]).toEqual([cwd, refused]);
    }
    expect(ESCAPES).toBe("Custom tool cwd escapes the project directory");
  });

  test("is where a link leads at the time of the call", async () => {
    await using folder = await project();
    const root = folder.at("proj");
    await symlink("scripts", folder.at("proj/link"));
    expect(resolveDirectory("link", root, onDisk)).toEqual(inside(folder.at("proj/scripts")));
    await unlink(folder.at("proj/link"));
    await symlink(folder.at("other"), folder.at("proj/link"));
    expect(resolveDirectory("link", root, onDisk)).toEqual(refused);
    await unlink(folder.at("proj/link"));
    await symlink("gone/deep", folder.at("proj/link"));
    expect(resolveDirectory("link", root, onDisk)).toEqual(inside(root));
    await unlink(folder.at("proj/link"));
    await symlink(folder.at("gone"), folder.at("proj/link"));
    expect(resolveDirectory("link", root, onDisk)).toEqual(refused);
  });

  test("that cannot be used is told by its reason, and no other is taken", async () => {
    await using folder = await project();
    const root = folder.at("proj");
    await symlink("circle", folder.at("proj/circle"));
    await writeFile(folder.at("proj/file"), "");
    const cases: readonly (readonly [cwd: string, problem: RegExp])[] = [
      ["./circle", /^Custom tool failed to start: its cwd "\.\/circle" cannot be used, as its links go round in a circle$/],
      ["circle/x", /circle/],
      ["x".repeat(5000), /its cwd "x{200}…" cannot be used, as it is longer than a path may be$/],
      ["./file/x", /a part of it is a file, not a folder$/],
      ["./file/x/y", /a part of it is a file, not a folder$/],
    ];
    for (const [cwd, problem] of cases) {
      expect(resolveDirectory(cwd, root, onDisk)).toEqual({ kind: "refused", problem: expect.stringMatching(problem) });
    }
  });

  test("is refused if the file system does not tell", async () => {
    await using folder = await project();
    const silent = {
      realpath: () => {
        throw Object.assign(new Error("permission denied"), { code: "EACCES" });
      },
      readlink: () => null,
    };
    const problem = expect.stringContaining("a folder on the way may not be entered");
    expect(resolveDirectory("scripts", folder.at("proj"), silent)).toEqual({ kind: "refused", problem });
    expect(resolveDirectory("../other", folder.at("proj"), silent)).toEqual(refused);
  });
});

describe("variables", () => {
  const env = { HOME: "/home/me", EMPTY: "", A: "${HOME}" };

  test("expand in braces, with a text for what is not set or empty, as in a shell", () => {
    expect(expandVariables("${HOME}/x:${NONE}:${NONE:-d}:${EMPTY:-e}:${EMPTY}:${A}", env)).toBe("/home/me/x::d:e::${HOME}");
    expect(expandVariables("${NONE:-a b/c}${NONE:-}", env)).toBe("a b/c");
  });

  test("stay as they are in every other form", () => {
    for (const text of ["pa$$word", "$HOME", "\\$HOME", "${HOME-x}", "${HOME:?x}", "${1}", "${}", "$(HOME)"]) {
      expect(expandVariables(text, env)).toBe(text);
    }
    expect(expandVariables("${constructor}${toString:-x}", env)).toBe("x");
  });

  test("of a tool come after what is inherited, and do not see each other", () => {
    const inherited = {
      PATH: "/bin",
      BASH_ENV: "/x",
      ENV: "/y",
      SHELLOPTS: "posix",
      BASHOPTS: "extglob",
      BUN_OPTIONS: "-x",
      BUN_BE_BUN: "1",
      FOO: "keep",
    };
    expect(composeEnvironment(inherited, { A: "${FOO}", B: "${A:-none}", PATH: "/own:${PATH}", ENV: "mine" })).toEqual({
      PATH: "/own:/bin",
      FOO: "keep",
      A: "keep",
      B: "none",
      ENV: "mine",
    });
  });

  test("are not set where the tool does not inherit them", () => {
    const names = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BUN_OPTIONS", "BUN_BE_BUN"];
    const inherited = Object.fromEntries(names.map((name) => [name, "secret"]));
    const own = Object.fromEntries(names.map((name) => [`X_${name}`, `\${${name}:-unset}\${${name}}`]));
    expect(composeEnvironment(inherited, own)).toEqual(Object.fromEntries(names.map((name) => [`X_${name}`, "unset"])));
  });
});
