import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, readFile, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { Worker } from "node:worker_threads";
import { ownCommand, TOOL_HOST_ARGUMENT } from "../../../lib/platform/self.ts";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { runBuiltin } from "../../../lib/tools/builtin/catalog.ts";
import { presentFile, replaceFile } from "../../../lib/tools/builtin/replace-file.ts";
import { placeInside } from "../../../lib/tools/builtin/workspace-path.ts";
import { type Bench, newCall, openBench } from "../../fixtures/supervision.ts";
import { type Folder, makeFolder } from "../folder.ts";

const call = (root: Folder, tool: string, input: JsonObject, state: JsonObject = {}) =>
  runBuiltin(tool, toInput(input), { workspace: root.at("ws"), env: {}, state });

async function workspace(): Promise<Folder> {
  const root = await makeFolder();
  await root.write("ws/dir/f.txt", "inside\n");
  await root.write("outside/f.txt", "secret\n");
  return root;
}

/**
 * Puts a link to the outside in the place of `ws/dir`, and the folder back, over and over in a thread of its own, while
 * the work goes on. A tool may be quick enough to make the folder that is missing for a moment: that one is removed.
 */
async function whileSwapping(root: Folder, work: () => Promise<void>): Promise<void> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const places = { dir: root.at("ws/dir"), aside: root.at("ws/aside"), outside: root.at("outside") };
  const worker = new Worker(SWAPPER, { eval: true, workerData: { stop, ...places } });
  const failed = Promise.withResolvers<never>();
  worker.once("error", failed.reject);
  const said = () => Promise.race([failed.promise, new Promise((resolve) => worker.once("message", resolve))]);
  try {
    await said();
    await work();
    const ended = said();
    Atomics.store(stop, 0, 1);
    await ended;
  } finally {
    await worker.terminate();
  }
}

const SWAPPER = `
  const { renameSync, rmSync, symlinkSync } = require("node:fs");
  const { parentPort, workerData } = require("node:worker_threads");
  const { stop, dir, aside, outside } = workerData;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const moved = (from, to) => {
    try { renameSync(from, to); } catch (error) { if (error.code !== "ENOTEMPTY") throw error; return false; }
    return true;
  };
  // What is written there meanwhile keeps it from being empty.
  const removed = () => {
    try { rmSync(dir, { recursive: true, force: true }); } catch (error) { if (error.code !== "ENOTEMPTY") throw error; }
  };
  let begun = false;
  while (Atomics.load(stop, 0) === 0) {
    renameSync(dir, aside);
    try { symlinkSync(outside, dir); } catch (error) { if (error.code !== "EEXIST") throw error; }
    Atomics.wait(pause, 0, 0, 0.1);
    removed();
    while (!moved(aside, dir)) removed();
    Atomics.wait(pause, 0, 0, 0.1);
    if (!begun) parentPort.postMessage("begun");
    begun = true;
  }
  parentPort.postMessage("ended");
`;

/** Elsewhere a path is only resolved again after it was opened, which a quick swap can outrun. */
const anchored = process.platform === "linux";
const ROUNDS = 400;
const LIMIT_MS = 15_000;

/**
 * At least so many rounds, and until the tool was seen to succeed and to be refused: a call takes less than a thread
 * may be kept waiting, so a fixed number of them can all fall between two swaps.
 */
async function untilBothSeen(round: (number: number) => Promise<boolean>): Promise<void> {
  const seen = new Set<boolean>();
  const deadline = performance.now() + LIMIT_MS;
  for (let number = 0; number < ROUNDS || (seen.size < 2 && performance.now() < deadline); number++) seen.add(await round(number));
  expect([...seen].toSorted()).toEqual([false, true]);
}

describe("a file tool, while a folder on the way is swapped for a link to the outside,", () => {
  test("never reads what is outside", async () => {
    await using root = await workspace();
    const texts = new Set<string>();
    await whileSwapping(root, async () => {
      await untilBothSeen(async () => {
        const { is_error, text } = await call(root, "read_file", { path: "dir/f.txt" });
        if (!is_error) texts.add(text);
        return !is_error;
      });
    });
    expect([...texts]).toEqual(["     1\tinside"]);
  }, 20_000);

  test.skipIf(!anchored)("never writes outside, and makes no folders there", async () => {
    await using root = await workspace();
    await whileSwapping(root, async () => {
      await untilBothSeen(async (round) => {
        const { is_error } = await call(root, "write_file", { path: `dir/new${round}/x.txt`, content: "x" });
        await call(root, "edit_file", { path: "dir/f.txt", old_string: "secret", new_string: "gone" });
        return !is_error;
      });
    });
    expect(await readdir(root.at("outside"))).toEqual(["f.txt"]);
    expect(await readFile(root.at("outside/f.txt"), "utf8")).toBe("secret\n");
  }, 20_000);

  test.skipIf(!anchored)("never deletes what is outside", async () => {
    await using root = await workspace();
    await whileSwapping(root, async () => {
      await untilBothSeen(async () => {
        await call(root, "write_file", { path: "dir/f.txt", content: "inside" });
        return !(await call(root, "delete_file", { path: "dir/f.txt" })).is_error;
      });
    });
    expect(existsSync(root.at("outside/f.txt"))).toBe(true);
  }, 20_000);

  test.skipIf(!anchored)("never finds what is outside", async () => {
    await using root = await workspace();
    await root.write("outside/only-outside.txt", "secret\n");
    let leaked = 0;
    await whileSwapping(root, async () => {
      await untilBothSeen(async () => {
        const [texts, names] = [await call(root, "search", { query: "secret" }), await call(root, "search", { glob: "only-outside.txt" })];
        if (!texts.text.startsWith("No matches") || !names.text.startsWith("No files")) leaked++;
        return (await call(root, "search", { query: "inside" })).text.includes("f.txt");
      });
    });
    expect(leaked).toBe(0);
  }, 20_000);
});

describe("a file tool", () => {
  test("waits for no pipe, opens no device and no socket", async () => {
    await using root = await workspace();
    execFileSync("mkfifo", [root.at("ws/pipe")]);
    await symlink("/dev/zero", root.at("ws/zero"));
    const server = createServer().listen(root.at("ws/socket"));
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const state = { reads: Object.fromEntries(["pipe", "socket"].map((path) => [path, { path, whole: true, size: 0, mtime_ms: 0 }])) };
      for (const path of ["pipe", "socket", "zero"]) {
        expect((await call(root, "read_file", { path })).is_error).toBe(true);
        expect((await call(root, "edit_file", { path, old_string: "a", new_string: "b" })).is_error).toBe(true);
        expect((await call(root, "write_file", { path, content: "x" }, state)).is_error).toBe(true);
        expect((await call(root, "search", { query: "x", path })).is_error).toBe(true);
      }
      expect((await call(root, "search", { glob: "*" })).text).toBe("dir/f.txt\n\n1 file.");
      expect((await lstat(root.at("ws/pipe"))).isFIFO()).toBe(true);
      expect((await call(root, "delete_file", { path: "pipe" })).is_error).toBe(false);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test("does not replace what somebody else wrote after its look", async () => {
    await using root = await workspace();
    using place = placeInside(root.at("ws"), "dir/f.txt");
    const before = presentFile(place);
    await writeFile(root.at("ws/dir/f.txt"), "theirs, which is longer\n");
    expect(() => replaceFile(place, "ours", before)).toThrow("was changed meanwhile");
    expect(() => replaceFile(place, "ours", null)).toThrow("was changed meanwhile");
    expect(await readFile(root.at("ws/dir/f.txt"), "utf8")).toBe("theirs, which is longer\n");
    expect(await readdir(root.at("ws/dir"))).toEqual(["f.txt"]);
  });

  test("does not replace a file of the same size and time that holds something else than was read", async () => {
    await using root = await workspace();
    const file = root.at("ws/dir/f.txt");
    const { data } = await call(root, "read_file", { path: "dir/f.txt" });
    const { atime, mtime } = await stat(file);
    await writeFile(`${file}.new`, "INSIDE\n");
    await utimes(`${file}.new`, atime, mtime);
    await rename(`${file}.new`, file);
    const state = { reads: { "dir/f.txt": { ...data as JsonObject, mtime_ms: (await stat(file)).mtimeMs } } };
    expect((await call(root, "write_file", { path: "dir/f.txt", content: "x" }, state)).text).toContain("has changed since it was read");
    expect(await readFile(file, "utf8")).toBe("INSIDE\n");
  });

  test("that edits while others do loses none of their edits, in whatever process they are", async () => {
    const hosts = { command: ownCommand(TOOL_HOST_ARGUMENT) };
    await using left = openBench({ hosts });
    await using right = openBench({ hosts });
    const file = join(left.folder, "f.txt");
    await writeFile(file, Array.from({ length: 80 }, (_none, line) => `line ${line} old\n`).join(""));
    const context = { workspace: left.folder, env: {} };
    const edit = async (bench: Bench, line: number) => {
      const input = JSON.stringify({ path: "f.txt", old_string: `line ${line} old\n`, new_string: `line ${line} new\n` });
      const launch = { kind: "host", tool: "edit_file", input, context, timeout_ms: 20_000 } as const;
      const signal = new AbortController().signal;
      const { reply } = await bench.supervisor.run({ session: "ses_test", call: newCall(), launch, signal });
      return reply?.is_error === false ? 1 : 0;
    };
    const made = await Promise.all(Array.from({ length: 80 }, (_none, line) => edit(line % 2 === 0 ? left : right, line)));
    const said = made.reduce<number>((sum, each) => sum + each, 0);
    expect([said, (await readFile(file, "utf8")).split("new\n").length - 1]).toEqual([80, 80]);
  }, 30_000);

  test.skipIf(process.getuid?.() !== 0)("leaves a file its owner, and lends nobody's rights to new content (needs root)", async () => {
    await using root = await workspace();
    const file = root.at("ws/dir/f.txt");
    await chown(file, 1234, 1235);
    await chmod(file, 0o6754);
    expect((await call(root, "edit_file", { path: "dir/f.txt", old_string: "inside", new_string: "changed" })).is_error).toBe(false);
    const { uid, gid, mode } = await stat(file);
    expect([uid, gid, mode & 0o7777]).toEqual([1234, 1235, 0o754]);
  });

  test("leaves the old file and no other if it cannot write the new one", async () => {
    await using root = await workspace();
    const before = await stat(root.at("ws/dir/f.txt"));
    const long = "n".repeat(300);
    expect((await call(root, "write_file", { path: `dir/${long}`, content: "x" })).text).toContain("too long");
    expect((await call(root, "write_file", { path: "dir/f.txt/below", content: "x" })).text).toContain("not a folder");
    expect((await stat(root.at("ws/dir/f.txt"))).ino).toBe(before.ino);
    expect(await readdir(root.at("ws/dir"))).toEqual(["f.txt"]);
  });

  test("writes and deletes names that mean something to a shell, a terminal or an option parser", async () => {
    await using root = await workspace();
    for (const name of ["-rf", "$(touch x)", "a\nb", "..x", "a;b", "*", "ü\u0301", "(deleted)", "x (deleted)"]) {
      expect((await call(root, "write_file", { path: `dir/${name}`, content: "1" })).is_error).toBe(false);
      expect((await call(root, "read_file", { path: `dir/${name}` })).text).toBe("     1\t1");
      expect((await call(root, "delete_file", { path: `dir/${name}` })).is_error).toBe(false);
    }
    expect(await readdir(root.at("ws/dir"))).toEqual(["f.txt"]);
  });

  test("says that the workspace is gone", async () => {
    await using root = await makeFolder();
    for (
      const [tool, input] of [["read_file", { path: "a" }], ["write_file", { path: "a", content: "" }], ["search", { query: "a" }]] as const
    ) {
      expect((await call(root, tool, input)).text).toContain("not there any more");
    }
  });

  test("works in a workspace that is itself reached through a link", async () => {
    await using root = await workspace();
    await mkdir(root.at("real/sub"), { recursive: true });
    await writeFile(root.at("real/sub/a.txt"), "a\n");
    await symlink("real", root.at("alias"));
    const context = { workspace: root.at("alias"), env: {}, state: {} };
    expect((await runBuiltin("read_file", toInput({ path: root.at("alias/sub/a.txt") }), context)).data).toMatchObject({
      path: "sub/a.txt",
    });
    expect((await runBuiltin("write_file", toInput({ path: "sub/b.txt", content: "b" }), context)).data).toMatchObject({
      path: "sub/b.txt",
    });
    expect((await runBuiltin("search", toInput({ query: "a", path: root.at("alias/sub") }), context)).text).toContain(
      "sub/a.txt\n     1: a",
    );
  });

  test("does not follow a link that stands where its next folder should be made", async () => {
    await using root = await workspace();
    mkdirSync(root.at("ws/made"));
    symlinkSync(root.at("outside"), root.at("ws/made/link"));
    writeFileSync(root.at("ws/made/plain"), "");
    expect((await call(root, "write_file", { path: "made/link/deep/x", content: "x" })).is_error).toBe(true);
    expect((await call(root, "write_file", { path: "made/plain/deep/x", content: "x" })).is_error).toBe(true);
    expect(await readdir(root.at("outside"))).toEqual(["f.txt"]);
  });
});
