import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { createCensus } from "../../lib/supervisor/census.ts";
import { Orphans } from "../../lib/supervisor/orphans.ts";
import { Watchdog } from "../../lib/supervisor/watchdog.ts";
import { WorkerLink } from "../../lib/supervisor/worker-link.ts";
import { hostCommand, newRuntime, PATH, processLaunch, taggedPids, until, watchdogCommand } from "../fixtures/supervision.ts";

const PATIENCE = { start: 10_000, silence: 10_000, close: 5000 };

/** A link whose threads run a program of the fixtures. */
function openLink(program: string, patience = PATIENCE) {
  const runtime = newRuntime();
  const threads: Worker[] = [];
  const setup = { name: "w1", runtime, lineage: "", hosts: { command: [...hostCommand], most: 2, calls: 100, start_ms: 10_000 } };
  const census = createCensus();
  const watchdog = new Watchdog([...watchdogCommand, runtime]);
  const ground = { census, watchdog, orphans: new Orphans(runtime, false, census, watchdog) };
  const link = new WorkerLink(setup, ground, (workerData) => {
    const file = fileURLToPath(new URL(`../fixtures/programs/${program}`, import.meta.url).href);
    const worker = new Worker(file, { workerData, resourceLimits: { maxOldGenerationSizeMb: 64 } });
    threads.push(worker);
    return worker;
  }, patience);
  const run = (call: string, script: string, options: { signal?: AbortSignal; timeout_ms?: number; onSpawned?: () => void } = {}) =>
    link.run({
      session: "s",
      call,
      launch: processLaunch(["sh", "-c", script], { timeout_ms: options.timeout_ms ?? 20_000 }),
      signal: options.signal ?? new AbortController().signal,
      ...(options.onSpawned === undefined ? {} : { onSpawned: options.onSpawned }),
    });
  const host = () =>
    link.run({
      session: "s",
      call: "call_host",
      launch: { kind: "host", tool: "echo", input: "{}", context: { workspace: "/", env: {} }, timeout_ms: 20_000 },
      signal: new AbortController().signal,
    });
  const close = async () => {
    await link.close();
    await watchdog.close();
  };
  return { link, runtime, threads, run, host, close };
}

describe("a worker that dies", () => {
  for (const way of ["throw", "exit", "allocate"]) {
    test(`by ${way} fails its calls, leaves no process, and is replaced`, async () => {
      const { close, runtime, threads, run, host } = openLink("faulty-worker.ts");
      expect((await host()).outcome).toEqual({ kind: "returned" });
      const spawned = Promise.withResolvers<void>();
      const running = run("call_1", "trap '' TERM; setsid sleep 300 & sleep 301 & wait; sleep 302", { onSpawned: spawned.resolve });
      await spawned.promise;
      await until("its children have started", () => taggedPids(runtime, "call_1").length === 3);
      const fatal = await run(way, "sleep 303");
      for (const ended of [fatal, await running]) {
        expect(ended.outcome).toEqual({ kind: "unknown", cause: "worker_died" });
        expect(ended.problem).toContain("worker w1 died");
      }
      expect(taggedPids(runtime, "call_1")).toEqual([]);
      expect(taggedPids(runtime, way)).toEqual([]);
      expect((await run("call_2", "echo back")).stdout.text).toBe("back\n");
      expect(threads.length).toBe(2);
      await close();
      expect(taggedPids(runtime)).toEqual([]);
    }, 15_000);
  }

  test("because somebody terminated its thread ends its calls and its conversations, and nobody else's", async () => {
    const [doomed, other] = [openLink("faulty-worker.ts"), openLink("faulty-worker.ts")];
    const spawned = Promise.withResolvers<void>();
    const running = doomed.run("call_1", "setsid sleep 300 & sleep 301", { onSpawned: spawned.resolve });
    const heard = Promise.withResolvers<string>();
    const talk = doomed.link.open({
      call: "talk_1",
      launch: { argv: ["sh", "-c", "setsid sleep 302 & echo ready; exec cat"], cwd: "/", env: { PATH } },
      line_bytes: 1000,
      window_bytes: 1000,
      queue_bytes: 1000,
      stderr_bytes: 1000,
      onLine: heard.resolve,
    });
    const beside = other.run("call_2", "sleep 0.5; echo beside");
    await Promise.all([spawned.promise, heard.promise]);
    await until("its children have started", () => taggedPids(doomed.runtime).length === 5);
    await doomed.threads[0]?.terminate();
    for (const ended of [await running, await talk.ended]) expect(ended.outcome).toEqual({ kind: "unknown", cause: "worker_died" });
    await expect(talk.send("x")).rejects.toThrow("closed");
    expect(taggedPids(doomed.runtime)).toEqual([]);
    expect((await beside).stdout.text).toBe("beside\n");
    expect((await doomed.run("call_3", "echo back")).stdout.text).toBe("back\n");
    await Promise.all([doomed.close(), other.close()]);
  }, 15_000);

  test("by running out of memory fails its calls alone", async () => {
    const { close, runtime, run } = openLink("faulty-worker.ts");
    const spawned = Promise.withResolvers<void>();
    const running = run("call_1", "sleep 300", { onSpawned: spawned.resolve });
    await spawned.promise;
    for (const ended of [await run("hoard", "sleep 301"), await running]) {
      expect(ended.outcome).toEqual({ kind: "unknown", cause: "worker_died" });
      expect(ended.problem).toContain("memory");
    }
    expect(taggedPids(runtime)).toEqual([]);
    expect((await run("call_2", "echo back")).stdout.text).toBe("back\n");
    await close();
  }, 20_000);

  test("without a word fails its calls when their time is over", async () => {
    const { close, runtime, run } = openLink("faulty-worker.ts", { ...PATIENCE, silence: 500 });
    await run("call_0", "true");
    const ended = await run("spin", "sleep 300", { timeout_ms: 200 });
    expect(ended.outcome).toEqual({ kind: "unknown", cause: "worker_died" });
    expect(ended.problem).toContain("stopped answering");
    expect(taggedPids(runtime)).toEqual([]);
    expect((await run("call_1", "echo back")).stdout.text).toBe("back\n");
    await close();
  }, 15_000);

  test("without a word fails a call that is cancelled", async () => {
    const { close, run } = openLink("faulty-worker.ts", { ...PATIENCE, silence: 500 });
    await run("call_0", "true");
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 200);
    expect((await run("spin", "sleep 300", { signal: stop.signal })).outcome).toEqual({ kind: "unknown", cause: "worker_died" });
    await close();
  }, 15_000);

  test("before it was ready has started nothing, and says so", async () => {
    const { close, run } = openLink("mute-worker.ts", { ...PATIENCE, start: 300 });
    const ended = await run("call_1", "true");
    expect(ended.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect(ended.problem).toContain("not ready after 300 ms");
    await close();
  });

  test("while it closes does not keep the close waiting", async () => {
    const { close, runtime, run } = openLink("faulty-worker.ts", { ...PATIENCE, close: 500 });
    await run("call_0", "true");
    const stuck = run("spin", "sleep 300");
    await close();
    expect((await stuck).outcome.kind).toBe("unknown");
    expect(taggedPids(runtime)).toEqual([]);
  }, 15_000);
});
