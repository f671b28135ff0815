import { expect, test } from "bun:test";
import { JSON_LINES, streamBatches } from "../../lib/http/sse.ts";

test("a reader is not cut off for the time in which the process itself was held up", async () => {
  const ends: string[] = [];
  async function* batches() {
    yield { kind: "lines", lines: [{ seq: 1, text: "1" }] } as const;
    yield { kind: "lines", lines: [{ seq: 2, text: "2" }] } as const;
  }
  const times = { heartbeat_ms: 8000, stall_ms: 60 };
  const reader = streamBatches(JSON_LINES, { batches: batches(), stop: () => {}, times, ended: (how) => void ends.push(how) }).getReader();
  await reader.read();
  for (const end = performance.now() + 200; performance.now() < end;);
  await new Promise((resolve) => setTimeout(resolve, 1));
  const second = await reader.read();
  expect([Buffer.from(second.value ?? []).toString(), ends]).toEqual(["2\n", []]);
  expect([(await reader.read()).done, ends]).toEqual([true, ["finished"]]);
});

test("one large event comes in pieces: who takes one after the other is not cut off, and no more than one is in flight", async () => {
  const text = JSON.stringify({ text: "y".repeat(1_000_000) });
  const ends: string[] = [];
  async function* batches() {
    yield { kind: "lines", lines: [{ seq: 1, text }] } as const;
  }
  const stream = streamBatches(JSON_LINES, {
    batches: batches(),
    stop: () => {},
    times: { heartbeat_ms: 8000, stall_ms: 250 },
    ended: (how) => void ends.push(how),
  });
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) {
    pieces.push(piece);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  expect(ends).toEqual(["finished"]);
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(65_536);
  expect(Buffer.concat(pieces).toString()).toBe(`${text}\n`);
});
