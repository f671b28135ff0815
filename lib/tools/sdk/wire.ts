/**
 * A session in the message shapes of the Stella SDK, for front ends that know those: `{type, data, timestamp}`.
 * A projection: the same events give the same messages. A call and its result carry the same `call_id`.
 */
import * as v from "valibot";
import { parseArguments } from "../../session/arguments.ts";
import { type EventOf, isKnown, type RequestedCall, type SessionEvent, type StoredEvent, type TaskRecord } from "../../session/event.ts";
import type { JsonObject } from "../../session/json.ts";
import type { LiveEvent } from "../../session/live.ts";

/** Also what a running tool or agent sends. Types of the author's own are allowed. */
export const WireMessage = v.object({
  type: v.string(),
  data: v.unknown(),
  timestamp: v.string(),
});
export type WireMessage = v.InferOutput<typeof WireMessage>;

/** What must be remembered: a to-do list is always sent whole. */
export interface WireState {
  readonly tasks: ReadonlyMap<string, TaskRecord>;
}

export const initialWireState: WireState = { tasks: new Map() };

export interface WireStep {
  readonly state: WireState;
  readonly messages: readonly WireMessage[];
}

/** The messages that one more durable event means. */
export function projectEvent(state: WireState, event: StoredEvent): WireStep {
  if (!isKnown(event)) return { state, messages: [] };
  if (event.type === "task_changed") {
    const tasks = new Map(state.tasks).set(event.task.id, event.task);
    return { state: { tasks }, messages: [toDoList(tasks, event.at)] };
  }
  return { state, messages: toMessages(event) };
}

/**
 * The messages that a live event means. It carries no time of its own: `at` is when it was seen. One that tells again what
 * is live means none: these shapes cannot say that they repeat something.
 */
export function projectLive(event: LiveEvent, at: string): readonly WireMessage[] {
  if (event.type !== "status" || event.whole === true) return [];
  if (event.sent !== undefined) return [event.sent];
  return OWN_STATUSES.has(event.status) ? [] : [status(event.status, at, event.text)];
}

/** What a running tool, or an agent in code, sent, as those who watch the session are told. */
export function toLiveEvent(session: string, sent: WireMessage, call?: string): LiveEvent {
  const said = v.safeParse(v.looseObject({ status: v.optional(v.string()), message: v.optional(v.string()) }), sent.data);
  const { status = sent.type, message } = said.success ? said.output : {};
  return {
    type: "status",
    session,
    status,
    ...(call === undefined ? {} : { call }),
    ...(message === undefined ? {} : { text: message }),
    sent,
  };
}

/** Live statuses that the runtime tells of itself, not an agent of its work. */
const OWN_STATUSES: ReadonlySet<string> = new Set(["call_announced", "superseded"]);

function toMessages(event: SessionEvent): readonly WireMessage[] {
  if (event.type === "step_started") return [status("thinking", event.at)];
  if (event.type === "reply_committed") return event.calls.map((call) => toolCall(call, event.at));
  if (event.type === "call_ended") return [toolResult(event)];
  if (event.type === "turn_ended") return [status(event.reason === "failed" ? "error" : "ready", event.at, event.detail)];
  return [];
}

function status(status: string, timestamp: string, message?: string): WireMessage {
  return { type: "agent_status", data: { status, ...(message === undefined ? {} : { message }) }, timestamp };
}

function toolCall(call: RequestedCall, timestamp: string): WireMessage {
  const parsed = parseArguments(call.arguments);
  const args: JsonObject = parsed.kind === "input" ? parsed.input.value : { malformed_arguments: call.arguments };
  return { type: "tool_call", data: { tool_name: call.name, arguments: args, call_id: call.call }, timestamp };
}

/** A tool that returned a value has it in `data`; any other has only text. */
function toolResult({ call, result, at }: EventOf<"call_ended">): WireMessage {
  const value = result.data !== undefined ? result.data : result.is_error ? null : result.text;
  return { type: "tool_result", data: { call_id: call, result: value, ...(result.is_error ? { error: result.text } : {}) }, timestamp: at };
}

function toDoList(tasks: ReadonlyMap<string, TaskRecord>, timestamp: string): WireMessage {
  const items = [...tasks.values()].filter(({ status }) => !GONE.has(status)).map((task) => ({
    id: task.id,
    description: task.subject,
    status: KNOWN.has(task.status) ? task.status : "pending",
    required: task["required"] !== false,
  }));
  return { type: "todo_list", data: { items, timestamp }, timestamp };
}

/** The states that the SDK's list knows; a task in any other is still to be done, or is no longer on the list. */
const KNOWN: ReadonlySet<string> = new Set(["pending", "in_progress", "completed"]);
const GONE: ReadonlySet<string> = new Set(["deleted", "cancelled"]);
