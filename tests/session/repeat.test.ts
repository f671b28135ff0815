import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Command } from "../../lib/session/command.ts";
import { decide } from "../../lib/session/decide.ts";
import type { DeniedBy } from "../../lib/session/event.ts";
import { next } from "../../lib/session/next.ts";
import { fold } from "../../lib/session/evolve.ts";
import type { SessionState } from "../../lib/session/state.ts";
import { after, allow, AT, callId, OPEN, PROMPT, start, STEP } from "./specification.ts";

interface Played {
  readonly name: string;
  readonly input?: string;
  readonly result: string;
  readonly took_ms?: number;
  /** It is refused instead, with the result as the reason. */
  readonly refused?: DeniedBy;
  /** Its runtime ends in the middle of it, and another goes on. */
  readonly cutOff?: true;
}

/** One step for each call; stops when the guard does. Tells what the guard did and after which call. */
const play = (calls: readonly Played[]) => playReplies(calls.map((call) => [call]));

/** One step for each list of calls. */
function playReplies(
  replies: readonly (readonly Played[])[],
): { readonly hints: readonly number[]; readonly stopped: number | null; readonly detail: string } {
  let state: SessionState = after(OPEN, PROMPT).state;
  const hints: number[] = [];
  const run = (command: Command) => {
    const decision = decide(state, command);
    if (decision.kind === "refused") throw new Error(`${command.type}: ${decision.refusal.message}`);
    state = fold(decision.events, state);
  };
  let last = 0;
  for (const [index, calls] of replies.entries()) {
    for (let effect = next(state)[0]; effect?.kind !== "begin_step"; effect = next(state)[0]) {
      if (effect?.kind === "end_turn") return { hints, stopped: index, detail: effect.detail ?? "" };
      if (effect?.kind !== "interject") throw new Error(`unexpected ${effect?.kind}`);
      hints.push(index);
      run({ type: "interject", at: AT, text: effect.text, source: effect.source });
    }
    for (const command of STEP) run(command);
    const first = last + 1;
    const requested = calls.map((call, position) => ({
      call: callId(first + position),
      name: call.name,
      arguments: call.input ?? "{}",
    }));
    last += calls.length;
    run({
      type: "commit_reply",
      at: AT,
      reply: { text: "", calls: requested, finish: "tool_calls", usage: { input_tokens: 1, output_tokens: 1 }, model: "m" },
    });
    for (const [position, call] of calls.entries()) {
      if (call.refused !== undefined) {
        run({ type: "deny_call", at: AT, call: callId(first + position), by: call.refused, reason: call.result });
        continue;
      }
      run(allow(first + position));
      run(start(first + position));
      if (call.cutOff === true) {
        run({ type: "resume", at: AT, held: { from: AT, until: AT } });
        continue;
      }
      run({
        type: "end_call",
        at: AT,
        call: callId(first + position),
        outcome: { kind: "exited", code: 0 },
        result: { is_error: false, text: call.result },
        duration_ms: call.took_ms ?? 1,
      });
    }
  }
  return { hints, stopped: null, detail: "" };
}

const times = (count: number, ...calls: readonly Played[]) =>
  Array.from({ length: count * calls.length }, (_none, index) => calls[index % calls.length] as Played);
const A = { name: "look", input: '{"a":1}', result: "x" };
const B = { name: "look", input: '{"a":2}', result: "y" };
const numbered = (count: number, result = "ok") =>
  Array.from({ length: count }, (_none, index) => ({ name: "look", input: `{"a":${index}}`, result }));

describe("the repeat guard", () => {
  test("hints after the third equal call and stops after the fourth", () => {
    expect(play(times(8, A))).toEqual({
      hints: [3],
      stopped: 4,
      detail: 'repeated calls of "look" with the same input and the same result',
    });
  });

  test("goes on counting where a runtime ended in the middle of a call, whose answer nobody knows", () => {
    const cut = { ...A, cutOff: true } as const;
    expect(play([A, A, cut, ...times(8, A)])).toMatchObject({ hints: [4], stopped: 5 });
    expect(play([A, A, A, cut, ...times(8, A)])).toMatchObject({ hints: [3], stopped: 5 });
    expect(play([A, A, cut, ...times(20, B, A)])).toMatchObject({ hints: [8], stopped: 9 });
  });

  test("sees cycles of up to four calls, and no longer ones", () => {
    expect(play(times(6, A, B))).toMatchObject({ hints: [6], stopped: 7 });
    const four = ["1", "2", "3", "4"].map((a) => ({ name: "look", input: `{"a":${a}}`, result: a }));
    expect(play(times(6, ...four))).toMatchObject({ hints: [12], stopped: 13 });
    const five = ["1", "2", "3", "4", "5"].map((a) => ({ name: "look", input: `{"a":${a}}`, result: a }));
    expect(play(times(6, ...five))).toMatchObject({ hints: [], stopped: null });
  });

  test("takes shuffled keys and white space for the same input, and malformed text for itself", () => {
    expect(play([{ ...A, input: '{"a":1,"b":2}' }, { ...A, input: '{ "b":2, "a":1 }' }, { ...A, input: '{"a":1,"b":2}' }, A]).hints)
      .toEqual([3]);
    expect(play(times(8, { ...A, input: '{"a":' }))).toMatchObject({ hints: [3], stopped: 4 });
  });

  test("lets polling go on as long as its answer changes", () => {
    const polls = Array.from({ length: 30 }, (_none, index) => ({ ...A, result: `${index} %` }));
    expect(play(polls)).toMatchObject({ hints: [], stopped: null });
  });

  test("lets a tool that waits itself give one answer for as long as it likes", () => {
    const pending = { ...A, result: "pending", took_ms: 1000 };
    expect(play(times(60, pending))).toMatchObject({ hints: [], stopped: null });
    expect(play(times(30, pending, { ...B, took_ms: 0 }))).toMatchObject({ hints: [], stopped: null });
    expect(play(times(30, { ...pending, took_ms: 900 }))).toMatchObject({ hints: [3], stopped: 4 });
    const waits = Array.from({ length: 60 }, () => numbered(5).map((call) => ({ ...call, took_ms: 200 })));
    expect(playReplies(waits)).toMatchObject({ hints: [], stopped: null });
  });

  test("stops quick rounds however many slow ones came before, and counts none of these", () => {
    const pending = { ...A, took_ms: 1000 };
    expect(play([...times(40, pending), ...times(8, A)])).toMatchObject({ hints: [43], stopped: 44 });
    expect(play([...times(20, pending, B), ...times(8, A, B)])).toMatchObject({ hints: [45], stopped: 46 });
  });

  test("is never tripped by rounds that wait, and always by quick ones, in whatever pattern", () => {
    const pattern = fc.array(fc.record({ a: fc.nat({ max: 3 }), took_ms: fc.nat({ max: 300 }) }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(pattern, fc.nat(), fc.integer({ min: 1000, max: 90_000 }), (calls, waiting, took_ms) => {
        const round = calls.map((call) => ({
          name: "look",
          input: `{"a":${call.a}}`,
          result: "same",
          took_ms: call.took_ms / calls.length,
        }));
        const slow = round.map((call, index) => index === waiting % round.length ? { ...call, took_ms } : call);
        expect(play(times(20, ...round)).stopped).not.toBeNull();
        // A call that is in the round more than once and did not wait each time may be a loop of its own.
        if (new Set(calls.map(({ a }) => a)).size === calls.length) {
          expect(play(times(20, ...slow))).toMatchObject({ hints: [], stopped: null });
        }
      }),
      { seed: 7, numRuns: 60 },
    );
  });

  test("lets many different calls have one answer", () => {
    const sweep = Array.from({ length: 30 }, (_none, index) => ({ ...A, input: `{"a":${index}}`, result: "ok" }));
    expect(play(sweep)).toMatchObject({ hints: [], stopped: null });
  });

  test("is content when the model changes course after the hint, and hints no second time", () => {
    expect(play([...times(3, A), B, A, B, ...times(2, { ...A, result: "new" })])).toMatchObject({ hints: [3], stopped: null });
    expect(play([...times(3, A), ...times(6, { name: "look", input: '{"b":1}', result: "z" })])).toMatchObject({ hints: [3], stopped: 7 });
  });

  test("sees the same calls in reply after reply, however many and in whatever order they are", () => {
    const five = numbered(5);
    expect(playReplies(Array.from({ length: 40 }, () => five))).toMatchObject({ hints: [3], stopped: 4 });
    const [a, b, c] = numbered(3) as [Played, Played, Played];
    const orders = [[a, b, c], [b, a, c], [c, a, b], [a, c, b], [c, b, a], [b, c, a]];
    expect(playReplies([...orders, ...orders])).toMatchObject({ hints: [3], stopped: 4 });
  });

  test("sees cycles of up to four replies, and no longer ones", () => {
    const cycle = (length: number) =>
      Array.from({ length: 40 }, (_none, index) => numbered(5, `${index % length}`).toSorted(() => index % 3 - 1));
    expect(playReplies(cycle(2))).toMatchObject({ hints: [6], stopped: 7 });
    expect(playReplies(cycle(4))).toMatchObject({ hints: [12], stopped: 13 });
    expect(playReplies(cycle(5))).toMatchObject({ hints: [], stopped: null });
  });

  test("counts a call as often as it is in a reply", () => {
    const counts = [1, 2, 3, 4, 5].map((count) => numbered(5).flatMap((call, index) => index < count ? [B, call] : [call]));
    expect(playReplies(counts)).toMatchObject({ hints: [], stopped: null });
  });

  test("lets replies of many calls go on of which one has a new answer", () => {
    const polls = Array.from({ length: 40 }, (_none, index) => [...numbered(5), { ...A, result: `${index} %` }]);
    expect(playReplies(polls)).toMatchObject({ hints: [], stopped: null });
  });

  for (const refused of ["malformed", "unknown_tool", "schema", "hook"] as const) {
    test(`counts calls that are refused (${refused}), whatever their input`, () => {
      const growing = Array.from({ length: 20 }, (_none, index) => ({
        name: "look",
        input: `{"comm${"x".repeat(index)}`,
        result: `refused at ${index}`,
        refused,
      }));
      expect(play(growing)).toEqual({
        hints: [5],
        stopped: 6,
        detail: 'calls of "look" that were refused again and again for the same kind of reason',
      });
      const [first, ...rest] = growing;
      expect(playReplies([[first as Played], ...rest.map((call) => [call, call])])).toMatchObject({ hints: [5], stopped: 6 });
    });
  }

  test("counts refused calls only in a row, of one tool, for one kind of reason, and reply by reply", () => {
    const refused = (index: number, change: Partial<Played> = {}) =>
      ({ name: "look", input: `{"a":${index}}`, result: `no ${index}`, refused: "hook", ...change }) as const;
    const indexes = Array.from({ length: 20 }, (_none, index) => index);
    const ran = (index: number) => ({ ...A, input: `{"a":${index}}`, result: `${index}` });
    const content = { hints: [], stopped: null };
    expect(play(indexes.flatMap((index) => index % 5 === 4 ? [ran(index)] : [refused(index)]))).toEqual({ ...content, detail: "" });
    expect(play(indexes.map((index) => refused(index, { name: `look_${index}` })))).toMatchObject(content);
    expect(play(indexes.map((index) => refused(index, { refused: index % 7 < 3 ? "hook" : "schema" })))).toMatchObject(content);
    expect(playReplies(indexes.map((index) => [refused(index), ran(index)]))).toMatchObject(content);
    expect(playReplies([indexes.map((index) => refused(index)), [ran(0)]])).toMatchObject(content);
  });

  test("never stops a turn whose calls are all different", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 500 }), { maxLength: 40 }), (inputs) => {
        expect(play(inputs.map((a) => ({ name: "look", input: `{"a":${a}}`, result: "same" }))).stopped).toBeNull();
      }),
      { seed: 3, numRuns: 50 },
    );
  });
});

describe("the spend limit", () => {
  test("stops before the next step once the session has cost as much", () => {
    const paid: Extract<Command, { type: "commit_reply" }> = {
      type: "commit_reply",
      at: AT,
      reply: {
        text: "",
        calls: [{ call: callId(1), name: "look", arguments: "{}" }],
        finish: "tool_calls",
        usage: { input_tokens: 1, output_tokens: 1, cost_usd: 0.5 },
        model: "m",
      },
    };
    const denied: Command = { type: "deny_call", at: AT, call: callId(1), by: "hook", reason: "no" };
    const { state } = after(OPEN, PROMPT, ...STEP, paid, denied);
    expect(next(state, { max_steps: 10, parallel_reads: 8, spend_usd: 0.5 })[0]).toMatchObject({ kind: "end_turn", reason: "stopped" });
    expect(next(state, { max_steps: 10, parallel_reads: 8, spend_usd: 0.6 })[0]).toMatchObject({ kind: "begin_step" });
    const unpriced = after(
      OPEN,
      PROMPT,
      ...STEP,
      { ...paid, reply: { ...paid.reply, usage: { input_tokens: 1, output_tokens: 1 } } },
      denied,
    );
    expect(next(unpriced.state, { max_steps: 10, parallel_reads: 8, spend_usd: 0.6 })[0]).toMatchObject({
      kind: "end_turn",
      reason: "stopped",
    });
  });
});
