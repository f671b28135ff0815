import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Command } from "../../lib/session/command.ts";
import { decide } from "../../lib/session/decide.ts";
import { next } from "../../lib/session/next.ts";
import { fold, type SessionState } from "../../lib/session/state.ts";
import { after, allow, AT, callId, OPEN, PROMPT, start, STEP } from "./specification.ts";

interface Played {
  readonly name: string;
  readonly input?: string;
  readonly result: string;
  readonly took_ms?: number;
}

/** One step for each call; stops when the guard does. Tells what the guard did and after which call. */
function play(calls: readonly Played[]): { readonly hints: readonly number[]; readonly stopped: number | null; readonly detail: string } {
  let state: SessionState = after(OPEN, PROMPT).state;
  const hints: number[] = [];
  const run = (command: Command) => {
    const decision = decide(state, command);
    if (decision.kind === "refused") throw new Error(`${command.type}: ${decision.refusal.message}`);
    state = fold(decision.events, state);
  };
  for (const [index, call] of calls.entries()) {
    for (let effect = next(state)[0]; effect?.kind !== "begin_step"; effect = next(state)[0]) {
      if (effect?.kind === "end_turn") return { hints, stopped: index, detail: effect.detail ?? "" };
      if (effect?.kind !== "interject") throw new Error(`unexpected ${effect?.kind}`);
      hints.push(index);
      run({ type: "interject", at: AT, text: effect.text, source: effect.source });
    }
    for (const command of STEP) run(command);
    const requested = [{ call: callId(index + 1), name: call.name, arguments: call.input ?? "{}" }];
    run({
      type: "commit_reply",
      at: AT,
      reply: { text: "", calls: requested, finish: "tool_calls", usage: { input_tokens: 1, output_tokens: 1 }, model: "m" },
    });
    run(allow(index + 1));
    run(start(index + 1));
    run({
      type: "end_call",
      at: AT,
      call: callId(index + 1),
      outcome: { kind: "exited", code: 0 },
      result: { is_error: false, text: call.result },
      duration_ms: call.took_ms ?? 1,
    });
  }
  return { hints, stopped: null, detail: "" };
}

const times = (count: number, ...calls: readonly Played[]) =>
  Array.from({ length: count * calls.length }, (_none, index) => calls[index % calls.length] as Played);
const A = { name: "look", input: '{"a":1}', result: "x" };
const B = { name: "look", input: '{"a":2}', result: "y" };

describe("the repeat guard", () => {
  test("hints after the third equal call and stops after the fourth", () => {
    expect(play(times(8, A))).toEqual({
      hints: [3],
      stopped: 4,
      detail: 'repeated calls of "look" with the same input and the same result',
    });
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

  test("lets a tool that waits itself give one answer up to twenty times", () => {
    const pending = { ...A, result: "pending", took_ms: 1000 };
    expect(play([...times(19, pending), { ...pending, result: "ready" }])).toMatchObject({ hints: [3], stopped: null });
    expect(play(times(30, pending))).toMatchObject({ hints: [3], stopped: 21 });
    expect(play(times(30, pending, { ...B, took_ms: 0 }))).toMatchObject({ hints: [6], stopped: 41 });
    expect(play(times(30, { ...pending, took_ms: 900 }))).toMatchObject({ hints: [3], stopped: 4 });
  });

  test("lets many different calls have one answer", () => {
    const sweep = Array.from({ length: 30 }, (_none, index) => ({ ...A, input: `{"a":${index}}`, result: "ok" }));
    expect(play(sweep)).toMatchObject({ hints: [], stopped: null });
  });

  test("is content when the model changes course after the hint, and hints no second time", () => {
    expect(play([...times(3, A), B, A, B, ...times(2, { ...A, result: "new" })])).toMatchObject({ hints: [3], stopped: null });
    expect(play([...times(3, A), ...times(6, { name: "look", input: '{"b":1}', result: "z" })])).toMatchObject({ hints: [3], stopped: 7 });
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
