import { describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { hasProc, identifyChild } from "../../lib/platform/proc.ts";
import type { ProcessIdentity } from "../../lib/session/launch.ts";
import { LINEAGE, lineageEntry } from "../../lib/supervisor/lineage.ts";
import { createSupervisor } from "../../lib/supervisor/supervisor.ts";
import { isAlive, newCall, newRuntime, onDeno, openBench, PATH, sourceCommand, taggedPids, until } from "../fixtures/supervision.ts";

describe("the supervisor", () => {
  test("closes without ever having started a thread", async () => {
    const bench = openBench();
    await bench.supervisor.close();
    await bench.supervisor.close();
    await bench[Symbol.asyncDispose]();
  });

  test("sends the calls of one session to one worker, and spreads sessions", async () => {
    await using bench = openBench({ workers: 2 });
    const [one, two] = ["ses_1", "ses_2"];
    const running = bench.sh("sleep 0.3", { session: one });
    expect(bench.supervisor.workerOf(one)).toBe("w1");
    expect(bench.supervisor.workerOf(two)).toBe("w2");
    await running;
    expect(bench.supervisor.workerOf(two)).toBe("w2");
    expect((await bench.sh("echo two", { session: two })).stdout.text).toBe("two\n");
  });

  test("close() ends every call as cancelled and leaves no process", async () => {
    const bench = openBench();
    bench.supervisor.warm();
    const calls = [newCall(), newCall()];
    const runs = calls.map((call) => bench.sh("setsid sleep 300 & echo partial; sleep 301", { call }));
    await until("all of them run", () => calls.every((call) => taggedPids(bench.runtime, call).length === 3));
    await bench[Symbol.asyncDispose]();
    for (const run of await Promise.all(runs)) {
      expect(run.outcome).toEqual({ kind: "cancelled" });
      expect(run.stdout.text).toBe("partial\n");
    }
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("starts nothing once it is closed", async () => {
    const bench = openBench();
    await bench[Symbol.asyncDispose]();
    expect((await bench.run(["true"])).outcome).toEqual({ kind: "not_started", reason: "cancelled" });
    bench.supervisor.warm();
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("leaves nothing alive when the runtime exits in the middle of a call", async () => {
    await using bench = openBench();
    const runtime = newRuntime();
    const { outcome, stdout } = await bench.run([...sourceCommand("./programs/abandoning.ts"), runtime]);
    expect(stdout.text).toBe("exiting\n");
    expect(outcome).toEqual({ kind: "exited", code: 9 });
    await until("the last of them has gone", () => taggedPids(runtime).length === 0);
  });

  test("ends what another runtime left of a call, and nothing that only has its pid", async () => {
    await using bench = openBench();
    const call = newCall();
    const spawned = Promise.withResolvers<ProcessIdentity>();
    const running = bench.sh("setsid sleep 300 & sleep 301", { call, onSpawned: spawned.resolve });
    const process = await spawned.promise;
    await until("all of it runs", () => taggedPids(bench.runtime, call).length === 3);

    const other = createSupervisor({ runtime: newRuntime() });
    const stranger = { ...process, start_time: String(Number(process.start_time) - 1) };
    const { runtime } = bench;
    expect(await other.endLeftovers([{ call: newCall(), runtime, process: stranger }])).toEqual([]);
    expect(taggedPids(bench.runtime, call).length).toBe(3);
    expect((await other.endLeftovers([{ call, runtime, process }])).length).toBe(2);
    expect(taggedPids(bench.runtime, call)).toEqual([]);
    expect((await running).outcome).toEqual({ kind: "signalled", signal: "SIGTERM" });
    await other.close();
  });

  test("finds what another runtime left by its tag, if no process was recorded", async () => {
    await using bench = openBench();
    const call = newCall();
    const running = bench.sh("setsid sleep 300 & sleep 301", { call });
    await until("all of it runs", () => taggedPids(bench.runtime, call).length === 3);
    const other = createSupervisor({ runtime: newRuntime() });
    expect((await other.endLeftovers([{ call, runtime: bench.runtime }])).length).toBe(3);
    expect((await running).outcome.kind).toBe("signalled");
    await other.close();
  });

  // Without /proc nobody can see a tag: docs/guarantees.md says what holds there.
  test.skipIf(!hasProc())("ends no process that a log names and that does not carry our tag, also if its start time is right", async () => {
    const supervisor = createSupervisor({ runtime: newRuntime() });
    const [call, runtime] = [newCall(), newRuntime()];
    const environments: readonly Record<string, string>[] = [{}, { PATH }, { [LINEAGE]: lineageEntry(newRuntime(), newCall()) }];
    const strangers = environments.map((env) => startSleep(env));
    const ours = [lineageEntry(newRuntime(), call), lineageEntry(runtime, "spare-w1-1")].map((tag) => startSleep({ [LINEAGE]: tag }));
    try {
      const named = [...strangers, ...ours].map(({ identity }) => ({ call, runtime, process: identity }));
      await supervisor.endLeftovers(named);
      expect(ours.map(({ identity }) => isAlive(identity.pid))).toEqual([false, false]);
      expect(strangers.map(({ identity }) => isAlive(identity.pid))).toEqual([true, true, true]);
    } finally {
      for (const { child } of [...strangers, ...ours]) child.kill("SIGKILL");
      await supervisor.close();
    }
  });

  test("passes on the lineage it was started with", async () => {
    await using bench = openBench({ lineage: "outer/call_0" });
    const { stdout } = await bench.sh("echo $ORRERY_LINEAGE", { call: "call_1" });
    expect(stdout.text).toBe(`outer/call_0:${bench.runtime}/call_1\n`);
  });

  test.skipIf(!onDeno)("without Deno's permissions says what is missing, and throws nothing", async () => {
    await using bench = openBench();
    const command = sourceCommand("./programs/unpermitted.ts").filter((each) => each !== "-A");
    const { stdout, stderr } = await bench.run(command);
    expect(stderr.text).toBe("");
    expect(JSON.parse(stdout.text)).toEqual({
      outcome: { kind: "not_started", reason: "cannot_start" },
      problem: "Cannot start processes as Deno was not allowed to run, read, write, env, net, ffi, sys, import: start it with -A",
    });
  });
});

/** One that leads a group, as a call's process does. Its environment is there once it has become its program. */
function startSleep(env: Readonly<Record<string, string>>): { readonly child: ChildProcess; readonly identity: ProcessIdentity } {
  const child = spawn("/bin/sleep", ["300"], { env, detached: true, stdio: "ignore" });
  return { child, identity: identifyChild(child.pid ?? 0) };
}
