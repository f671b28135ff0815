/** P3 where rows of the log cannot be read. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Command } from "../../lib/session/command.ts";
import { decide } from "../../lib/session/decide.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { next } from "../../lib/session/next.ts";
import { evolve, fold } from "../../lib/session/evolve.ts";
import { initialState, type SessionState } from "../../lib/session/state.ts";
import { transcript } from "../../lib/session/transcript.ts";
import { passOver } from "../../lib/session/unread.ts";
import { after, allow, AT, callId, end, OPEN, PROMPT, reply, start, STEP } from "./specification.ts";

const SPAWN: Command = { type: "record_spawn", at: AT, call: callId(1), pid: 77, pgid: 77, start_time: "5" };
const LATER = "2026-01-02T03:04:09.678Z";
const played = after(OPEN, PROMPT, ...STEP, reply(["change", "look"]), allow(1), start(1), SPAWN).events;
const seqOf = (type: string) => played.findIndex((event) => event.type === type) + 1;

function read(events: readonly SessionEvent[], unread: readonly number[]): SessionState {
  return events.reduce(
    (state: SessionState, event) => unread.includes(event.seq) ? passOver(state, event.seq) : evolve(state, event),
    initialState,
  );
}

function accepted(state: SessionState, command: Command): readonly SessionEvent[] {
  const decision = decide(state, command);
  if (decision.kind === "refused") throw new Error(decision.refusal.message);
  return decision.events;
}

function resumed(state: SessionState) {
  const events = accepted(state, { type: "resume", at: LATER });
  return { events, state: fold(events, state) };
}

const endsOf = (events: readonly SessionEvent[]) => events.flatMap((event) => event.type === "call_ended" ? [event] : []);

describe("a call", () => {
  test("whose start cannot be read ends as unknown, with the process that was recorded", () => {
    const [ended, ...others] = endsOf(resumed(read(played, [seqOf("call_started")])).events);
    expect(others).toEqual([]);
    expect(ended).toMatchObject({ call: callId(1), outcome: { kind: "unknown" } });
    expect(ended?.result.text).toContain("its process was 77");
  });

  test("whose start and process cannot be read ends as unknown, which says why", () => {
    const [ended] = endsOf(resumed(read(played, [seqOf("call_started"), seqOf("call_spawned")])).events);
    expect(ended).toMatchObject({ call: callId(1), outcome: { kind: "unknown" } });
    expect(ended?.result.text).toContain("cannot be read may have been the start");
  });

  test("whose permission cannot be read has started all the same, if its start can", () => {
    expect(endsOf(resumed(read(played, [seqOf("call_allowed")])).events)).toMatchObject([{
      call: callId(1),
      outcome: { kind: "unknown" },
    }]);
  });

  test("of a reply that cannot be read is shown to the model with its outcome", () => {
    const { state, events } = resumed(read(played, [seqOf("reply_committed")]));
    expect(endsOf(events)).toMatchObject([{ call: callId(1), outcome: { kind: "unknown" } }]);
    expect(transcript(state).slice(-2)).toMatchObject([{ role: "assistant", calls: [{ name: "change" }] }, {
      role: "tool",
      name: "change",
    }]);
  });

  test("that a single row that cannot be read cannot have started is asked for as before", () => {
    const state = read(played.slice(0, 6), [6]);
    expect(endsOf(resumed(state).events)).toEqual([]);
    expect(next(resumed(state).state)).toMatchObject([{ kind: "authorize", call: { call: callId(1) } }]);
  });

  test("that may have started is started by nobody, with or without a resume", () => {
    const state = read(played.slice(0, 7), [7]);
    expect(decide(state, start(1))).toMatchObject({ kind: "refused" });
    expect(next(state)).toMatchObject([{ kind: "await_call" }]);
  });
});

test("a turn of which any row can be read does not give its number to the next one", () => {
  const whole = after(OPEN, PROMPT, ...STEP, reply([]), { type: "end_turn", at: AT, reason: "completed" }).events;
  const ofTheTurn = whole.flatMap((event) => "turn" in event ? [event.seq] : []);
  for (const readable of ofTheTurn) {
    let state = read(whole, ofTheTurn.filter((seq) => seq !== readable));
    if (state.turn.kind === "running") state = fold(accepted(state, { type: "cancel", at: AT, reason: "cancelled" }), state);
    expect(accepted(state, PROMPT)).toMatchObject([{ type: "prompted", turn: 2 }]);
  }
});

test("P3: whatever rows cannot be read, and wherever the log stops, no call that had started starts again", () => {
  const whole = after(
    ...[OPEN, PROMPT, ...STEP, reply(["change", "look", "change"]), allow(1), start(1), SPAWN, end(1), allow(2), start(2), end(2)],
    ...[allow(3), start(3), end(3), ...STEP, reply(["change"], 4), allow(4), start(4), end(4)],
  ).events;
  fc.assert(
    fc.property(
      fc.integer({ min: 3, max: whole.length }),
      fc.uniqueArray(fc.integer({ min: 2, max: whole.length }), { maxLength: 6 }),
      (cut, unread) => {
        const log = whole.slice(0, cut);
        const started = log.flatMap((event) => event.type === "call_started" ? [event.call] : []);
        let state = read(log, unread);
        if (state.turn.kind === "idle") return;
        state = resumed(state).state;
        for (let steps = 0; steps < 40; steps++) {
          const [effect] = next(state);
          if (effect === undefined || !("call" in effect)) break;
          const { call } = effect.call;
          expect([effect.kind, started.includes(call)]).not.toEqual(["start_call", true]);
          const commands: Record<string, Command> = {
            authorize: { type: "allow_call", at: AT, call, input: { value: {}, text: "{}" }, by: "policy" },
            start_call: { type: "start_call", at: AT, call, input_digest: "d", worker: "w" },
            await_call: {
              type: "end_call",
              at: AT,
              call,
              outcome: { kind: "exited", code: 0 },
              result: { is_error: false, text: "" },
              duration_ms: 1,
            },
          };
          const command = commands[effect.kind];
          if (command === undefined) break;
          const decision = decide(state, command);
          expect(decision.kind).toBe("accepted");
          if (decision.kind === "accepted") state = fold(decision.events, state);
        }
      },
    ),
    { numRuns: 2000, seed: 7 },
  );
});
