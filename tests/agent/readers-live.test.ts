import { describe, expect, test } from "bun:test";
import type { FeedEvent } from "../../lib/agent/feed.ts";
import { LiveNow } from "../../lib/agent/readers-live.ts";
import type { LiveEvent } from "../../lib/session/live.ts";

const session = "ses_1";
const draft = { session, step: 1, attempt: 1 };
const text = (said: string): LiveEvent => ({ type: "text_delta", ...draft, text: said });
const thought = (said: string): LiveEvent => ({ type: "reasoning_delta", ...draft, text: said });
const announced = (name: string): LiveEvent => ({ type: "status", ...draft, status: "call_announced", text: name });
const output = (call: string, said: string, stream: "stdout" | "stderr" = "stdout"): LiveEvent => ({
  type: "call_output",
  session,
  call,
  stream,
  text: said,
});
const status = (call: string, said: string): LiveEvent => ({ type: "status", session, status: "working", call, text: said });
const recorded = (type: string, fields: object = {}) =>
  ({ v: 1, session, seq: 9, at: "2026-11-30T00:00:00.000Z", type, ...fields }) as FeedEvent;

function after(...events: readonly FeedEvent[]): readonly LiveEvent[] {
  const live = new LiveNow(session);
  for (const event of events) live.take(event);
  return shown(live);
}

const shown = (live: LiveNow) => live.lines().map((line) => JSON.parse(line.text) as LiveEvent);
const joined = (events: readonly LiveEvent[]) => events.map((event) => event.text ?? "").join("");

describe("what is live", () => {
  test("is the reply's text, reasoning and announced calls as one, each beginning with a whole", () => {
    const live = after(thought("hm"), text("a"), thought("!"), text("b"), announced("one"), announced("two"));
    expect(live).toEqual([
      { ...thought("hm!"), whole: true },
      { ...text("ab"), whole: true },
      { ...announced("one"), whole: true },
      announced("two"),
    ]);
  });

  test("is the output of calls that run, streams in the order in which they came, and each call's last status", () => {
    const live = after(
      output("x", "1"),
      output("x", "2"),
      output("x", "e", "stderr"),
      output("y", "3"),
      status("x", "half"),
      status("x", "nearly"),
    );
    expect(live).toEqual([
      { ...output("x", "12"), whole: true },
      output("x", "e", "stderr"),
      { ...output("y", "3"), whole: true },
      { ...status("x", "nearly"), whole: true },
    ]);
  });

  test("is taken back by a whole, and who joins later takes it back too", () => {
    const back = { ...output("x", ""), whole: true } as const;
    expect(after(output("x", "dead"), output("x", "too", "stderr"), back)).toEqual([back]);
    expect(after(output("x", "dead"), back, output("x", "alive"))).toEqual([{ ...output("x", "alive"), whole: true }]);
  });

  test("goes when a durable event replaces it, and what that does not replace stays", () => {
    const all = [text("a"), announced("one"), output("x", "1"), status("x", "half"), output("y", "2")];
    for (const type of ["reply_committed", "attempt_failed", "attempt_started"]) {
      expect(after(...all, recorded(type)).map((event) => event.type)).toEqual(["call_output", "call_output", "status"]);
    }
    const superseded: LiveEvent = { type: "status", ...draft, status: "superseded" };
    expect(after(...all, superseded).map((event) => event.type)).toEqual(["status", "call_output", "call_output", "status"]);
    // A reader may have text and calls of before, and miss that they were taken back.
    expect(after(...all, superseded, text("b")).slice(0, 2)).toEqual([superseded, { ...text("b"), whole: true }]);
    expect(after(...all, superseded, text("b"), recorded("attempt_started"))).toHaveLength(3);
    expect(after(...all, recorded("call_ended", { call: "x" }))).toEqual([
      { ...text("a"), whole: true },
      { ...announced("one"), whole: true },
      { ...output("y", "2"), whole: true },
    ]);
    expect(after(...all, recorded("turn_ended"))).toEqual([]);
    expect(after(...all, recorded("of_a_later_version")).length).toBe(5);
  });

  test("of another attempt replaces that of the one before", () => {
    expect(after(text("a"), { ...text("b"), attempt: 2 } as LiveEvent)).toEqual([{ ...text("b"), attempt: 2, whole: true } as LiveEvent]);
  });

  test("is bounded: the end is kept, well-formed, and how much is missing is said", () => {
    const live = new LiveNow(session);
    const said = "\u{1f600}x".repeat(100);
    for (let times = 0; times < 4000; times++) {
      live.take(text(said));
      live.take(output("x", said, times % 2 === 0 ? "stdout" : "stderr"));
      live.take(announced(`${times}${"n".repeat(1000)}`));
    }
    for (let calls = 0; calls < 1000; calls++) live.take(output(`call ${calls}`, "one"));
    live.take(status("y", "s".repeat(100_000)));
    const events = shown(live);
    const written = events.filter((event) => event.type === "text_delta");
    const printed = events.filter((event) => event.type === "call_output" && event.call === "x");
    for (const [part, most] of [[written, 512 * 1024], [printed, 64 * 1024]] as const) {
      const kept = joined(part);
      expect(kept.length).toBeLessThanOrEqual(most * 1.25);
      expect(kept.isWellFormed()).toBe(true);
      expect(said.repeat(4000).endsWith(kept)).toBe(true);
      const [first, ...rest] = part;
      expect(first).toMatchObject({ whole: true, omitted: said.length * 4000 - kept.length });
      expect(rest.some((event) => event.whole === true)).toBe(false);
    }
    expect(events.filter((event) => event.type === "status").length).toBe(256);
    expect(new Set(events.flatMap((event) => event.type === "call_output" ? [event.call] : [])).size).toBeLessThanOrEqual(64);
    expect(JSON.stringify(events).length).toBeLessThan(1024 * 1024);
  });

  test("costs one making of its text, however many join", () => {
    const live = new LiveNow(session);
    live.take(text("a"));
    expect(live.lines()).toBe(live.lines());
    live.clear();
    expect(live.lines()).toEqual([]);
  });
});
