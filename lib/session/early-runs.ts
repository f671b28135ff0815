/** What the log says of early runs: those of the open step, and what they were worth. */
import type { EventOf } from "./event.ts";

/** Early runs of the open step, and what they were worth so far. */
export interface SpeculationState {
  readonly open: readonly OpenSpeculation[];
  /** Of the open step, once its reply was committed. */
  readonly reads: StepReads | null;
  /** Wall time by which adopted runs shortened the steps they belong to. */
  readonly saved_ms: number;
  /** Runs whose results nobody used. */
  readonly wasted: number;
}

/** Milliseconds. The reads that a reply begins with run together, so the longest of them is what they take. */
export interface StepReads {
  readonly committed_at: number;
  /** What they would have taken after the reply, had none begun before. */
  readonly alone_ms: number;
  /** What they did take after the reply. */
  readonly took_ms: number;
  readonly adopted: boolean;
}

export interface OpenSpeculation {
  readonly speculation: string;
  readonly name: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly process?: { readonly pid: number; readonly pgid: number; readonly start_time: string };
}

export const noEarlyRuns: SpeculationState = { open: [], reads: null, saved_ms: 0, wasted: 0 };

export function changeSpeculation(
  state: SpeculationState,
  event: EventOf<"speculation_started" | "speculation_spawned" | "speculation_ended" | "speculation_discarded">,
): SpeculationState {
  const { speculation } = event;
  switch (event.type) {
    case "speculation_started":
      return { ...state, open: [...state.open, { speculation, name: event.name, started_at: event.at, ended_at: null }] };
    case "speculation_spawned": {
      const process = { pid: event.pid, pgid: event.pgid, start_time: event.start_time };
      return { ...state, open: state.open.map((each) => each.speculation === speculation ? { ...each, process } : each) };
    }
    case "speculation_ended":
      return { ...state, open: state.open.map((each) => each.speculation === speculation ? { ...each, ended_at: event.at } : each) };
    case "speculation_discarded": {
      const open = state.open.filter((each) => each.speculation !== speculation);
      return { ...state, open, wasted: state.wasted + state.open.length - open.length };
    }
  }
}

/** A step has begun. */
export function beginReads(state: SpeculationState): SpeculationState {
  return state.reads === null ? state : { ...state, reads: null };
}

export function commitReads(state: SpeculationState, at: string): SpeculationState {
  return { ...state, reads: { committed_at: Date.parse(at), alone_ms: 0, took_ms: 0, adopted: false } };
}

/** A call has ended. `leading`: nothing but reads stands before it, and it is one. */
export function endRead(
  state: SpeculationState,
  { at, duration_ms, speculation }: EventOf<"call_ended">,
  leading: boolean,
): SpeculationState {
  if (speculation === undefined && !leading) return state;
  const early = state.open.find((each) => each.speculation === speculation);
  const open = early === undefined ? state.open : state.open.filter((each) => each !== early);
  if (state.reads === null || !leading) return { ...state, open };
  const { committed_at, alone_ms, took_ms, adopted } = state.reads;
  const ended = Date.parse(early?.ended_at ?? at);
  const reads: StepReads = {
    committed_at,
    alone_ms: Math.max(alone_ms, duration_ms),
    took_ms: Math.max(took_ms, ended - committed_at),
    adopted: adopted || early !== undefined,
  };
  return { ...state, open, reads, saved_ms: tenths(state.saved_ms + savedBy(reads) - savedBy(state.reads)) };
}

/** As durations are written. */
function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

function savedBy({ alone_ms, took_ms, adopted }: StepReads): number {
  return adopted ? Math.max(0, alone_ms - took_ms) : 0;
}
