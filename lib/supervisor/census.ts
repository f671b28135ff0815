/**
 * Which processes are alive on behalf of a call, found cheaply enough to ask at every end of a call.
 *
 * C1  A process belongs to a call if it is in the call's group or session, or carries the call's entry in its
 *     environment: so `setsid` and double forks hide nothing. `env -i` and a rewritten environment do.
 * C2  A process that was born before the call's own process never belongs to it, nor does the runtime.
 * C3  A process is looked at once. It is forgotten when its pid is gone or is another process's, which is checked
 *     for whatever was not looked at within the last second: pids do not come round faster than that.
 * C4  A look is complete only if every new process could be read. One that vanished may have forked, and one whose
 *     environment is still empty (3 ms after a spawn by Bun) may be ours: both mean another look.
 *
 * Without /proc only the group can be asked for.
 */
import process from "node:process";
import { hasProc, leadsGroup, listPids, type ProcessStat, readEnviron, readStat } from "../platform/proc.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import { carries, LINEAGE } from "./lineage.ts";

/** Whose processes are looked for. */
export interface Target {
  /** The call's own process: leader of its group and session. Null if it is not known. */
  readonly leader: ProcessIdentity | null;
  /** The call's entry in the lineage. */
  readonly entry: string;
  /** A process that stays: a tool host, while what it started goes. */
  readonly spared?: number;
}

export interface Member {
  readonly pid: number;
  readonly pgid: number;
  readonly start_time: string;
  readonly command: string;
}

export interface Census {
  /** Whether members are single processes with a start time, or one group that stands for all. */
  readonly precise: boolean;
  /** All living members, read until a look is complete. */
  take(target: Target): Promise<readonly Member[]>;
  /** Those that one look finds, at once: for when there is no time left. */
  peek(target: Target): readonly Member[];
  /** Looks at what is new, ahead of need. */
  prepare(): void;
}

/** The census of this platform. One per thread: it remembers what it saw. */
export function createCensus(): Census {
  return hasProc() ? new ProcCensus() : new GroupCensus();
}

interface Known {
  readonly stat: ProcessStat;
  readonly lineage: string;
  verified: number;
}

const TRUST_MS = 1000;
/** After this an environment that is still empty is taken for one that is empty for good. */
const FILL_MS = 20;
/** Looks in a row; the busier the machine, the more of them find that somebody has vanished. */
const QUICK_LOOKS = 5;
const MAX_LOOKS = 100;

class ProcCensus implements Census {
  readonly precise = true;
  readonly #known = new Map<number, Known>();
  /** Start time and first sight of processes whose environment was empty. */
  readonly #empty = new Map<number, { readonly start_time: string; readonly since: number }>();

  prepare(): void {
    this.#look();
  }

  peek(target: Target): readonly Member[] {
    this.#look();
    return this.#membersOf(target);
  }

  async take(target: Target): Promise<readonly Member[]> {
    for (let looks = 1; looks < MAX_LOOKS; looks++) {
      const { vanished, pending } = this.#look();
      const waiting = pending.some((stat) => bornAfter(stat, target));
      if (!vanished && !waiting) break;
      if (waiting || looks > QUICK_LOOKS) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return this.#membersOf(target);
  }

  #look(): { readonly vanished: boolean; readonly pending: readonly ProcessStat[] } {
    const now = performance.now();
    const present = new Set(listPids());
    for (const pid of this.#known.keys()) if (!present.has(pid)) this.#known.delete(pid);
    for (const pid of this.#empty.keys()) if (!present.has(pid)) this.#empty.delete(pid);
    let vanished = false;
    const pending: ProcessStat[] = [];
    for (const pid of present) {
      if (this.#isKnown(pid, now)) continue;
      const stat = readStat(pid);
      const learned = stat === null ? "gone" : this.#learn(stat, now);
      if (learned === "gone") vanished = true;
      else if (learned === "pending" && stat !== null) pending.push(stat);
    }
    return { vanished, pending };
  }

  #isKnown(pid: number, now: number): boolean {
    const known = this.#known.get(pid);
    if (known === undefined) return false;
    if (now - known.verified < TRUST_MS) return true;
    if (readStat(pid)?.start_time !== known.stat.start_time) {
      this.#known.delete(pid);
      return false;
    }
    known.verified = now;
    return true;
  }

  #learn(stat: ProcessStat, now: number): "learned" | "pending" | "gone" {
    // Neither has an environment, and neither ever gets one.
    const bare = stat.kernel || !stat.alive;
    const reading = bare ? null : readEnviron(stat.pid, LINEAGE);
    if (reading?.kind === "gone") return "gone";
    if (reading?.kind === "empty" && !this.#staysEmpty(stat, now)) return "pending";
    const lineage = reading?.kind === "read" ? reading.value ?? "" : "";
    this.#known.set(stat.pid, { stat, lineage, verified: now });
    return "learned";
  }

  #staysEmpty(stat: ProcessStat, now: number): boolean {
    const seen = this.#empty.get(stat.pid);
    if (seen?.start_time === stat.start_time) return now - seen.since > FILL_MS;
    this.#empty.set(stat.pid, { start_time: stat.start_time, since: now });
    return false;
  }

  #membersOf(target: Target): readonly Member[] {
    const { leader } = target;
    const reused = leader !== null && (this.#known.get(leader.pid)?.stat.start_time ?? leader.start_time) !== leader.start_time;
    const members: Member[] = [];
    for (const { stat, lineage } of this.#known.values()) {
      const related = leader !== null && !reused && [stat.pid, stat.pgid, stat.sid].includes(leader.pid);
      if (!related && !carries(lineage, target.entry)) continue;
      if (stat.pid === process.pid || stat.pid === target.spared || !bornAfter(stat, target)) continue;
      const current = readStat(stat.pid);
      if (current === null || !current.alive || current.start_time !== stat.start_time) continue;
      members.push({ pid: stat.pid, pgid: current.pgid, start_time: stat.start_time, command: current.command });
    }
    return members;
  }
}

function bornAfter(stat: ProcessStat, target: Target): boolean {
  return target.leader === null || target.leader.start_time === "" || Number(stat.start_time) >= Number(target.leader.start_time);
}

/** The group as one member, under its leader's number: all that can be asked for where there is no /proc. */
export class GroupCensus implements Census {
  readonly precise = false;

  prepare(): void {}

  take(target: Target): Promise<readonly Member[]> {
    return Promise.resolve(this.peek(target));
  }

  peek({ leader, spared }: Target): readonly Member[] {
    if (leader === null || spared === leader.pid || leader.pgid !== leader.pid || !leadsGroup(leader.pid)) return [];
    return [{ pid: leader.pid, pgid: leader.pid, start_time: leader.start_time, command: "" }];
  }
}
