import { describe, expect, test } from "bun:test";
import { changeSpeculation, commitReads, endRead, noEarlyRuns, type SpeculationState } from "../../lib/session/early-runs.ts";
import type { EventOf } from "../../lib/session/event.ts";

const at = (ms: number) => new Date(ms).toISOString();
const envelope = (ms: number) => ({ v: 1, session: "ses_x", seq: 1, at: at(ms) }) as const;

/** Begins and ends an early run. */
function early(state: SpeculationState, speculation: string, from: number, to: number): SpeculationState {
  const began = changeSpeculation(
    state,
    { ...envelope(from), type: "speculation_started", speculation, step: 1, attempt: 1, name: "look", input: {} } as EventOf<
      "speculation_started"
    >,
  );
  const outcome = { kind: "exited", code: 0 } as const;
  return changeSpeculation(
    began,
    { ...envelope(to), type: "speculation_ended", speculation, outcome, duration_ms: to - from } as EventOf<"speculation_ended">,
  );
}

function ended(state: SpeculationState, ms: number, duration_ms: number, speculation?: string, leading = true): SpeculationState {
  const body = { type: "call_ended", call: "call_x", outcome: { kind: "exited", code: 0 }, result: { is_error: false, text: "" } } as const;
  return endRead(
    state,
    { ...envelope(ms), ...body, duration_ms, ...(speculation === undefined ? {} : { speculation }) } as EventOf<"call_ended">,
    leading,
  );
}

describe("what early runs save", () => {
  test("is all of a run that ended before its reply, and the part before it of one that did not", () => {
    const whole = ended(commitReads(early(noEarlyRuns, "a", 0, 200), at(500)), 501, 200, "a");
    expect([whole.saved_ms, whole.open]).toEqual([200, []]);
    expect(ended(commitReads(early(noEarlyRuns, "a", 400, 600), at(500)), 601, 200, "a").saved_ms).toBe(100);
  });

  test("is counted once for runs beside each other", () => {
    const both = commitReads(early(early(noEarlyRuns, "a", 0, 200), "b", 0, 300), at(500));
    expect(ended(ended(both, 501, 200, "a"), 501, 300, "b").saved_ms).toBe(300);
  });

  test("is nothing where another read took as long after the reply, whichever ended first", () => {
    const committed = commitReads(early(noEarlyRuns, "a", 0, 200), at(500));
    expect(ended(ended(committed, 501, 200, "a"), 1501, 1000).saved_ms).toBe(0);
    expect(ended(ended(committed, 1501, 1000), 1502, 200, "a").saved_ms).toBe(0);
    expect(ended(ended(committed, 501, 200, "a"), 650, 150).saved_ms).toBe(50);
  });

  test("says nothing of calls that stand after a change", () => {
    const saved = ended(commitReads(early(noEarlyRuns, "a", 0, 200), at(500)), 501, 200, "a");
    expect(ended(saved, 9000, 8000, undefined, false).saved_ms).toBe(200);
  });
});
