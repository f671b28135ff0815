/**
 * Which processes are alive on behalf of a call, found cheaply enough to ask at every end of a call.
 *
 * C1  A process belongs to a call if it is in the call's group or session, or carries the call's entry in its
 *     environment, or was seen when its parent, or the leader of its session or group, was known to belong to it: so
 *     `setsid` and double forks hide nothing, and `env -i` only what no look saw in time (see orphans.ts for those).
 * C2  A process that was born before the call's own process never belongs to it, nor does the runtime.
 * C3  A process is looked at once, but for those of a call: they may drop their tag later, and are looked at again at
 *     every look ahead of need while they are young, then once a second. A process is forgotten when its pid is gone or
 *     is another process's, which is checked for whatever was not looked at within the last second: pids do not come
 *     round faster than that.
 * C4  A look is complete only if every new process could be read, and none of the call's ended since the list was
 *     made. One that vanished or ended may have forked behind the list, and one whose environment is still to come (for
 *     3 ms after a spawn by Bun) may be ours: all mean another look.
 *
 * Without /proc only the group can be asked for.
 */
import process from "node:process";
import { type EnvironReading, hasProc, leadsGroup, listPids, type ProcessStat, readEnviron, readStat } from "../platform/proc.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import { carries, LINEAGE } from "./lineage.ts";

/** Whose processes are looked for. */
export interface Target {
  /** The call's own process: leader of its group and session. Null if it is not known. */
  readonly leader: ProcessIdentity | null;
  /** The call's entry in the lineage. Null: nobody is known by a tag. */
  readonly entry: string | null;
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
  /** From now on descendants of this process are known for the call's, whatever they make of their environment. */
  claim(leader: ProcessIdentity, entry: string): void;
  release(leader: ProcessIdentity): void;
  /** Looks at what is new, ahead of need: who was found, and who has gone, beyond the reach of tags and of claimed groups and sessions. */
  prepare(): Sighting;
}

export interface Sighting {
  readonly strays: readonly Stray[];
  /** Strays of earlier looks: nothing has their number any more, nor can a group of theirs be unknown. */
  readonly gone: readonly ProcessIdentity[];
}

/** A process that is known for a call's only because it was seen in time. */
export interface Stray {
  readonly identity: ProcessIdentity;
  /** Of its ancestors, as far as it is known. */
  readonly lineage: string;
}

/** The census of this platform. One per thread: it remembers what it saw. */
export function createCensus(): Census {
  return hasProc() ? new ProcCensus() : new GroupCensus();
}

interface Known {
  readonly stat: ProcessStat;
  /** Its own, as its environment said last. */
  lineage: string;
  /** That of whom it descends from, or its own before it dropped that. */
  ancestry: string;
  /** When it was first looked at. */
  readonly since: number;
  verified: number;
  /** Seen as a zombie. */
  ended: boolean;
}

const TRUST_MS = 1000;
/** What comes between a fork and an exec, on a busy machine. */
const YOUNG_MS = 250;
/** After this an environment that seems to be still to come is taken for none: not every system tells the two apart. */
const START_MS = 1000;
/** Looks in a row; the busier the machine, the more of them find that somebody has vanished. */
const QUICK_LOOKS = 5;
const MAX_LOOKS = 100;

class ProcCensus implements Census {
  readonly precise = true;
  readonly #known = new Map<number, Known>();
  /** Start time and first sight of processes whose environment was still to come. */
  readonly #pending = new Map<number, { readonly start_time: string; readonly since: number }>();
  readonly #claimed = new Map<number, { readonly start_time: string; readonly entry: string }>();
  /** Who has ended a moment ago: if it led a session or group, its number is still theirs (C3). */
  readonly #left = new Map<number, { readonly heritage: string; readonly at: number }>();
  readonly #strays = new Map<number, { readonly stray: Stray; told: boolean }>();
  #gone: ProcessIdentity[] = [];

  claim({ pid, start_time }: ProcessIdentity, entry: string): void {
    this.#claimed.set(pid, { start_time, entry });
    const known = this.#known.get(pid);
    if (known?.stat.start_time === start_time) known.ancestry = entry;
  }

  release({ pid, start_time }: ProcessIdentity): void {
    if (this.#claimed.get(pid)?.start_time === start_time) this.#claimed.delete(pid);
  }

  prepare(): Sighting {
    this.#look();
    const now = performance.now();
    for (const known of this.#known.values()) if (now - known.since < YOUNG_MS) this.#revisit(known, now);
    const untold = [...this.#strays.values()].filter(({ told }) => !told);
    for (const each of untold) each.told = true;
    return { strays: untold.map(({ stray }) => stray), gone: this.#gone.splice(0) };
  }

  peek(target: Target): readonly Member[] {
    this.#look();
    return this.#membersOf(target).members;
  }

  async take(target: Target): Promise<readonly Member[]> {
    for (let looks = 1; looks < MAX_LOOKS; looks++) {
      const { vanished, pending } = this.#look();
      const waiting = pending.some((stat) => bornAfter(stat, target));
      const { members, ended } = this.#membersOf(target);
      if (!vanished && !waiting && !ended) return members;
      if (waiting || looks > QUICK_LOOKS) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return this.#membersOf(target).members;
  }

  #look(): { readonly vanished: boolean; readonly pending: readonly ProcessStat[] } {
    const now = performance.now();
    const present = new Set(listPids());
    for (const [pid, { at }] of this.#left) if (now - at > TRUST_MS) this.#forget(pid);
    for (const [pid, known] of this.#known) if (!present.has(pid)) this.#lose(pid, known, now);
    for (const pid of this.#pending.keys()) if (!present.has(pid)) this.#pending.delete(pid);
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
      this.#forget(pid);
      return false;
    }
    known.verified = now;
    this.#revisit(known, now);
    return true;
  }

  /** Whether a process of a call has dropped its tag since it was looked at, and left its group and session. */
  #revisit(known: Known, now: number): void {
    const { pid, start_time } = known.stat;
    if (heritageOf(known) === "" || known.ended || this.#strays.has(pid)) return;
    const reading = readEnviron(pid, LINEAGE);
    const stat = readStat(pid);
    if (reading.kind === "gone" || stat?.start_time !== start_time) return;
    if (reading.kind === "pending" && this.#isAwaited(stat, now)) {
      known.verified = -Infinity;
      return;
    }
    known.ancestry = heritageOf(known);
    known.lineage = lineageOf(reading);
    this.#noteStray(stat, known);
  }

  /** `gone`: it has ended, whether or not it is still there as a zombie. */
  #learn(stat: ProcessStat, now: number): "learned" | "pending" | "gone" {
    // Neither has an environment, and neither ever gets one.
    const bare = stat.kernel || !stat.alive;
    const reading = bare ? null : readEnviron(stat.pid, LINEAGE);
    if (reading?.kind === "gone") return "gone";
    if (reading?.kind === "pending" && this.#isAwaited(stat, now)) return "pending";
    const known = { stat, lineage: lineageOf(reading), ancestry: this.#ancestryOf(stat), since: now, verified: now, ended: !stat.alive };
    this.#known.set(stat.pid, known);
    this.#noteStray(stat, known);
    return stat.alive ? "learned" : "gone";
  }

  #noteStray({ pid, pgid, sid, start_time }: ProcessStat, { lineage, ancestry }: Known): void {
    if (ancestry === "" || contains(lineage, ancestry) || this.#claimed.has(sid)) return;
    this.#strays.set(pid, { stray: { identity: { pid, pgid, start_time }, lineage: ancestry }, told: false });
  }

  #ancestryOf(stat: ProcessStat): string {
    const claimed = this.#claimed.get(stat.pid);
    if (claimed?.start_time === stat.start_time) return claimed.entry;
    for (const elder of [stat.sid, stat.pgid, stat.ppid]) {
      // 0: in another pid namespace. 1: the parent of everybody who lost theirs.
      if (elder <= 1 || elder === stat.pid) continue;
      const known = this.#known.get(elder);
      const heritage = known !== undefined ? heritageOf(known) : elder === stat.ppid ? "" : this.#left.get(elder)?.heritage ?? "";
      if (heritage !== "") return heritage;
    }
    return "";
  }

  #lose(pid: number, known: Known, now: number): void {
    this.#known.delete(pid);
    const heritage = heritageOf(known);
    // Whether it led anybody is not asked: it may have become a leader after it was looked at.
    if (heritage !== "") this.#left.set(pid, { heritage, at: now });
  }

  /** Whoever descends from it has been looked at by now. */
  #forget(pid: number): void {
    this.#left.delete(pid);
    const known = this.#strays.get(pid);
    this.#strays.delete(pid);
    if (known?.told === true) this.#gone.push(known.stray.identity);
  }

  #isAwaited({ pid, start_time }: ProcessStat, now: number): boolean {
    const seen = this.#pending.get(pid);
    if (seen?.start_time === start_time) return now - seen.since < START_MS;
    this.#pending.set(pid, { start_time, since: now });
    return true;
  }

  /** Those that are alive, and whether one has ended since it was last looked at (C4). */
  #membersOf(target: Target): { readonly members: readonly Member[]; readonly ended: boolean } {
    const { leader } = target;
    const reused = leader !== null && (this.#known.get(leader.pid)?.stat.start_time ?? leader.start_time) !== leader.start_time;
    const members: Member[] = [];
    let ended = false;
    for (const known of this.#known.values()) {
      const { stat } = known;
      const related = leader !== null && leader.pid > 1 && !reused && [stat.pid, stat.pgid, stat.sid].includes(leader.pid);
      if (!related && !belongsTo(known, target.entry)) continue;
      if (known.ended || stat.pid === process.pid || stat.pid === target.spared || !bornAfter(stat, target)) continue;
      const current = readStat(stat.pid);
      if (current !== null && current.alive && current.start_time === stat.start_time) {
        members.push({ pid: stat.pid, pgid: current.pgid, start_time: stat.start_time, command: current.command });
      } else ended = known.ended = true;
    }
    return { members, ended };
  }
}

function lineageOf(reading: EnvironReading | null): string {
  return reading?.kind === "read" ? reading.value ?? "" : "";
}

function belongsTo({ lineage, ancestry }: Known, entry: string | null): boolean {
  return entry !== null && (carries(lineage, entry) || carries(ancestry, entry));
}

/** What its children descend from: its own tag if it goes on from its ancestors', theirs if it was dropped or replaced. */
function heritageOf({ lineage, ancestry }: Known): string {
  return contains(lineage, ancestry) ? lineage : ancestry;
}

function contains(lineage: string, ancestry: string): boolean {
  return ancestry === "" || `:${lineage}:`.includes(`:${ancestry}:`);
}

function bornAfter(stat: ProcessStat, target: Target): boolean {
  return target.leader === null || target.leader.start_time === "" || Number(stat.start_time) >= Number(target.leader.start_time);
}

/** The group as one member, under its leader's number: all that can be asked for where there is no /proc. */
export class GroupCensus implements Census {
  readonly precise = false;

  claim(): void {}

  release(): void {}

  prepare(): Sighting {
    return { strays: [], gone: [] };
  }

  take(target: Target): Promise<readonly Member[]> {
    return Promise.resolve(this.peek(target));
  }

  peek({ leader, spared }: Target): readonly Member[] {
    if (leader === null || spared === leader.pid || leader.pgid !== leader.pid || !leadsGroup(leader.pid)) return [];
    return [{ pid: leader.pid, pgid: leader.pid, start_time: leader.start_time, command: "" }];
  }
}
