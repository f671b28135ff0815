import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { cutMiddle } from "../../lib/session/excerpt.ts";
import { Capture } from "../../lib/supervisor/output.ts";

function captureWhole(cap: number, whole: number, ...texts: readonly string[]) {
  const captured = new Capture(cap, whole);
  for (const text of texts) captured.push(Buffer.from(text));
  return captured.finish();
}

function capture(cap: number, ...chunks: readonly (string | Uint8Array)[]) {
  const captured = new Capture(cap);
  for (const chunk of chunks) captured.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return captured.finish();
}

describe("Capture", () => {
  test("joins a character that came in two chunks", () => {
    expect(capture(100, Uint8Array.of(0xe2), Uint8Array.of(0x82, 0xac))).toEqual({ text: "€", bytes: 3, cut: false });
  });

  test("turns a character that never ends into one U+FFFD", () => {
    expect(capture(100, Uint8Array.of(0xe2)).text).toBe("\ufffd");
  });

  test("gives the same however the bytes were chunked", () => {
    const texts = fc.array(fc.constantFrom("a", "é", "你", "🎉", "\n", "\0"), { maxLength: 200 }).map((all) => all.join(""));
    const property = fc.property(texts, fc.nat(150), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (text, cap, sizes) => {
      const bytes = Buffer.from(text);
      const chunks: Uint8Array[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      expect(capture(cap, ...chunks)).toEqual(cutMiddle(text, cap));
    });
    fc.assert(property, { seed: 3, numRuns: 2000 });
  });

  test("keeps what fits whole, and beyond that what it would keep of it without that room", () => {
    const texts = fc.array(fc.string({ maxLength: 30 }), { maxLength: 12 });
    const property = fc.property(texts, fc.nat(150), fc.nat(150), (given, cap, more) => {
      const bytes = Buffer.byteLength(given.join(""));
      const expected = bytes <= cap + more ? { text: given.join(""), bytes, cut: false } : cutMiddle(given.join(""), cap);
      expect(captureWhole(cap, cap + more, ...given)).toEqual(expected);
    });
    fc.assert(property, { seed: 5, numRuns: 2000 });
  });

  test("keeps no chunk alive: what comes later in the same memory does not change it", () => {
    const memory = Buffer.from("before");
    const captured = new Capture(8);
    captured.push(memory);
    memory.write("after!");
    captured.push(Buffer.from("xxxxxxxxxx"));
    expect(captured.finish().text).toMatch(/^bef/);
  });

  test("a cap of nothing shows nothing and still counts", () => {
    expect(capture(0, "abc")).toEqual({ text: "[… 3 bytes omitted …]\n", bytes: 3, cut: true });
  });
});
