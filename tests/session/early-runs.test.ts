import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  changeSpeculation,
  commitReads,
  endRead,
  type LeadingRead,
  noEarlyRuns,
  type ReadEnd,
  type SpeculationState,
  worthOf,
} from "../../lib/session/early-runs.ts";
import type { Command } from "../../lib/session/command.ts";
import type { EventOf } from "../../lib/session/event.ts";
import type { SessionState } from "../../lib/session/state.ts";
import { after, allow, AT, callId, OPEN, PROMPT, reply, start, STEP } from "./specification.ts";

const at = (ms: number) => new Date(ms).toISOString();
const envelope = (ms: number) => ({ v: 1, session: "ses_x", seq: 1, at: at(ms) }) as const;
const outcome = { kind: "exited", code: 0 } as const;

/** A read of a reply: it took this long, and ended so many milliseconds after the reply. `early`: a run before it was adopted. */
interface Read {
  readonly took: number;
  readonly ended: number;
  readonly early?: true;
  readonly outcome?: ReadEnd["outcome"];
}

/** What was saved once all of these reads have ended, which the reply begins with. */
function saved(...reads: readonly Read[]): number {
  let state = commitReads(noEarlyRuns, at(0));
  let known: readonly LeadingRead[] = reads.map((_read, index) => ({ call: `call_${index}`, end: null }));
  const numbered = reads.map((read, index) => ({ ...read, call: `call_${index}` }));
  for (const { call, took, ended, early, outcome: own = outcome } of numbered.toSorted((left, right) => left.ended - right.ended)) {
    const end = { outcome: own, duration_ms: took, ...(early === undefined ? {} : { speculation: `spec_${call}` }) };
    const event: EventOf<"call_ended"> = { ...envelope(ended), type: "call_ended", call, result: { is_error: false, text: "" }, ...end };
    state = endRead(state, event, known);
    known = known.map((each) => each.call === call ? { call, end } : each);
  }
  return state.saved_ms;
}

describe("what early runs save", () => {
  test("is what the reads would have taken after the reply, less what they did", () => {
    expect(saved({ took: 200, ended: 3, early: true })).toBe(197);
    expect(saved({ took: 200, ended: 100, early: true })).toBe(100);
  });

  test("is counted once for reads beside each other", () => {
    expect(saved({ took: 200, ended: 2, early: true }, { took: 300, ended: 3, early: true })).toBe(297);
  });

  test("counts that eight run at once, in the order of the reply", () => {
    const reads = (count: number, took: number) => Array.from({ length: count }, () => ({ took, ended: 30, early: true as const }));
    expect(saved(...reads(8, 200))).toBe(170);
    expect(saved(...reads(9, 200))).toBe(370);
    expect(saved(...reads(24, 200))).toBe(570);
    // The ninth takes the place that is free first.
    expect(saved({ took: 50, ended: 1, early: true }, ...reads(7, 200), ...reads(1, 200))).toBe(220);
    expect(saved(...reads(1, 200), ...reads(7, 50), ...reads(1, 100))).toBe(170);
  });

  test("is nothing where another read took as long after the reply, and less where one took part of it", () => {
    expect(saved({ took: 200, ended: 1, early: true }, { took: 1000, ended: 1001 })).toBe(0);
    expect(saved({ took: 200, ended: 1, early: true }, { took: 150, ended: 151 })).toBe(49);
  });

  test("is nothing where no run was adopted, or the turn was ended before the reads were", () => {
    expect(saved({ took: 200.4, ended: 200 })).toBe(0);
    expect(saved({ took: 900, ended: 100, early: true, outcome: { kind: "cancelled" } })).toBe(0);
  });

  test("is nothing where a run that failed was made again, however long its call waited for it", () => {
    // 1 s early and 1 s again, of a reply that went on for 50 ms.
    expect(saved({ took: 1000, ended: 1950 })).toBe(0);
    expect(saved({ took: 1000, ended: 1950 }, { took: 500, ended: 1, early: true })).toBe(0);
  });

  test("is never negative, and never more than all of the reads together", () => {
    const read = fc.record({ took: fc.nat(5000), ended: fc.nat(9000), early: fc.option(fc.constant(true as const), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(read, { maxLength: 30 }), (reads) => {
        const worth = saved(...reads.map(({ early, ...rest }) => early === undefined ? rest : { ...rest, early }));
        expect(worth).toBeGreaterThanOrEqual(0);
        expect(worth).toBeLessThanOrEqual(reads.reduce((sum, { took }) => sum + took, 0));
      }),
      { seed: 20261130, numRuns: 300 },
    );
  });
});

describe("a session", () => {
  const later = (ms: number) => at(Date.parse(AT) + ms);
  const begin: Command = { type: "start_speculation", at: AT, speculation: "spec_a", name: "look", input: { value: {}, text: "{}" } };
  const ready: Command = { type: "end_speculation", at: AT, speculation: "spec_a", outcome, duration_ms: 80 };
  const ended = (number: number, ms: number, took: number, speculation?: string): Command => ({
    type: "end_call",
    at: later(ms),
    call: callId(number),
    outcome,
    result: { is_error: false, text: "" },
    duration_ms: took,
    ...(speculation === undefined ? {} : { speculation }),
  });
  const worth = ({ speculation }: SessionState) => worthOf(speculation);

  test("counts the reads that a reply begins with, once the last of them has ended, and nothing behind a change", () => {
    const asked = [OPEN, PROMPT, ...STEP, begin, ready, reply(["look", "look", "change", "look"]), allow(1), start(1), allow(2), start(2)];
    const one = [...asked, ended(1, 5, 80, "spec_a")];
    expect(worth(after(...one).state).saved_ms).toBe(0);
    const both = [...one, ended(2, 20, 15)];
    expect(worth(after(...both).state)).toEqual({ saved_ms: 60, wasted: 0, wasted_ms: 0 });
    const rest = [...both, allow(3), start(3), ended(3, 1000, 900), allow(4), start(4), ended(4, 9000, 8000)];
    expect(worth(after(...rest).state).saved_ms).toBe(60);
    expect(after(...rest).state.speculation.open).toEqual([]);
  });

  test("adds up what the runs took that were thrown away", () => {
    const { state } = after(OPEN, PROMPT, ...STEP, begin, ready, {
      type: "discard_speculation",
      at: AT,
      speculation: "spec_a",
      reason: "not_asked",
    });
    expect(worth(state)).toEqual({ saved_ms: 0, wasted: 1, wasted_ms: 80 });
  });
});

test("a run whose end is not recorded was wasted until it was discarded, and none is counted twice", () => {
  const began: EventOf<"speculation_started"> = {
    ...envelope(0),
    type: "speculation_started",
    speculation: "a",
    step: 1,
    attempt: 1,
    name: "look",
    input: {},
  };
  const gone: EventOf<"speculation_discarded"> = { ...envelope(70), type: "speculation_discarded", speculation: "a", reason: "cancelled" };
  const state = [began, gone, gone].reduce<SpeculationState>(changeSpeculation, noEarlyRuns);
  expect([state.wasted, state.wasted_ms, state.open]).toEqual([1, 70, []]);
});
