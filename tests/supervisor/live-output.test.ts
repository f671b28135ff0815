import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { LiveOutput } from "../../lib/supervisor/live-output.ts";

type Piece = readonly ["stdout" | "stderr", string];
const BURST = 64 * 1024;
const MARK = /\n\[… (\d+) bytes not shown live …\]\n/g;

function open() {
  const pieces: Piece[] = [];
  const live = new LiveOutput((stream, text) => pieces.push([stream, text]));
  const text = () => pieces.map(([, each]) => each).join("");
  return { live, pieces, text };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !holds();) {
    if (performance.now() > end) throw new Error("It did not come to hold");
    await pause(10);
  }
}

/** What is shown without the lines about what is missing, and how many bytes these say. */
function divide(text: string): { readonly shown: string; readonly missing: number } {
  const missing = [...text.matchAll(MARK)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  return { shown: text.replace(MARK, ""), missing };
}

test("puts together what comes at once, each stream in order", async () => {
  const { live, pieces } = open();
  for (let index = 0; index < 1000; index++) live.push("stdout", Buffer.from("x"));
  live.push("stderr", Buffer.from("y"));
  await until(() => pieces.length > 0);
  expect(pieces).toEqual([["stdout", "x".repeat(1000)], ["stderr", "y"]]);
  live.close();
  expect(pieces.length).toBe(2);
});

test("shows the end of what is too much at once, says how much is missing, and goes on", async () => {
  const { live, text } = open();
  live.push("stdout", Buffer.from(`begin${"x".repeat(99_990)}end\n\n`));
  await until(() => text() !== "");
  expect(text()).toBe(`\n[… 34464 bytes not shown live …]\n${"x".repeat(BURST - 5)}end\n\n`);
  for (const line of ["one\n", "two\n", "three\n"]) {
    live.push("stdout", Buffer.from(line));
    await until(() => text().endsWith(line));
  }
  expect(text().endsWith("end\n\none\ntwo\nthree\n")).toBe(true);
  live.close();
});

test("a flood is shown at a bounded rate for as long as it lasts, in few pieces", async () => {
  const { live, pieces, text } = open();
  const chunk = Buffer.from(`${"x".repeat(63)}\n`.repeat(1024));
  const began = performance.now();
  let pushed = 0;
  const flood = () => {
    for (let index = 0; index < 20; index++, pushed += chunk.length) live.push("stderr", chunk);
  };
  for (let round = 0; round < 100 || pieces.length < 5; round++) {
    flood();
    await pause(5);
  }
  flood();
  live.close();
  const took = performance.now() - began;
  const { shown, missing } = divide(text());
  expect(shown.length).toBeGreaterThan(BURST);
  expect(shown.length).toBeLessThan(BURST + 4096 + (took + 1) * 16.384);
  expect(pieces.length).toBeLessThan(4 + took / 200);
  expect(shown.length + missing).toBe(pushed);
});

test("where both streams flood, neither takes the other's part", () => {
  const { live, pieces } = open();
  live.push("stdout", Buffer.alloc(200_000, "o"));
  live.push("stderr", Buffer.alloc(200_000, "e"));
  live.close();
  expect(pieces.map(([stream, text]) => [stream, divide(text).shown.length])).toEqual([["stdout", BURST / 2], ["stderr", BURST / 2]]);
  const other = open();
  other.live.push("stdout", Buffer.alloc(200_000, "o"));
  other.live.push("stderr", Buffer.from("why\n"));
  other.live.close();
  expect(other.pieces.map(([stream, text]) => [stream, divide(text).shown.length])).toEqual([["stdout", BURST - 4], ["stderr", 4]]);
});

test("every piece is whole characters, however the bytes come and whatever is left out, and no byte is uncounted", async () => {
  const { live, pieces, text } = open();
  const bytes = Buffer.from("aé你🎉".repeat(3000));
  let [size, shown] = [1, 0];
  for (let at = 0; at < bytes.length; at += size) {
    size = size % 37 + 1;
    live.push("stdout", bytes.subarray(at, at + size));
    // Shown up to here, between two writes of any length: inside of a character too.
    if (size === 1 && pieces.length < 5) await until(() => pieces.length > shown);
    shown = pieces.length;
  }
  live.close();
  expect(text()).toBe(bytes.toString());
  expect(pieces.length).toBeGreaterThan(4);

  const parts = fc.array(fc.record({ text: fc.constantFrom("é", "你好", "🎉"), times: fc.nat(20_000) }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(parts, fc.nat(3), (given, cut) => {
      const { live, text } = open();
      const whole = Buffer.from(given.map(({ text, times }) => text.repeat(times)).join(""));
      live.push("stdout", whole.subarray(0, cut));
      live.push("stdout", whole.subarray(cut));
      live.close();
      const { shown, missing } = divide(text());
      expect(whole.toString().endsWith(shown)).toBe(true);
      expect(Buffer.byteLength(shown) + missing).toBe(whole.length);
    }),
    { seed: 7, numRuns: 200 },
  );
});

test("keeps no chunk alive: what comes later in the same memory does not change it", () => {
  const { live, text } = open();
  const memory = Buffer.from("before");
  live.push("stdout", memory);
  memory.write("after!");
  live.close();
  expect(text()).toBe("before");
});

test("passes nothing on after it was closed", async () => {
  const { live, text } = open();
  live.push("stdout", Buffer.from("a"));
  live.close();
  live.push("stdout", Buffer.from("b"));
  await pause(80);
  expect(text()).toBe("a");
});
