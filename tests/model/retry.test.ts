import { describe, expect, test } from "bun:test";
import { ModelError } from "../../lib/model/model.ts";
import { retryDelay } from "../../lib/model/retry.ts";
import type { ModelErrorKind } from "../../lib/session/outcome.ts";

const LATER = { firstByteSeen: true };
const FIRST = { firstByteSeen: false };

function error(kind: ModelErrorKind, details: { retry_after_ms?: number; status?: number } = {}): ModelError {
  return new ModelError(kind, "x", details);
}

describe("retryDelay()", () => {
  test("doubles from 250 ms up to 8 s, half certain and half random, six times", () => {
    for (const kind of ["transport", "overloaded", "rate_limited"] as const) {
      const delays = (random: number) => [1, 2, 3, 4, 5, 6, 7].map((failures) => retryDelay(error(kind), failures, random, LATER));
      expect(delays(0)).toEqual([125, 250, 500, 1000, 2000, 4000, null]);
      expect(delays(1)).toEqual([250, 500, 1000, 2000, 4000, 8000, null]);
    }
  });

  test("honours Retry-After up to 120 s with up to an eighth more; more is final", () => {
    const after = (retry_after_ms: number, random: number) => retryDelay(error("rate_limited", { retry_after_ms }), 1, random, LATER);
    expect([after(8000, 0), after(8000, 1), after(120_000, 0), after(120_001, 0), after(0, 0)]).toEqual([8000, 9000, 120_000, null, 125]);
    expect(retryDelay(error("overloaded", { retry_after_ms: 1000, status: 503 }), 7, 0, LATER)).toBe(null);
  });

  test("tries an unreachable endpoint twice in all, under a second, before the session's first byte", () => {
    expect(retryDelay(error("unreachable"), 1, 1, FIRST)).toBe(250);
    expect(retryDelay(error("unreachable"), 2, 1, FIRST)).toBe(null);
  });

  test("does not ask a silent endpoint again before the session's first byte, and later twice", () => {
    expect(retryDelay(error("idle_timeout"), 1, 1, FIRST)).toBe(null);
    expect([1, 2, 3].map((failures) => retryDelay(error("idle_timeout"), failures, 1, LATER))).toEqual([250, 500, null]);
  });

  test("takes an endpoint that has answered before and is gone now as a passing fault", () => {
    expect(retryDelay(error("unreachable"), 6, 1, LATER)).toBe(8000);
    expect(retryDelay(error("unreachable", { status: 404 }), 1, 1, LATER)).toBe(null);
  });

  test("does not repeat what would fail again", () => {
    for (const kind of ["auth", "unknown_model", "context_overflow", "malformed", "rejected"] as const) {
      expect([kind, retryDelay(error(kind, { retry_after_ms: 10 }), 1, 0.5, LATER)]).toEqual([kind, null]);
    }
  });
});
