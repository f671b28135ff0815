import { describe, expect, test } from "bun:test";
import { mkdir, symlink, unlink } from "node:fs/promises";
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
    for (const cwd of [null, "", ".", root, "./missing", "missing/deep", "../nowhere", "/nowhere/at/all", "scripts/../missing"]) {
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
    await symlink("circle", folder.at("proj/circle"));
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
        "circle",
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
    await symlink(folder.at("gone"), folder.at("proj/link"));
    expect(resolveDirectory("link", root, onDisk)).toEqual(inside(root));
  });

  test("is refused if the file system does not tell", async () => {
    await using folder = await project();
    const silent = {
      realpath: () => {
        throw new Error("EACCES");
      },
    };
    expect(resolveDirectory("scripts", folder.at("proj"), silent)).toEqual(refused);
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
});
