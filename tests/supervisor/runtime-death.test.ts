/** The runtime is killed: within two seconds, and without a restart, nothing that it started is alive (P4, case 9). */
import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { identifyChild } from "../../lib/platform/proc.ts";
import { SCRIPT } from "../../lib/supervisor/watchdog.ts";
import { quote, runtimeCommand, startRuntime, untilNothingIsLeft, watchdogsOf } from "../fixtures/runtimes.ts";
import {
  isAlive,
  newRuntime,
  onDeno,
  openBench,
  PATH,
  signalOne,
  sourceCommand,
  taggedPids,
  until,
  watchdogCommand,
} from "../fixtures/supervision.ts";

const LIMIT_MS = 2000;

describe("when the runtime is killed", () => {
  test("its calls, its conversations and its tool hosts go, and the watchdog after them", async () => {
    await using runtime = startRuntime({
      scripts: ["setsid sleep 300 & (setsid sh -c 'sleep 301 & sleep 302' &) ; echo x; trap '' TERM; sleep 303"],
      hosted: ["hang"],
      conversations: ["echo y; exec cat"],
      started_after_bytes: 4,
    });
    await runtime.line("started");
    await until("all of it runs", () => taggedPids(runtime.runtime).length === 8);
    const watchdogs = watchdogsOf(runtime.runtime);
    expect(watchdogs).toHaveLength(1);
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
    await until("the watchdog has gone", () => !watchdogs.some(isAlive), 2000);
  }, 20_000);

  test("what dropped its tag goes too, in the group, outside it, and after its parent has gone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
    const tell = (name: string) => `echo $$ > ${folder}/${name}`;
    const scripts = [
      `env -i sh -c '${tell("grouped")}; sleep 300; :' &`,
      `env -i setsid sh -c '${tell("away")}; sleep 0.5; sleep 301 & echo $! > ${folder}/child; sleep 302' &`,
      // Its parent is there long enough to be seen.
      `(env -i setsid sh -c '${tell("orphan")}; sleep 303; :' & sleep 0.5)`,
    ];
    const names = ["grouped", "away", "child", "orphan"];
    await using runtime = startRuntime({ scripts: [`${scripts.join("\n")}\nsleep 1.2; echo x; sleep 304`], started_after_bytes: 2 });
    await runtime.line("started");
    const pids = names.map((name) => Number(readFileSync(join(folder, name), "utf8")));
    expect(pids.every(isAlive)).toBe(true);
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime, pids)).toBeLessThan(LIMIT_MS);
    rmSync(folder, { recursive: true });
  }, 20_000);

  test("an orphan goes too that nothing is known of but that it became the runtime's child", async () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
    const file = join(folder, "pid");
    const orphan = `echo \\$\\$ > ${file}; exec sleep 300`;
    const script = `env -i setsid sh -c 'sh -c "${orphan}" &'; while [ ! -s ${file} ]; do sleep 0.01; done; sleep 1; echo x; sleep 301`;
    await using runtime = startRuntime({ scripts: [script], started_after_bytes: 2 });
    await runtime.line("started");
    const pid = Number(readFileSync(file, "utf8"));
    expect(isAlive(pid)).toBe(true);
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime, [pid])).toBeLessThan(LIMIT_MS);
    rmSync(folder, { recursive: true });
  }, 20_000);

  test("those who fork without end are outrun", async () => {
    const forker = "setsid sh -c 'while :; do sleep 0.001 & sleep 0.002; done' &";
    await using runtime = startRuntime({ scripts: [`${forker} ${forker} ${forker} echo x; sleep 300`], started_after_bytes: 2 });
    await runtime.line("started");
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS + 1000);
  }, 20_000);

  for (const die_after_ms of onDeno ? [0, 60, 120] : [0, 5, 10, 20, 30, 45, 60, 90, 120]) {
    test(`${die_after_ms} ms after it asked for its first calls`, async () => {
      await using runtime = startRuntime({ scripts: ["sleep 300", "setsid sleep 301 & sleep 302"], hosted: ["hang"], die_after_ms });
      await runtime.finish();
      expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
      await until("the watchdog has gone", () => watchdogsOf(runtime.runtime).length === 0, 2000);
    }, 20_000);
  }

  test("in the moment of a spawn", async () => {
    for (let round = 0; round < 5; round++) {
      await using runtime = startRuntime({ scripts: ["setsid sleep 301 & sleep 302", "sleep 303"], die_at_spawn: true });
      await runtime.finish();
      expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
    }
  }, 30_000);
});

describe("a runtime within a call of another", () => {
  const innerPlan = () => ({ runtime: newRuntime(), scripts: ["setsid sleep 300 & echo x; sleep 301"], started_after_bytes: 2 });

  test("dies with the outer one, and so does what it started", async () => {
    const inner = innerPlan();
    await using outer = startRuntime({ scripts: [`exec ${quote(runtimeCommand(inner))}`], started_after_bytes: 2 });
    await outer.line("started");
    await until("both levels run", () => taggedPids(inner.runtime).length === 3);
    const watchdogs = [...watchdogsOf(inner.runtime), ...watchdogsOf(outer.runtime)];
    expect(watchdogs).toHaveLength(2);
    await outer.kill();
    expect(await untilNothingIsLeft(outer.runtime)).toBeLessThan(LIMIT_MS);
    await until("the watchdogs have gone", () => !watchdogs.some(isAlive), 2000);
  }, 20_000);

  test("dies alone, and the outer call goes on", async () => {
    const inner = innerPlan();
    const script = `${quote(runtimeCommand(inner))} & pid=$!; echo $pid; wait $pid; sleep 1; echo still here`;
    await using outer = startRuntime({ scripts: [script], started_after_bytes: 8 });
    await outer.line("started");
    await until("both levels run", () => taggedPids(inner.runtime).length === 3);
    const [innerPid] = taggedPids(outer.runtime).filter((pid) => !taggedPids(inner.runtime).includes(pid) && isRuntime(pid));
    signalOne(innerPid, "SIGKILL");
    expect(await untilNothingIsLeft(inner.runtime)).toBeLessThan(LIMIT_MS);
    await until("its watchdog has gone", () => watchdogsOf(inner.runtime).length === 0, 2000);
    const settled = await outer.line("call");
    expect(settled["outcome"]).toEqual({ kind: "exited", code: 0 });
    expect(String(settled["stdout"])).toContain("still here");
  }, 20_000);

  test("is ended with the outer's call, and leaves nothing, its watchdog included", async () => {
    await using bench = openBench();
    const inner = innerPlan();
    const stop = new AbortController();
    const run = await bench.run(runtimeCommand(inner), { signal: stop.signal, onOutput: () => stop.abort() });
    expect(run.outcome).toEqual({ kind: "cancelled" });
    expect(run.stdout.text).toContain("started");
    expect(taggedPids(inner.runtime)).toEqual([]);
    await until("its watchdog has gone", () => watchdogsOf(inner.runtime).length === 0);
  }, 20_000);
});

describe("the watchdog", () => {
  test("is started again when it is killed, and knows what lives", async () => {
    const script = "env -i setsid sh -c 'echo $$; sleep 300; :' & sleep 1; echo xxxxxxxx; sleep 301";
    await using runtime = startRuntime({ scripts: [script], started_after_bytes: 10 });
    await runtime.line("started");
    const [first] = watchdogsOf(runtime.runtime);
    signalOne(first, "SIGKILL");
    await until("there is another", () => watchdogsOf(runtime.runtime).some((pid) => pid !== first));
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
  }, 20_000);

  test("is not named by what names the program: a kill by pattern leaves it", async () => {
    await using runtime = startRuntime({ scripts: ["setsid sleep 300 & echo x; sleep 301"], started_after_bytes: 2 });
    await runtime.line("started");
    const [watchdog = 0] = watchdogsOf(runtime.runtime);
    const line = readFileSync(`/proc/${watchdog}/cmdline`, "utf8").toLowerCase();
    expect(line).toContain("while read");
    for (const word of ["orrery", "watchdog", ...watchdogCommand.filter((each) => each.includes("/"))]) {
      expect([word, line.includes(word.toLowerCase())]).toEqual([word, false]);
    }
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
  }, 20_000);

  test("that is killed again and again is back in a moment each time", async () => {
    await using runtime = startRuntime({ scripts: ["setsid sleep 300 & echo x; sleep 301"], started_after_bytes: 2 });
    await runtime.line("started");
    const killed: number[] = [];
    const present = () => watchdogsOf(runtime.runtime).find((pid) => !killed.includes(pid));
    for (let round = 0; round < 8; round++) {
      await until("it is there", () => present() !== undefined, 1000);
      const pid = present();
      signalOne(pid, "SIGKILL");
      killed.push(pid ?? 0);
    }
    await until("it is there", () => present() !== undefined, 1000);
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
  }, 20_000);

  test("performs the last rites although the program was removed meanwhile", async () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
    const program = join(folder, "program");
    writeFileSync(program, `#!/bin/sh\necho "$@" > ${folder}/told\n`, { mode: 0o755 });
    const watchdog = spawn("/bin/sh", ["-c", SCRIPT, "sh", "rt_1"], {
      stdio: ["pipe", "inherit", "inherit"],
      env: { PATH, LAST_RITES: `${program}\nfirst\nsecond word` },
    });
    await until("it has opened the program", () => existsSync(`/proc/${watchdog.pid}/fd/3`));
    rmSync(program);
    watchdog.stdin.end("+ 7:8\n");
    await once(watchdog, "exit");
    expect(readFileSync(join(folder, "told"), "utf8")).toBe("first second word rt_1 7:8\n");
    rmSync(folder, { recursive: true });
  });

  test("has a list that is short enough to be of use, however many come and go or stay", async () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
    const program = join(folder, "program");
    writeFileSync(program, `#!/bin/sh\necho "$@" > ${folder}/telling && mv ${folder}/telling ${folder}/told\n`, { mode: 0o755 });
    const runtime = spawn("env", [...sourceCommand("./programs/crowded.ts"), program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(runtime.stdout, "data");
    runtime.kill("SIGKILL");
    await until("the rites have begun", () => existsSync(join(folder, "told")), LIMIT_MS);
    const [id, ...living] = readFileSync(join(folder, "told"), "utf8").trim().split(" ");
    expect([id, living[0], living.at(-1)]).toEqual(["rt_1", "100:1", "200:2"]);
    expect(living.length).toBeLessThan(5000);
    expect(living.filter((record) => record.startsWith("1")).length).toBeLessThan(500);
    rmSync(folder, { recursive: true });
  }, 20_000);

  test("is not moved by the signals that end a session", async () => {
    await using runtime = startRuntime({ scripts: ["echo x; sleep 300"], started_after_bytes: 2 });
    await runtime.line("started");
    const [watchdog] = watchdogsOf(runtime.runtime);
    for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) signalOne(watchdog, signal);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(watchdogsOf(runtime.runtime)).toEqual(watchdog === undefined ? [] : [watchdog]);
    await runtime.kill();
    expect(await untilNothingIsLeft(runtime.runtime)).toBeLessThan(LIMIT_MS);
  }, 20_000);

  test("goes when the runtime closes", async () => {
    const bench = openBench();
    await bench.run(["true"]);
    expect(watchdogsOf(bench.runtime)).toHaveLength(1);
    await bench[Symbol.asyncDispose]();
    expect(watchdogsOf(bench.runtime)).toEqual([]);
  });

  test("is not there before something is started", async () => {
    await using bench = openBench();
    expect(watchdogsOf(bench.runtime)).toEqual([]);
    expect(bench.supervisor.unpromised()).toEqual([]);
  });

  for (const way of ["by a shell", "by our own program"]) {
    test(`started ${way} kills what it was told of, and never another that has the pid now`, async () => {
      const runtime = newRuntime();
      const strangers = [spawn("sleep", ["300"], { detached: true }), spawn("sleep", ["301"], { detached: true })];
      await Promise.all(strangers.map((stranger) => once(stranger, "spawn")));
      const [known, reused] = strangers.map(({ pid = 0 }) => identifyChild(pid));
      const records = [`${known?.pid}:${known?.start_time}`, `${reused?.pid}:${Number(reused?.start_time) - 1}`];
      const [program = "", ...args] = [...watchdogCommand, runtime, ...records];
      const watchdog = spawn(program, args, {
        stdio: [way === "by a shell" ? "ignore" : "pipe", "inherit", "inherit"],
        env: { ...process.env, PATH },
      });
      if (way !== "by a shell") {
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(isAlive(known?.pid ?? 0)).toBe(true);
        watchdog.stdin?.end();
      }
      await once(watchdog, "exit");
      expect(isAlive(known?.pid ?? 0)).toBe(false);
      expect(isAlive(reused?.pid ?? 0)).toBe(true);
      strangers[1]?.kill("SIGKILL");
    }, 10_000);
  }

  test("kills by group when the program that should do it is no longer there", async () => {
    const strangers = [spawn("sleep", ["300"], { detached: true }), spawn("sleep", ["301"], { detached: true })];
    await Promise.all(strangers.map((stranger) => once(stranger, "spawn")));
    const [known, reused] = strangers.map(({ pid = 0 }) => identifyChild(pid));
    if (known === undefined || reused === undefined) throw new Error("Two processes should have been started");
    const watchdog = spawn("/bin/sh", ["-c", SCRIPT, "watchdog", "/no/such/program", newRuntime()], {
      stdio: ["pipe", "inherit", "inherit"],
    });
    const lines = [
      `+ ${known.pid}:${known.start_time}`,
      `+ ${reused.pid}:${Number(reused.start_time) - 1}`,
      `+ ${reused.pid}:${reused.start_time}`,
    ];
    watchdog.stdin.end([...lines, `- ${reused.pid}:${reused.start_time}`, ""].join("\n"));
    await once(watchdog, "exit");
    await until("its group is gone", () => !isAlive(known.pid));
    expect(isAlive(reused.pid)).toBe(true);
    strangers[1]?.kill("SIGKILL");
  });
});

function isRuntime(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("programs/runtime.ts") &&
    readFileSync(`/proc/${pid}/stat`, "utf8").includes("(sh)") === false;
}
