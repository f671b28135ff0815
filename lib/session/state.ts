/**
 * What a session is: a fold of its events. `evolve` is pure and never fails on a log that `decide` wrote; on a log
 * from elsewhere (imported, older) it stays total: a stray event changes nothing that the transcript shows.
 *
 * S1  evolve(fold(prefix), rest) = fold(prefix + rest), for every prefix.
 * S2  A call that has an end keeps the first one.
 * S3  The calls of a step stay in the order of the reply, whatever order they end in.
 */
import { append, type AppendList, emptyList, toArray } from "./append-list.ts";
import { parseArguments } from "./arguments.ts";
import {
  beginReads,
  changeSpeculation,
  commitReads,
  endRead,
  leading,
  type LeadingRead,
  noEarlyRuns,
  type SpeculationState,
} from "./early-runs.ts";
import {
  type EventBody,
  type EventOf,
  isKnown,
  type OfferedTool,
  type RequestedCall,
  type SessionEvent,
  type StoredEvent,
  type TaskRecord,
} from "./event.ts";
import { canonicalValue, type JsonInput, type JsonObject } from "./json.ts";
import { learnBudget } from "./shorten.ts";
import { addUsage, type CallResult, type Mode, type Outcome, type TurnEnd, type Usage } from "./outcome.ts";

export interface SessionState {
  readonly session: string | null;
  /** Number of the last event; 0 before the first. */
  readonly seq: number;
  /** When the runtime that drives the open turn last recorded something of it; null if nothing was. */
  readonly driven_at: string | null;
  readonly header: SessionHeader | null;
  readonly turn: TurnState;
  /** Closed parts of the conversation, oldest first. The open step's calls are in `turn`. */
  readonly history: AppendList<Entry>;
  /** Results that came after their step was closed, by call id: only logs from elsewhere have them. */
  readonly late: Readonly<Record<string, CallResult>>;
  readonly tasks: Readonly<Record<string, TaskRecord>>;
  readonly scratch: Readonly<Record<string, string>>;
  readonly usage: Usage;
  readonly counts: Counts;
  readonly speculation: SpeculationState;
  /** Bytes that a request may have, learnt from answers of the model that one was too long; null if none was. */
  readonly request_budget: number | null;
}

export interface SessionHeader {
  readonly workspace: string;
  readonly title?: string;
  readonly model: string;
  readonly base_url?: string;
  readonly mode: Mode;
  readonly system: string;
  readonly tools: readonly OfferedTool[];
  readonly parent?: { readonly session: string; readonly call: string };
  readonly opened_at: string;
}

/** Totals for lists and summaries. */
export interface Counts {
  readonly turns: number;
  readonly steps: number;
  readonly calls: number;
}

export type TurnState =
  /** Between turns; `last` is the number and end of the turn before, if there was one. */
  | { readonly kind: "idle"; readonly last: { readonly turn: number; readonly reason: TurnEnd; readonly detail?: string } | null }
  /** `unread`: a row of this turn cannot be read. */
  | { readonly kind: "running"; readonly turn: number; readonly step: number; readonly phase: Phase; readonly unread?: true };

export type Phase =
  /** The next step can begin. */
  | { readonly kind: "ready" }
  /** A step has begun; its reply is not there yet. `attempt`: how many were made. */
  | { readonly kind: "asking"; readonly attempt: number; readonly status: AttemptStatus }
  /** The reply asked for calls that have not all ended. */
  | { readonly kind: "calling"; readonly reply: RecordedReply; readonly calls: readonly CallState[] }
  /** The reply asked for nothing more. */
  | { readonly kind: "answered"; readonly finish: string };

export type AttemptStatus =
  | { readonly kind: "none" }
  | { readonly kind: "open" }
  | { readonly kind: "failed"; readonly error: { readonly kind: string; readonly message: string }; readonly retry_in_ms: number | null };

export interface CallState {
  readonly call: string;
  readonly provider_id?: string;
  readonly name: string;
  readonly arguments: string;
  readonly read_only: boolean;
  readonly status: CallStatus;
  /** Rows that cannot be read since it got this status (`unread.ts`). */
  readonly unread?: number;
}

export type CallStatus =
  | { readonly kind: "requested" }
  | { readonly kind: "asking"; readonly reason: string; readonly input_digest: string; readonly input: JsonInput }
  | { readonly kind: "allowed"; readonly input: JsonInput; readonly by: string }
  | { readonly kind: "denied"; readonly by: string; readonly reason: string }
  | {
    readonly kind: "running";
    readonly input: JsonInput;
    readonly worker: string;
    readonly since: string;
    readonly process?: { readonly pid: number; readonly pgid: number; readonly start_time: string };
  }
  | {
    readonly kind: "ended";
    readonly outcome: Outcome;
    readonly result: CallResult;
    readonly duration_ms: number;
    /** The early run whose result it is. */
    readonly speculation?: string;
  };

/** One closed part of the conversation. */
export type Entry =
  | { readonly kind: "prompt"; readonly turn: number; readonly text: string; readonly source: string; readonly key?: string }
  | {
    readonly kind: "reply";
    readonly turn: number;
    readonly step: number;
    readonly reply: RecordedReply;
    readonly calls: readonly CallState[];
  };

export interface RecordedReply {
  readonly text: string;
  readonly model: string;
  readonly provider_blocks?: readonly unknown[];
}

export const initialState: SessionState = {
  session: null,
  seq: 0,
  driven_at: null,
  header: null,
  turn: { kind: "idle", last: null },
  history: emptyList(),
  late: {},
  tasks: {},
  scratch: {},
  usage: { input_tokens: 0, output_tokens: 0 },
  counts: { turns: 0, steps: 0, calls: 0 },
  speculation: noEarlyRuns,
  request_budget: null,
};

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

/** The state as plain JSON data: equal snapshots mean equal states. */
export function snapshot(state: SessionState): JsonObject {
  return JSON.parse(JSON.stringify({ ...state, history: toArray(state.history) })) as JsonObject;
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
      return changeCall(state, event.call, () => ({ kind: "allowed", input: recordedInput(event), by: event.by }));
    case "call_denied":
      return changeCall(state, event.call, () => ({ kind: "denied", by: event.by, reason: event.reason }));
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
      return { ...state, history: withoutKeys(state.history) };
  }
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
    counts: { ...closed.counts, turns: closed.counts.turns + 1 },
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
    counts: { ...closed.counts, steps: closed.counts.steps + 1 },
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

function toCall(requested: RequestedCall, tools: readonly OfferedTool[]): CallState {
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

function askForCall(state: SessionState, event: EventOf<"approval_requested">): SessionState {
  const { reason, input_digest, input, input_text } = event;
  return changeCall(state, event.call, (_status, call) => {
    return { kind: "asking", reason, input_digest, input: input === undefined ? inputOf(call) : recordedInput({ input, input_text }) };
  });
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

/** P3: a start is one whatever is known of what stands before it, which may be what cannot be read. */
function startCall(state: SessionState, event: EventOf<"call_started">): SessionState {
  return changeCall(adoptCall(state, event), event.call, (status, call) => begun(status, call, event.worker, event.at) ?? status);
}

/** A process says that there was a start, even if that row cannot be read. */
function spawnCall(state: SessionState, event: EventOf<"call_spawned">): SessionState {
  const { pid, pgid, start_time } = event;
  return changeCall(state, event.call, (status, call) => {
    const running = status.kind === "running" ? status : begun(status, call, "", event.at);
    return running === null ? status : { ...running, process: { pid, pgid, start_time } };
  });
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

function endCall(state: SessionState, event: EventOf<"call_ended">): SessionState {
  const { outcome, result, duration_ms, speculation } = event;
  if (!isOpenCall(state, event.call)) return recordLate(state, event.call, result);
  const usage = event.usage === undefined ? state.usage : addUsage(state.usage, event.usage);
  const counted = { ...state, usage, speculation: endRead(state.speculation, event, leadingReads(state)) };
  const ended = changeCall(counted, event.call, () => ({
    kind: "ended",
    outcome,
    result,
    duration_ms,
    ...(speculation === undefined ? {} : { speculation }),
  }));
  if (ended.turn.kind !== "running" || ended.turn.phase.kind !== "calling") return ended;
  const allEnded = ended.turn.phase.calls.every((call) => call.status.kind === "ended");
  return allEnded ? closeStep(ended) : ended;
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

/** Moves the open step into the history. */
function closeStep(state: SessionState): SessionState {
  if (state.turn.kind !== "running" || state.turn.phase.kind !== "calling") return state;
  const { turn, step, phase } = state.turn;
  return {
    ...state,
    history: append(state.history, { kind: "reply", turn, step, reply: phase.reply, calls: phase.calls }),
    turn: { ...state.turn, phase: { kind: "ready" } },
  };
}

function endTurn(state: SessionState, event: EventOf<"turn_ended">): SessionState {
  const { turn, reason, detail } = event;
  return { ...closeStep(state), turn: { kind: "idle", last: { turn, reason, ...(detail === undefined ? {} : { detail }) } } };
}

function changeScratch(scratch: Readonly<Record<string, string>>, key: string, value: string | null): Readonly<Record<string, string>> {
  const { [key]: _old, ...rest } = scratch;
  return value === null ? rest : { ...rest, [key]: value };
}
