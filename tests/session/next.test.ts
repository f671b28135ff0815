import { describe, expect, test } from "bun:test";
import type { Command } from "../../lib/session/command.ts";
import { next } from "../../lib/session/next.ts";
import { after, allow, AT, callId, end, OPEN, PROMPT, reply, start, STEP } from "./specification.ts";

const kinds = (...commands: readonly Command[]) => next(after(...commands).state).map((effect) => effect.kind);

describe("next()", () => {
  test("wants nothing between turns", () => {
    expect(kinds(OPEN)).toEqual([]);
  });

  test("asks the model once a step has begun", () => {
    expect(kinds(OPEN, PROMPT)).toEqual(["begin_step"]);
    expect(kinds(OPEN, PROMPT, ...STEP)).toEqual(["ask_model"]);
  });

  test("waits as long as the failed attempt asked for, and then makes the next", () => {
    const failed = { type: "fail_attempt", at: AT, error: { kind: "overloaded", message: "busy" }, retry_in_ms: 250 } as const;
    expect(next(after(OPEN, PROMPT, ...STEP, failed).state)).toEqual([{ kind: "ask_model", step: 1, attempt: 2, wait_ms: 250 }]);
  });

  test("ends the turn as failed when an attempt may not be repeated", () => {
    const failed = { type: "fail_attempt", at: AT, error: { kind: "auth", message: "refused our key" }, retry_in_ms: null } as const;
    expect(next(after(OPEN, PROMPT, ...STEP, failed).state)).toEqual([{ kind: "end_turn", reason: "failed", detail: "refused our key" }]);
  });

  test("lets at most eight reads go on together", () => {
    const reads = Array.from({ length: 100 }, () => "look");
    expect(next(after(OPEN, PROMPT, ...STEP, reply(reads)).state)).toHaveLength(8);
    expect(next(after(OPEN, PROMPT, ...STEP, reply(reads), allow(1), start(1), end(1)).state)).toHaveLength(8);
  });

  test("takes a call that is not read-only as a barrier in its place", () => {
    const asked = [OPEN, PROMPT, ...STEP, reply(["look", "change", "look"])];
    expect(next(after(...asked).state).map((effect) => "call" in effect ? effect.call.name : "")).toEqual(["look"]);
    const readDone = [...asked, allow(1), start(1), end(1)];
    expect(next(after(...readDone).state).map((effect) => "call" in effect ? effect.call.name : "")).toEqual(["change"]);
    expect(kinds(...readDone, allow(2), start(2))).toEqual(["await_call"]);
  });

  test("keeps every question that was put open, and starts nothing out of its place", () => {
    const question = (number: number): Command => ({
      type: "request_approval",
      at: AT,
      call: callId(number),
      reason: "asks",
      input: { value: {}, text: "{}" },
      input_digest: "d",
    });
    const asked = [OPEN, PROMPT, ...STEP, reply(["change", "change", "change"]), question(1), question(2), question(3)];
    expect(kinds(...asked)).toEqual(["ask_person", "ask_person", "ask_person"]);
    const answered: Command = { type: "answer_approval", at: AT, call: callId(3), decision: "allow", by: "test", input_digest: "d" };
    expect(kinds(...asked, answered)).toEqual(["ask_person", "ask_person"]);
    expect(kinds(...asked, allow(1), start(1))).toEqual(["await_call", "ask_person", "ask_person"]);
  });

  test("stops on purpose at the step cap", () => {
    const { state } = after(OPEN, PROMPT, ...STEP, reply(["look"]), allow(1), start(1), end(1));
    expect(next(state, { max_steps: 1, parallel_reads: 8 })).toEqual([{
      kind: "end_turn",
      reason: "stopped",
      detail: "step cap of 1 reached",
    }]);
  });

  test("ends the turn as completed when the reply asks for nothing", () => {
    expect(next(after(OPEN, PROMPT, ...STEP, reply([])).state)).toEqual([{ kind: "end_turn", reason: "completed" }]);
  });
});
