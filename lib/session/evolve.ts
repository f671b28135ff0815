/**
 * A session is a fold of its events. `evolve` is pure and never fails on a log that `decide` wrote; on a log
 * from elsewhere (imported, older) it stays total: a stray event changes nothing that the transcript shows.
 *
 * S1  evolve(fold(prefix), rest) = fold(prefix + rest), for every prefix.
 * S2  A call that has an end keeps the first one.
 * S3  The calls of a step stay in the order of the reply, whatever order they end in.
 */
import { append, type AppendList, emptyList, toArray } from "./append-list.ts";
import { beginReads, changeSpeculation, commitReads } from "./early-runs.ts";
import { type EventBody, type EventOf, isKnown, type SessionEvent, type StoredEvent } from "./event.ts";
import { allowCall, askForCall, closeStep, denyCall, endCall, spawnCall, startCall, toCall } from "./evolve-calls.ts";
import { addUsage } from "./outcome.ts";
import { learnBudget } from "./shorten.ts";
import {
  type AttemptStatus,
  type Counts,
  type Entry,
  initialState,
  type RecordedReply,
  type SessionHeader,
  type SessionState,
  type TurnState,
} from "./state.ts";

/** The state after one more event. */
export function evolve(state: SessionState, event: StoredEvent): SessionState {
  const next = isKnown(event) ? apply(state, event) : state;
  const driven_at = OF_A_TURN.test(event.type) ? event.at : state.driven_at;
  return { ...next, session: state.session ?? event.session, seq: event.seq, driven_at };
}

/** What nobody records but who drives the turn: all else may come from a runtime that opens the session and dies before it resumes. */
const OF_A_TURN = /^(step|attempt|reply|call|approval|speculation|task|state)_/;

/** The state after all of these events. */
export function fold(events: Iterable<StoredEvent>, from: SessionState = initialState): SessionState {
  let state = from;
  for (const event of events) state = evolve(state, event);
  return state;
}

function apply(state: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case "session_opened":
      return { ...state, header: toHeader(event, event.at) };
    case "prompted":
      return startTurn(state, event);
    case "mode_changed":
      return changeHeader(state, { mode: event.mode });
    case "model_changed":
      return changeHeader({ ...state, request_budget: null }, {
        model: event.model,
        ...(event.base_url === undefined ? {} : { base_url: event.base_url }),
      });
    case "tools_changed":
      return changeHeader(state, { tools: event.tools, ...(event.system === undefined ? {} : { system: event.system }) });
    case "step_started":
      return startStep(state, event);
    case "attempt_started":
      return asking(state, event.attempt, { kind: "open" });
    case "attempt_failed":
      return asking(learnLength(state, event), event.attempt, { kind: "failed", error: event.error, retry_in_ms: event.retry_in_ms });
    case "reply_committed":
      return commitReply(state, event);
    case "call_allowed":
      return allowCall(state, event);
    case "call_denied":
      return denyCall(state, event);
    case "approval_requested":
      return askForCall(state, event);
    case "call_started":
      return startCall(state, event);
    case "call_spawned":
      return spawnCall(state, event);
    case "call_ended":
      return endCall(state, event);
    case "task_changed":
      return { ...state, tasks: { ...state.tasks, [event.task.id]: event.task } };
    case "state_changed":
      return { ...state, scratch: changeScratch(state.scratch, event.key, event.value) };
    case "turn_ended":
      return endTurn(state, event);
    case "speculation_started":
    case "speculation_spawned":
    case "speculation_ended":
    case "speculation_discarded":
      return { ...state, speculation: changeSpeculation(state.speculation, event) };
    case "approval_answered":
    case "notice":
    case "session_resumed":
      return state;
    case "session_forked":
      return leaveParent({ ...state, history: withoutKeys(state.history) });
  }
}

/** The call is worked on by the session that was copied: a copy is nobody's child. */
function leaveParent(state: SessionState): SessionState {
  if (state.header === null) return state;
  const { parent: _parent, ...header } = state.header;
  return { ...state, header };
}

function toHeader(event: EventBody<"session_opened">, opened_at: string): SessionHeader {
  const { workspace, title, model, base_url, mode, system, tools, parent } = event;
  return {
    workspace,
    model,
    mode,
    system,
    tools,
    opened_at,
    ...(title === undefined ? {} : { title }),
    ...(base_url === undefined ? {} : { base_url }),
    ...(parent === undefined ? {} : { parent }),
  };
}

function changeHeader(state: SessionState, change: Partial<SessionHeader>): SessionState {
  return state.header === null ? state : { ...state, header: { ...state.header, ...change } };
}

/** The keys of copied prompts were given to the session they are copied from. */
function withoutKeys(history: AppendList<Entry>): AppendList<Entry> {
  const entries = toArray(history).map((entry): Entry => {
    if (entry.kind !== "prompt") return entry;
    const { key: _key, ...rest } = entry;
    return rest;
  });
  return entries.reduce<AppendList<Entry>>(append, emptyList());
}

function startTurn(state: SessionState, event: EventOf<"prompted">): SessionState {
  const closed = closeStep(state);
  if (closed.turn.kind === "running" && closed.turn.turn === event.turn) return holdTurn(closed, closed.turn, event);
  const { turn, text, source, key } = event;
  return {
    ...closed,
    history: append(closed.history, { kind: "prompt", turn, text, source, ...(key === undefined ? {} : { key }) }),
    turn: { kind: "running", turn: event.turn, step: 0, phase: { kind: "ready" } },
    counts: countTurn(closed.counts, turn),
  };
}

/** The same turn again: a stop hook held it open, or the model is told something on the way. */
function holdTurn(state: SessionState, turn: Extract<TurnState, { kind: "running" }>, event: EventOf<"prompted">): SessionState {
  return {
    ...state,
    history: append(state.history, { kind: "prompt", turn: event.turn, text: event.text, source: event.source }),
    turn: { ...turn, phase: { kind: "ready" } },
  };
}

function startStep(state: SessionState, event: EventOf<"step_started">): SessionState {
  const closed = closeStep(state);
  return {
    ...closed,
    turn: { kind: "running", turn: event.turn, step: event.step, phase: { kind: "asking", attempt: 0, status: { kind: "none" } } },
    speculation: beginReads(closed.speculation),
    counts: { ...countTurn(closed.counts, event.turn), steps: closed.counts.steps + 1 },
  };
}

function learnLength(state: SessionState, event: EventOf<"attempt_failed">): SessionState {
  if (event.error.kind !== "context_overflow") return state;
  return { ...state, request_budget: learnBudget(state.request_budget, event.request_bytes ?? state.request_budget ?? UNTOLD_BYTES) };
}

/** Logs of before the field do not tell how long the request was. */
const UNTOLD_BYTES = 400_000;

function asking(state: SessionState, attempt: number, status: AttemptStatus): SessionState {
  if (state.turn.kind !== "running" || state.turn.phase.kind !== "asking") return state;
  return { ...state, turn: { ...state.turn, phase: { kind: "asking", attempt, status } } };
}

function commitReply(state: SessionState, event: EventOf<"reply_committed">): SessionState {
  if (state.turn.kind !== "running") return state;
  const { turn } = state;
  const calls = event.calls.map((requested) => toCall(requested, state.header?.tools ?? []));
  const { text, model, provider_blocks } = event;
  const reply: RecordedReply = { text, model, ...(provider_blocks === undefined ? {} : { provider_blocks }) };
  const counted = {
    ...state,
    speculation: commitReads(state.speculation, event.at),
    usage: addUsage(state.usage, event.usage),
    counts: { ...state.counts, calls: state.counts.calls + calls.length },
  };
  if (calls.length > 0) return { ...counted, turn: { ...turn, phase: { kind: "calling", reply, calls } } };
  return {
    ...counted,
    history: append(state.history, { kind: "reply", turn: turn.turn, step: event.step, reply, calls: [] }),
    turn: { ...turn, phase: { kind: "answered", finish: event.finish } },
  };
}

function endTurn(state: SessionState, event: EventOf<"turn_ended">): SessionState {
  const { turn, reason, detail } = event;
  return {
    ...closeStep(state),
    turn: { kind: "idle", last: { turn, reason, ...(detail === undefined ? {} : { detail }) } },
    counts: countTurn(state.counts, turn),
  };
}

/** A turn whose prompt cannot be read is told by the rows behind it: its number is not given a second time. */
function countTurn(counts: Counts, turn: number): Counts {
  return { ...counts, turns: Math.max(counts.turns, turn) };
}

function changeScratch(scratch: Readonly<Record<string, string>>, key: string, value: string | null): Readonly<Record<string, string>> {
  const { [key]: _old, ...rest } = scratch;
  return value === null ? rest : { ...rest, [key]: value };
}
