/** Those who hide from every tag, and what all of them leave: in runtimes of their own, as adoption is a matter of a whole process. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listPids, readStat } from "../../lib/platform/proc.ts";
import { startRuntime } from "../fixtures/runtimes.ts";
import { isAlive, openBench, signalOne, sourceCommand, until } from "../fixtures/supervision.ts";

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "orrery-test-"))));
afterAll(() => rmSync(folder, { recursive: true }));

/** Without a tag, in a session of its own and without a parent before anybody can have looked. Tells its pid in a file. */
function escape(name: string): string {
  const file = join(folder, name);
  const orphan = `echo \\$\\$ > ${file}; exec sleep 300`;
  return `env -i setsid sh -c 'sh -c "${orphan}" &'; while [ ! -s ${file} ]; do sleep 0.01; done`;
}

function pidOf(name: string): number {
  return Number(readFileSync(join(folder, name), "utf8"));
}

describe("a process that hides from every tag", () => {
  test("is ended with its call if no other call runs, and the call says so", async () => {
    await using runtime = startRuntime({ scripts: [escape("alone")] });
    const settled = await runtime.line("call");
    expect(settled["reaped"]).toEqual([{ pid: pidOf("alone"), command: "sleep" }]);
    expect(isAlive(pidOf("alone"))).toBe(false);
    await runtime.finish();
    expect(readStat(pidOf("alone"))).toBe(null);
  }, 10_000);

  test("is not ended while it may be another call's, and is when the last of them has ended, which is not said to be its own", async () => {
    await using bench = openBench();
    const { stdout, stderr } = await bench.run([...sourceCommand("./programs/orphanage.ts"), "sole"]);
    expect(stderr.text).toBe("");
    expect(JSON.parse(stdout.text)).toEqual({
      ends: [{ reaped: null, alive: true }, { reaped: ["sleep?"], alive: false }],
      present: false,
    });
  }, 10_000);

  test("is left alone in a program where others start processes too", async () => {
    await using bench = openBench();
    const { stdout } = await bench.run([...sourceCommand("./programs/orphanage.ts"), "shared"]);
    expect(JSON.parse(stdout.text)).toEqual({ ends: [{ reaped: null, alive: true }, { reaped: null, alive: true }], present: true });
  }, 10_000);

  test("is ended wherever it was seen before its parent was gone", async () => {
    await using bench = openBench();
    const file = join(bench.folder, "pid");
    const run = await bench.sh(`(env -i setsid sh -c 'echo $$ > ${file}; exec sleep 300' & sleep 0.4); echo hi`);
    expect(run.reaped.map(({ command }) => command)).toEqual(["sleep"]);
    expect(isAlive(Number(readFileSync(file, "utf8")))).toBe(false);
  });

  test("is known by its session after that session's leader has gone", async () => {
    await using bench = openBench();
    const file = join(bench.folder, "pid");
    const hidden = `env -i setsid sh -c 'sleep 0.4; sh -c "echo \\$\\$ > ${file}; exec sleep 300" &'`;
    const run = await bench.sh(`${hidden} & while [ ! -s ${file} ]; do sleep 0.01; done`);
    expect(run.reaped.map(({ command }) => command)).toContain("sleep");
    expect(isAlive(Number(readFileSync(file, "utf8")))).toBe(false);
  });
});

describe("exit statuses", () => {
  test("are the calls' own, however many orphans end beside them", async () => {
    const orphans = "(sleep 0.01 &) ; (setsid sleep 0.02 &) ; (true &) ; (env -i sleep 0.01 &)";
    const scripts = Array.from({ length: 30 }, (_, index) => `${orphans}; sleep 0.0${index % 7}; exit ${index}`);
    await using runtime = startRuntime({ scripts });
    const lines = await runtime.finish();
    const codes = new Map(lines.map((line) => [line["call"], line["outcome"]]));
    for (let index = 0; index < scripts.length; index++) expect(codes.get(index)).toEqual({ kind: "exited", code: index });
    expect(lines.at(-1)?.["closed"]).toBe(true);
  }, 20_000);

  test("of processes that the program starts itself are not taken, even after a while", async () => {
    await using bench = openBench();
    const child = spawn("sh", ["-c", "sleep 0.1; exit 7"], { detached: true, stdio: "ignore" });
    const exited = once(child, "exit");
    for (let round = 0; round < 5; round++) await bench.sh("(sleep 0.01 &); sleep 0.05");
    expect(await exited).toEqual([7, null]);
  });

  test("of orphans are collected", async () => {
    await using runtime = startRuntime({
      scripts: [`(sleep 0.05 &) ; (setsid sleep 0.05 &) ; sleep 0.3`, "sleep 0.5", "sleep 0.7; sleep 300"],
    });
    await runtime.line("call");
    await until("no zombie is left", () => childrenOf(runtime.child.pid ?? 0).every(({ alive }) => alive), 5000);
    expect(childrenOf(runtime.child.pid ?? 0).length).toBeGreaterThan(0);
  }, 10_000);
});

/** Whether this machine lets us make a pid namespace. */
const unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const permitted = spawnSync(unshare[0] ?? "", [...unshare.slice(1), "true"]).status === 0;

describe.skipIf(!permitted)("as PID 1 of a container (skipped where unshare is not permitted)", () => {
  test("supervises as anywhere, and reaps the orphans of strangers without touching them", async () => {
    await using runtime = startRuntime({
      scripts: [
        "setsid sleep 300 & echo $PPID; (sleep 0.05 &); sleep 0.5; exit 3",
        "echo y; while [ ! -e /proc/1/root/tmp/never ]; do sleep 0.1; done",
      ],
      started_after_bytes: 4,
    }, unshare);
    const settled = await runtime.line("call");
    expect(settled["outcome"]).toEqual({ kind: "exited", code: 3 });
    expect(settled["stdout"]).toBe("1\n");
    const init = listPids().find((pid) => readStat(pid)?.ppid === runtime.child.pid) ?? 0;
    const enter = ["nsenter", "--target", String(init), "--user", "--pid", "--mount", "--preserve-credentials", "sh", "-c"];
    const strange = spawnSync(enter[0] ?? "", [...enter.slice(1), "setsid sleep 0.3 & setsid sleep 301 & true"], { stdio: "ignore" });
    expect(strange.status).toBe(0);
    await until("the strangers are ours", () => childrenOf(init).filter(({ command }) => command === "sleep").length === 2);
    await until("the one that ended is collected", () => childrenOf(init).filter(({ command }) => command === "sleep").length === 1, 8000);
    expect(childrenOf(init).find(({ command }) => command === "sleep")?.alive).toBe(true);
  }, 20_000);

  test("says what it cannot promise there", async () => {
    await using runtime = startRuntime({ scripts: ["true"] }, unshare);
    const unpromised = (await runtime.line("closed"))["unpromised"] as readonly string[];
    expect(unpromised).toHaveLength(1);
    expect(unpromised[0]).toContain("As PID 1");
  }, 10_000);

  test("takes everything along when it is killed", async () => {
    await using runtime = startRuntime({ scripts: ["setsid sleep 300 & echo x; sleep 301"], started_after_bytes: 2 }, unshare);
    await runtime.line("started");
    const init = listPids().find((pid) => readStat(pid)?.ppid === runtime.child.pid) ?? 0;
    const family = listPids().filter((pid) => readStat(pid)?.ppid === init);
    expect(family.length).toBeGreaterThan(1);
    signalOne(init, "SIGKILL");
    await until("all of it is gone", () => !family.some(isAlive), 2000);
  }, 10_000);
});

function childrenOf(pid: number) {
  return listPids().map(readStat).filter((stat) => stat !== null).filter(({ ppid }) => ppid === pid);
}
