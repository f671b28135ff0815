import { describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { identifyChild, listPids, readStat } from "../../lib/platform/proc.ts";
import type { ProcessIdentity } from "../../lib/session/launch.ts";
import { type Census, createCensus, GroupCensus, type Member } from "../../lib/supervisor/census.ts";
import { endAll, killNow, type Send } from "../../lib/supervisor/kill.ts";
import { LINEAGE } from "../../lib/supervisor/lineage.ts";
import { isAlive, newRuntime, PATH, until } from "../fixtures/supervision.ts";

/** A grace that outlasts any test: what ends in it has ended at once. */
const ENDLESS_MS = 600_000;

/** Starts a script of ours, tagged, and waits until it says that it is ready. */
async function start(script: string, options: { readonly detached?: boolean; readonly entry?: string } = {}) {
  const entry = options.entry ?? `${newRuntime()}/call`;
  const env = { PATH, [LINEAGE]: entry };
  const child = spawn("sh", ["-c", script], { env, detached: options.detached ?? true, stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const pid = child.pid ?? 0;
  return { child, entry, identity: identifyChild(pid), exited: new Promise((resolve) => child.once("exit", resolve)) };
}

/** Sends signals for real, and remembers them. */
function recorder() {
  const sent: string[] = [];
  const send: Send = (pid, signal) => {
    sent.push(`${signal} ${pid}`);
    process.kill(pid, signal);
  };
  return { sent, send };
}

/** Its looks are too old: the first shows members that are not there any more, the others show that. */
class StaleCensus implements Census {
  readonly precise = true;
  #shown: readonly Member[];

  constructor(shown: readonly Member[]) {
    this.#shown = shown;
  }

  take(): Promise<readonly Member[]> {
    return Promise.resolve(this.peek());
  }

  peek(): readonly Member[] {
    const shown = this.#shown;
    this.#shown = [];
    return shown;
  }

  claim(): void {}

  release(): void {}

  prepare() {
    return { strays: [], gone: [] };
  }
}

function clean(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
}

/** Case 11. */
describe("endAll()", () => {
  test("asks first, and sends nothing after the process has gone", async () => {
    const { child, entry, identity, exited } = await start("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    const { sent, send } = recorder();
    const ended = await endAll({ leader: identity, entry }, createCensus(), ENDLESS_MS, send);
    expect(sent.slice(0, 2)).toEqual([`SIGTERM -${identity.pid}`, `SIGCONT -${identity.pid}`]);
    expect(ended.surviving).toEqual([]);
    await exited;
    expect(child.exitCode).toBe(0);
    const before = sent.length;
    await endAll({ leader: identity, entry }, createCensus(), ENDLESS_MS, send);
    expect(sent.length).toBe(before);
  });

  test("reaches a process that was stopped", async () => {
    const { child, entry, identity, exited } = await start("echo ready; exec sleep 300");
    process.kill(identity.pid, "SIGSTOP");
    await until("it stands still", () => readFileSync(`/proc/${identity.pid}/stat`, "utf8").includes(") T "));
    await endAll({ leader: identity, entry }, createCensus(), ENDLESS_MS);
    await exited;
    expect(child.signalCode).toBe("SIGTERM");
  });

  test("insists after the grace", async () => {
    const { child, entry, identity, exited } = await start("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    const { sent, send } = recorder();
    await endAll({ leader: identity, entry }, createCensus(), 200, send);
    await exited;
    expect(child.signalCode).toBe("SIGKILL");
    expect(sent.findIndex((each) => each.startsWith("SIGSTOP"))).toBeLessThan(sent.findIndex((each) => each.startsWith("SIGKILL")));
  });

  test("never signals a group that the process does not lead, least of all our own", async () => {
    const { child, entry, identity, exited } = await start("echo ready; exec sleep 300", { detached: false });
    expect(identity.pgid).toBe(readStat(process.pid)?.pgid ?? 0);
    const { sent, send } = recorder();
    await endAll({ leader: identity, entry }, createCensus(), 2000, send);
    await exited;
    expect(child.signalCode).toBe("SIGTERM");
    expect(sent.filter((each) => each.includes(" -"))).toEqual([]);
  });

  test("leaves a process alone that has the pid but not the start time", async () => {
    const { child, identity } = await start("echo ready; exec sleep 300");
    const { sent, send } = recorder();
    const stranger: ProcessIdentity = { ...identity, start_time: String(Number(identity.start_time) - 1) };
    const ended = await endAll({ leader: stranger, entry: "rt/none" }, createCensus(), 100, send);
    expect(ended).toEqual({ found: [], insisted: [], surviving: [] });
    expect(sent).toEqual([]);
    expect(isAlive(identity.pid)).toBe(true);
    clean(child);
  });

  test("signals nobody whose pid was given away between the look and the signal", async () => {
    const { child, identity } = await start("echo ready; exec sleep 300");
    const start_time = String(Number(identity.start_time) - 1);
    const gone: Member = { pid: identity.pid, pgid: identity.pgid, start_time, command: "sleep" };
    for (const leader of [null, { ...identity, start_time }]) {
      const target = { leader, entry: "rt/none" };
      const { sent, send } = recorder();
      await endAll(target, new StaleCensus([gone]), 1000, send);
      killNow(target, new StaleCensus([gone]), send);
      expect(sent).toEqual([]);
    }
    expect(isAlive(identity.pid)).toBe(true);
    clean(child);
  });

  test("spares the one that is to stay and ends what it started", async () => {
    const { child, entry, identity } = await start("sleep 300 & setsid sleep 301 & echo ready; wait");
    const { sent, send } = recorder();
    await until("both have started", () => childrenOf(identity.pid).filter(({ command }) => command === "sleep").length === 2);
    const ended = await endAll({ leader: identity, entry, spared: identity.pid }, createCensus(), 1000, send);
    expect(ended.found.map(({ command }) => command)).toEqual(["sleep", "sleep"]);
    expect(sent.filter((each) => each.includes(`-${identity.pid}`))).toEqual([]);
    await until("the shell has waited for both", () => !isAlive(identity.pid));
    clean(child);
  });

  test("finds by its tag alone what belongs to a process that is not known", async () => {
    const { child, entry, identity, exited } = await start("setsid sleep 300 & echo ready; wait");
    const ended = await endAll({ leader: null, entry }, createCensus(), 1000);
    await exited;
    expect(ended.found).toHaveLength(2);
    expect(isAlive(identity.pid)).toBe(false);
    clean(child);
  });

  test("of two calls ends the one that was meant", async () => {
    const entry = `${newRuntime()}/call`;
    const one = await start("echo ready; exec sleep 300", { entry: `${entry}_1` });
    const two = await start("echo ready; exec sleep 300", { entry: `${entry}_2` });
    const census = createCensus();
    await endAll({ leader: one.identity, entry: one.entry }, census, 1000);
    expect([isAlive(one.identity.pid), isAlive(two.identity.pid)]).toEqual([false, true]);
    await endAll({ leader: two.identity, entry: two.entry }, census, 1000);
    expect(isAlive(two.identity.pid)).toBe(false);
  });
});

describe("where there is no /proc", () => {
  test("the group is ended, and nothing but the group is signalled", async () => {
    // One process: a zombie that was adopted would keep the group's number, and where there is no /proc nobody adopts.
    const { entry, identity, exited } = await start("trap '' TERM; echo ready; exec sleep 300");
    const { sent, send } = recorder();
    await endAll({ leader: identity, entry }, new GroupCensus(), 100, send);
    await exited;
    expect(new Set(sent)).toEqual(new Set([`SIGTERM -${identity.pid}`, `SIGCONT -${identity.pid}`, `SIGKILL -${identity.pid}`]));
  });
});

function childrenOf(pid: number) {
  return listPids().map(readStat).filter((stat) => stat !== null).filter(({ ppid, alive }) => ppid === pid && alive);
}
