import { describe, expect, test } from "bun:test";
import { MAX_EVENT, readEvents, type ServerEvent, StreamFault } from "../../lib/model/sse.ts";

async function events(...chunks: readonly string[]): Promise<readonly ServerEvent[]> {
  const all: ServerEvent[] = [];
  for await (const batch of readEvents(stream(chunks), 1000)) all.push(...batch);
  return all;
}

async function* stream(chunks: Iterable<string>): AsyncGenerator<string> {
  yield* chunks;
}

describe("readEvents()", () => {
  test("takes every line ending, comments, several data lines and event names", async () => {
    expect(await events(": hi\r\ndata: a\r\n\r\n", "event: x\rdata:b\r\rdata: c\ndata: d\n\n")).toEqual([{ data: "a" }, {
      event: "x",
      data: "b",
    }, { data: "c\nd" }]);
  });

  test("marks an event that the end of the stream cuts off", async () => {
    expect(await events("data: a\n\ndata: b")).toEqual([{ data: "a" }, { data: "b", unterminated: true }]);
    expect(await events("data: a\n\n: comment")).toEqual([{ data: "a" }]);
  });

  test("gives up on a stream of nothing but comments for too long", async () => {
    async function* comments(): AsyncGenerator<string> {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        yield ": keep-alive\n\n";
      }
    }
    const work = (async () => {
      for await (const batch of readEvents(comments(), 10)) throw new Error(`an event: ${JSON.stringify(batch)}`);
    })();
    await expect(work).rejects.toThrow("nothing but keep-alive comments");
  });

  test("gives up on an event that never ends, and keeps nothing of lines that are no fields", async () => {
    const megabyte = "x".repeat(1024 * 1024);
    await expect(events("data: ", ...Array.from({ length: MAX_EVENT / megabyte.length + 1 }, () => megabyte))).rejects.toBeInstanceOf(
      StreamFault,
    );
    expect(await events("zzz", ...Array.from({ length: 64 }, () => megabyte), "\n\ndata: a\n\n")).toEqual([{ data: "a" }]);
  });
});
