import { describe, expect, test } from "bun:test";
import { BodyText, EventReader, MAX_EVENT, type Patience, type ServerEvent, StreamFault } from "../../lib/model/sse.ts";

function events(...chunks: readonly string[]): readonly ServerEvent[] {
  const reader = new EventReader(1000);
  return [...chunks.flatMap((chunk) => reader.feed(chunk)), ...reader.end()];
}

describe("EventReader", () => {
  test("takes every line ending, comments, several data lines and event names", () => {
    expect(events(": hi\r\ndata: a\r\n\r\n", "event: x\rdata:b\r\rdata: c\ndata: d\n\n")).toEqual([{ data: "a" }, {
      event: "x",
      data: "b",
    }, { data: "c\nd" }]);
  });

  test("marks an event that the end of the stream cuts off", () => {
    expect(events("data: a\n\ndata: b")).toEqual([{ data: "a" }, { data: "b", unterminated: true }]);
    expect(events("data: a\n\n: comment")).toEqual([{ data: "a" }]);
  });

  test("gives up on a stream of nothing but comments for too long", async () => {
    const reader = new EventReader(10);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(reader.feed("data: a\n\n")).toEqual([{ data: "a" }]);
    expect(reader.feed(": keep-alive\n\n")).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(() => reader.feed(": keep-alive\n\n")).toThrow("nothing but keep-alive comments");
  });

  test("gives up on an event that never ends, and keeps nothing of lines that are no fields", () => {
    const megabyte = "x".repeat(1024 * 1024);
    expect(() => events("data: ", ...Array.from({ length: MAX_EVENT / megabyte.length + 1 }, () => megabyte))).toThrow(StreamFault);
    expect(events("zzz", ...Array.from({ length: 64 }, () => megabyte), "\n\ndata: a\n\n")).toEqual([{ data: "a" }]);
  });
});

describe("BodyText", () => {
  const signal = new AbortController().signal;
  const bytes = (text: string) => new TextEncoder().encode(text);
  const patience = (idleMs: () => number): Patience => ({ idleMs, satisfied: () => false });

  function open(idleMs: () => number, stop = signal) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 8 });
    return { text: new BodyText(readable, patience(idleMs), stop, (error) => error), sink: writable.getWriter() };
  }

  test("joins characters that chunks cut in two, and ends", async () => {
    const { text, sink } = open(() => 5000);
    const [head, tail] = [bytes("ü").slice(0, 1), bytes("ü").slice(1)];
    for (const part of [bytes("a"), head, tail]) void sink.write(part);
    void sink.close();
    expect([await text.next(), await text.next(), await text.next(), await text.next()]).toEqual(["a", "ü", null, null]);
    text.close();
  });

  test("limits every wait and not their sum, nor the time in which nobody reads", async () => {
    const { text, sink } = open(() => 300);
    for (let round = 0; round < 5; round++) {
      await new Promise((resolve) => setTimeout(resolve, round === 2 ? 400 : 100));
      void sink.write(bytes("a"));
      expect(await text.next()).toBe("a");
    }
    const begun = performance.now();
    await expect(text.next()).rejects.toThrow("sent nothing for 0.3 s");
    expect(performance.now() - begun).toBeGreaterThan(290);
    text.close();
  });

  test("takes a limit that has become shorter at once", async () => {
    let limit = 600_000;
    const { text, sink } = open(() => limit);
    void sink.write(bytes("a"));
    expect(await text.next()).toBe("a");
    limit = 20;
    await expect(text.next()).rejects.toThrow("sent nothing for 0.02 s");
    text.close();
  }, 10_000);

  test("ends a wait with the signal's reason, and begins none after that", async () => {
    const abort = new AbortController();
    const { text } = open(() => 600_000, abort.signal);
    const reason = new Error("stopped");
    const waiting = text.next();
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(text.next()).rejects.toBe(reason);
    text.close();
  });

  test("cuts off what has not ended when it is closed", async () => {
    const { text, sink } = open(() => 600_000);
    void sink.write(bytes("a"));
    await text.next();
    text.close();
    await expect(sink.closed).rejects.toBeUndefined();
  });
});
