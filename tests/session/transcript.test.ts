import { describe, expect, test } from "bun:test";
import { parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { fold } from "../../lib/session/evolve.ts";
import { conversation, lastText, transcript } from "../../lib/session/transcript.ts";
import { after, allow, AT, callId, end, OPEN, PROMPT, reply, SESSION, start, STEP } from "./specification.ts";

/** A log that `decide` did not write: bodies are given, envelopes added. */
function log(...bodies: readonly object[]): readonly SessionEvent[] {
  return bodies.map((body, index) => parseEvent({ v: 1, session: SESSION, seq: index + 1, at: AT, ...body }) as SessionEvent);
}

function ended(number: number, text: string): object {
  return {
    type: "call_ended",
    call: callId(number),
    outcome: { kind: "exited", code: 0 },
    result: { is_error: false, text },
    duration_ms: 1,
  };
}

function committed(step: number, text: string, ...calls: readonly number[]): object {
  return {
    type: "reply_committed",
    step,
    attempt: 1,
    text,
    calls: calls.map((number) => ({ call: callId(number), name: "look", arguments: "{}" })),
    finish: "stop",
    usage: { input_tokens: 1, output_tokens: 1 },
    model: "m",
  };
}

describe("transcript()", () => {
  test("puts the system text first and results in call order", () => {
    const { state } = after(
      OPEN,
      PROMPT,
      ...STEP,
      reply(["look", "look"]),
      allow(1),
      allow(2),
      start(1),
      start(2),
      end(2, "second"),
      end(1, "first"),
    );
    expect(transcript(state).map((message) => message.role === "tool" ? message.text : message.role)).toEqual([
      "system",
      "user",
      "assistant",
      "first",
      "second",
    ]);
  });

  test("repairs a hole in the middle of a log: results right after their calls, strays dropped, the same bytes each time", () => {
    const header = { ...OPEN, at: undefined, session: undefined, type: "session_opened" };
    const events = log(
      JSON.parse(JSON.stringify(header)) as object,
      { type: "prompted", turn: 1, text: "one", source: "t" },
      { type: "step_started", turn: 1, step: 1 },
      { type: "attempt_started", step: 1, attempt: 1, model: "m" },
      committed(1, "", 1, 2),
      ended(1, "r1"),
      { type: "prompted", turn: 2, text: "two", source: "t" },
      { type: "step_started", turn: 2, step: 1 },
      { type: "attempt_started", step: 1, attempt: 1, model: "m" },
      committed(1, "text"),
      ended(2, "r2"),
      ended(7, "r7"),
    );
    const messages = transcript(fold(events));
    expect(messages.map((message) => message.role === "tool" || message.role === "user" ? message.text : message.role))
      .toEqual(["system", "one", "assistant", "r1", "r2", "two", "assistant"]);
    expect(JSON.stringify(transcript(fold(events)))).toBe(JSON.stringify(messages));
  });

  test("synthesises a result for a call that has none", () => {
    const { state } = after(OPEN, PROMPT, ...STEP, reply(["look"]));
    expect(transcript(state).at(-1)).toMatchObject({ role: "tool", is_error: true });
  });

  test("keeps ids unique although a provider repeats its own", () => {
    const first = [OPEN, PROMPT, ...STEP, reply(["look"]), allow(1), start(1), end(1)];
    const { state } = after(...first, ...STEP, reply(["look"], 2), allow(2), start(2), end(2));
    const ids = transcript(state).flatMap((message) => message.role === "tool" ? [message.id] : []);
    expect(ids[0]).toBe("p0");
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(40);
  });

  test("sends malformed arguments back as an object", () => {
    const broken = reply(["look"]);
    if (broken.type !== "commit_reply") throw new Error("unreachable");
    const { state } = after(OPEN, PROMPT, ...STEP, {
      ...broken,
      reply: { ...broken.reply, calls: [{ call: callId(1), name: "look", arguments: '{"a":' }] },
    });
    const assistant = transcript(state).find((message) => message.role === "assistant");
    expect(assistant?.role === "assistant" ? assistant.calls[0]?.arguments : "").toBe('{"malformed_arguments":"{\\"a\\":"}');
  });
});

describe("conversation()", () => {
  test("has no result that is not recorded, and joins each that is with its call", () => {
    const { state } = after(OPEN, PROMPT, ...STEP, reply(["look", "look"]), allow(1), start(1), allow(2), start(2), end(2, "second"));
    expect(conversation(state).slice(2)).toEqual([
      {
        role: "assistant",
        text: "",
        calls: [
          { id: "p0", call: callId(1), name: "look", arguments: "{}" },
          { id: "p1", call: callId(2), name: "look", arguments: "{}" },
        ],
      },
      { role: "tool", id: "p1", call: callId(2), name: "look", text: "second", is_error: false },
    ]);
  });
});

describe("lastText()", () => {
  test("is the text of the newest reply", () => {
    expect(lastText(after(OPEN, PROMPT, ...STEP, reply([])).state)).toBe("done");
    expect(lastText(after(OPEN).state)).toBe("");
  });
});
