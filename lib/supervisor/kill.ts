/**
 * The one way in which processes are ended, whatever the reason: a deadline, a cancel, a dead worker, shutdown, or
 * something left over after a normal end. Ask (SIGTERM), wait, insist (SIGKILL).
 *
 * K1  Right before each signal the process is the one that was meant: same pid, same start time.
 * K2  A group is signalled only if its number is the pid of the call's own process, is not our own group, and that
 *     process or a member of its group was just seen alive.
 * K3  Members are stopped before they are killed, so that none can fork away between being seen and being killed.
 * K4  It is over when two looks in a row find nothing; after one, if nothing had been found at all.
 * K5  Nothing is ever sent to 0, 1 or -1, which would mean ourselves, the system or everybody.
 * K6  It ends. What cannot be killed (a process in the kernel's hands) is said, not waited for.
 *
 * On macOS only the group is known, so only the group is ended. Processes that hid from the census (C1) are found by
 * orphans.ts, and what a killed runtime left by last-rites.ts; both end them here.
 */
import process from "node:process";
import { readStat } from "../platform/proc.ts";
import type { ReapedProcess } from "../session/outcome.ts";
import type { Census, Member, Target } from "./census.ts";

export interface Ended {
  /** Everything that was alive when we began, but for the call's own process. */
  readonly found: readonly ReapedProcess[];
  /** What had not gone by the end of the grace, but for the call's own process. */
  readonly insisted: readonly ReapedProcess[];
  /** What is alive still. Empty, unless the system will not end a process. */
  readonly surviving: readonly ReapedProcess[];
}

export type Send = (pid: number, signal: NodeJS.Signals) => void;

const INSIST_MS = 5000;

/** Ends every process of the target and resolves when none is left. */
export async function endAll(target: Target, census: Census, grace_ms: number, send: Send = sendSignal): Promise<Ended> {
  const found = await census.take(target);
  if (found.length === 0) return { found: [], insisted: [], surviving: [] };
  const signal = census.precise ? signalPrecisely : signalGroup;
  signal(found, "SIGTERM", target, send);
  signal(found, "SIGCONT", target, send);
  const left = await waitUntilGone(target, census, grace_ms);
  const surviving = await insist(target, census, signal, send);
  return { found: others(found, target), insisted: others(left, target), surviving: others(surviving, target) };
}

/** Kills what one look finds, without asking and without waiting: the runtime itself is about to end. */
export function killNow(target: Target, census: Census, send: Send = sendSignal): void {
  const signal = census.precise ? signalPrecisely : signalGroup;
  signal(census.peek(target), "SIGKILL", target, send);
}

/** What is left when nothing is or the grace is over, whichever is first. */
async function waitUntilGone(target: Target, census: Census, grace_ms: number): Promise<readonly Member[]> {
  const deadline = performance.now() + grace_ms;
  for (let wait = 1;; wait = Math.min(wait * 2, 25)) {
    const left = await census.take(target);
    const remaining = deadline - performance.now();
    if (left.length === 0 || remaining <= 0) return left;
    await pause(Math.min(wait, remaining));
  }
}

async function insist(target: Target, census: Census, signal: SignalAll, send: Send): Promise<readonly Member[]> {
  const deadline = performance.now() + INSIST_MS;
  let clean = 0;
  for (let wait = 1;; wait = Math.min(wait * 2, 25)) {
    const members = census.precise ? await stopAll(target, census, send) : await census.take(target);
    clean = members.length === 0 ? clean + 1 : 0;
    if (clean === 2 || performance.now() > deadline) return members;
    if (members.length === 0) continue;
    signal(members, "SIGKILL", target, send);
    await pause(wait);
  }
}

/** K3: looks and stops until a look shows nobody new. */
async function stopAll(target: Target, census: Census, send: Send): Promise<readonly Member[]> {
  const stopped = new Set<string>();
  for (let looks = 0;; looks++) {
    const members = await census.take(target);
    const fresh = members.filter((member) => !stopped.has(keyOf(member)));
    if (fresh.length === 0 || looks === MAX_STOPS) return members;
    for (const member of fresh) {
      stopped.add(keyOf(member));
      signalMember(member, "SIGSTOP", send);
    }
  }
}

const MAX_STOPS = 50;

function keyOf(member: Member): string {
  return `${member.pid}:${member.start_time}`;
}

type SignalAll = (members: readonly Member[], signal: NodeJS.Signals, target: Target, send: Send) => void;

/** The group at once, where it may be, and everybody outside it one by one. */
function signalPrecisely(members: readonly Member[], signal: NodeJS.Signals, target: Target, send: Send): void {
  const grouped = groupIsOurs(members, target) ? target.leader?.pid : undefined;
  if (grouped !== undefined) trySend(-grouped, signal, send);
  for (const member of members) if (member.pgid !== grouped) signalMember(member, signal, send);
}

/** All that is known is that the group exists. */
function signalGroup(members: readonly Member[], signal: NodeJS.Signals, _target: Target, send: Send): void {
  for (const member of members) if (member.pgid > 1) trySend(-member.pgid, signal, send);
}

/** K2. */
function groupIsOurs(members: readonly Member[], { leader, spared }: Target): boolean {
  if (leader === null || leader.pgid !== leader.pid || leader.pid <= 1 || spared === leader.pid) return false;
  if (readStat(process.pid)?.pgid === leader.pid) return false;
  const current = readStat(leader.pid);
  if (current !== null && current.start_time !== leader.start_time) return false;
  return members.some((member) => member.pgid === leader.pid && isSame(member));
}

/** K1. */
function signalMember(member: Member, signal: NodeJS.Signals, send: Send): void {
  if (member.pid > 1 && isSame(member)) trySend(member.pid, signal, send);
}

function isSame(member: Member): boolean {
  return readStat(member.pid)?.start_time === member.start_time;
}

function trySend(pid: number, signal: NodeJS.Signals, send: Send): void {
  if (!Number.isSafeInteger(pid) || Math.abs(pid) <= 1) {
    throw new RangeError(`Cannot send ${signal} to ${pid} as it is no process of a call`);
  }
  try {
    send(pid, signal);
  } catch {
    // ESRCH: it has ended by itself. EPERM: it has become somebody else's (setuid); it will be among the survivors.
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  process.kill(pid, signal);
}

function others(members: readonly Member[], target: Target): readonly ReapedProcess[] {
  return members.filter(({ pid }) => pid !== target.leader?.pid).map(({ pid, command }) => ({ pid, command }));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
