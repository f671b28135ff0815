import { afterEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { hasProc, identifyChild, listPids, readEnviron, readStat } from "../../lib/platform/proc.ts";
import { createCensus } from "../../lib/supervisor/census.ts";
import { LINEAGE } from "../../lib/supervisor/lineage.ts";
import { newRuntime, PATH, until } from "../fixtures/supervision.ts";

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

async function start(entry: string, command: readonly string[]) {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { env: { PATH, [LINEAGE]: entry }, detached: true, stdio: "ignore" });
  started.push(child);
  await new Promise((resolve) => child.once("spawn", resolve));
  return identifyChild(child.pid ?? 0);
}

describe("/proc", () => {
  test("tells of ourselves what we know", () => {
    expect(hasProc()).toBe(true);
    const stat = readStat(process.pid);
    expect(stat?.ppid).toBe(process.ppid);
    expect(stat?.alive).toBe(true);
    expect(listPids()).toContain(process.pid);
  });

  test("a command with a parenthesis and a space in its name does not shift the fields", async () => {
    const entry = `${newRuntime()}/c`;
    const identity = await start(entry, ["sh", "-c", "printf 'a) S 1 (b' > /proc/$$/comm; while :; do sleep 1; done"]);
    await until("it has its name", () => readStat(identity.pid)?.command === "a) S 1 (b");
    const stat = readStat(identity.pid);
    expect(stat?.ppid).toBe(process.pid);
    expect(stat?.start_time).toBe(identity.start_time);
  });

  test("a variable is found by its whole name, in an environment of any size", async () => {
    const env = { PATH, [`X${LINEAGE}`]: "wrong", BIG: "x".repeat(120_000), BIG_2: "x".repeat(120_000), [LINEAGE]: "right" };
    const child = spawn("sleep", ["300"], { env, stdio: "ignore" });
    started.push(child);
    const pid = child.pid ?? 0;
    // First it has ours, and then for a moment none.
    await until("its environment is there", () => readStat(pid)?.command === "sleep" && readEnviron(pid, LINEAGE).kind !== "pending");
    expect(readEnviron(pid, LINEAGE)).toEqual({ kind: "read", value: "right" });
    expect(readEnviron(pid, "NOT_THERE")).toEqual({ kind: "read", value: null });
  });

  test("an environment that is still to come is not taken for none", async () => {
    for (let round = 0; round < 200; round++) {
      const child = spawn("sleep", ["300"], { env: { [LINEAGE]: "mine" }, stdio: "ignore" });
      started.push(child);
      const kinds = Array.from({ length: 20 }, () => readEnviron(child.pid ?? 0, LINEAGE).kind);
      expect(["read", "pending"]).toEqual(expect.arrayContaining([...new Set(kinds)]));
      child.kill("SIGKILL");
    }
    const bare = spawn("env", ["-i", "sleep", "300"], { stdio: "ignore" });
    started.push(bare);
    const pid = bare.pid ?? 0;
    await until("it has none", () => readStat(pid)?.command === "sleep" && readEnviron(pid, LINEAGE).kind !== "pending");
    expect(readEnviron(pid, LINEAGE)).toEqual({ kind: "empty" });
  });

  test("a process that is not there is no error", () => {
    expect(readStat(2 ** 22 + 1)).toBe(null);
    expect(readEnviron(2 ** 22 + 1, LINEAGE)).toEqual({ kind: "gone" });
  });
});

describe("a census", () => {
  test("finds a process in the very moment it was started", async () => {
    const census = createCensus();
    for (let round = 0; round < 100; round++) {
      const entry = `${newRuntime()}/c`;
      const child = spawn("sleep", ["300"], { env: { PATH, [LINEAGE]: entry }, stdio: "ignore" });
      started.push(child);
      const members = await census.take({ leader: null, entry });
      expect(members.map(({ pid }) => pid)).toEqual([child.pid ?? 0]);
      child.kill("SIGKILL");
    }
  }, 20_000);

  test("finds nobody who was born before the call, nor ourselves", async () => {
    const entry = `${newRuntime()}/c`;
    await start(entry, ["sleep", "300"]);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const later = await start(`${newRuntime()}/c`, ["sleep", "300"]);
    const census = createCensus();
    expect(await census.take({ leader: later, entry })).toHaveLength(1);
    const self = identifyChild(process.pid);
    expect((await census.take({ leader: self, entry: "none/none" })).map(({ pid }) => pid)).not.toContain(process.pid);
  });

  for (const seconds of [0, 0.1, 0.6]) {
    test(`tells of one that drops its tag ${seconds} s after it was looked at`, async () => {
      const census = createCensus();
      const entry = `${newRuntime()}/c`;
      const identity = await start(entry, ["sh", "-c", `sh -c 'sleep ${seconds}; exec env -i setsid sleep 300' & sleep 300`]);
      census.claim(identity, entry);
      const seen: number[] = [];
      const look = () => {
        seen.push(...census.prepare().strays.filter(({ lineage }) => lineage === entry).map(({ identity: { pid } }) => pid));
        return seen.length > 0;
      };
      await until("it was seen", look);
      process.kill(seen[0] ?? 0, "SIGKILL");
      expect(seen).toHaveLength(1);
    }, 15_000);
  }

  test("tells of a stray once, and once more when it has gone", async () => {
    const census = createCensus();
    const entry = `${newRuntime()}/c`;
    const identity = await start(entry, ["sh", "-c", "env -i setsid sleep 2 & sleep 300"]);
    census.claim(identity, entry);
    const strays: number[] = [];
    const gone: number[] = [];
    // Other runtimes of this machine have strays too.
    const look = () => {
      const seen = census.prepare();
      strays.push(...seen.strays.filter(({ lineage }) => lineage === entry).map(({ identity: { pid } }) => pid));
      gone.push(...seen.gone.map(({ pid }) => pid).filter((pid) => strays.includes(pid)));
    };
    await until("it was seen, and has gone", () => (look(), gone.length > 0));
    expect(strays).toHaveLength(1);
    expect(gone).toEqual(strays);
  }, 15_000);

  test("does not count the dead", async () => {
    const census = createCensus();
    const entry = `${newRuntime()}/c`;
    const identity = await start(entry, ["true"]);
    await until("it has ended", () => readStat(identity.pid)?.alive !== true);
    expect(await census.take({ leader: identity, entry })).toEqual([]);
  });
});
