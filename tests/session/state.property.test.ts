import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decide } from "../../lib/session/decide.ts";
import type { Command } from "../../lib/session/command.ts";
import { isKnown, parseEvent, type SessionEvent, toPlainEvent } from "../../lib/session/event.ts";
import { type Effect, next } from "../../lib/session/next.ts";
import { fold } from "../../lib/session/evolve.ts";
import { findContradiction } from "../../lib/session/sequence.ts";
import { initialState, type SessionState, snapshot } from "../../lib/session/state.ts";
import { transcript } from "../../lib/session/transcript.ts";
import { AT, callId, OPEN, PROMPT } from "./specification.ts";

const RUNS = { numRuns: 300, seed: 20260101 };

/** Plays a session by a list of random choices: what `next` wants, in any order, with crashes and cancels between. */
function play(choices: readonly number[]): readonly SessionEvent[] {
  let state: SessionState = initialState;
  let calls = 0;
  const events: SessionEvent[] = [];
  const run = (command: Command): void => {
    const decision = decide(state, command);
    if (decision.kind === "refused") return;
    state = fold(decision.events, state);
    events.push(...decision.events);
  };
  const perform = (effect: Effect, choice: number): void => {
    switch (effect.kind) {
      case "begin_step":
        return run({ type: "begin_step", at: AT });
      case "ask_model": {
        run({ type: "begin_attempt", at: AT });
        if (choice % 5 === 0) {
          return run({
            type: "fail_attempt",
            at: AT,
            error: { kind: "transport", message: "reset" },
            retry_in_ms: choice % 10 === 0 ? null : 1,
          });
        }
        const names = choice % 3 === 0
          ? []
          : Array.from({ length: choice % 5 }, (_none, index) => (choice + index) % 2 === 0 ? "look" : "change");
        const requested = names.map((name) => ({ call: callId(++calls), name, arguments: choice % 7 === 0 ? "{" : '{"n":1.0}' }));
        return run({
          type: "commit_reply",
          at: AT,
          reply: { text: `r${choice}`, calls: requested, finish: "stop", usage: { input_tokens: 1, output_tokens: 1 }, model: "m" },
        });
      }
      case "authorize":
        if (choice % 4 === 0) return run({ type: "deny_call", at: AT, call: effect.call.call, by: "hook", reason: "no" });
        if (choice % 4 === 1) {
          return run({
            type: "request_approval",
            at: AT,
            call: effect.call.call,
            reason: "ask",
            input_digest: "d",
            input: { value: { n: 1 }, text: '{"n":1.0}' },
          });
        }
        return run({ type: "allow_call", at: AT, call: effect.call.call, input: { value: { n: 1 }, text: '{"n":1.0}' }, by: "policy" });
      case "ask_person":
        return run({
          type: "answer_approval",
          at: AT,
          call: effect.call.call,
          decision: choice % 2 === 0 ? "allow" : "deny",
          by: "test",
          input_digest: "d",
        });
      case "start_call":
        return run({ type: "start_call", at: AT, call: effect.call.call, input_digest: "d", worker: "w" });
      case "await_call":
        if (choice % 3 === 0) run({ type: "record_spawn", at: AT, call: effect.call.call, pid: 7, pgid: 7, start_time: "1" });
        return run({
          type: "end_call",
          at: AT,
          call: effect.call.call,
          outcome: { kind: "exited", code: 0 },
          result: { is_error: false, text: `t${choice}` },
          duration_ms: 1,
        });
      case "end_turn":
        return run({ type: "end_turn", at: AT, reason: effect.reason });
    }
  };
  run(OPEN);
  for (const choice of choices) {
    if (choice % 23 === 0) run({ type: "resume", at: AT });
    else if (choice % 29 === 0) run({ type: "cancel", at: AT, reason: "cancelled" });
    const effects = next(state, { max_steps: 6, parallel_reads: 8 });
    const effect = effects[choice % Math.max(1, effects.length)];
    if (effect === undefined) run(PROMPT);
    else perform(effect, choice);
  }
  return events;
}

const choices = fc.array(fc.nat({ max: 10_000 }), { minLength: 20, maxLength: 150, size: "max" });

describe("evolve()", () => {
  test("P1: folding any prefix and then the rest gives the same state as folding the whole", () => {
    fc.assert(
      fc.property(choices, fc.nat(), (list, cut) => {
        const events = play(list);
        const at = cut % (events.length + 1);
        const prefix = fold(events.slice(0, at));
        const branch = fold(events.slice(at), prefix);
        expect(snapshot(branch)).toEqual(snapshot(fold(events)));
        expect(snapshot(fold(events.slice(at), prefix))).toEqual(snapshot(branch));
      }),
      RUNS,
    );
  });

  test("a log read back from its text folds to the same state", () => {
    fc.assert(
      fc.property(choices, (list) => {
        const events = play(list);
        const read = events.map((event) => parseEvent(JSON.parse(JSON.stringify(toPlainEvent(event)))));
        expect(read.every(isKnown)).toBe(true);
        expect(snapshot(fold(read))).toEqual(snapshot(fold(events)));
      }),
      RUNS,
    );
  });
});

describe("findContradiction()", () => {
  const ONCE = ["call_denied", "call_started", "call_ended", "reply_committed", "step_started", "turn_ended"];

  test("finds none in what a session wrote, and one in each event that comes twice", () => {
    fc.assert(
      fc.property(choices, (list) => {
        let state = initialState;
        for (const event of play(list)) {
          expect(findContradiction(state, event)).toBeNull();
          state = fold([event], state);
          if (ONCE.includes(event.type)) expect([event.type, findContradiction(state, event)]).toEqual([event.type, expect.any(String)]);
        }
      }),
      RUNS,
    );
  });
});

describe("a session", () => {
  test("gives every requested call exactly one end once its turn is over, and none before a start of its own kind", () => {
    fc.assert(
      fc.property(choices, (list) => {
        const events = play(list);
        const ends = new Map<string, number>();
        const starts = new Map<string, number>();
        let open: string[] = [];
        for (const event of events) {
          if (event.type === "reply_committed") open.push(...event.calls.map((call) => call.call));
          if (event.type === "call_started") starts.set(event.call, (starts.get(event.call) ?? 0) + 1);
          if (event.type === "call_ended") ends.set(event.call, (ends.get(event.call) ?? 0) + 1);
          if (event.type === "turn_ended" || event.type === "step_started") {
            for (const call of open) expect(ends.get(call)).toBe(1);
            open = [];
          }
        }
        for (const count of starts.values()) expect(count).toBe(1);
      }),
      RUNS,
    );
  });

  test("never has two open calls of which one is not read-only", () => {
    fc.assert(
      fc.property(choices, (list) => {
        const running = new Map<string, string>();
        for (const event of play(list)) {
          if (event.type === "call_started") running.set(event.call, event.name);
          if (event.type === "call_ended") running.delete(event.call);
          if (running.size > 1) expect([...running.values()].every((name) => name === "look")).toBe(true);
          expect(running.size).toBeLessThanOrEqual(8);
        }
      }),
      RUNS,
    );
  });

  test("shows the model exactly one result right after each call, in call order, at every moment", () => {
    fc.assert(
      fc.property(choices, (list) => {
        const events = play(list);
        for (let length = 0; length <= events.length; length += 3) {
          const messages = transcript(fold(events.slice(0, length)));
          messages.forEach((message, index) => {
            if (message.role !== "assistant") return;
            const results = messages.slice(index + 1, index + 1 + message.calls.length);
            expect(results.map((each) => each.role === "tool" ? each.id : each.role)).toEqual(message.calls.map((call) => call.id));
          });
          expect(messages.filter((message) => message.role === "tool").length)
            .toBe(messages.reduce((sum, message) => sum + (message.role === "assistant" ? message.calls.length : 0), 0));
        }
      }),
      { ...RUNS, numRuns: 60 },
    );
  });
});
