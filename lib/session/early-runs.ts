/** What the log says of early runs: those of the open step, and what they were worth. */
import type { EventOf } from "./event.ts";
import type { Outcome } from "./outcome.ts";

/** Early runs of the open step, and what they were worth so far. */
export interface SpeculationState extends SpeculationWorth {
  readonly open: readonly OpenSpeculation[];
  /** When the reply of the open step was committed. */
  readonly committed_at: string | null;
}

export interface SpeculationWorth {
  /** Wall time by which adopted runs shortened the steps they belong to, those of sessions that worked for calls included. */
  readonly saved_ms: number;
  /** Runs whose results nobody used. */
  readonly wasted: number;
  /** The time that those took, added up. */
  readonly wasted_ms: number;
}

export interface OpenSpeculation {
  readonly speculation: string;
  readonly name: string;
  readonly started_at: string;
  /** Null while it runs. */
  readonly duration_ms: number | null;
  readonly process?: { readonly pid: number; readonly pgid: number; readonly start_time: string };
}

/** One of the reads that a reply begins with. Those behind a call that is not read-only wait for it, begun early or not. */
export interface LeadingRead {
  readonly call: string;
  /** Null while it is open. */
  readonly end: ReadEnd | null;
}

export interface ReadEnd {
  readonly outcome: Outcome;
  readonly duration_ms: number;
  readonly speculation?: string | undefined;
}

/** Tools of a turn that run at the same time, begun early or not. */
export const READS_AT_ONCE = 8;

export const noEarlyRuns: SpeculationState = { open: [], committed_at: null, saved_ms: 0, wasted: 0, wasted_ms: 0 };

/** Those that a reply begins with, up to the first that is no read. */
export function leading<T>(calls: readonly T[], isRead: (call: T) => boolean): readonly T[] {
  const barrier = calls.findIndex((call) => !isRead(call));
  return barrier === -1 ? calls : calls.slice(0, barrier);
}

export function changeSpeculation(
  state: SpeculationState,
  event: EventOf<"speculation_started" | "speculation_spawned" | "speculation_ended" | "speculation_discarded">,
): SpeculationState {
  const { speculation } = event;
  switch (event.type) {
    case "speculation_started":
      return { ...state, open: [...state.open, { speculation, name: event.name, started_at: event.at, duration_ms: null }] };
    case "speculation_spawned": {
      const process = { pid: event.pid, pgid: event.pgid, start_time: event.start_time };
      return { ...state, open: state.open.map((each) => each.speculation === speculation ? { ...each, process } : each) };
    }
    case "speculation_ended": {
      const { duration_ms } = event;
      return { ...state, open: state.open.map((each) => each.speculation === speculation ? { ...each, duration_ms } : each) };
    }
    case "speculation_discarded":
      return discard(state, event);
  }
}

/** A step has begun. */
export function beginReads(state: SpeculationState): SpeculationState {
  return state.committed_at === null ? state : { ...state, committed_at: null };
}

export function commitReads(state: SpeculationState, at: string): SpeculationState {
  return { ...state, committed_at: at };
}

/** A call has ended that was open. `reads`: those that its reply begins with, as they were before. */
export function endRead(before: SpeculationState, event: EventOf<"call_ended">, reads: readonly LeadingRead[]): SpeculationState {
  const state = event.child_speculation === undefined ? before : { ...before, ...addWorth(before, event.child_speculation) };
  const { call, speculation, at } = event;
  const open = speculation === undefined ? state.open : state.open.filter((each) => each.speculation !== speculation);
  const ends = reads.flatMap(({ call: id, end }) => id === call ? [event] : end ?? []);
  const isLast = ends.length === reads.length && reads.some(({ call: id }) => id === call);
  if (!isLast || state.committed_at === null) return open === state.open ? state : { ...state, open };
  const waited_ms = Math.max(0, Date.parse(at) - Date.parse(state.committed_at));
  return { ...state, open, saved_ms: toTenths(state.saved_ms + savedBy(ends, waited_ms)) };
}

/** What they were worth, or what they have been worth since an earlier state. */
export function worthOf({ saved_ms, wasted, wasted_ms }: SpeculationWorth, since: SpeculationWorth = noEarlyRuns): SpeculationWorth {
  return {
    saved_ms: toTenths(saved_ms - since.saved_ms),
    wasted: wasted - since.wasted,
    wasted_ms: toTenths(wasted_ms - since.wasted_ms),
  };
}

export function addWorth(left: SpeculationWorth, right: SpeculationWorth): SpeculationWorth {
  return {
    saved_ms: toTenths(left.saved_ms + right.saved_ms),
    wasted: left.wasted + right.wasted,
    wasted_ms: toTenths(left.wasted_ms + right.wasted_ms),
  };
}

/** Absent where there is nothing to tell. */
export function toChildSpeculation(worth: SpeculationWorth): { readonly child_speculation?: SpeculationWorth } {
  const isNothing = worth.saved_ms === 0 && worth.wasted === 0 && worth.wasted_ms === 0;
  return isNothing ? {} : { child_speculation: worthOf(worth) };
}

function discard(state: SpeculationState, { speculation, at }: EventOf<"speculation_discarded">): SpeculationState {
  const gone = state.open.find((each) => each.speculation === speculation);
  if (gone === undefined) return state;
  const took_ms = gone.duration_ms ?? Math.max(0, Date.parse(at) - Date.parse(gone.started_at));
  return {
    ...state,
    open: state.open.filter((each) => each !== gone),
    wasted: state.wasted + 1,
    wasted_ms: toTenths(state.wasted_ms + took_ms),
  };
}

/** As durations are written. */
function toTenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

/** What these reads would have taken after the reply, less what they did. Of reads that were cut short nobody knows. */
function savedBy(ends: readonly ReadEnd[], waited_ms: number): number {
  const adopted = ends.some(({ speculation }) => speculation !== undefined);
  if (!adopted || ends.some(({ outcome }) => outcome.kind === "cancelled")) return 0;
  return Math.max(0, timeInOrder(ends.map(({ duration_ms }) => duration_ms)) - waited_ms);
}

/** Until the last of them is done, if each starts as soon as there is a place and all before it have one. */
function timeInOrder(durations: readonly number[]): number {
  const free_at = Array.from({ length: READS_AT_ONCE }, () => 0);
  for (const duration of durations) {
    const earliest = Math.min(...free_at);
    free_at[free_at.indexOf(earliest)] = earliest + duration;
  }
  return Math.max(...free_at);
}
