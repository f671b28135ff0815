/**
 * Nothing that tools do makes a worker grow without bound (P5): a thread's memory is limited by nothing else on Bun. Of a
 * flood through one stream see process.test.ts, of what a module forges module-call.test.ts.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import process from "node:process";
import { type Bench, onDeno, openBench } from "../fixtures/supervision.ts";

let bench: Bench;
beforeAll(() => {
  bench = openBench();
});
afterAll(async () => await bench[Symbol.asyncDispose]());

const MB = 1_000_000;
const all = <T>(count: number, one: () => Promise<T>) => Promise.all(Array.from({ length: count }, one));

/** By how much the process grows meanwhile. */
async function growth(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => peak = Math.max(peak, process.memoryUsage().rss), 5);
  await work();
  clearInterval(watch);
  return Math.max(peak, process.memoryUsage().rss) - before;
}

const flood = "head -c 10000000 /dev/zero & head -c 10000000 /dev/zero >&2; wait";
const message = JSON.stringify({ type: "message", message: { type: "progress", data: "x".repeat(60) } });
const deeds: Readonly<Record<string, () => Promise<unknown>>> = {
  "forty calls that flood both their streams": () => all(40, () => bench.sh(flood, { timeout_ms: 60_000, onOutput: () => {} })),
  "forty calls whose answers are wanted whole and are too long": () =>
    all(40, () => bench.sh(flood, { whole_bytes: 1_000_000, timeout_ms: 60_000 })),
  "a line without end where lines are read": () => bench.sh("head -c 400000000 /dev/zero", { speaks: "frames", onMessage: () => {} }),
  "millions of messages": () =>
    bench.sh(`yes '${message}' | head -n 2000000`, { speaks: "frames", onMessage: () => {}, timeout_ms: 60_000 }),
  "input that nobody reads": () => all(8, () => bench.sh("exec sleep 0.3", { stdin: "x".repeat(2 * MB) })),
  "hidden processes that come and go": () =>
    bench.sh("i=0; while [ $i -lt 600 ]; do env -i setsid true & i=$((i+1)); done; wait", { timeout_ms: 60_000 }),
};

for (const [deed, work] of Object.entries(deeds)) {
  test(`${deed} cost a worker little`, async () => {
    await bench.sh("true");
    expect(await growth(work)).toBeLessThan(onDeno ? 250 * MB : 120 * MB);
  }, 60_000);
}
