import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, link, lstat, mkdir, readdir, readFile, stat, symlink, utimes } from "node:fs/promises";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { runBuiltin } from "../../../lib/tools/builtin/catalog.ts";
import { type Folder, makeFolder } from "../folder.ts";

async function call(root: Folder, tool: string, input: JsonObject, state?: JsonObject) {
  return await runBuiltin(tool, toInput(input), { workspace: root.at("ws"), env: {}, ...(state === undefined ? {} : { state }) });
}

async function workspace(): Promise<Folder> {
  const root = await makeFolder();
  await root.write("ws/a.txt", "one\ntwo\nthree\n");
  await root.write("outside/secret.txt", "secret\n");
  return root;
}

/** The projection after a read of the whole file. */
async function afterReading(root: Folder, path: string): Promise<JsonObject> {
  const { data } = await call(root, "read_file", { path });
  return { reads: { [(data as { path: string }).path]: data as JsonObject } };
}

describe("a file with a secret of the runtime", () => {
  test("is read by no tool, under whatever name", async () => {
    await using root = await workspace();
    await root.write("ws/server.token", "tok3n-abc\n");
    await symlink("server.token", root.at("ws/link"));
    await link(root.at("ws/server.token"), root.at("ws/hard"));
    const context = { workspace: root.at("ws"), env: {}, secret_files: [root.at("ws/server.token"), root.at("ws/none")] };
    const ask = (tool: string, input: JsonObject) => runBuiltin(tool, toInput(input), context);
    for (const path of ["server.token", "link", "hard", root.at("ws/server.token")]) {
      const edit = { path, old_string: "tok3n", new_string: "x" };
      const replies = [await ask("read_file", { path }), await ask("edit_file", edit), await ask("search", { query: "tok3n", path })];
      expect(replies.map(({ text }) => text.includes("abc"))).toEqual([false, false, false]);
      expect(replies[0]?.text).toContain("holds a secret of the runtime");
    }
    expect((await ask("search", { query: "tok3n-a" })).text).not.toContain("abc");
    expect((await ask("read_file", { path: "a.txt" })).is_error).toBe(false);
    expect(await readFile(root.at("ws/server.token"), "utf8")).toBe("tok3n-abc\n");
  });
});

describe("read_file", () => {
  test("numbers the lines and says what it read", async () => {
    await using root = await workspace();
    const { is_error, text, data } = await call(root, "read_file", { path: "a.txt" });
    expect(is_error).toBe(false);
    expect(text).toBe("     1\tone\n     2\ttwo\n     3\tthree");
    const { mtimeMs, ino } = await stat(root.at("ws/a.txt"));
    expect(data).toMatchObject({ path: "a.txt", size: 14, mtime_ms: mtimeMs, inode: ino, whole: true });
  });

  test("reads a part, says what is left, and that it is not the whole", async () => {
    await using root = await workspace();
    const { text, data } = await call(root, "read_file", { path: "a.txt", offset: 2, limit: 1 });
    expect(text).toBe("     2\ttwo\n(lines 2–2 of 3; continue with offset 3)");
    expect(data).toMatchObject({ whole: false });
    expect((await call(root, "read_file", { path: "a.txt", offset: 4 })).text).toContain("has 3 lines");
  });

  test("takes absolute paths inside the workspace, and a file through a link inside", async () => {
    await using root = await workspace();
    await symlink("a.txt", root.at("ws/link.txt"));
    expect((await call(root, "read_file", { path: root.at("ws/a.txt") })).data).toMatchObject({ path: "a.txt" });
    expect((await call(root, "read_file", { path: "link.txt" })).data).toMatchObject({ path: "a.txt", via: "link.txt" });
  });

  test("never leaves the workspace: by dots, absolute paths, links to files and links to folders", async () => {
    await using root = await workspace();
    await root.write("ws-evil/secret.txt", "secret\n");
    await symlink(root.at("outside/secret.txt"), root.at("ws/file-link"));
    await symlink(root.at("outside"), root.at("ws/folder-link"));
    await symlink("loop", root.at("ws/loop"));
    for (
      const path of [
        "../outside/secret.txt",
        root.at("outside/secret.txt"),
        "../ws-evil/secret.txt",
        "file-link",
        "folder-link/secret.txt",
        "loop",
        "/etc/passwd",
        "a\0b",
        "",
      ]
    ) {
      const { is_error, text } = await call(root, "read_file", { path });
      expect(is_error).toBe(true);
      expect(text).not.toContain("secret\n");
    }
  });

  test("says what is no text file instead of waiting for it or printing it", async () => {
    await using root = await workspace();
    await root.write("ws/binary", Uint8Array.from([1, 0, 2]));
    await root.write("ws/latin1", Uint8Array.from([0x6e, 0xe9]));
    execFileSync("mkfifo", [root.at("ws/pipe")]);
    const textOf = async (path: string) => (await call(root, "read_file", { path })).text;
    expect(await textOf("binary")).toContain("looks binary");
    expect(await textOf("latin1")).toContain("not UTF-8");
    expect(await textOf("pipe")).toContain("not a regular file");
    expect(await textOf(".")).toContain("folder");
    expect(await textOf("missing.txt")).toBe('There is no file "missing.txt"');
    expect(await textOf("a.txt/b")).toBe('There is no file "a.txt/b"');
  });

  test("bounds long lines, many lines and large files, and says so", async () => {
    await using root = await workspace();
    await root.write("ws/long", `${"€".repeat(1000)}\nshort`);
    await root.write("ws/many", "x\n".repeat(5000));
    await root.write("ws/wide", `${"y".repeat(900)}\n`.repeat(500));
    const long = await call(root, "read_file", { path: "long" });
    expect(long.text).toContain(`${"€".repeat(333)}…`);
    expect(long.text).toContain("1 lines are longer");
    expect(long.data).toMatchObject({ whole: false });
    expect((await call(root, "read_file", { path: "many" })).text).toContain("(lines 1–2000 of 5000; continue with offset 2001)");
    const wide = await call(root, "read_file", { path: "wide" });
    expect(Buffer.byteLength(wide.text)).toBeLessThan(66_000);
    expect(wide.text).toMatch(/\(lines 1–\d+ of 500; continue/);
    execFileSync("truncate", ["-s", "65M", root.at("ws/huge")]);
    expect((await call(root, "read_file", { path: "huge" })).text).toContain("at most");
  });

  test("reads an empty file as the whole of nothing", async () => {
    await using root = await workspace();
    await root.write("ws/empty", "");
    expect(await call(root, "read_file", { path: "empty" })).toMatchObject({
      is_error: false,
      text: "(the file is empty)",
      data: { whole: true },
    });
  });
});

describe("read_file of several files", () => {
  const readAll = (root: Folder, ...files: JsonObject[]) => call(root, "read_file", { files });

  test("gives each of them, with what can be checked of each later", async () => {
    await using root = await workspace();
    await root.write("ws/b.txt", "b\n");
    await symlink("b.txt", root.at("ws/link"));
    const { is_error, text, data } = await readAll(root, { path: "a.txt", offset: 2, limit: 1 }, { path: "link" });
    expect(is_error).toBe(false);
    expect(text).toBe("==> a.txt <==\n     2\ttwo\n(lines 2–2 of 3; continue with offset 3)\n\n==> link <==\n     1\tb");
    const [a, b] = await Promise.all(["a.txt", "b.txt"].map((path) => stat(root.at(`ws/${path}`))));
    expect(data).toMatchObject([
      { path: "a.txt", size: 14, mtime_ms: a?.mtimeMs, inode: a?.ino, whole: false },
      { path: "b.txt", via: "link", size: 2, mtime_ms: b?.mtimeMs, inode: b?.ino, whole: true },
    ]);
  });

  test("says which could not be read, as an entry that no file can be equal to", async () => {
    await using root = await workspace();
    const { is_error, text, data } = await readAll(root, { path: "missing" }, { path: "a.txt" }, { path: "../outside/secret.txt" });
    expect(is_error).toBe(false);
    expect(text).toContain("(2 of 3 files could not be read)");
    expect(data).toMatchObject([{ path: "missing", problem: 'There is no file "missing"', size: -1, inode: 0, whole: false }, {
      path: "a.txt",
    }, { size: -1 }]);
    expect(text).not.toContain("secret\n");
    expect((await readAll(root, { path: "missing" }, { path: "gone" })).is_error).toBe(true);
  });

  test("stops reading when the result is full, and says so", async () => {
    await using root = await workspace();
    await root.write("ws/wide", `${"y".repeat(900)}\n`.repeat(80));
    const { text, data } = await readAll(root, ...Array.from({ length: 4 }, () => ({ path: "wide" })));
    expect(Buffer.byteLength(text)).toBeLessThan(140_000);
    expect((data as readonly JsonObject[]).map((file) => file["problem"] !== undefined)).toEqual([false, false, false, true]);
    expect(text).toContain("Read it by itself");
  });

  test("asks for one way of naming files", async () => {
    await using root = await workspace();
    expect((await call(root, "read_file", {})).text).toBe("Give either path, or files.");
    expect((await call(root, "read_file", { path: "a.txt", files: [{ path: "a.txt" }] })).is_error).toBe(true);
    expect((await call(root, "read_file", { limit: 1, files: [{ path: "a.txt" }] })).is_error).toBe(true);
  });
});

describe("write_file", () => {
  test("creates a file and the folders above it", async () => {
    await using root = await workspace();
    const { is_error, data } = await call(root, "write_file", { path: "new/deep/b.txt", content: "hé\n" });
    expect(is_error).toBe(false);
    expect(await readFile(root.at("ws/new/deep/b.txt"), "utf8")).toBe("hé\n");
    expect(data).toMatchObject({ path: "new/deep/b.txt", size: 4, whole: true });
    expect(await readdir(root.at("ws/new/deep"))).toEqual(["b.txt"]);
  });

  test("replaces a file only if this session has read all of what it holds now", async () => {
    await using root = await workspace();
    const write = (state?: JsonObject) => call(root, "write_file", { path: "a.txt", content: "new" }, state);
    expect((await write()).text).toContain("was not read in this session");
    const part = (await call(root, "read_file", { path: "a.txt", limit: 1 })).data as JsonObject;
    expect((await write({ reads: { "a.txt": part } })).text).toContain("only in part");
    const state = await afterReading(root, "a.txt");
    await utimes(root.at("ws/a.txt"), 1, 1);
    expect((await write(state)).text).toContain("changed since");
    expect(await readFile(root.at("ws/a.txt"), "utf8")).toBe("one\ntwo\nthree\n");
    expect((await write(await afterReading(root, "a.txt"))).is_error).toBe(false);
    expect(await readFile(root.at("ws/a.txt"), "utf8")).toBe("new");
  });

  test("may replace what it has itself written, by its own result", async () => {
    await using root = await workspace();
    const { data } = await call(root, "write_file", { path: "n.txt", content: "1" });
    const second = await call(root, "write_file", { path: "n.txt", content: "2" }, { reads: { "n.txt": data as JsonObject } });
    expect(second.is_error).toBe(false);
  });

  test("keeps the mode of a file, and writes through a link that stays inside", async () => {
    await using root = await workspace();
    await chmod(root.at("ws/a.txt"), 0o751);
    await symlink("a.txt", root.at("ws/link.txt"));
    await call(root, "write_file", { path: "link.txt", content: "new" }, await afterReading(root, "link.txt"));
    expect((await stat(root.at("ws/a.txt"))).mode & 0o777).toBe(0o751);
    expect((await lstat(root.at("ws/link.txt"))).isSymbolicLink()).toBe(true);
    expect(await readFile(root.at("ws/a.txt"), "utf8")).toBe("new");
  });

  test("never writes outside: by dots, absolute paths, and links to files, folders and nothing", async () => {
    await using root = await workspace();
    await symlink(root.at("outside/secret.txt"), root.at("ws/file-link"));
    await symlink(root.at("outside"), root.at("ws/folder-link"));
    await symlink(root.at("outside/made"), root.at("ws/dangling"));
    for (
      const path of ["../outside/x", root.at("outside/x"), "file-link", "folder-link/x", "folder-link/sub/x", "dangling", "dangling/x", "."]
    ) {
      expect((await call(root, "write_file", { path, content: "x" })).is_error).toBe(true);
    }
    expect(await readdir(root.at("outside"))).toEqual(["secret.txt"]);
    expect(await readFile(root.at("outside/secret.txt"), "utf8")).toBe("secret\n");
  });

  test("refuses text that UTF-8 cannot hold", async () => {
    await using root = await workspace();
    expect((await call(root, "write_file", { path: "s", content: "\ud800" })).is_error).toBe(true);
    expect(existsSync(root.at("ws/s"))).toBe(false);
  });
});

describe("edit_file", () => {
  test("replaces text that occurs once, exactly", async () => {
    await using root = await workspace();
    const { is_error, text } = await call(root, "edit_file", { path: "a.txt", old_string: "two", new_string: "$& 2" });
    expect([is_error, text]).toEqual([false, 'Edited "a.txt": 1 replacement.']);
    expect(await readFile(root.at("ws/a.txt"), "utf8")).toBe("one\n$& 2\nthree\n");
  });

  test("refuses text that does not occur, or occurs more than once without replace_all", async () => {
    await using root = await workspace();
    const edit = (input: JsonObject) => call(root, "edit_file", { path: "a.txt", ...input });
    expect((await edit({ old_string: "four", new_string: "4" })).text).toContain("does not occur");
    expect((await edit({ old_string: "e", new_string: "E" })).text).toContain("occurs 3 times");
    expect((await edit({ old_string: "e", new_string: "E", replace_all: true })).text).toContain("3 replacements");
    expect(await readFile(root.at("ws/a.txt"), "utf8")).toBe("onE\ntwo\nthrEE\n");
  });

  test("makes several edits, all or none", async () => {
    await using root = await workspace();
    const edits = [{ old_string: "one", new_string: "1" }, { old_string: "nine", new_string: "9" }];
    expect((await call(root, "edit_file", { path: "a.txt", edits })).text).toContain("old_string of edit 2 does not occur");
    expect(await readFile(root.at("ws/a.txt"), "utf8")).toBe("one\ntwo\nthree\n");
    expect((await call(root, "edit_file", { path: "a.txt", edits, old_string: "one", new_string: "1" })).is_error).toBe(true);
    expect((await call(root, "edit_file", { path: "a.txt" })).is_error).toBe(true);
  });

  test("leaves a session that knew the whole file knowing it", async () => {
    await using root = await workspace();
    const edit = (state?: JsonObject) =>
      call(root, "edit_file", { path: "a.txt", old_string: "o", new_string: "0", replace_all: true }, state);
    expect((await edit(await afterReading(root, "a.txt"))).data).toMatchObject({ whole: true });
    await root.write("ws/a.txt", "one\n");
    expect((await edit()).data).toMatchObject({ whole: false });
  });

  test("keeps a byte order mark and CRLF line ends that it was not asked to change", async () => {
    await using root = await workspace();
    await root.write("ws/dos.txt", "\uFEFFa\r\nb\r\n");
    await call(root, "edit_file", { path: "dos.txt", old_string: "b", new_string: "c" });
    expect(await readFile(root.at("ws/dos.txt"), "utf8")).toBe("\uFEFFa\r\nc\r\n");
  });
});

describe("delete_file", () => {
  test("removes a file, or a link itself and not its target", async () => {
    await using root = await workspace();
    await symlink(root.at("outside/secret.txt"), root.at("ws/link"));
    expect((await call(root, "delete_file", { path: "link" })).is_error).toBe(false);
    expect((await call(root, "delete_file", { path: "a.txt" })).is_error).toBe(false);
    expect(await readdir(root.at("ws"))).toEqual([]);
    expect(existsSync(root.at("outside/secret.txt"))).toBe(true);
  });

  test("refuses folders, what is missing and what is outside", async () => {
    await using root = await workspace();
    await mkdir(root.at("ws/folder"));
    await symlink(root.at("outside"), root.at("ws/folder-link"));
    for (const path of ["folder", "missing", "../outside/secret.txt", "folder-link/secret.txt", "."]) {
      expect((await call(root, "delete_file", { path })).is_error).toBe(true);
    }
    expect(existsSync(root.at("outside/secret.txt"))).toBe(true);
  });
});

test("get_environment tells where the session works", async () => {
  await using root = await workspace();
  await mkdir(root.at("ws/.git"));
  expect((await call(root, "get_environment", {})).data).toMatchObject({
    workspace: root.at("ws"),
    git: "repository",
    platform: process.platform,
  });
});
