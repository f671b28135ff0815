/**
 * Whether and when to ask again. Pure; the loop makes the attempts, since every attempt is an event.
 *
 * | error | |
 * |---|---|
 * | transport, overloaded, rate_limited | up to 6 retries: 250 ms, doubled each time, at most 8 s, half of it random |
 * | the same with a Retry-After up to 120 s | that long, plus up to an eighth; a longer one is final |
 * | idle_timeout before the session's first byte | final: nothing says that there is a model at all |
 * | idle_timeout later | as transport, but up to 2 retries: each may have cost minutes |
 * | unreachable before the session's first byte | one retry, at once |
 * | unreachable later | as transport; as the answer to a wrong path (it has a status) it is final |
 * | auth, unknown_model, context_overflow, malformed, rejected | final |
 */
import type { ModelError } from "./model.ts";

export const MAX_RETRIES = 6;
const MAX_IDLE_RETRIES = 2;
export const MAX_RETRY_AFTER_MS = 120_000;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 8000;

/**
 * Milliseconds to wait before the next attempt; null if the error is final.
 * `failures`: failed attempts of this step, this one included. `random`: from 0 up to 1.
 */
export function retryDelay(error: ModelError, failures: number, random: number, phase: { readonly firstByteSeen: boolean }): number | null {
  switch (error.kind) {
    case "transport":
    case "overloaded":
    case "rate_limited":
      return passingDelay(error, failures, random);
    case "idle_timeout":
      return phase.firstByteSeen && failures <= MAX_IDLE_RETRIES ? passingDelay(error, failures, random) : null;
    case "unreachable":
      if (error.status !== null) return null;
      if (phase.firstByteSeen) return passingDelay(error, failures, random);
      return failures < 2 ? jittered(FIRST_DELAY_MS, random) : null;
    case "auth":
    case "unknown_model":
    case "context_overflow":
    case "malformed":
    case "rejected":
      return null;
  }
}

function passingDelay(error: ModelError, failures: number, random: number): number | null {
  if (failures > MAX_RETRIES) return null;
  const asked = error.retry_after_ms ?? 0;
  if (asked > MAX_RETRY_AFTER_MS) return null;
  if (asked > 0) return Math.round(asked + (asked / 8) * random);
  return jittered(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)), random);
}

/** Half of the delay is certain, half is random. */
function jittered(delay: number, random: number): number {
  return Math.round(delay / 2 + (delay / 2) * random);
}
