import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Bench, isAlive, newCall, onDeno, openBench, type RunOptions, taggedPids, timed } from "../fixtures/supervision.ts";

let bench: Bench;
beforeAll(async () => {
  bench = openBench();
  await bench.run(["true"]);
});
afterAll(() => bench[Symbol.asyncDispose]());

/** Runs a script and checks what holds after every call: nothing of it is alive. */
async function settle(script: string, options: RunOptions = {}) {
  const call = newCall();
  const { value: run, ms } = await timed(() => bench.sh(script, { ...options, call }));
  expect(taggedPids(bench.runtime, call)).toEqual([]);
  return { ...run, ms };
}

describe("an ordinary call", () => {
  test("gives its exit code, its output and its time", async () => {
    const run = await settle("echo out; echo err >&2; exit 3");
    expect(run.outcome).toEqual({ kind: "exited", code: 3 });
    expect(run.stdout).toEqual({ text: "out\n", bytes: 4, cut: false });
    expect(run.stderr).toEqual({ text: "err\n", bytes: 4, cut: false });
    expect(run.reaped).toEqual([]);
    expect(run.problem).toBe(undefined);
    expect(run.duration_ms).toBeGreaterThan(0);
    expect(run.duration_ms).toBeLessThan(run.ms + 1);
  });

  test("that dies of a signal says which", async () => {
    expect((await settle("kill -SEGV $$")).outcome).toEqual({ kind: "signalled", signal: "SIGSEGV" });
    expect((await settle("kill -40 $$")).outcome).toEqual({ kind: "signalled", signal: "SIGRTMIN+6" });
  });

  test("knows its session, its call and its lineage", async () => {
    const { stdout } = await bench.sh('echo "$ORRERY_SESSION $ORRERY_CALL $ORRERY_LINEAGE"', { session: "ses_1", call: "call_1" });
    expect(stdout.text).toBe(`ses_1 call_1 ${bench.runtime}/call_1\n`);
  });

  test("is told of when it is spawned, before it settles, and is listed while it lives", async () => {
    const gate = join(bench.folder, "gate");
    const spawned = Promise.withResolvers<{ pid: number; pgid: number }>();
    const run = bench.sh(`while [ ! -e ${gate} ]; do sleep 0.01; done`, { call: "call_2", onSpawned: spawned.resolve });
    const identity = await spawned.promise;
    expect(identity.pgid).toBe(identity.pid);
    expect(bench.supervisor.live().map(({ pid, call, worker }) => ({ pid, call, worker }))).toEqual([
      { pid: identity.pid, call: "call_2", worker: bench.supervisor.workerOf("ses_test") },
    ]);
    await bench.sh(`touch ${gate}`);
    await run;
    expect(bench.supervisor.live()).toEqual([]);
  });

  test("shows its output while it runs", async () => {
    const gate = join(bench.folder, "seen");
    const seen = Promise.withResolvers<string>();
    const run = bench.sh(`echo early; while [ ! -e ${gate} ]; do sleep 0.01; done; echo late`, {
      onOutput: (_stream, text) => seen.resolve(text),
    });
    expect(await seen.promise).toBe("early\n");
    await bench.sh(`touch ${gate}`);
    expect((await run).stdout.text).toBe("early\nlate\n");
  });

  test("shows it to the end, however much came before", async () => {
    let shown = "";
    const script =
      "head -c 100000 /dev/zero | tr '\\0' x; echo; for n in 1 2 3; do echo line $n; until [ -e line$n ]; do sleep 0.02; done; done";
    const onOutput = (_stream: string, text: string) => {
      shown += text;
      const last = /line ([123])\n$/.exec(shown)?.[1];
      if (last !== undefined) writeFileSync(join(bench.folder, `line${last}`), "");
    };
    expect((await bench.sh(script, { timeout_ms: 20_000, onOutput })).outcome).toEqual({ kind: "exited", code: 0 });
    expect(shown).toContain("line 1\nline 2\nline 3\n");
  }, 30_000);
});

/** Cases 1, 2 and 4. */
describe("somebody else holds the pipes", () => {
  test("a background writer does not hold the call, and is gone", async () => {
    const run = await settle("( while :; do echo tick; sleep 0.05; done ) & echo started", { timeout_ms: 30_000 });
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
    expect(run.stdout.text).toContain("started\n");
    expect(run.reaped.length).toBeGreaterThan(0);
  });

  test("nor does a silent holder of both streams, or of standard error only", async () => {
    for (const script of ["sleep 20 & echo hi", "sleep 20 </dev/null >/dev/null & echo hi"]) {
      const run = await settle(script);
      expect(run.outcome).toEqual({ kind: "exited", code: 0 });
      expect(run.stdout.text).toBe("hi\n");
      expect(run.reaped.map(({ command }) => command)).toEqual(["sleep"]);
    }
  });

  test("nor does one that took a session of its own, or was forked twice", async () => {
    const run = await settle("setsid sleep 300 & (setsid sh -c 'sleep 301 & sleep 302' &); echo hi; exit 4");
    expect(run.outcome).toEqual({ kind: "exited", code: 4 });
    expect(run.stdout.text).toBe("hi\n");
  });

  test("nor does one that has cleared its environment and left: then only the output ends late", async () => {
    const file = join(bench.folder, "hidden.pid");
    const run = await settle(
      `env -i /bin/sh -c 'setsid /bin/sh -c "echo \\$\\$ > ${file}; exec /bin/sleep 300" &' ; while [ ! -s ${file} ]; do sleep 0.01; done; echo hi`,
    );
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
    expect(run.stdout.text).toBe("hi\n");
    const pid = Number((await bench.run(["cat", file])).stdout.text);
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });

  test("a leftover that ignores SIGTERM is killed", async () => {
    const ready = join(bench.folder, "ready");
    const run = await settle(
      `sh -c "trap '' TERM; touch ${ready}; while :; do sleep 1; done" & while [ ! -e ${ready} ]; do sleep 0.01; done`,
    );
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
    expect(run.reaped.some(({ command }) => command === "sh")).toBe(true);
  });

  test("a deadline ends a whole pipeline and keeps what it wrote", async () => {
    const run = await settle("mkfifo p; (while :; do echo c; sleep 1; done) > p & cat p", { timeout_ms: 1000 });
    expect(run.outcome).toEqual({ kind: "timed_out", after_ms: 1000 });
    expect(run.stdout.text).toContain("c\n");
  });
});

/** Cases 6 and 11. */
describe("the end of a call", () => {
  const stubborn = "trap '' TERM; echo ready; sleep 300 & sleep 301";

  test("comes at the deadline even for those who ignore SIGTERM", async () => {
    const run = await settle(stubborn, { timeout_ms: 500 });
    expect(run.outcome).toEqual({ kind: "timed_out", after_ms: 500 });
    expect(run.ms).toBeGreaterThan(1500);
    expect(run.reaped.length).toBeGreaterThan(0);
  });

  test("comes at a cancel in the same way", async () => {
    const stop = new AbortController();
    const run = await settle(stubborn, { signal: stop.signal, onOutput: () => stop.abort() });
    expect(run.outcome).toEqual({ kind: "cancelled" });
    expect(run.stdout.text).toBe("ready\n");
    expect(run.reaped.length).toBeGreaterThan(0);
  });

  test("comes from the process itself if it obeys SIGTERM, and its exit code does not change the reason", async () => {
    const stop = new AbortController();
    const script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    const run = await settle(script, { signal: stop.signal, onOutput: () => stop.abort() });
    expect(run.outcome).toEqual({ kind: "cancelled" });
    expect(run.stdout.text).toBe("ready\nbye\n");
    expect(run.reaped).toEqual([]);
  });

  test("reaches a process that was stopped", async () => {
    const run = await settle("kill -STOP $$", { timeout_ms: 200 });
    expect(run.outcome).toEqual({ kind: "timed_out", after_ms: 200 });
  });

  test("reaches those who fork faster than they can be counted", async () => {
    const run = await settle("f() { setsid sh -c 'while :; do sleep 0.001 & sleep 0.002; done' & }; f; f; f; sleep 0.3; echo done");
    expect(run.stdout.text).toBe("done\n");
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
  });

  test("does not come early for a deadline longer than a timer can be", async () => {
    expect((await settle("sleep 0.2; echo ok", { timeout_ms: 2 ** 40 })).stdout.text).toBe("ok\n");
  });
});

/** Cases 12, 14 and 15. */
describe("output", () => {
  test("of gigabytes costs no memory and keeps both ends", async () => {
    for (const redirect of ["", " 1>&2"]) {
      const before = process.memoryUsage().rss;
      let peak = before;
      const watch = setInterval(() => peak = Math.max(peak, process.memoryUsage().rss), 20);
      const run = await settle(`{ echo HEAD; yes x | head -c 3000000000; echo TAIL; }${redirect}`, { timeout_ms: 170_000 });
      clearInterval(watch);
      const stream = redirect === "" ? run.stdout : run.stderr;
      expect(stream.bytes).toBe(3_000_000_010);
      expect(stream.cut).toBe(true);
      expect(stream.text).toMatch(/^HEAD\nx\n/);
      expect(stream.text).toMatch(/x\nTAIL\n$/);
      const [, missing] = /\[… (\d+) bytes omitted …\]/.exec(stream.text) ?? [];
      expect(Buffer.byteLength(stream.text)).toBeLessThanOrEqual(65_536);
      expect(3_000_000_010 - Number(missing)).toBeGreaterThan(65_400);
      expect(3_000_000_010 - Number(missing)).toBeLessThanOrEqual(65_536);
      expect(peak - before).toBeLessThan(onDeno ? 100_000_000 : 50_000_000);
    }
  }, 180_000);

  test("that is one line of NULs past the string limit is a normal result", async () => {
    const run = await settle("head -c 2200000000 /dev/zero", { timeout_ms: 170_000 });
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
    expect(run.stdout.bytes).toBe(2_200_000_000);
    expect(run.stdout.text).toMatch(/^\0+\n\[/);
  }, 180_000);

  test("is not broken by where a write ended", async () => {
    expect((await settle("printf '\\342'; sleep 0.1; printf '\\202\\254'")).stdout).toEqual({ text: "€", bytes: 3, cut: false });
    expect((await settle("printf '\\342'")).stdout).toEqual({ text: "\ufffd", bytes: 1, cut: false });
  });

  test("is capped in bytes and cut between characters", async () => {
    const { stdout } = await settle("yes 你 | head -n 200000 | tr -d '\\n'");
    expect(stdout.bytes).toBe(600_000);
    expect(new TextEncoder().encode(stdout.text).length).toBeLessThanOrEqual(65_536 + 64);
    expect(stdout.text).not.toContain("\ufffd");
  });

  test("of both streams at once is read at once", async () => {
    const run = await settle("head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2");
    expect([run.stdout.bytes, run.stderr.bytes]).toEqual([3_000_000, 6_000_000]);
  });
});

/** Cases 17, 18 and 19. */
describe("input", () => {
  test("is one document and then its end", async () => {
    const run = await settle("cat; echo; cat; echo done", { stdin: '{"a":1}' });
    expect(run.stdout.text).toBe('{"a":1}\ndone\n');
  });

  test("is empty if there is none", async () => {
    const run = await settle('read x; echo "rc=$?"');
    expect(run.stdout.text).toBe("rc=1\n");
  });

  test("cannot come from a terminal", async () => {
    const run = await settle("exec 3</dev/tty && read x <&3; echo rc=$?");
    expect(run.outcome).toEqual({ kind: "exited", code: 2 });
    expect(run.stderr.text).toContain("/dev/tty");
  });

  test("of two megabytes that nobody reads changes nothing", async () => {
    const stdin = "x".repeat(2_000_000);
    expect((await settle("exit 0", { stdin })).outcome).toEqual({ kind: "exited", code: 0 });
    const closed = await settle("exec 0<&-; sleep 0.3; echo ok", { stdin });
    expect(closed.outcome).toEqual({ kind: "exited", code: 0 });
    expect(closed.stdout.text).toBe("ok\n");
    const held = await settle("sleep 300 & exit 5", { stdin });
    expect(held.outcome).toEqual({ kind: "exited", code: 5 });
    expect((await settle("wc -c", { stdin })).stdout.text.trim()).toBe("2000000");
  });
});

test("many calls at once each get their own result", async () => {
  const runs = await Promise.all(Array.from({ length: 20 }, (_, index) => settle(`echo ${index}; exit ${index}`)));
  expect(runs.map(({ stdout }) => stdout.text)).toEqual(runs.map((_, index) => `${index}\n`));
  expect(runs.map(({ outcome }) => outcome)).toEqual(runs.map((_, code) => ({ kind: "exited", code })));
});
