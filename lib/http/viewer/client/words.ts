/** What happened, in words. */
import type { EventOf } from "../../../session/event.ts";
import type { Outcome } from "../../../session/outcome.ts";

export function failureText({ attempt, error, retry_in_ms }: EventOf<"attempt_failed">): string {
  return `Attempt ${attempt} failed (${error.kind}${retry_in_ms === null ? "" : ", tried again"}): ${error.message}`;
}

export function allowedText(by: string): string {
  return by === "approval" || by === "always_allow" ? "allowed by a person" : `allowed by ${by}`;
}

export function endText({ turn, reason, detail }: EventOf<"turn_ended">): string {
  return `Turn ${turn} ${reason}${detail === undefined ? "" : `: ${detail}`}`;
}

export function resumedText(lost: number): string {
  return lost === 0
    ? "Resumed after an interruption"
    : `Resumed after an interruption: ${lost === 1 ? "one call has" : `${lost} calls have`} no known outcome`;
}

export function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "exited":
      return `exit ${outcome.code}`;
    case "signalled":
      return outcome.signal;
    case "timed_out":
      return `timed out after ${outcome.after_ms / 1000} s`;
    case "cancelled":
      return "cancelled";
    case "returned":
      return "returned";
    case "not_started":
      return `not started: ${outcome.reason}`;
    case "unknown":
      return `outcome unknown: ${outcome.cause}`;
  }
}
