/**
 * Whether an event can follow in a log: what `decide` would never have written there is named. For logs from elsewhere,
 * whose events are each well-formed; a row that could not be read would make any of this possible (unread.ts).
 */
import type { EventOf, SessionEvent } from "./event.ts";
import type { CallStatus, SessionState, TurnState } from "./state.ts";

type CallEvent = Extract<SessionEvent, { readonly call: string }>;
type StepEvent = EventOf<"attempt_started" | "attempt_failed" | "reply_committed">;

/** Why this event cannot come next; null if it can. */
export function findContradiction(state: SessionState, event: SessionEvent): string | null {
  if ("call" in event) return ofCall(state.turn, event);
  switch (event.type) {
    case "prompted":
      return ofPrompt(state, event);
    case "step_started":
      return ofTurn(state.turn, event) ?? ofOpenCalls(state.turn, "a step cannot begin") ?? ofOrder(state.turn, event);
    case "attempt_started":
    case "attempt_failed":
    case "reply_committed":
      return ofStep(state.turn, event);
    case "turn_ended":
      return ofTurn(state.turn, event) ?? ofOpenCalls(state.turn, "the turn cannot end");
    default:
      return null;
  }
}

function ofPrompt({ turn, counts }: SessionState, event: EventOf<"prompted">): string | null {
  if (turn.kind === "running") return ofTurn(turn, event) ?? ofOpenCalls(turn, "nothing can be said to the model");
  return event.turn > counts.turns ? null : `it begins turn ${event.turn}, and turn ${counts.turns} was there before`;
}

function ofTurn(turn: TurnState, event: { readonly type: string; readonly turn: number }): string | null {
  if (turn.kind === "idle") return `it is of type "${event.type}", and no turn is open`;
  return turn.turn === event.turn ? null : `it is of turn ${event.turn}, and turn ${turn.turn} is open`;
}

function ofStep(turn: TurnState, { type, step }: StepEvent): string | null {
  if (turn.kind === "idle") return `it is of type "${type}", and no turn is open`;
  if (turn.phase.kind !== "asking") return `it is of type "${type}", and no step waits for a reply`;
  return turn.step === step ? null : `it is of step ${step}, and step ${turn.step} is open`;
}

function ofOrder(turn: TurnState, { step }: EventOf<"step_started">): string | null {
  const last = turn.kind === "running" ? turn.step : 0;
  return step === last + 1 ? null : `it begins step ${step}, and ${last + 1} must follow`;
}

function ofOpenCalls(turn: TurnState, what: string): string | null {
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  const open = calls.find(({ status }) => status.kind !== "ended");
  return open === undefined ? null : `${what} while ${open.call} has no end`;
}

/** What a call must be for each of its events. */
const BEFORE: { readonly [T in CallEvent["type"]]: readonly CallStatus["kind"][] } = {
  approval_requested: ["requested", "asking"],
  approval_answered: ["asking"],
  call_allowed: ["requested", "asking"],
  call_denied: ["requested", "asking", "allowed"],
  call_started: ["allowed"],
  call_spawned: ["running"],
  call_ended: ["requested", "asking", "allowed", "denied", "running"],
};

function ofCall(turn: TurnState, { type, call }: CallEvent): string | null {
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  const status = calls.find((each) => each.call === call)?.status.kind;
  if (status === undefined) return `it is of type "${type}", and ${call} is no open call of a reply before it`;
  return BEFORE[type].includes(status) ? null : `it is of type "${type}", and ${call} is ${status}`;
}
