/** What driving a turn needs, and what it gives. */
import type { Model } from "../model/model.ts";
import type { SpeculationWorth } from "../session/early-runs.ts";
import type { Limits } from "../session/next.ts";
import type { ModelErrorKind, Outcome, TurnEnd, Usage } from "../session/outcome.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { PlanContext, Tool } from "../tools/tool.ts";
import type { GatedTools } from "../gate/authorize.ts";
import type { Gate } from "../gate/gate.ts";
import type { Hooks } from "../gate/hooks.ts";
import type { Approver } from "./approver.ts";
import type { CallLine } from "./call-line.ts";
import type { Feed } from "./feed.ts";
import type { Price } from "./prices.ts";
import type { Recorder } from "./recorder.ts";
import type { Slots } from "./slots.ts";
import type { Speculator } from "./speculation.ts";

/** The toolbox as a turn uses it: the same from the beginning of a step to its end. */
export interface CallableTools extends GatedTools<Tool> {
  /** Takes over what has changed since. Only between steps. */
  renew(): void;
  /** Before each request: the log says which of them it offers, as the session's mode may have changed. */
  record(): void;
}

/** Everything the loop reaches out to. */
export interface TurnPorts {
  readonly session: string;
  readonly recorder: Recorder;
  readonly feed: Feed;
  readonly model: Model;
  readonly tools: CallableTools;
  readonly gate: Gate;
  readonly hooks: Hooks;
  readonly supervisor: Supervisor;
  readonly approver: Approver | null;
  readonly limits: Limits;
  /** What the model's replies cost, where the endpoint does not say. */
  readonly price: Price | null;
  /** What a request may take, in bytes of its messages; null if the model's window is not known. */
  readonly request_bytes: number | null;
  /** Wall clock of a turn, if the settings limit it. */
  readonly timeout_ms: number | null;
  /** The organisation's limit for it, whatever is asked for a turn. */
  readonly timeout_most_ms: number | null;
  /** Names of variables that children do not get, for the record of a call. */
  readonly env_withheld: readonly string[];
  /** Calls that another runtime had asked about or allowed, with the digest of their tool as it was then. */
  readonly inherited: ReadonlyMap<string, string | undefined>;
  /** Whether read-only calls may run while the model streams. */
  readonly speculate: boolean;
  /** `call`: the one that is planned for; null if it is none that could have children. */
  /** `approver`: whom the calls of a child may ask, if the call has one. */
  planContext(call: string | null, approver?: Approver | null): PlanContext;
}

/**
 * Two ways to stop. `stop` aborts at a safe point: calls that run are let finish, nothing new begins, the model is
 * not waited for. `now` also ends the calls that run.
 */
export interface TurnSignals {
  readonly stop: AbortSignal;
  readonly now: AbortSignal;
}

/** One turn under way. */
export interface Turn {
  readonly ports: TurnPorts;
  readonly signals: TurnSignals;
  readonly notes: TurnNotes;
  readonly speculator: Speculator;
  readonly slots: Slots;
  readonly line: CallLine;
}

/** What the turn learns on the way and the log does not say in a field. */
export interface TurnNotes {
  /** A call needed approval and nobody could be asked. */
  unanswered: boolean;
  /** The failure of the model that ends the turn. */
  error: { readonly kind: ModelErrorKind; readonly message: string } | null;
  /** There is a model: its endpoint has answered, in this turn or before. */
  answered: boolean;
  /** How often stop hooks were asked. */
  consultations: number;
}

/** The reason a signal was aborted with says how the turn is to end. */
export interface StopReason {
  readonly reason: TurnEnd;
  readonly detail: string;
}

export interface TurnResult {
  readonly turn: number;
  readonly reason: TurnEnd;
  readonly detail?: string;
  /** Text of the last reply of the turn. */
  readonly text: string;
  /** The model's failure, if that ended the turn. */
  readonly error?: { readonly kind: ModelErrorKind; readonly message: string };
  /** A call needed approval and nobody could be asked. */
  readonly unanswered: boolean;
  /** The wall clock ended the turn. */
  readonly timed_out: boolean;
  readonly steps: number;
  readonly calls: readonly TurnCall[];
  readonly usage: Usage;
  readonly speculation: SpeculationWorth;
}

export interface TurnCall {
  readonly call: string;
  readonly name: string;
  readonly is_error: boolean;
  readonly outcome: Outcome;
  readonly speculation?: string;
}
