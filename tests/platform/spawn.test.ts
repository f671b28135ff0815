import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { chmodSync, closeSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { identifyChild, readStat } from "../../lib/platform/proc.ts";
import { openInFolder } from "../../lib/platform/input-file.ts";
import type { OutputPipe } from "../../lib/platform/pipe-ends.ts";
import { OPEN_INPUT, SpawnFailure, spawnProcess, type SpawnRequest } from "../../lib/platform/spawn.ts";
import { until } from "../fixtures/supervision.ts";

const onDeno = "Deno" in globalThis;
const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };

function sh(script: string, more: Partial<SpawnRequest> = {}) {
  return spawnProcess({ program: "/bin/sh", args: ["-c", script], cwd: tmpdir(), env, stdin: null, ...more });
}

async function textOf(pipe: OutputPipe): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await pipe.read(); chunk !== null; chunk = await pipe.read()) chunks.push(chunk);
  await pipe.close();
  return Buffer.concat(chunks).toString();
}

async function finish(child: ReturnType<typeof sh>) {
  const [status, stdout, stderr] = await Promise.all([child.exited, textOf(child.stdout), textOf(child.stderr)]);
  child.releaseInput();
  return { status, stdout, stderr };
}

test("a child can open its standard streams by their names", async () => {
  const { stdout, stderr } = await finish(sh("cat < /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr", { stdin: "in\n" }));
  expect(stdout).toBe("in\nout\n");
  expect(stderr).toBe("err\n");
});

test("standard output and error are pipes, not sockets", async () => {
  const { stdout } = await finish(sh("readlink /proc/$$/fd/1 /proc/$$/fd/2"));
  expect(stdout).toMatch(/^pipe:\[\d+\]\npipe:\[\d+\]\n$/);
});

test("without input, standard input is /dev/null", async () => {
  const { stdout } = await finish(sh('readlink /proc/$$/fd/0; read x; echo "rc=$?"'));
  expect(stdout).toBe("/dev/null\nrc=1\n");
});

test("input arrives whole, and then ends", async () => {
  const text = "ä".repeat(500_000);
  const { stdout } = await finish(sh("cat | wc -c; cat; echo done", { stdin: text }));
  expect(stdout.trim().split(/\s+/)).toEqual(["1000000", "done"]);
});

test.skipIf(onDeno)("the input file has no name (on Deno it is a pipe)", async () => {
  const { stdout } = await finish(sh("readlink /proc/$$/fd/0; stat -L -c '%h %a' /proc/$$/fd/0", { stdin: "secret" }));
  expect(stdout).toMatch(/ \(deleted\)\n0 600\n$/);
});

test.skipIf(onDeno || process.platform !== "linux")(
  "input needs no folder to write to (on Deno it is a pipe, on macOS it does)",
  async () => {
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = "/proc/no/such/folder";
    try {
      expect((await finish(sh("readlink /proc/$$/fd/0; cat", { cwd: "/", stdin: "in\n" }))).stdout).toBe("/memfd:orrery (deleted)\nin\n");
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  },
);

test("where input is a file in a folder, the first that takes it is taken, and if none does each says why", () => {
  const folder = mkdtempSync(join(tmpdir(), "orrery-input-"));
  const file = join(folder, "file");
  writeFileSync(file, "");
  try {
    const descriptor = openInFolder("in", [file, folder]);
    expect([readFileSync(descriptor, "utf8"), readdirSync(folder)]).toEqual(["in", ["file"]]);
    closeSync(descriptor);
    expect(() => openInFolder("in", [file, join(folder, "none")])).toThrow(
      /^there is no place for its standard input \(ENOTDIR.*; ENOENT.*\): set TMPDIR to a folder that this user can write to$/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a child leads its own session and group", async () => {
  const child = sh("cat", { stdin: "x" });
  const stat = readStat(child.pid);
  expect({ pgid: stat?.pgid, sid: stat?.sid }).toEqual({ pgid: child.pid, sid: child.pid });
  expect(identifyChild(child.pid)).toEqual({ pid: child.pid, pgid: child.pid, start_time: stat?.start_time ?? "none" });
  await finish(child);
});

test("no signal is ignored or blocked in a child", async () => {
  const { stdout } = await finish(sh("grep -E '^Sig(Ign|Blk)' /proc/self/status"));
  expect(stdout.replaceAll(/\s/g, "")).toBe("SigBlk:0000000000000000SigIgn:0000000000000000");
});

test("a child has exactly the environment it was given", async () => {
  const { stdout } = await finish(
    spawnProcess({ program: "/usr/bin/env", args: [], cwd: "/", env: { B: "1", A: "zwei Wörter" }, stdin: null }),
  );
  expect(stdout.trim().split("\n").sort()).toEqual(["A=zwei Wörter", "B=1"]);
});

test("exits and signals are told apart, real-time signals included", async () => {
  expect((await finish(sh("exit 255"))).status).toEqual({ kind: "exited", code: 255 });
  expect((await finish(sh("kill -SEGV $$"))).status).toEqual({ kind: "signalled", signal: "SIGSEGV" });
  expect((await finish(sh("kill -36 $$"))).status).toEqual({ kind: "signalled", signal: "SIGRTMIN+2" });
});

test("closing a pipe does not wait for those who hold its other end", async () => {
  const child = sh("sleep 300 & echo $!");
  const line = await child.stdout.read();
  const holder = Number(Buffer.from(line ?? []).toString());
  expect(await child.exited).toEqual({ kind: "exited", code: 0 });
  const reading = child.stdout.read();
  await Promise.all([child.stdout.close(), child.stderr.close()]);
  expect(await reading).toBe(null);
  expect(readStat(holder)?.alive).toBe(true);
  process.kill(holder, "SIGKILL");
});

test("a script without an interpreter line is run by the shell", async () => {
  const folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
  const program = join(folder, "script");
  writeFileSync(program, 'echo "ran $1"; exit 3\n');
  chmodSync(program, 0o755);
  const { status, stdout } = await finish(spawnProcess({ program, args: ["it"], cwd: folder, env, stdin: null }));
  expect(stdout).toBe("ran it\n");
  expect(status).toEqual({ kind: "exited", code: 3 });
  rmSync(folder, { recursive: true });
});

test("a start that fails throws a SpawnFailure with the system's code, and leaks no descriptor", () => {
  const codeOf = (request: Partial<SpawnRequest>) => {
    try {
      spawnProcess({ program: "/bin/true", args: [], cwd: "/", env, stdin: "x", ...request });
      return "started";
    } catch (error) {
      return error instanceof SpawnFailure ? error.code : "another error";
    }
  };
  const before = countDescriptors();
  for (let round = 0; round < 50; round++) {
    expect(codeOf({ program: "/no/such/program" })).toBe("ENOENT");
    expect(codeOf({ args: ["x".repeat(200_000)] })).toBe("E2BIG");
    expect(codeOf({ env: { BIG: "x".repeat(200_000) } })).toBe("E2BIG");
  }
  expect(countDescriptors()).toBeLessThan(before + 10);
});

test("an open input is written as it is read, ends when it is told to, and rejects when nobody can read it", async () => {
  const child = spawnProcess({ program: "/bin/sh", args: ["-c", "sleep 0.2; wc -c; exit 3"], cwd: "/", env, stdin: OPEN_INPUT });
  await child.input?.write(Buffer.alloc(300_000));
  child.input?.end();
  child.input?.end();
  expect((await finish(child)).stdout.trim()).toBe("300000");
  const gone = spawnProcess({ program: "/bin/sh", args: ["-c", "exec 0<&-; sleep 0.3"], cwd: "/", env, stdin: OPEN_INPUT });
  await new Promise((resolve) => setTimeout(resolve, 150));
  await expect((async () => await gone.input?.write(Buffer.alloc(300_000)))()).rejects.toThrow();
  gone.input?.end();
  await finish(gone);
});

test("open inputs leak no descriptor", async () => {
  const before = countDescriptors();
  for (let round = 0; round < 100; round++) {
    const child = spawnProcess({ program: "/bin/cat", args: [], cwd: "/", env, stdin: OPEN_INPUT });
    await child.input?.write(Buffer.from("x"));
    child.input?.end();
    expect((await finish(child)).stdout).toBe("x");
  }
  await until("all but a few are closed", () => countDescriptors() < before + 10);
}, 20_000);

test("hundreds of processes leak no descriptor", async () => {
  const before = countDescriptors();
  for (let round = 0; round < 200; round++) await finish(sh("exit 0", { stdin: "x" }));
  await until("all but a few are closed", () => countDescriptors() < before + 10);
}, 30_000);

/** Some are closed by another thread of the host, a moment after it was told to. */
function countDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}
