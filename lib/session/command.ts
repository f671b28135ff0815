import type { SpeculationWorth } from "./early-runs.ts";
import type { AllowedBy, DeniedBy, EventBody, RequestedCall, StateChange } from "./event.ts";
import type { JsonInput } from "./json.ts";
import type { CallResult, Finish, Mode, ModelErrorKind, Outcome, TurnEnd, Usage } from "./outcome.ts";

/**
 * What may be asked of a session. Times, ids and everything random come in here, so that `decide` can be replayed.
 * `at` is RFC 3339 UTC with milliseconds.
 */
export type Command =
  | ({ readonly type: "open"; readonly at: string; readonly session: string } & EventBody<"session_opened">)
  | { readonly type: "prompt"; readonly at: string; readonly text: string; readonly source: string; readonly key?: string }
  | { readonly type: "change_mode"; readonly at: string; readonly mode: Mode; readonly by: string }
  | { readonly type: "change_model"; readonly at: string; readonly model: string; readonly base_url?: string; readonly by: string }
  | ({ readonly type: "change_tools"; readonly at: string } & EventBody<"tools_changed">)
  | { readonly type: "begin_step"; readonly at: string }
  | { readonly type: "begin_attempt"; readonly at: string }
  | {
    readonly type: "fail_attempt";
    readonly at: string;
    readonly error: { readonly kind: ModelErrorKind; readonly message: string };
    readonly retry_in_ms: number | null;
    readonly request_bytes?: number;
  }
  | { readonly type: "commit_reply"; readonly at: string; readonly reply: Reply }
  | { readonly type: "allow_call"; readonly at: string; readonly call: string; readonly input: JsonInput; readonly by: AllowedBy }
  | { readonly type: "deny_call"; readonly at: string; readonly call: string; readonly by: DeniedBy; readonly reason: string }
  | {
    readonly type: "request_approval";
    readonly at: string;
    readonly call: string;
    readonly reason: string;
    readonly input_digest: string;
    readonly input: JsonInput;
  }
  | {
    readonly type: "answer_approval";
    readonly at: string;
    readonly call: string;
    readonly decision: "allow" | "deny";
    readonly by: string;
    readonly reason?: string;
    /** Of what was shown to the person; must be what was requested. */
    readonly input_digest: string;
  }
  | ({ readonly type: "start_call"; readonly at: string } & Omit<EventBody<"call_started">, "name">)
  | ({ readonly type: "record_spawn"; readonly at: string } & EventBody<"call_spawned">)
  | ({ readonly type: "end_call"; readonly at: string; readonly changes?: readonly StateChange[] } & EventBody<"call_ended">)
  | {
    readonly type: "start_speculation";
    readonly at: string;
    readonly speculation: string;
    readonly name: string;
    readonly input: JsonInput;
  }
  | ({ readonly type: "record_speculation_spawn"; readonly at: string } & EventBody<"speculation_spawned">)
  | ({ readonly type: "end_speculation"; readonly at: string } & EventBody<"speculation_ended">)
  | ({ readonly type: "discard_speculation"; readonly at: string } & EventBody<"speculation_discarded">)
  | ({ readonly type: "note"; readonly at: string } & EventBody<"notice">)
  /** The model is told something within the turn, as a user's message: by a stop hook, or by the repeat guard. */
  | { readonly type: "interject"; readonly at: string; readonly text: string; readonly source: string }
  | { readonly type: "end_turn"; readonly at: string; readonly reason: TurnEnd; readonly detail?: string }
  /** Ends a turn on purpose: whatever has not started is settled. Running calls must have been ended before. */
  | { readonly type: "cancel"; readonly at: string; readonly reason: TurnEnd; readonly detail?: string }
  /**
   * The session is taken up again after its runtime went away: calls that had started end as `unknown`. `held`: from when
   * to when the runtime that held the session last, and may be another than began them, is known to have lived. `used`: what
   * sessions that worked for one of these calls have used, by the call. `copied`: the log was taken in with its turn open,
   * which may go on where it came from: what has not started is not this session's to run.
   */
  | {
    readonly type: "resume";
    readonly at: string;
    readonly held?: { readonly from: string; readonly until: string };
    readonly used?: ReadonlyMap<string, ChildUse>;
    readonly copied?: boolean;
  }
  /** The events so far are a copy of those of `from`: what they left open was never this session's to run. */
  | { readonly type: "fork"; readonly at: string; readonly from: string };

/** Of sessions that worked for a call. */
export interface ChildUse {
  readonly usage: Usage;
  readonly speculation: SpeculationWorth;
}

export interface Reply {
  readonly text: string;
  readonly calls: readonly RequestedCall[];
  readonly finish: Finish;
  readonly usage: Usage;
  readonly model: string;
  readonly provider_blocks?: readonly unknown[];
}

/** An answer to a command: events to append, or why not. A refusal changes nothing. */
export type Decision<Event> =
  | { readonly kind: "accepted"; readonly events: readonly Event[] }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export interface Refusal {
  readonly code:
    | "not_open"
    | "already_open"
    | "busy"
    | "no_turn"
    | "not_now"
    | "unknown_call"
    | "unknown_speculation"
    | "settled"
    | "altered";
  readonly message: string;
}

export type { CallResult, Outcome };
