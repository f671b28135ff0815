/**
 * What the rest may ask of the supervisor. The implementation spans the main thread (`supervisor.ts`), worker
 * threads (`worker.ts`) and tool hosts (`child.ts`); only plain data crosses.
 *
 * V1  `run` settles exactly once, whatever happens to the process, its descendants, the host or the worker.
 * V2  When it settles, nothing that the call started is alive.
 * V3  `onSpawned` comes before `run` settles, and not at all if no process was started for the call.
 */
import type { Launch, ProcessIdentity, Run } from "../session/launch.ts";

export interface Supervisor {
  /** Never rejects: every ending is a `Run`. */
  run(request: RunRequest): Promise<Run>;
  /** Name of the worker that calls of this session go to, for the log. */
  workerOf(session: string): string;
  /** Starts a tool host ahead of need. */
  warm(): void;
  /** Processes that are alive on behalf of calls now. */
  live(): readonly LiveProcess[];
  /** Ends every call as cancelled, then every host and worker. */
  close(): Promise<void>;
}

export interface RunRequest {
  readonly session: string;
  readonly call: string;
  readonly launch: Launch;
  /** Aborting ends the call as `cancelled`. */
  readonly signal: AbortSignal;
  onSpawned?(identity: ProcessIdentity): void;
  /** Live output, coalesced and capped. */
  onOutput?(stream: "stdout" | "stderr", text: string): void;
}

export interface LiveProcess extends ProcessIdentity {
  readonly call: string;
  readonly worker: string;
}
