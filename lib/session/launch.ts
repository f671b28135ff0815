import type { Json, JsonObject } from "./json.ts";
import type { Outcome, ReapedProcess } from "./outcome.ts";

/**
 * The words that tools and the supervisor share: a tool plans a `Launch`, the supervisor carries it out and gives
 * back a `Run`, the tool reads the `Run` into a result. Both sides are plain data that crosses threads.
 */
export type Launch = ProcessLaunch | HostLaunch;

/** One process of the user's: a script, a shell body. */
export interface ProcessLaunch {
  readonly kind: "process";
  /** Never empty. `argv[0]` is absolute, or a bare name that is looked up on `env.PATH`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment, not an addition; the supervisor adds its tags. */
  readonly env: Readonly<Record<string, string>>;
  /** Delivered on standard input, then end of file. Null: standard input is empty. */
  readonly stdin: string | null;
  readonly timeout_ms: number;
  /** Bytes of each stream that the `Run` carries; what is over is cut in the middle. */
  readonly cap_bytes: number;
}

/** One call that a tool host answers (this program in another process). */
export interface HostLaunch {
  readonly kind: "host";
  readonly tool: string;
  /** The user's file that has the tool; absent: it is a built-in. A host that was given a file serves nothing else. */
  readonly module?: HostModule;
  /** The call's input as canonical JSON text. */
  readonly input: string;
  readonly context: HostContext;
  readonly timeout_ms: number;
}

/** `describe` asks which tools the file has; `tool` and the input then say nothing. */
export interface HostModule {
  /** Absolute. */
  readonly file: string;
  readonly ask: "call" | "describe";
}

/** What a built-in may know of its session. `state`: the projection it reads (task board, scratch, what was read). */
export interface HostContext {
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  readonly state?: JsonObject;
}

/** What a built-in answers. `changes`: proposed changes of state, which the loop records. */
export interface HostReply {
  readonly is_error: boolean;
  readonly text: string;
  readonly data?: Json;
  readonly changes?: readonly JsonObject[];
  /** Bytes of the text before it was cut; absent: it is whole. */
  readonly whole_bytes?: number;
}

/** One stream of a process, already capped and well-formed. */
export interface Captured {
  readonly text: string;
  /** Bytes that the process wrote in all. */
  readonly bytes: number;
  /** Whether `text` lacks some of them (a marker inside says how many). */
  readonly cut: boolean;
}

/** How a launch went. */
export interface Run {
  readonly outcome: Outcome;
  readonly stdout: Captured;
  readonly stderr: Captured;
  /** Only for a host launch that `returned`. */
  readonly reply?: HostReply;
  /** Why it could not start, or what died: for people and models, beside the outcome. */
  readonly problem?: string;
  readonly duration_ms: number;
  readonly reaped: readonly ReapedProcess[];
}

/** Identity of a process: a pid alone may be reused. `start_time` is in clock ticks since boot, as /proc gives it. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly pgid: number;
  readonly start_time: string;
}

export const NOTHING_CAPTURED: Captured = { text: "", bytes: 0, cut: false };
