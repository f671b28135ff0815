import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../lib/session/json.ts";
import type { Run } from "../../lib/session/launch.ts";
import { type Bench, openBench, sourceCommand, taggedPids, until } from "../fixtures/supervision.ts";

function pidOf(run: Run): number {
  expect(run.outcome).toEqual({ kind: "returned" });
  return Number((run.reply?.data as JsonObject)["pid"]);
}

/** A call that ends when it is let go. */
function held(bench: Bench) {
  const path = join(bench.folder, "go");
  return { run: bench.host("until", { path }), letGo: () => writeFileSync(path, "") };
}

describe("a call in a tool host", () => {
  test("gets its input as it was written and gives its answer", async () => {
    await using bench = openBench();
    const run = await bench.host("echo", { a: 1 });
    expect(run.outcome).toEqual({ kind: "returned" });
    expect(run.reply?.text).toBe('{"a":1}');
    expect(run.reaped).toEqual([]);
    expect(run.stdout).toEqual({ text: "", bytes: 0, cut: false });
  });

  test("reuses the host, one call at a time", async () => {
    await using bench = openBench();
    const first = pidOf(await bench.host("echo"));
    for (let round = 0; round < 20; round++) expect(pidOf(await bench.host("echo"))).toBe(first);
    const together = await Promise.all(Array.from({ length: 8 }, () => bench.host("echo")));
    // On a busy machine they take so long that another host is started for those that wait.
    expect(together.map(pidOf).filter((pid) => pid === first).length).toBeGreaterThan(1);
  });

  test("that takes long does not hold up the others", async () => {
    await using bench = openBench();
    pidOf(await bench.host("echo"));
    const slow = held(bench);
    const quick = pidOf(await bench.host("echo"));
    slow.letGo();
    expect(pidOf(await slow.run)).not.toBe(quick);
  });

  test("cannot spoil the conversation by printing", async () => {
    await using bench = openBench();
    expect((await bench.host("print")).reply?.text).toBe("printed");
    expect((await bench.host("echo")).outcome).toEqual({ kind: "returned" });
  });

  test("that throws is an error result, and the host goes on", async () => {
    await using bench = openBench();
    const first = pidOf(await bench.host("echo"));
    expect((await bench.host("throw")).reply).toEqual({ is_error: true, text: 'The tool "throw" failed: the tool threw' });
    expect(pidOf(await bench.host("echo"))).toBe(first);
  });

  test("whose answer is too large says so, and the host goes on", async () => {
    await using bench = openBench();
    const { outcome, reply } = await bench.host("too_large");
    expect(outcome).toEqual({ kind: "returned" });
    expect(reply?.is_error).toBe(true);
    expect(reply?.text).toContain("too large");
    expect((await bench.host("echo")).outcome).toEqual({ kind: "returned" });
  });

  test("whose input is too large does not start", async () => {
    await using bench = openBench();
    const run = await bench.host("echo", { text: "x".repeat(40_000_000) });
    expect(run.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect((await bench.host("echo")).outcome).toEqual({ kind: "returned" });
  }, 20_000);

  test("leaves nothing behind, though its host lives", async () => {
    await using bench = openBench();
    const run = await bench.host("leave_behind");
    expect(run.reaped.length).toBe(1);
    expect(taggedPids(bench.runtime)).toEqual([pidOf(run)]);
  });
});

describe("a host that fails", () => {
  test("ends its call as unknown, and says how it died and what it printed", async () => {
    await using bench = openBench();
    const exited = await bench.host("exit");
    expect(exited.outcome).toEqual({ kind: "unknown", cause: "host_died" });
    expect(exited.problem).toContain("exited with code 7");
    expect(exited.problem).toContain("last words");
    const killed = await bench.host("kill_self");
    expect(killed.outcome).toEqual({ kind: "unknown", cause: "host_died" });
    expect(killed.problem).toContain("SIGKILL");
    expect((await bench.host("echo")).outcome).toEqual({ kind: "returned" });
  });

  test("is thrown away at a deadline, even while it spins", async () => {
    await using bench = openBench();
    const pids: number[] = [];
    for (const tool of ["hang", "spin"]) {
      // It has a host: what the start of one takes counts too.
      pids.push(pidOf(await bench.host("echo")));
      expect((await bench.host(tool, {}, { timeout_ms: 300 })).outcome).toEqual({ kind: "timed_out", after_ms: 300 });
    }
    pids.push(pidOf(await bench.host("echo")));
    expect(new Set(pids).size).toBe(3);
    expect(taggedPids(bench.runtime)).toEqual(pids.slice(2));
  }, 15_000);

  test("is thrown away at a cancel", async () => {
    await using bench = openBench();
    const first = pidOf(await bench.host("echo"));
    const stop = new AbortController();
    const run = bench.host("hang", {}, { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    expect((await run).outcome).toEqual({ kind: "cancelled" });
    expect(pidOf(await bench.host("echo"))).not.toBe(first);
  });

  test("that speaks out of turn is not believed again", async () => {
    await using bench = openBench({ hosts: { command: sourceCommand("./programs/babbling-host.ts") } });
    const run = await bench.host("echo");
    expect(run.outcome).toEqual({ kind: "unknown", cause: "host_died" });
    expect(run.problem).toContain("spoke out of turn");
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("that never becomes ready fails its call in time, without an effect", async () => {
    await using bench = openBench({ hosts: { command: sourceCommand("./programs/mute-host.ts"), start_ms: 400 } });
    const runs = await Promise.all([bench.host("echo"), bench.host("echo")]);
    for (const run of runs) {
      expect(run.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
      expect(run.problem).toContain("not ready after 400 ms");
    }
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("that cannot be started at all says so", async () => {
    await using bench = openBench({ hosts: { command: ["/no/such/program"] } });
    const run = await bench.host("echo");
    expect(run.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect(run.problem).toContain("/no/such/program");
    expect((await bench.run(["true"])).outcome).toEqual({ kind: "exited", code: 0 });
  });
});

describe("the pool", () => {
  test("throws a host away after its calls, and has a successor", async () => {
    await using bench = openBench({ hosts: { calls: 10 } });
    const pids = new Set<number>();
    for (let round = 0; round < 30; round++) pids.add(pidOf(await bench.host("echo")));
    expect(pids.size).toBeGreaterThanOrEqual(3);
    await until("only those that are needed are left", () => taggedPids(bench.runtime).length <= 2);
  }, 20_000);

  test("has a host ready if it was warned", async () => {
    await using bench = openBench();
    bench.supervisor.warm();
    await until("the host has started", () => taggedPids(bench.runtime).length === 1);
    const [warm] = taggedPids(bench.runtime);
    expect(pidOf(await bench.host("echo"))).toBe(warm ?? 0);
  });

  test("starts no more hosts than it may", async () => {
    await using bench = openBench({ hosts: { most: 2 } });
    const runs = await Promise.all(Array.from({ length: 6 }, () => bench.host("sleep", { ms: 50 })));
    expect(new Set(runs.map(pidOf)).size).toBeLessThanOrEqual(2);
  });

  test("lets a call that waits for a host be cancelled", async () => {
    await using bench = openBench({ hosts: { most: 1 } });
    const busy = held(bench);
    const stop = new AbortController();
    const waiting = bench.host("echo", {}, { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    expect((await waiting).outcome).toEqual({ kind: "not_started", reason: "cancelled" });
    busy.letGo();
    expect((await busy.run).outcome).toEqual({ kind: "returned" });
  });

  test("tells a call that no host became free in its time", async () => {
    await using bench = openBench({ hosts: { most: 1 } });
    await bench.host("echo");
    const busy = held(bench);
    const waiting = await bench.host("echo", {}, { timeout_ms: 100 });
    expect(waiting.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect(waiting.problem).toContain("no tool host was free within 100 ms");
    busy.letGo();
    expect((await busy.run).outcome).toEqual({ kind: "returned" });
  });
});
