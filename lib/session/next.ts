/**
 * What a session wants done now. Pure: the loop starts every effect that is not already under way and asks again
 * after each command.
 *
 * N1  A call that is not read-only runs alone and in its place: nothing before it is open, nothing behind it starts.
 * N2  Consecutive read-only calls run together, at most `parallel_reads` at once.
 * N3  A question that was put is open, wherever its call stands: answers come in any order, calls run in theirs.
 */
import { READS_AT_ONCE } from "./early-runs.ts";
import type { CallState, SessionState } from "./state.ts";
import type { TurnEnd } from "./outcome.ts";
import { findRepetition, GUARD_SOURCE } from "./repeat.ts";
import { mayHaveStarted } from "./unread.ts";

export type Effect =
  | { readonly kind: "begin_step" }
  /** Tell the model something before the next step. */
  | { readonly kind: "interject"; readonly text: string; readonly source: string }
  /** Ask the model; wait `wait_ms` first (a failed attempt before it asked for that). */
  | { readonly kind: "ask_model"; readonly step: number; readonly attempt: number; readonly wait_ms: number }
  | { readonly kind: "authorize"; readonly call: CallState }
  | { readonly kind: "ask_person"; readonly call: CallState }
  | { readonly kind: "start_call"; readonly call: CallState }
  /** The call is under way, or was when its runtime died. */
  | { readonly kind: "await_call"; readonly call: CallState }
  | { readonly kind: "end_turn"; readonly reason: TurnEnd; readonly detail?: string };

export interface Limits {
  readonly max_steps: number;
  readonly parallel_reads: number;
  /** What the session may cost in all, in US dollars. */
  readonly spend_usd?: number;
}

export const DEFAULT_LIMITS: Limits = { max_steps: 200, parallel_reads: READS_AT_ONCE };

/** Every effect that may go on now; empty between turns. */
export function next(state: SessionState, limits: Limits = DEFAULT_LIMITS): readonly Effect[] {
  if (state.turn.kind === "idle") return [];
  const { phase, step } = state.turn;
  switch (phase.kind) {
    case "ready":
      return [beforeStep(state, step, limits)];
    case "asking":
      return [askModel(step, phase.attempt, phase.status)];
    case "calling":
      return callEffects(phase.calls, limits.parallel_reads);
    case "answered":
      return [uncheckable(state, step, limits) ?? completed(phase.finish)];
  }
}

function completed(finish: string): Effect {
  return { kind: "end_turn", reason: "completed", ...(finish === "stop" ? {} : { detail: `finish: ${finish}` }) };
}

/** Whether the turn may go on, and with what. */
function beforeStep(state: SessionState, step: number, limits: Limits): Effect {
  if (step >= limits.max_steps) return stop(`step cap of ${limits.max_steps} reached`);
  const unknown = uncheckable(state, step, limits);
  if (unknown !== null) return unknown;
  const spent = state.usage.cost_usd ?? 0;
  if (limits.spend_usd !== undefined && spent >= limits.spend_usd) {
    return stop(`spend limit of ${limits.spend_usd} USD reached: the session has cost ${spent.toFixed(4)} USD`);
  }
  const repetition = findRepetition(state);
  switch (repetition.kind) {
    case "none":
      return { kind: "begin_step" };
    case "hint":
      return { kind: "interject", text: repetition.text, source: GUARD_SOURCE };
    case "stop":
      return stop(repetition.detail);
  }
}

/** A limit that nobody can check is no limit: the turn ends behind the reply whose cost is not known, and none begins. */
function uncheckable({ usage }: SessionState, step: number, { spend_usd }: Limits): Effect | null {
  if (spend_usd === undefined) return null;
  const unreported = usage.unreported_replies ?? 0;
  const cannot = `the spend limit of ${spend_usd} USD cannot be checked: the endpoint`;
  if (unreported > 0) return stop(`${cannot} did not report what ${unreported} ${unreported === 1 ? "reply" : "replies"} used`);
  const isFree = usage.input_tokens + usage.output_tokens === 0;
  return step > 0 && !isFree && usage.cost_usd === undefined ? stop(`${cannot} reports no cost`) : null;
}

function stop(detail: string): Effect {
  return { kind: "end_turn", reason: "stopped", detail };
}

type Asking = Extract<Extract<SessionState["turn"], { kind: "running" }>["phase"], { kind: "asking" }>;

function askModel(step: number, attempt: number, status: Asking["status"]): Effect {
  if (status.kind !== "failed") return { kind: "ask_model", step, attempt: attempt + (status.kind === "open" ? 0 : 1), wait_ms: 0 };
  if (status.retry_in_ms === null) return { kind: "end_turn", reason: "failed", detail: status.error.message };
  return { kind: "ask_model", step, attempt: attempt + 1, wait_ms: status.retry_in_ms };
}

function callEffects(calls: readonly CallState[], parallel: number): readonly Effect[] {
  const now = window(calls, parallel);
  const asked = calls.filter((call) => call.status.kind === "asking" && !mayHaveStarted(call) && !now.includes(call));
  return [...now, ...asked].map(toEffect);
}

/** The calls that may be worked on: the first open one, and the reads that follow it if it is a read itself. */
function window(calls: readonly CallState[], parallel: number): readonly CallState[] {
  const first = calls.findIndex(isOpen);
  const head = calls[first];
  if (head === undefined) return [];
  if (!head.read_only) return [head];
  const barrier = calls.findIndex((call, index) => index > first && !call.read_only);
  return calls.slice(first, barrier === -1 ? calls.length : barrier).filter(isOpen).slice(0, parallel);
}

function isOpen(call: CallState): boolean {
  return call.status.kind !== "ended";
}

function toEffect(call: CallState): Effect {
  if (mayHaveStarted(call)) return { kind: "await_call", call };
  switch (call.status.kind) {
    case "requested":
      return { kind: "authorize", call };
    case "asking":
      return { kind: "ask_person", call };
    case "allowed":
      return { kind: "start_call", call };
    case "running":
    case "denied":
    case "ended":
      return { kind: "await_call", call };
  }
}
