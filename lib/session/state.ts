/** What a session is: plain data, which a fold of its events makes (evolve.ts). */
import { type AppendList, emptyList, toArray } from "./append-list.ts";
import { noEarlyRuns, type SpeculationState } from "./early-runs.ts";
import type { OfferedTool, TaskRecord } from "./event.ts";
import type { JsonInput, JsonObject } from "./json.ts";
import type { CallResult, Mode, Outcome, TurnEnd, Usage } from "./outcome.ts";

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
  /** The highest number of a turn that is known. */
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
    /** Who refused it, if it was refused. */
    readonly denied_by?: string;
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

/** The state as plain JSON data: equal snapshots mean equal states. */
export function snapshot(state: SessionState): JsonObject {
  return JSON.parse(JSON.stringify({ ...state, history: toArray(state.history) })) as JsonObject;
}
