/**
 * What a session wants done now. Pure: the loop starts every effect that is not already under way and asks again
 * after each command.
 *
 * N1  A call that is not read-only runs alone and in its place: nothing before it is open, nothing behind it starts.
 * N2  Consecutive read-only calls run together, at most `parallel_reads` at once.
 */
import type { CallState, SessionState } from "./state.ts";
import type { TurnEnd } from "./outcome.ts";

export type Effect =
  | { readonly kind: "begin_step" }
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
}

export const DEFAULT_LIMITS: Limits = { max_steps: 200, parallel_reads: 8 };

/** Every effect that may go on now; empty between turns. */
export function next(state: SessionState, limits: Limits = DEFAULT_LIMITS): readonly Effect[] {
  if (state.turn.kind === "idle") return [];
  const { phase, step } = state.turn;
  switch (phase.kind) {
    case "ready":
      return [step < limits.max_steps ? { kind: "begin_step" } : stepCap(limits)];
    case "asking":
      return [askModel(step, phase.attempt, phase.status)];
    case "calling":
      return window(phase.calls, limits.parallel_reads).map(toEffect);
    case "answered":
      return [{ kind: "end_turn", reason: "completed", ...(phase.finish === "stop" ? {} : { detail: `finish: ${phase.finish}` }) }];
  }
}

function stepCap(limits: Limits): Effect {
  return { kind: "end_turn", reason: "stopped", detail: `step cap of ${limits.max_steps} reached` };
}

type Asking = Extract<Extract<SessionState["turn"], { kind: "running" }>["phase"], { kind: "asking" }>;

function askModel(step: number, attempt: number, status: Asking["status"]): Effect {
  if (status.kind !== "failed") return { kind: "ask_model", step, attempt: attempt + (status.kind === "open" ? 0 : 1), wait_ms: 0 };
  if (status.retry_in_ms === null) return { kind: "end_turn", reason: "failed", detail: status.error.message };
  return { kind: "ask_model", step, attempt: attempt + 1, wait_ms: status.retry_in_ms };
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
