import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, closeSync, copyFileSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startProgram } from "../../lib/supervisor/start.ts";
import { type Bench, openBench, PATH } from "../fixtures/supervision.ts";

/** Cases 19c, 21 and 22: what cannot start is a value that says why, the same on both hosts. */
describe("a launch that cannot start", () => {
  let bench: Bench;
  const path = (name: string) => join(bench.folder, name);

  beforeAll(() => {
    bench = openBench();
    writeFileSync(path("plain.txt"), "text");
    writeFileSync(path("orphan"), "#!/no/such/interpreter\n");
    chmodSync(path("orphan"), 0o755);
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  async function problemOf(argv: readonly string[], options = {}): Promise<string> {
    const run = await bench.run(argv, { ...options, onSpawned: () => expect("a process").toBe("none") });
    expect(run.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect(run.stdout).toEqual({ text: "", bytes: 0, cut: false });
    return run.problem ?? "";
  }

  test("names the program, the directory and the system's reason", async () => {
    const problem = await problemOf(["/no/such/program", "x"]);
    expect(problem).toBe(`Cannot start "/no/such/program" in ${JSON.stringify(bench.folder)}: there is no such file (ENOENT)`);
  });

  test("says that a bare name is not on the child's PATH", async () => {
    expect(await problemOf(["no-such-program"])).toContain(`no such program on PATH ${JSON.stringify(PATH)} (ENOENT)`);
    expect(await problemOf(["sh"], { env: { PATH: "/no/such" } })).toContain("ENOENT");
    expect(await problemOf([""])).toContain("the name of the program is empty");
    for (const folder of [".", ".."]) expect(await problemOf([folder])).toContain(`"${folder}" is a folder, and no program`);
    mkdirSync(path("bin/tool"), { recursive: true });
    expect(await problemOf(["tool"], { env: { PATH: path("bin") } })).toContain("no such program on PATH");
  });

  test("says that a file is not executable, a directory, or has no interpreter", async () => {
    expect(await problemOf([path("plain.txt")])).toContain("not executable (EACCES)");
    expect(await problemOf([bench.folder])).toContain("is a directory (EACCES)");
    expect(await problemOf([path("orphan")])).toContain('the interpreter "/no/such/interpreter" that the first line of');
    writeFileSync(path("windows"), "#!/bin/sh\r\n", { mode: 0o755 });
    expect(await problemOf([path("windows")])).toContain(
      'windows" ends with CR LF, and no interpreter is called "/bin/sh\\r" (ENOENT): save it with LF line ends',
    );
    expect(await problemOf([path("plain.txt/x")])).toContain("ENOTDIR");
  });

  test("says what is wrong with the directory", async () => {
    expect(await problemOf(["true"], { cwd: path("nowhere") })).toContain("the directory to run in cannot be used (ENOENT)");
    expect(await problemOf(["true"], { cwd: path("plain.txt") })).toContain("not a directory (ENOTDIR)");
  });

  test("says that arguments or environment are too long", async () => {
    expect(await problemOf(["true", "x".repeat(200_000)])).toContain("(E2BIG): Linux takes 128 KiB in one argument");
    expect(await problemOf(["true"], { env: { PATH, BIG: "x".repeat(200_000) } })).toContain("E2BIG");
    const many = Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`KEY_${index}`, "x".repeat(1024)]));
    expect(await problemOf(["true"], { env: { PATH, ...many } })).toContain("E2BIG");
  });

  test("says where a NUL character is", async () => {
    expect(await problemOf(["true", "a", "b\0c"])).toContain("argument 2 has a NUL character");
    expect(await problemOf(["tr\0ue"])).toContain("argument 0 has a NUL character");
    expect(await problemOf(["true"], { env: { PATH, X: "a\0b" } })).toContain("the variable X has a NUL character");
    expect(await problemOf(["true"], { env: { PATH, "X=Y": "a" } })).toContain("cannot be the name of a variable");
    expect(await problemOf(["true"], { cwd: "/tmp\0" })).toContain("the directory has a NUL character");
  });

  test("says where half of a surrogate pair is, in whose place the program would be given another character", async () => {
    expect(await problemOf(["true", "a", "b\ud800c"])).toContain("argument 2 has half of a surrogate pair");
    expect(await problemOf(["true"], { env: { PATH, X: "\udc00" } })).toContain("the variable X has half of a surrogate pair");
    expect(await problemOf(["true"], { env: { PATH, "X\udc00": "a" } })).toContain("cannot be the name of a variable");
    expect(await problemOf(["true"], { cwd: "/tmp\ud800" })).toContain("the directory has half of a surrogate pair");
    const { outcome } = await bench.sh("test 😀 = $(printf '\\360\\237\\230\\200')");
    expect(outcome).toEqual({ kind: "exited", code: 0 });
  });

  test("is refused for itself alone if it is malformed", async () => {
    const good = bench.sh("sleep 0.1; echo fine");
    expect(await problemOf(["true"], { timeout_ms: NaN })).toContain("malformed");
    expect(await problemOf([])).toContain("malformed");
    expect(await problemOf(["true"], { env: { X: () => {} } })).toContain("malformed");
    expect((await good).stdout.text).toBe("fine\n");
  });

  test("does not stop the next one", async () => {
    await problemOf(["/no/such/program"]);
    expect((await bench.run(["true"])).outcome).toEqual({ kind: "exited", code: 0 });
  });
});

describe("a launch that can start", () => {
  test("is found on the child's PATH, relative folders from its own directory", async () => {
    await using bench = openBench();
    writeFileSync(join(bench.folder, "mine"), "#!/bin/sh\necho mine\n");
    chmodSync(join(bench.folder, "mine"), 0o755);
    symlinkSync(bench.folder, join(bench.folder, "bin"));
    expect((await bench.run(["mine"], { env: { PATH: "bin:/bin" } })).stdout.text).toBe("mine\n");
    expect((await bench.run(["./mine"])).stdout.text).toBe("mine\n");
    expect((await bench.run(["sh", "-c", "echo ok"], { env: {} })).stdout.text).toBe("ok\n");
  });

  test("waits a little while its program is still open for writing", async () => {
    await using bench = openBench();
    const program = join(bench.folder, "fresh");
    copyFileSync("/bin/true", program);
    chmodSync(program, 0o755);
    const writer = openSync(program, "r+");
    // In this thread, so that the first try is over before the file is closed, and the last is not.
    const starting = startProgram({ argv: [program], cwd: bench.folder, stdin: null }, { PATH }, new AbortController().signal);
    closeSync(writer);
    const start = await starting;
    expect(start.kind === "started" && await start.child.exited).toEqual({ kind: "exited", code: 0 });
  });

  test("that stays open for writing is given up", async () => {
    await using bench = openBench();
    const program = join(bench.folder, "busy");
    copyFileSync("/bin/true", program);
    chmodSync(program, 0o755);
    const writer = openSync(program, "r+");
    const { outcome, problem } = await bench.run([program]);
    closeSync(writer);
    expect(outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect(problem).toContain("ETXTBSY");
  });
});
