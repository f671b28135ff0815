import type { Outcome } from "../session/outcome.ts";

/** Why a call was ended from outside. */
export type Stopped = Extract<Outcome, { kind: "timed_out" | "cancelled" }>;

/** The reason of a cancel after which nobody wants what the call was doing: it is given no time to end by itself. */
export const UNWANTED = "unwanted";

/**
 * The one race of a call: its own end, the deadline, the cancel. The first wins, and whatever comes later changes
 * nothing. Time is monotonic. `end` never rejects.
 */
export function firstCause<T>(end: Promise<T>, timeout_ms: number, signal: AbortSignal): Promise<T | Stopped> {
  return new Promise((resolve) => {
    const cancel = () => settle({ kind: "cancelled" });
    const timer = setTimeout(() => settle({ kind: "timed_out", after_ms: timeout_ms }), Math.min(timeout_ms, MAX_TIMER_MS));
    const settle = (cause: T | Stopped) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      resolve(cause);
    };
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    void end.then(settle);
  });
}

/** A timer with a longer delay would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
