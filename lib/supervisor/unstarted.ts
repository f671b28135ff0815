/** What both threads know of a process's life. Apart from what drives one: the main thread does not load that. */
import { NOTHING_CAPTURED, type Run } from "../session/launch.ts";

/** How long SIGTERM is given before SIGKILL. What is left over after a normal end should not be there: it gets less. */
export const GRACE_MS = 1500;
export const LEFTOVER_GRACE_MS = 500;

/** A run without a process. */
export function unstarted(reason: "cancelled" | "cannot_start", began: number, problem?: string): Run {
  return {
    outcome: { kind: "not_started", reason },
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    ...(problem === undefined ? {} : { problem }),
    duration_ms: performance.now() - began,
    reaped: [],
  };
}
