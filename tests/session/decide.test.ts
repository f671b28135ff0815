import { describe, expect, test } from "bun:test";
import type { Command } from "../../lib/session/command.ts";
import { decide } from "../../lib/session/decide.ts";
import { entriesOf, transcript } from "../../lib/session/transcript.ts";
import { after, allow, AT, callId, end, given, OPEN, PROMPT, reply, SESSION, start, STEP } from "./specification.ts";

describe("decide() on turns", () => {
  test("opens a session once", () => {
    given().when(OPEN).then("session_opened");
    given(OPEN).when(OPEN).thenRefused("already_open");
  });

  test("refuses everything before the session is open", () => {
    given().when(PROMPT).thenRefused("not_open");
  });

  test("refuses a prompt while a turn runs", () => {
    given(OPEN, PROMPT).when(PROMPT).thenRefused("busy");
  });

  test("numbers turns from 1 over the whole session", () => {
    const { events } = after(OPEN, PROMPT, ...STEP, reply([]), { type: "end_turn", at: AT, reason: "completed" }, PROMPT);
    expect(events.filter((event) => event.type === "prompted").map((event) => event.turn)).toEqual([1, 2]);
  });

  test("numbers events without a gap from 1", () => {
    const { events } = after(OPEN, PROMPT, ...STEP, reply(["look"]), allow(1), start(1), end(1));
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
  });

  test("refuses to end a turn with open calls", () => {
    given(OPEN, PROMPT, ...STEP, reply(["look"])).when({ type: "end_turn", at: AT, reason: "completed" }).thenRefused("not_now");
  });

  test("refuses a reply when no attempt is open", () => {
    given(OPEN, PROMPT).when(reply([])).thenRefused("not_now");
    given(OPEN, PROMPT, ...STEP, reply(["look"])).when(reply([])).thenRefused("not_now");
  });

  test("lets a failed attempt be followed by another of the same step", () => {
    const failed = { type: "fail_attempt", at: AT, error: { kind: "transport", message: "reset" }, retry_in_ms: 250 } as const;
    const { events } = after(OPEN, PROMPT, ...STEP, failed, { type: "begin_attempt", at: AT });
    expect(events.filter((event) => event.type === "attempt_started").map((event) => [event.step, event.attempt])).toEqual([[1, 1], [
      1,
      2,
    ]]);
  });
});

describe("decide() on calls", () => {
  const asked = [OPEN, PROMPT, ...STEP, reply(["change", "look"])];

  test("takes an open question back: the call is allowed without an answer, refused, or asked about for another reason", () => {
    const input = { value: {}, text: "{}" };
    const request = { type: "request_approval", at: AT, call: callId(1), reason: "why", input, input_digest: "abc" } as const;
    const asked = [OPEN, PROMPT, ...STEP, reply(["look"]), request];
    given(...asked).when(allow(1)).then("call_allowed");
    given(...asked).when({ ...request, reason: "another" }).then("approval_requested");
    given(...asked).when({ type: "deny_call", at: AT, call: callId(1), by: "mode", reason: "no" }).then("call_denied", "call_ended");
    given(...asked, allow(1)).when(request).thenRefused("not_now");
    given(...asked, allow(1)).when({ type: "answer_approval", at: AT, call: callId(1), decision: "deny", by: "late", input_digest: "abc" })
      .thenRefused("settled");
  });

  test("starts a call only after it was allowed, and once", () => {
    given(...asked).when(start(1)).thenRefused("not_now");
    given(...asked, allow(1)).when(start(1)).then("call_started");
    given(...asked, allow(1), start(1)).when(start(1)).thenRefused("not_now");
  });

  test("gives a call one end", () => {
    given(...asked, allow(1), start(1), end(1)).when(end(1)).thenRefused("settled");
  });

  test("denies a call with an end that says it was not started", () => {
    const { events } = after(...asked, { type: "deny_call", at: AT, call: callId(1), by: "mode", reason: "plan mode" });
    const last = events[events.length - 1];
    expect(last).toMatchObject({
      type: "call_ended",
      outcome: { kind: "not_started", reason: "denied" },
      result: { is_error: true, text: "plan mode" },
    });
  });

  test("refuses a call that the step did not ask for", () => {
    given(...asked).when(allow(9)).thenRefused("unknown_call");
  });

  test("takes an answer only for the input that was shown", () => {
    const request = {
      type: "request_approval",
      at: AT,
      call: callId(1),
      reason: "writes",
      input: { value: { a: 1 }, text: '{"a":1.0}' },
      input_digest: "abc",
    } as const;
    const answer = { type: "answer_approval", at: AT, call: callId(1), decision: "allow", by: "person" } as const;
    given(...asked, request).when({ ...answer, input_digest: "abc" }).then("approval_answered", "call_allowed");
    given(...asked, request).when({ ...answer, input_digest: "other" }).thenRefused("altered");
    given(...asked).when({ ...answer, input_digest: "abc" }).thenRefused("settled");
    const { state } = after(...asked, request, { ...answer, input_digest: "abc" });
    expect(state.turn).toMatchObject({ phase: { calls: [{ status: { kind: "allowed", input: { text: '{"a":1.0}' } } }, {}] } });
  });

  test("keeps the digits that a double would lose", () => {
    const command = { ...allow(1), input: { value: { n: 9007199254740992 }, text: '{"n":9007199254740993}' } } as const;
    const { state, events } = after(...asked, command);
    expect(events[events.length - 1]).toMatchObject({ input_text: '{"n":9007199254740993}' });
    expect(state.turn).toMatchObject({ phase: { calls: [{ status: { input: { text: '{"n":9007199254740993}' } } }, {}] } });
  });
});

describe("decide() on interruption", () => {
  test("ends what had started as unknown on resume and leaves the rest to be run", () => {
    const before = [OPEN, PROMPT, ...STEP, reply(["look", "look", "change"]), allow(1), allow(2), start(1)];
    given(...before).when({ type: "resume", at: AT }).then("session_resumed", "call_ended");
    const { state } = after(...before, { type: "resume", at: AT });
    expect(state.turn).toMatchObject({
      phase: {
        calls: [{ status: { kind: "ended", outcome: { kind: "unknown" } } }, { status: { kind: "allowed" } }, {
          status: { kind: "requested" },
        }],
      },
    });
  });

  test("counts what was used for an interrupted call, by its end", () => {
    const speculation = { saved_ms: 1.5, wasted: 2, wasted_ms: 30 };
    const used = new Map([[callId(1), { usage: { input_tokens: 7, output_tokens: 3, cost_usd: 0.5 }, speculation }]]);
    const { state, events } = after(OPEN, PROMPT, ...STEP, reply(["change", "change"]), allow(1), start(1), {
      type: "resume",
      at: AT,
      used,
    });
    expect(events.at(-1)).toMatchObject({ type: "call_ended", call: callId(1), usage: { input_tokens: 7, output_tokens: 3 } });
    expect(events.at(-1)).toMatchObject({ child_speculation: speculation });
    expect(state.usage.cost_usd).toBe(0.5);
    expect(state.speculation).toMatchObject(speculation);
  });

  test("starts nothing of a copy whose turn may go on elsewhere", () => {
    const { state, events } = after(OPEN, PROMPT, ...STEP, reply(["change", "change", "change"]), allow(1), allow(2), start(1), {
      type: "resume",
      at: AT,
      copied: true,
    });
    const ends = events.flatMap((event) => event.type === "call_ended" ? [event] : []);
    expect(ends.map(({ outcome }) => outcome)).toEqual([
      { kind: "unknown", cause: "not_recorded" },
      { kind: "not_started", reason: "imported" },
      { kind: "not_started", reason: "imported" },
    ]);
    expect(ends[0]?.result.text).toContain("goes on where the session was imported from");
    expect(ends[0]?.result.text).toContain("how long at most is not known, as it may go on there");
    expect(state.turn).toMatchObject({ kind: "running", phase: { kind: "ready" } });
  });

  test("tells the model of an interrupted call what is known of it, and that it was not run again", () => {
    const spawned: Command = { type: "record_spawn", at: AT, call: callId(1), pid: 4711, pgid: 4711, start_time: "5" };
    const told = (held: { from: string; until: string } | null, ...before: readonly Command[]) => {
      const { state } = after(OPEN, PROMPT, ...STEP, reply(["change"]), allow(1), start(1), ...before, {
        type: "resume",
        at: "2026-01-02T03:04:27.928Z",
        ...(held === null ? {} : { held }),
      });
      const [call] = state.turn.kind === "running" ? entriesOf(state).flatMap((entry) => entry.kind === "reply" ? entry.calls : []) : [];
      return [call?.status.kind === "ended" ? call.status.duration_ms : null, transcript(state).at(-1)];
    };
    const text = (process: string, ran: string, sign = "its runtime last gave a sign of life", found = "that was found to be gone") =>
      `The outcome of this call is unknown: no end of "change" is recorded: its runtime went, or could not write, before it was ` +
      `(started ${AT}, ${process}; it had run for at least ${ran} s, when ${sign}, and at most 22.3 s, when ${found}). ` +
      "It may have done all, part or none of its work, and it was not run again. Check before repeating it.";
    const unowned = (process: string, ran: string) => text(process, ran, "the last of its turn was recorded", "the session was taken up");
    const result = { role: "tool", id: "p0", name: "change", is_error: true } as const;
    const [process, none] = ["its process was 4711", "whether its process had started is not recorded"];
    expect(told(null)).toEqual([0, { ...result, text: unowned(none, "0.0") }]);
    // The last event of the turn, and the lease if whoever held it may have begun the call.
    expect(told(null, { ...spawned, at: "2026-01-02T03:04:06.078Z" })).toEqual([400, { ...result, text: unowned(process, "0.4") }]);
    const held = { from: "2026-01-02T03:04:00.000Z", until: "2026-01-02T03:04:06.778Z" };
    expect(told(held, spawned)).toEqual([1100, { ...result, text: text(process, "1.1") }]);
    expect(told({ ...held, from: "2026-01-02T03:04:06.000Z" }, spawned)).toEqual([0, { ...result, text: text(process, "0.0") }]);
    // What a runtime records that opened the session and died before it resumed tells nothing of the call.
    const opened: Command = { type: "change_mode", at: "2026-01-02T03:04:20.000Z", mode: "yolo", by: "user" };
    expect(told(null, spawned, opened)).toEqual([0, { ...result, text: unowned(process, "0.0") }]);
    // A clock that was set back.
    const setBack = told({ ...held, until: "2026-01-02T05:00:00.000Z" }, spawned);
    const bounds = "it had run for at least 22.3 s, and how long at most is not known, as the clock was set back since)";
    expect(setBack).toMatchObject([22_250, { text: expect.stringContaining(bounds) }]);
    const before = told({ ...held, from: "2026-01-02T03:03:00.000Z" }, { ...spawned, at: "2026-01-02T04:00:00.000Z" });
    expect(before).toMatchObject([22_250, { text: expect.stringContaining("not known, as the clock was set back since") }]);
  });

  test("says that a runtime died only of one that went without giving the session back", () => {
    const running = [OPEN, PROMPT, ...STEP, reply(["change"]), allow(1), start(1)];
    const causeOf = (command: Command) =>
      after(...running, command).events.flatMap((event) => event.type === "call_ended" ? [event.outcome] : []);
    expect(causeOf({ type: "resume", at: AT })).toEqual([{ kind: "unknown", cause: "not_recorded" }]);
    expect(causeOf({ type: "resume", at: AT, held: { from: AT, until: AT } })).toEqual([{ kind: "unknown", cause: "runtime_died" }]);
  });

  test("closes the attempt that was open, so that the step can go on", () => {
    given(OPEN, PROMPT, ...STEP).when({ type: "resume", at: AT }).then("session_resumed", "attempt_failed");
  });

  test("settles what has not started when a turn is cancelled, and not while a call runs", () => {
    const running = [OPEN, PROMPT, ...STEP, reply(["look", "look"]), allow(1), start(1)];
    given(...running).when({ type: "cancel", at: AT, reason: "cancelled" }).thenRefused("not_now");
    given(...running, end(1)).when({ type: "cancel", at: AT, reason: "cancelled" }).then("call_ended", "turn_ended");
  });

  test("changes nothing when it refuses", () => {
    const { state } = after(OPEN, PROMPT);
    const before = JSON.stringify(state);
    decide(state, PROMPT);
    expect(JSON.stringify(state)).toBe(before);
  });
});

describe("decide() on forks", () => {
  const FORK = { type: "fork", at: AT, from: SESSION } as const;

  test("ends what was open as not started here, whatever its status, and leaves the turn open", () => {
    const { state, events } = after(OPEN, PROMPT, ...STEP, reply(["change", "look"]), allow(1), start(1), FORK);
    expect(events.slice(-3)).toMatchObject([
      { type: "session_forked", from: SESSION, from_seq: 7 },
      { type: "call_ended", call: callId(1), outcome: { kind: "not_started", reason: "forked" } },
      { type: "call_ended", call: callId(2), outcome: { kind: "not_started", reason: "forked" } },
    ]);
    expect(state.turn).toMatchObject({ kind: "running", phase: { kind: "ready" } });
  });

  test("counts no time for an early run that went on elsewhere, however long after", () => {
    const begin = { type: "start_speculation", at: AT, speculation: "spec_a", name: "look", input: { value: {}, text: "{}" } } as const;
    const { state, events } = after(OPEN, PROMPT, ...STEP, begin, { ...FORK, at: "2026-11-29T13:00:00.000Z" });
    expect(events.slice(-2)).toMatchObject([
      { type: "speculation_ended", outcome: { kind: "not_started", reason: "forked" }, duration_ms: 0 },
      { type: "speculation_discarded", reason: "cancelled" },
    ]);
    expect(state.speculation).toMatchObject({ open: [], wasted_ms: 0 });
  });

  test("adds nothing else between turns", () => {
    given(OPEN).when(FORK).then("session_forked");
  });
});
