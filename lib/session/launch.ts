import type { SpeculationWorth } from "./early-runs.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Outcome, ReapedProcess, Usage } from "./outcome.ts";

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
  /** Bytes of each stream that the `Run` carries; what is over is cut in the middle. Of standard error never more than 64 KiB. */
  readonly cap_bytes: number;
  /** Up to this, standard output is carried whole: for what is of no use in parts. */
  readonly whole_bytes?: number;
  /**
   * Standard output is JSON documents, one per line. Those of the form `{"type":"message","message":…}` are passed on
   * while it runs, as messages; nothing of standard output is then shown live as text.
   */
  readonly speaks?: "frames";
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
  /** Absolute paths of the runtime's own files that no tool may read. */
  readonly secret_files?: readonly string[];
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
  /** Messages of the call that were not passed on because they were too many or too large; absent: none. */
  readonly messages_dropped?: number;
  /** Of a run that was a session of its own: what it used, what its early runs were worth, and whether a call in it needed a person whom nobody could ask. */
  readonly child?: { readonly usage: Usage; readonly speculation: SpeculationWorth; readonly unanswered: boolean };
}

/** Identity of a process: a pid alone may be reused. `start_time` is in clock ticks since boot, as /proc gives it. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly pgid: number;
  readonly start_time: string;
}

export const NOTHING_CAPTURED: Captured = { text: "", bytes: 0, cut: false };

/**
 * A process that stays and is talked with, line by line; a `ProcessLaunch` is for one that is given its input once.
 *
 * T1  The process is started, tagged, drained and ended exactly as a call's is: own session and group, lineage, and the
 *     one kill path. Ending it is end of file on its standard input, up to 500 ms, then SIGTERM, a grace, SIGKILL.
 * T2  `ended` settles exactly once, when nothing that the process started is alive; a process that could not be started
 *     is `not_started`. It never rejects. `stderr` of the run is the capped whole of it, its end included.
 * T3  `onLine` gets whole lines of standard output without their end, as well-formed text, in order, and none after
 *     `ended`. A line of more than `line_bytes` ends the process, and `problem` says so.
 * T4  Lines wait in bounded room: while more than `window_bytes` of them are not taken by `onLine`, nothing more is read,
 *     so that a flood stops at its own pipe.
 * T5  `send` resolves when the process's pipe has taken the line, and rejects if the process has ended or more than
 *     `queue_bytes` are waiting. A process that does not read holds nothing but its own conversation.
 * T6  When the worker thread dies, its conversations end as `unknown{worker_died}` with their processes gone. When the
 *     supervisor closes, they are closed.
 */
export interface Conversation {
  /** Writes one line; the end of line is added. */
  send(line: string): Promise<void>;
  /** Begins to end it (T1). Again: nothing. */
  close(): void;
  readonly ended: Promise<Run>;
}

export interface ConversationRequest {
  /** Names it in the lineage, like a call: nothing else that lives has this name. */
  readonly call: string;
  readonly launch: Pick<ProcessLaunch, "argv" | "cwd" | "env">;
  readonly line_bytes: number;
  readonly window_bytes: number;
  readonly queue_bytes: number;
  readonly stderr_bytes: number;
  onLine(line: string): void;
}
