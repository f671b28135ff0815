/**
 * The durable vocabulary: what a session's log may say. Additive only: a field may be added, never removed or
 * given another meaning; an unknown type is kept and passed on; a known type with a bad body is an error.
 */
import * as v from "valibot";
import { CallResult, Finish, Mode, ModelErrorKind, Outcome, ReapedProcess, Truncated, TurnEnd, Usage, WithheldExport } from "./outcome.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
export const SessionId = v.pipe(v.string(), v.regex(new RegExp(`^ses_${UUID}$`), "must be ses_ and a UUIDv7"));
export const CallId = v.pipe(v.string(), v.regex(new RegExp(`^call_${UUID}$`), "must be call_ and a UUIDv7"));
export const SpeculationId = v.pipe(v.string(), v.regex(new RegExp(`^spec_${UUID}$`), "must be spec_ and a UUIDv7"));

/** RFC 3339, UTC, milliseconds. */
const Timestamp = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, "must be RFC 3339 UTC with milliseconds"));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));
const natural = v.pipe(v.number(), v.integer(), v.minValue(0));
const milliseconds = v.pipe(v.number(), v.minValue(0));
const JsonRecord = v.record(v.string(), v.unknown());

/** Where a tool comes from. `path` only for tools from files, as an absolute path. */
export const Origin = v.object({
  system: v.picklist(["builtin", "stella", "nanocoder", "sdk", "mcp"]),
  scope: v.picklist(["builtin", "workspace", "user", "session"]),
  path: v.optional(v.string()),
});
export type Origin = v.InferOutput<typeof Origin>;

/** A tool as the model was offered it. */
export const OfferedTool = v.object({
  name: v.string(),
  origin: Origin,
  /** SHA-256 (hex) of the definition: for a manifest, of its bytes. */
  digest: v.string(),
  description: v.string(),
  input_schema: JsonRecord,
  read_only: v.boolean(),
  speculation_safe: v.boolean(),
});
export type OfferedTool = v.InferOutput<typeof OfferedTool>;

export const RequestedCall = v.object({
  call: CallId,
  provider_id: v.optional(v.string()),
  name: v.string(),
  arguments: v.string(),
});
export type RequestedCall = v.InferOutput<typeof RequestedCall>;

export const TaskRecord = v.looseObject({ id: v.string(), subject: v.string(), status: v.string(), owner: v.optional(v.string()) });
export type TaskRecord = v.InferOutput<typeof TaskRecord>;

/** Who allowed or denied a call. */
export const AllowedBy = v.picklist(["policy", "mode", "approval", "hook", "always_allow"]);
export type AllowedBy = v.InferOutput<typeof AllowedBy>;
export const DeniedBy = v.picklist(["hook", "mode", "switch", "schema", "approval", "trust", "unknown_tool", "malformed"]);
export type DeniedBy = v.InferOutput<typeof DeniedBy>;

const identity = { pid: positive, pgid: positive, start_time: v.string() };

/** The body of every event type, version 1: made when the first event of its type is read, as whoever only writes needs none. */
const bodies = {
  session_opened: () =>
    v.object({
      workspace: v.string(),
      title: v.optional(v.string()),
      model: v.string(),
      base_url: v.optional(v.string()),
      mode: Mode,
      system: v.string(),
      tools: v.array(OfferedTool),
      /** The runtime that opened it, `orrery/VERSION`. */
      runtime: v.string(),
      parent: v.optional(v.object({ session: SessionId, call: CallId })),
    }),
  /** `key`: one prompt of however many requests with this key. */
  prompted: () => v.object({ turn: positive, text: v.string(), source: v.string(), key: v.optional(v.string()) }),
  mode_changed: () => v.object({ mode: Mode, by: v.string() }),
  model_changed: () => v.object({ model: v.string(), base_url: v.optional(v.string()), by: v.string() }),
  /** The tools or the system text differ from those last recorded (a session opened again after an edit). */
  tools_changed: () => v.object({ tools: v.array(OfferedTool), system: v.optional(v.string()) }),
  step_started: () => v.object({ turn: positive, step: positive }),
  attempt_started: () => v.object({ step: positive, attempt: positive, model: v.string() }),
  attempt_failed: () =>
    v.object({
      step: positive,
      attempt: positive,
      error: v.object({ kind: ModelErrorKind, message: v.string() }),
      retry_in_ms: v.nullable(milliseconds),
      /** Size of the request, if it was too long. */
      request_bytes: v.optional(natural),
    }),
  reply_committed: () =>
    v.object({
      step: positive,
      attempt: positive,
      text: v.string(),
      calls: v.array(RequestedCall),
      finish: Finish,
      usage: Usage,
      model: v.string(),
      provider_blocks: v.optional(v.array(v.unknown())),
    }),
  speculation_started: () =>
    v.object({
      speculation: SpeculationId,
      step: positive,
      attempt: positive,
      name: v.string(),
      input: v.unknown(),
      input_text: v.optional(v.string()),
    }),
  speculation_spawned: () => v.object({ speculation: SpeculationId, ...identity }),
  speculation_ended: () => v.object({ speculation: SpeculationId, outcome: Outcome, duration_ms: milliseconds }),
  speculation_discarded: () =>
    v.object({
      speculation: SpeculationId,
      reason: v.picklist(["not_asked", "input_changed", "stale", "fenced", "cancelled", "failed"]),
      /** Of `cancelled`: `refused`, if it was not the turn that was stopped but its call that was not run. */
      cause: v.optional(v.string()),
    }),
  /** `input_text` is the canonical text, present only if `input` as plain JSON would lose a number's digits. */
  call_allowed: () => v.object({ call: CallId, input: JsonRecord, input_text: v.optional(v.string()), by: AllowedBy }),
  call_denied: () => v.object({ call: CallId, by: DeniedBy, reason: v.string() }),
  /** `input`: what would run, as a hook may have changed it; logs of before that field have the model's own. */
  approval_requested: () =>
    v.object({
      call: CallId,
      reason: v.string(),
      input_digest: v.string(),
      input: v.optional(JsonRecord),
      input_text: v.optional(v.string()),
    }),
  approval_answered: () =>
    v.object({ call: CallId, decision: v.picklist(["allow", "deny"]), by: v.string(), reason: v.optional(v.string()) }),
  call_started: () =>
    v.object({
      call: CallId,
      name: v.string(),
      input_digest: v.string(),
      program_digest: v.optional(v.string()),
      /** Of the workspace's file that the program was given to run. */
      script_digest: v.optional(v.string()),
      worker: v.string(),
    }),
  call_spawned: () => v.object({ call: CallId, ...identity }),
  call_ended: () =>
    v.object({
      call: CallId,
      outcome: Outcome,
      result: CallResult,
      duration_ms: milliseconds,
      speculation: v.optional(SpeculationId),
      /** Of the session that worked for this call. */
      usage: v.optional(Usage),
      /** What early runs of that session, and of those that worked for it, were worth; absent: nothing. */
      child_speculation: v.optional(v.object({ saved_ms: milliseconds, wasted: natural, wasted_ms: milliseconds })),
      truncated: v.optional(Truncated),
      exports_withheld: v.optional(v.array(WithheldExport)),
      env_withheld: v.optional(v.array(v.string())),
      /** The first of them; `reaped_omitted`: how many more there were. */
      reaped: v.optional(v.array(ReapedProcess)),
      reaped_omitted: v.optional(natural),
    }),
  task_changed: () => v.object({ task: TaskRecord }),
  state_changed: () => v.object({ key: v.string(), value: v.nullable(v.string()) }),
  notice: () => v.object({ level: v.picklist(["info", "warning", "error"]), code: v.string(), text: v.string() }),
  turn_ended: () => v.object({ turn: positive, reason: TurnEnd, detail: v.optional(v.string()) }),
  session_resumed: () => v.object({ calls: v.array(CallId) }),
  /** Events 1 to `from_seq` are copies of those of `from`. (`at` is the envelope's.) */
  session_forked: () => v.object({ from: SessionId, from_seq: natural }),
} as const;

type Body<T extends EventType> = ReturnType<(typeof bodies)[T]>;
const made = new Map<EventType, v.GenericSchema>();

export const eventTypes = Object.keys(bodies) as readonly EventType[];

export function bodyOf<T extends EventType>(type: T): Body<T> {
  const body = made.get(type) ?? bodies[type]();
  made.set(type, body);
  return body as Body<T>;
}

const stateChange = () =>
  v.variant("type", [
    v.object({ type: v.literal("task_changed"), ...bodyOf("task_changed").entries }),
    v.object({ type: v.literal("state_changed"), ...bodyOf("state_changed").entries }),
  ]);
/** A change of the task board or the scratch state that a built-in proposes with its result. */
export type StateChange = v.InferOutput<ReturnType<typeof stateChange>>;

/** What a tool host proposed. @throws {EventFormatError} */
export function parseChanges(changes: readonly unknown[]): readonly StateChange[] {
  const parsed = v.safeParse(v.array(stateChange()), changes);
  if (!parsed.success) throw new EventFormatError(`Cannot record proposed changes: ${firstIssue(parsed.issues)}`);
  return parsed.output;
}

export type EventType = keyof typeof bodies;
export type EventBody<T extends EventType> = v.InferOutput<Body<T>>;

/** Present on every event. `v` is the version of the body of that type. */
export interface Envelope {
  readonly v: number;
  readonly session: string;
  readonly seq: number;
  readonly at: string;
}

/** A durable event of a type we know. */
export type SessionEvent = { [T in EventType]: Envelope & { readonly type: T } & EventBody<T> }[EventType];
export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;

/** An event of a type this version does not know: kept whole and passed on. */
export interface ForeignEvent extends Envelope {
  readonly type: string;
  readonly foreign: Readonly<Record<string, unknown>>;
}
export type StoredEvent = SessionEvent | ForeignEvent;

export const EVENT_VERSION = 1;

const envelope = v.looseObject({ v: positive, session: SessionId, seq: positive, at: Timestamp, type: v.string() });

/** Thrown for an event that cannot be understood; `message` says which and why. */
export class EventFormatError extends Error {
  override readonly name = "EventFormatError";
}

export function isKnown(event: StoredEvent): event is SessionEvent {
  return !("foreign" in event);
}

/**
 * Checks one event of the current version.
 * @throws {EventFormatError} if the envelope or a known type's body is wrong.
 */
export function parseEvent(value: unknown): StoredEvent {
  const head = v.safeParse(envelope, value);
  if (!head.success) throw new EventFormatError(`Cannot read event as its envelope is wrong: ${firstIssue(head.issues)}`);
  const type = head.output.type;
  if (!Object.hasOwn(bodies, type)) {
    const { v: version, session, seq, at } = head.output;
    return { v: version, session, seq, at, type, foreign: head.output };
  }
  if (head.output.v > EVENT_VERSION) {
    throw new EventFormatError(
      `Cannot read event ${head.output.seq} (${type}) as its version ${head.output.v} is newer than ${EVENT_VERSION}`,
    );
  }
  const body = v.safeParse(bodyOf(type as EventType), value);
  if (!body.success) {
    throw new EventFormatError(`Cannot read event ${head.output.seq} (${type}) as its body is wrong: ${firstIssue(body.issues)}`);
  }
  return value as SessionEvent;
}

/** The event as it is written down and sent. */
export function toPlainEvent(event: StoredEvent): object {
  return isKnown(event) ? event : event.foreign;
}

function firstIssue(issues: readonly v.BaseIssue<unknown>[]): string {
  const issue = issues[0];
  if (issue === undefined) return "unknown fault";
  const path = v.getDotPath(issue);
  return path === null ? issue.message : `${path}: ${issue.message}`;
}
