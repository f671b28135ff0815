/** What becomes of the calls of the open step, and of the step when all of them have ended (S2, S3 in evolve.ts). */
import { append, toArray } from "./append-list.ts";
import { parseArguments } from "./arguments.ts";
import { endRead, leading, type LeadingRead } from "./early-runs.ts";
import type { EventOf, OfferedTool, RequestedCall } from "./event.ts";
import { canonicalValue, type JsonInput, type JsonObject } from "./json.ts";
import { addUsage, type CallResult } from "./outcome.ts";
import type { CallState, CallStatus, SessionState } from "./state.ts";

export function askForCall(state: SessionState, event: EventOf<"approval_requested">): SessionState {
  const { reason, input_digest, input, input_text } = event;
  return changeCall(state, event.call, (_status, call) => {
    return { kind: "asking", reason, input_digest, input: input === undefined ? inputOf(call) : recordedInput({ input, input_text }) };
  });
}

/** P3: a start is one whatever is known of what stands before it, which may be what cannot be read. */
export function startCall(state: SessionState, event: EventOf<"call_started">): SessionState {
  return changeCall(adoptCall(state, event), event.call, (status, call) => begun(status, call, event.worker, event.at) ?? status);
}

/** A process says that there was a start, even if that row cannot be read. */
export function spawnCall(state: SessionState, event: EventOf<"call_spawned">): SessionState {
  const { pid, pgid, start_time } = event;
  return changeCall(state, event.call, (status, call) => {
    const running = status.kind === "running" ? status : begun(status, call, "", event.at);
    return running === null ? status : { ...running, process: { pid, pgid, start_time } };
  });
}

export function endCall(state: SessionState, event: EventOf<"call_ended">): SessionState {
  const { outcome, result, duration_ms, speculation } = event;
  if (!isOpenCall(state, event.call)) return recordLate(state, event.call, result);
  const usage = event.usage === undefined ? state.usage : addUsage(state.usage, event.usage);
  const counted = { ...state, usage, speculation: endRead(state.speculation, event, leadingReads(state)) };
  const ended = changeCall(counted, event.call, (status) => ({
    kind: "ended",
    outcome,
    result,
    duration_ms,
    ...(speculation === undefined ? {} : { speculation }),
    ...(status.kind === "denied" ? { denied_by: status.by } : {}),
  }));
  if (ended.turn.kind !== "running" || ended.turn.phase.kind !== "calling") return ended;
  const allEnded = ended.turn.phase.calls.every((call) => call.status.kind === "ended");
  return allEnded ? closeStep(ended) : ended;
}

export function allowCall(state: SessionState, event: EventOf<"call_allowed">): SessionState {
  return changeCall(state, event.call, () => ({ kind: "allowed", input: recordedInput(event), by: event.by }));
}

export function denyCall(state: SessionState, { call, by, reason }: EventOf<"call_denied">): SessionState {
  return changeCall(state, call, () => ({ kind: "denied", by, reason }));
}

/** Moves the open step into the history. */
export function closeStep(state: SessionState): SessionState {
  if (state.turn.kind !== "running" || state.turn.phase.kind !== "calling") return state;
  const { turn, step, phase } = state.turn;
  return {
    ...state,
    history: append(state.history, { kind: "reply", turn, step, reply: phase.reply, calls: phase.calls }),
    turn: { ...state.turn, phase: { kind: "ready" } },
  };
}

export function toCall(requested: RequestedCall, tools: readonly OfferedTool[]): CallState {
  const { call, provider_id, name } = requested;
  return {
    call,
    name,
    arguments: requested.arguments,
    read_only: tools.find((tool) => tool.name === name)?.read_only ?? false,
    status: { kind: "requested" },
    ...(provider_id === undefined ? {} : { provider_id }),
  };
}

type Begun = Extract<CallStatus, { kind: "running" }>;

function begun(status: CallStatus, call: CallState, worker: string, since: string): Begun | null {
  switch (status.kind) {
    case "requested":
      return { kind: "running", input: inputOf(call), worker, since };
    case "asking":
    case "allowed":
      return { kind: "running", input: status.input, worker, since };
    case "denied":
    case "running":
    case "ended":
      return null;
  }
}

/** A call whose reply is what cannot be read. */
function adoptCall(state: SessionState, { call, name }: EventOf<"call_started">): SessionState {
  const { turn } = state;
  if (turn.kind !== "running" || turn.unread === undefined || isRequested(state, call)) return state;
  const adopted = toCall({ call, name, arguments: "{}" }, state.header?.tools ?? []);
  const { reply, calls } = turn.phase.kind === "calling"
    ? turn.phase
    : { reply: { text: "", model: state.header?.model ?? "" }, calls: [] };
  return { ...state, turn: { ...turn, phase: { kind: "calling", reply, calls: [...calls, adopted] } } };
}

function isRequested({ turn, history }: SessionState, call: string): boolean {
  if (turn.kind === "running" && turn.phase.kind === "calling" && turn.phase.calls.some((each) => each.call === call)) return true;
  return toArray(history).some((entry) => entry.kind === "reply" && entry.calls.some((each) => each.call === call));
}

function changeCall(state: SessionState, call: string, change: (status: CallStatus, call: CallState) => CallStatus): SessionState {
  if (state.turn.kind !== "running" || state.turn.phase.kind !== "calling") return state;
  const calls = state.turn.phase.calls.map((each) => {
    if (each.call !== call || each.status.kind === "ended") return each;
    const { unread: _unread, ...known } = each;
    return { ...known, status: change(each.status, each) };
  });
  return { ...state, turn: { ...state.turn, phase: { ...state.turn.phase, calls } } };
}

function leadingReads({ turn }: SessionState): readonly LeadingRead[] {
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  return leading(calls, ({ read_only }) => read_only).map(({ call, status }) => ({ call, end: status.kind === "ended" ? status : null }));
}

function isOpenCall(state: SessionState, call: string): boolean {
  return state.turn.kind === "running" && state.turn.phase.kind === "calling" &&
    state.turn.phase.calls.some((each) => each.call === call && each.status.kind !== "ended");
}

/** S2: an end that comes a second time, or for a call of the open step that has one, is not taken. */
function recordLate(state: SessionState, call: string, result: CallResult): SessionState {
  if (Object.hasOwn(state.late, call)) return state;
  const current = state.turn.kind === "running" && state.turn.phase.kind === "calling" ? state.turn.phase.calls : [];
  if (current.some((each) => each.call === call)) return state;
  return { ...state, late: { ...state.late, [call]: result } };
}

function inputOf(call: CallState): JsonInput {
  const asked = parseArguments(call.arguments);
  return asked.kind === "input" ? asked.input : { value: {}, text: "{}" };
}

/** A recorded input, with the digits of its numbers. */
function recordedInput(
  { input, input_text }: { readonly input: Readonly<Record<string, unknown>>; readonly input_text?: string | undefined },
): JsonInput {
  const value = input as JsonObject;
  return { value, text: input_text ?? canonicalValue(value) };
}
