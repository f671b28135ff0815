/** Case 11(c): time is measured by a clock that nobody sets. */
import { afterEach, expect, test } from "bun:test";
import { createCensus } from "../../lib/supervisor/census.ts";
import { LINEAGE } from "../../lib/supervisor/lineage.ts";
import { runProcess } from "../../lib/supervisor/process.ts";
import { newCall, newRuntime, PATH, processLaunch, taggedPids } from "../fixtures/supervision.ts";

const realNow = Date.now;
afterEach(() => {
  Date.now = realNow;
});

/** Runs a script in this thread; the wall clock jumps when its process is there. */
async function runWithJump(script: string, timeout_ms: number, jump_ms: number) {
  const [runtime, call] = [newRuntime(), newCall()];
  const entry = `${runtime}/${call}`;
  const job = { launch: processLaunch(["sh", "-c", script], { timeout_ms }), env: { PATH, [LINEAGE]: entry }, entry };
  const watch = { onSpawned: () => void (Date.now = () => realNow() + jump_ms) };
  const run = await runProcess(job, watch, createCensus(), new AbortController().signal);
  expect(taggedPids(runtime, call)).toEqual([]);
  return run;
}

const HOUR_MS = 3_600_000;

test("a wall clock that jumps forward ends no call early, and does not lengthen it", async () => {
  const run = await runWithJump("sleep 1; echo ok", 30_000, HOUR_MS);
  expect(run.outcome).toEqual({ kind: "exited", code: 0 });
  expect(run.stdout.text).toBe("ok\n");
  expect(run.duration_ms).toBeGreaterThan(900);
  expect(run.duration_ms).toBeLessThan(30_000);
});

test("a wall clock that jumps back does not keep a deadline from coming", async () => {
  const run = await runWithJump("sleep 300", 500, -HOUR_MS);
  expect(run.outcome).toEqual({ kind: "timed_out", after_ms: 500 });
  expect(run.duration_ms).toBeLessThan(10_000);
});
