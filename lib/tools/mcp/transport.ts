/**
 * What this room needs of the supervisor: a process that stays and is talked with, line by line. `supervisor.run` is
 * for processes that are given their input once and end by themselves.
 *
 * T1  The process is started, tagged, drained and ended exactly as a call's is: own session and group, lineage, and the
 *     one kill path. Ending it is end of file on its standard input, up to 500 ms, then SIGTERM, a grace, SIGKILL.
 * T2  `ended` settles exactly once, when nothing that the process started is alive; a process that could not be started
 *     is `not_started`. It never rejects. `stderr` of the run is the capped whole of it, its end included.
 * T3  `onLine` gets whole lines of standard output without their end, as well-formed text, in order, and none after
 *     `close` or `ended`. A line of more than `line_bytes` ends the process, and `problem` says so.
 * T4  Lines wait in bounded room: while more than `window_bytes` of them are not taken by `onLine`, nothing more is read,
 *     so that a flood stops at its own pipe.
 * T5  `send` resolves when the process's pipe has taken the line, and rejects if the process has ended or more than
 *     `queue_bytes` are waiting. A process that does not read holds nothing but its own conversation.
 * T6  When the worker thread dies, its conversations end as `unknown{worker_died}` with their processes gone. When the
 *     supervisor closes, they are closed.
 */
import type { Run } from "../../session/launch.ts";

export interface ConversationRequest {
  /** Names it in the lineage, like a call. */
  readonly call: string;
  readonly launch: {
    readonly argv: readonly string[];
    readonly cwd: string;
    /** The whole environment; the supervisor adds its tags. */
    readonly env: Readonly<Record<string, string>>;
  };
  readonly line_bytes: number;
  readonly window_bytes: number;
  readonly queue_bytes: number;
  readonly stderr_bytes: number;
  onLine(line: string): void;
}

export interface Conversation {
  /** Writes one line; the end of line is added. */
  send(line: string): Promise<void>;
  /** Begins to end it (T1). Again: nothing. */
  close(): void;
  readonly ended: Promise<Run>;
}

export type OpenConversation = (request: ConversationRequest) => Conversation;

export const LINE_BYTES = 8 * 1024 * 1024;
export const WINDOW_BYTES = 8 * 1024 * 1024;
export const QUEUE_BYTES = 32 * 1024 * 1024;
/** Enough for a stack trace; what people are shown is a tail of it. */
export const STDERR_BYTES = 16 * 1024;
