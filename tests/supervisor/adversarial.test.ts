/** What if this arrives between that and that? Every run settles once, and nothing of it is alive. */
import { describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import * as fc from "fast-check";
import type { JsonObject } from "../../lib/session/json.ts";
import { createCensus } from "../../lib/supervisor/census.ts";
import { HostPool } from "../../lib/supervisor/hosts.ts";
import { hostCommand, newCall, newRuntime, openBench, taggedPids, timed, until } from "../fixtures/supervision.ts";

describe("a cancel", () => {
  test("before the start starts nothing", async () => {
    await using bench = openBench();
    const run = await bench.sh("echo ran", { signal: AbortSignal.abort() });
    expect(run.outcome).toEqual({ kind: "not_started", reason: "cancelled" });
    expect(run.stdout.bytes).toBe(0);
  });

  test("right after the start ends the call, spawned or not", async () => {
    await using bench = openBench();
    await bench.run(["true"]);
    const stop = new AbortController();
    const run = bench.sh("sleep 300", { signal: stop.signal });
    stop.abort();
    expect(["cancelled", "not_started"]).toContain((await run).outcome.kind);
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("in the moment of the spawn ends the call", async () => {
    await using bench = openBench();
    const stop = new AbortController();
    const run = await bench.sh("sleep 300", { signal: stop.signal, onSpawned: () => stop.abort() });
    expect(run.outcome).toEqual({ kind: "cancelled" });
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("after the end changes nothing", async () => {
    await using bench = openBench();
    const stop = new AbortController();
    const run = await bench.sh("echo ok", { signal: stop.signal });
    stop.abort();
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
    expect((await bench.sh("echo next")).stdout.text).toBe("next\n");
  });

  test("while the drain waits for a leftover does not change how the process ended", async () => {
    await using bench = openBench();
    const stop = new AbortController();
    const onOutput = () => void setTimeout(() => stop.abort(), 50);
    const run = bench.sh("sleep 300 & echo gone; exit 6", { signal: stop.signal, onOutput });
    expect(["exited", "cancelled"]).toContain((await run).outcome.kind);
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("at any moment settles the call once and leaves nothing", async () => {
    await using bench = openBench();
    await bench.run(["true"]);
    const script = "setsid sleep 300 & (sleep 301 &) ; sleep 0.02; echo out; exit 3";
    const property = fc.asyncProperty(fc.integer({ min: 0, max: 40 }), async (delay_ms) => {
      const call = newCall();
      const stop = new AbortController();
      setTimeout(() => stop.abort(), delay_ms);
      const { outcome } = await bench.sh(script, { call, signal: stop.signal });
      expect(["exited", "cancelled", "not_started"]).toContain(outcome.kind);
      expect(taggedPids(bench.runtime, call)).toEqual([]);
    });
    await fc.assert(property, { seed: 4, numRuns: 25 });
  }, 30_000);
});

test("a deadline ends its own call and not the one beside it", async () => {
  await using bench = openBench();
  const beside = bench.sh("until [ -e over ]; do sleep 0.02; done; echo fine");
  const late = await bench.sh("sleep 300", { timeout_ms: 300 });
  writeFileSync(join(bench.folder, "over"), "");
  const fine = await beside;
  expect(late.outcome).toEqual({ kind: "timed_out", after_ms: 300 });
  expect(fine.outcome).toEqual({ kind: "exited", code: 0 });
  expect(fine.stdout.text).toBe("fine\n");
});

test("a tool that writes at full speed keeps neither its own deadline from coming nor the call beside it from ending before", async () => {
  await using bench = openBench();
  await bench.run(["true"]);
  const shown: number[] = [];
  const flood = bench.sh("yes & yes 1>&2 & yes", { timeout_ms: 800, onOutput: (_stream, text) => shown.push(text.length) });
  const beside = bench.sh("echo beside");
  const first = await Promise.race([beside, flood]);
  const { value: run, ms } = await timed(() => flood);
  expect(first.stdout.text).toBe("beside\n");
  expect(run.outcome).toEqual({ kind: "timed_out", after_ms: 800 });
  expect(run.stdout.bytes).toBeGreaterThan(1_000_000);
  expect(shown.length).toBeLessThan(50 + ms / 100);
  // 64 KiB at once and 16 a second, its end, and what says that there is more.
  expect(shown.reduce((sum, length) => sum + length, 0)).toBeLessThan(75_000 + 17 * ms);
  expect(taggedPids(bench.runtime)).toEqual([]);
}, 10_000);

test("a host that is killed from outside in the middle of a call", async () => {
  await using bench = openBench();
  const first = await bench.host("echo");
  const pid = Number((first.reply?.data as JsonObject)["pid"]);
  const path = join(bench.folder, "begun");
  const run = bench.host("begin", { path });
  await until("the call has begun", () => existsSync(path));
  process.kill(pid, "SIGKILL");
  expect((await run).outcome).toEqual({ kind: "unknown", cause: "host_died" });
  expect((await bench.host("echo")).outcome).toEqual({ kind: "returned" });
});

test("a host that is killed while it is idle costs the next call nothing but time", async () => {
  const started: number[] = [];
  const noticed = Promise.withResolvers<void>();
  const setup = {
    name: "w1",
    runtime: newRuntime(),
    lineage: "",
    hosts: { command: [...hostCommand], most: 2, calls: 100, start_ms: 20_000 },
  };
  const pool = new HostPool(setup, createCensus(), { onStarted: (_entry, { pid }) => started.push(pid), onEnded: () => noticed.resolve() });
  const launch = { kind: "host", tool: "echo", input: "{}", context: { workspace: "/", env: {} }, timeout_ms: 20_000 } as const;
  const { signal } = new AbortController();
  expect((await pool.run(launch, signal)).outcome).toEqual({ kind: "returned" });
  process.kill(started[0] ?? 0, "SIGKILL");
  await noticed.promise;
  expect((await pool.run(launch, signal)).outcome).toEqual({ kind: "returned" });
  expect(started).toHaveLength(2);
  await pool.close();
});

test("close() in the middle of starts, runs, drains and host calls", async () => {
  for (const delay_ms of [0, 5, 20, 60, 120]) {
    const bench = openBench();
    const runs = [
      bench.sh("sleep 300"),
      bench.sh("sleep 301 & exit 0"),
      bench.sh("trap '' TERM; while :; do sleep 0.05; done", { timeout_ms: 30 }),
      bench.run(["/no/such/program"]),
      bench.host("hang"),
      bench.host("echo"),
    ];
    await new Promise((resolve) => setTimeout(resolve, delay_ms));
    await bench[Symbol.asyncDispose]();
    expect((await Promise.all(runs)).length).toBe(runs.length);
    expect(taggedPids(bench.runtime)).toEqual([]);
  }
}, 60_000);

test("a process that closes its streams and goes on is waited for", async () => {
  await using bench = openBench();
  const run = await bench.sh("exec 1>&- 2>&-; sleep 0.3; exit 9");
  expect(run.outcome).toEqual({ kind: "exited", code: 9 });
});

test("a process that kills its own group takes nobody else along", async () => {
  await using bench = openBench();
  const other = bench.sh("sleep 0.5; echo other");
  expect((await bench.sh("kill -9 0")).outcome).toEqual({ kind: "signalled", signal: "SIGKILL" });
  expect((await other).stdout.text).toBe("other\n");
});

test("a tool that drops its tag stays known by its session", async () => {
  await using bench = openBench();
  const call = newCall();
  const run = await bench.sh("env -i sleep 300 & echo hi", { call });
  expect(run.reaped.map(({ command }) => command)).toEqual(["sleep"]);
});
