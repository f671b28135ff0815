/** A session's state as clients see it. Made once for each state, however often it is asked for. */
import type { SessionView } from "../agent/desk.ts";
import { parseArguments } from "../session/arguments.ts";
import { sha256 } from "../platform/digest.ts";
import { worthOf } from "../session/early-runs.ts";
import { parseKeepingNumbers } from "../session/json.ts";
import type { CallState, SessionState } from "../session/state.ts";
import { conversation, entriesOf } from "../session/transcript.ts";

type Asking = Extract<CallState["status"], { kind: "asking" }>;

type Bytes = Uint8Array<ArrayBuffer>;

/** Larger ones are kept only for as long as somebody is being sent one. */
const KEPT_BYTES = 4 * 1024 * 1024;
const kept = new WeakMap<SessionState, Map<string, { deref(): Bytes | undefined }>>();

/** JSON. */
export function stateDocument(view: SessionView): Bytes {
  const { state, status, queued } = view;
  // What waits changes without an event.
  if (queued.length > 0) return toDocument(view);
  const known = kept.get(state) ?? new Map<string, { deref(): Bytes | undefined }>();
  const before = known.get(status)?.deref();
  if (before !== undefined) return before;
  const bytes = toDocument(view);
  kept.set(state, known.set(status, bytes.length <= KEPT_BYTES ? { deref: () => bytes } : new WeakRef(bytes)));
  return bytes;
}

/** Quoted, as a header has it. */
export function etagOf({ state, status, queued }: SessionView): string {
  const waiting = queued.length === 0 ? "" : `-${sha256(JSON.stringify(queued)).slice(0, 16)}`;
  return `"${state.seq}-${status}${waiting}"`;
}

function toDocument(view: SessionView): Bytes {
  return new TextEncoder().encode(JSON.stringify(toBody(view)));
}

/** Head of a session, for the answer to its creation. */
export function openedBody({ state, status }: Pick<SessionView, "state" | "status">) {
  const { workspace = "", model = "", mode = "normal" } = state.header ?? {};
  return { session: state.session ?? "", seq: state.seq, status, workspace, model, mode } as const;
}

/** One call with the keys that the state shows of it. Inputs keep the digits of their numbers. */
export function callBody(call: CallState) {
  const { status } = call;
  return {
    call: call.call,
    name: call.name,
    input: inputOf(call),
    status: status.kind,
    ...(status.kind === "ended" ? { outcome: status.outcome, result: status.result } : {}),
  };
}

function toBody({ state, status, queued }: SessionView) {
  const calls = entriesOf(state).flatMap((entry) => entry.kind === "reply" ? entry.calls : []);
  return {
    ...openedBody({ state, status }),
    messages: conversation(state),
    calls: calls.map(callBody),
    approvals: calls.flatMap((call) => call.status.kind === "asking" ? [approvalBody(call, call.status)] : []),
    tasks: Object.values(state.tasks),
    state_keys: Object.keys(state.scratch).sort(),
    queued,
    usage: state.usage,
    speculation: worthOf(state.speculation),
    ...(state.turn.kind === "running" ? { turn: state.turn.turn } : {}),
  };
}

function approvalBody(call: CallState, { reason, input_digest }: Asking) {
  return { call: call.call, name: call.name, input: inputOf(call), reason, input_digest };
}

function inputOf(call: CallState): unknown {
  if ("input" in call.status) return parseKeepingNumbers(call.status.input.text);
  const parsed = parseArguments(call.arguments);
  return parsed.kind === "input" ? parseKeepingNumbers(parsed.input.text) : call.arguments;
}
