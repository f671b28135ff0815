/**
 * The one record every tool becomes, whatever dialect it was written in. Planning and reading are pure: a tool says
 * what to run and what a run means; it never runs anything.
 */
import type { Origin } from "../session/event.ts";
import type { JsonInput, JsonObject } from "../session/json.ts";
import type { Launch, Run } from "../session/launch.ts";
import type { CallResult, Truncated, WithheldExport } from "../session/outcome.ts";
import type { WireMessage } from "./sdk/wire.ts";

/** Whether a person must agree. `destructive`: asks in normal mode only. */
export type Approval = "never" | "always" | "destructive";

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Always an object schema with `properties`. */
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly origin: Origin;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  readonly read_only: boolean;
  readonly speculation_safe: boolean;
  readonly approval: Approval;
  /** It runs in this very process: promises P4 and P5 are not given for it. Only tools of a program that embeds Orrery. */
  readonly in_process?: boolean;
  /** The name that switches, hooks and grants are written for, where it is not the one that a model knows. */
  readonly rule_name?: string;
  /** Every way in which the input does not fit; empty if it fits. Bounded in time whatever the schema says. */
  check(input: JsonInput): readonly Violation[];
  /** The input as it will run, made once it fits and before anybody is asked: defaults are in, what is not declared is out. */
  complete?(input: JsonInput): JsonInput;
  plan(input: JsonInput, context: PlanContext): Plan;
  read(run: Run, input: JsonInput): ReadResult;
}

/** `pointer`: RFC 6901, "" for the whole input. */
export interface Violation {
  readonly pointer: string;
  readonly message: string;
  /** It speaks for itself, in the form of its dialect, and is what a refusal begins with. */
  readonly leads?: true;
}

export interface PlanContext {
  /** Absolute, symlinks resolved. */
  readonly workspace: string;
  /** What a child may inherit, secrets of the runtime already taken out. */
  readonly env: Readonly<Record<string, string>>;
  /** The projections that built-ins read. Each is made when it is asked for. */
  readonly state: PlanState;
  /** Files of the runtime that built-ins do not read. */
  readonly secret_files?: readonly string[];
  /** Absent where no session can have children: one child too deep, or no session's call. */
  readonly children?: Children;
}

/** Sessions that work for the call of another. */
export interface Children {
  /** Never rejects: the run's reply is the child's last words. */
  run(brief: ChildBrief, now: AbortSignal, stop: AbortSignal): Promise<ChildRun>;
}

export interface ChildBrief {
  readonly title: string;
  readonly prompt: string;
  /** It gets the read-only tools alone. */
  readonly read_only: boolean;
}

export interface ChildRun {
  readonly run: Run;
  /** Null if it could not be opened. */
  readonly session: string | null;
}

export interface PlanState {
  /** By path relative to the workspace: what the session knows of a file. */
  readonly reads: JsonObject;
  /** By id: the task board. */
  readonly tasks: JsonObject;
  /** By key: the scratch state. */
  readonly scratch: JsonObject;
}

export type Plan =
  | {
    readonly kind: "launch";
    readonly launch: Launch;
    /** What is started, for the digest that says what ran: a path, or a bare name for the PATH of the launch. */
    readonly program?: string;
    /** What the program must be when it starts; else the call is not run. For a program that is the tool's own definition. */
    readonly program_digest?: string;
    /** Names of the variables that carry inputs. */
    readonly exports_made?: readonly string[];
    readonly exports_withheld?: readonly WithheldExport[];
  }
  | RemotePlan
  /** It cannot run, and trying again would not help. */
  | { readonly kind: "unable"; readonly problem: string };

/** A plan whose call goes to something that already runs. The caller records the intent before, and one end after. */
export interface RemotePlan {
  readonly kind: "remote";
  /** Who carries it out, for the log: `mcp:NAME`, `child`. */
  readonly worker: string;
  /**
   * Never rejects: every ending is a `Run`. `now` ends it as `cancelled`; `stop` asks it to end at a safe point, where it can.
   * `tell`: takes what it says to those who watch.
   */
  call(now: AbortSignal, stop?: AbortSignal, tell?: (message: WireMessage) => void): Promise<Run>;
}

export interface ReadResult {
  readonly result: CallResult;
  readonly truncated?: Truncated;
  /** Changes that a built-in proposes; the loop records them. */
  readonly changes?: readonly JsonObject[];
}
