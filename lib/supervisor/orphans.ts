/**
 * [main thread] Children that came to us though we did not start them: descendants of calls whose parents have ended
 * (see platform/reaper.ts). Most carry our tag or were seen in time, and are ended with their call by whoever ends it.
 * This file is for the others, and for what all of them leave when they end: a zombie.
 *
 * O1  An orphan that nothing is known of belongs to one of the calls that ran when it was born. It is ended when the
 *     last of them ends: at once if there was only one, and never while it may be another call's that still runs.
 *     It is told as that call's for certain only if that call never ran beside another.
 * O2  That is so only if every child of this process is ours or an orphan of ours: when the program is our own, and not
 *     PID 1, to which the orphans of strangers go as well. Elsewhere an unknown orphan is left alone.
 * O3  A member of our own session is no call's: every call has a session of its own.
 * O4  A zombie that was adopted is collected; where O2 does not hold, only one that its rightful parent, if it has one
 *     here, has had five seconds to collect. An exit status is never taken from Bun or Deno: what they started is
 *     started by worker threads, which the kernel lists apart, or is a watchdog.
 * O5  The watchdog is told of an orphan as soon as it is seen: nothing else would lead to it.
 */
import process from "node:process";
import { hasProc, type ProcessStat, readEnviron, readStat } from "../platform/proc.ts";
import { childrenOfMainThread, collectZombie } from "../platform/reaper.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import type { ReapedProcess } from "../session/outcome.ts";
import type { Census } from "./census.ts";
import { endAll } from "./kill.ts";
import { carries, entryOfAnyCall, LINEAGE } from "./lineage.ts";
import { LEFTOVER_GRACE_MS } from "./unstarted.ts";
import { isWatchdog, type Watchdog } from "./watchdog.ts";

/** A call that runs, and its process as soon as there is one. */
export interface RunningCall {
  readonly leader: ProcessIdentity | null;
}

interface Orphan {
  readonly stat: ProcessStat;
  /** Calls it may belong to. */
  readonly candidates: Set<RunningCall>;
  /** Whether it can be no other call's. */
  readonly certain: boolean;
}

export class Orphans {
  readonly #runtime: string;
  readonly #sole: boolean;
  readonly #census: Census;
  readonly #watchdog: Pick<Watchdog, "tell" | "forget">;
  readonly #running = new Set<RunningCall>();
  /** Calls that ran while another did. */
  readonly #accompanied = new WeakSet<RunningCall>();
  readonly #orphans = new Map<string, Orphan>();
  /** Those that the watchdog knows of (O5). */
  readonly #told = new Set<string>();
  /** When a zombie was first seen. */
  readonly #zombies = new Map<string, number>();
  readonly #endings = new Set<Promise<unknown>>();
  #timer: ReturnType<typeof setInterval> | null = null;

  /** @param sole whether nothing but this supervisor starts processes here */
  constructor(runtime: string, sole: boolean, census: Census, watchdog: Pick<Watchdog, "tell" | "forget">) {
    this.#runtime = runtime;
    this.#sole = sole;
    this.#census = census;
    this.#watchdog = watchdog;
  }

  /** What of a call may outlive it here, for people. */
  get unpromised(): readonly string[] {
    if (!hasProc()) return [];
    const lost = "a process that drops its tag and leaves its session before it was seen can outlive its call";
    if (process.pid === 1) return [`As PID 1, ${lost}: the orphans of strangers are adopted too, and cannot be told from it`];
    return childrenOfMainThread() === null ? [`On this kernel ${lost}: it does not list children`] : [];
  }

  begin(call: RunningCall): void {
    this.#running.add(call);
    if (this.#running.size > 1) this.#running.forEach((each) => this.#accompanied.add(each));
    this.#timer ??= setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  /** Null: there is nothing that the end of this call would end. Else what was ended. */
  end(call: RunningCall): Promise<readonly ReapedProcess[]> | null {
    this.#look();
    this.#running.delete(call);
    for (const { candidates } of this.#orphans.values()) candidates.delete(call);
    return this.#isSomebodyDoomed() ? this.#track(this.#endDoomed()) : null;
  }

  /** Resolves when none is left that should be ended. To be called when no call runs any more. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#endings);
    await this.#sweep();
  }

  async #sweep(): Promise<void> {
    this.#look();
    if (this.#isSomebodyDoomed()) await this.#track(this.#endDoomed());
  }

  #track<T>(ending: Promise<T>): Promise<T> {
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
    return ending;
  }

  #isSomebodyDoomed(): boolean {
    return [...this.#orphans.values()].some(({ candidates }) => candidates.size === 0);
  }

  /** Those that have been ended may leave orphans of their own. */
  async #endDoomed(): Promise<readonly ReapedProcess[]> {
    const reaped: ReapedProcess[] = [];
    for (let generations = 0; generations < MAX_GENERATIONS; generations++) {
      const doomed = [...this.#orphans].filter(([, { candidates }]) => candidates.size === 0);
      if (doomed.length === 0) break;
      for (const [key] of doomed) this.#orphans.delete(key);
      reaped.push(...(await Promise.all(doomed.map(([, orphan]) => this.#endOne(orphan)))).flat());
      this.#look();
    }
    return [...new Map(reaped.map((each) => [each.pid, each])).values()];
  }

  async #endOne({ stat, certain }: Orphan): Promise<readonly ReapedProcess[]> {
    const { found } = await endAll({ leader: stat, entry: null }, this.#census, LEFTOVER_GRACE_MS);
    const all = [{ pid: stat.pid, command: stat.command }, ...found];
    return certain ? all : all.map((each) => ({ ...each, uncertain: true as const }));
  }

  #look(): void {
    const children = new Map<string, ProcessStat>();
    for (const pid of childrenOfMainThread() ?? []) {
      const stat = isWatchdog(pid) ? null : readStat(pid);
      if (stat !== null && stat.ppid === process.pid) children.set(keyOf(stat), stat);
    }
    for (const key of this.#told) if (children.get(key)?.alive !== true) this.#forget(key);
    for (const key of this.#zombies.keys()) if (!children.has(key)) this.#zombies.delete(key);
    for (const [key, stat] of children) {
      if (!stat.alive) this.#collect(key, stat);
      else if (!this.#orphans.has(key) && this.#isUnknown(stat)) this.#adopt(key, stat);
    }
  }

  #adopt(key: string, stat: ProcessStat): void {
    const candidates = this.#candidatesFor(stat);
    const [only, ...others] = candidates;
    const certain = only !== undefined && others.length === 0 && !this.#accompanied.has(only);
    this.#orphans.set(key, { stat, candidates, certain });
    this.#told.add(key);
    this.#watchdog.tell(key, stat);
  }

  #forget(key: string): void {
    this.#orphans.delete(key);
    this.#told.delete(key);
    this.#watchdog.forget(key);
  }

  /** O2, O3. */
  #isUnknown(stat: ProcessStat): boolean {
    if (!this.#sole || process.pid === 1 || stat.sid === ownSession()) return false;
    const tag = readEnviron(stat.pid, LINEAGE);
    return tag.kind !== "read" || tag.value === null || !carries(tag.value, entryOfAnyCall(this.#runtime));
  }

  /** O1. */
  #candidatesFor(orphan: ProcessStat): Set<RunningCall> {
    const bornBefore = ({ leader }: RunningCall) => leader === null || Number(leader.start_time) <= Number(orphan.start_time);
    return new Set([...this.#running].filter(bornBefore));
  }

  /** O4. */
  #collect(key: string, stat: ProcessStat): void {
    const since = this.#zombies.get(key) ?? performance.now();
    this.#zombies.set(key, since);
    if (this.#sole || performance.now() - since > UNCLAIMED_MS) collectZombie(stat.pid);
  }
}

const SWEEP_MS = 250;
const UNCLAIMED_MS = 5000;
const MAX_GENERATIONS = 20;

let session: number | undefined;

function ownSession(): number {
  return session ??= readStat(process.pid)?.sid ?? 0;
}

function keyOf({ pid, start_time }: ProcessStat): string {
  return `${pid}:${start_time}`;
}
