import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { cutBytes, cutMiddle, divideCap, omissionMarker } from "../../lib/session/excerpt.ts";

const size = (text: string) => new TextEncoder().encode(text).length;
/** More than the marker's line with any number. */
const MARKER = 64;

describe("cutMiddle()", () => {
  test("leaves text alone that fits", () => {
    expect(cutMiddle("€uro", 6)).toEqual({ text: "€uro", bytes: 6, cut: false });
    expect(cutMiddle("", 0)).toEqual({ text: "", bytes: 0, cut: false });
  });

  test("keeps the beginning and the end, and says how many bytes are missing on a line of its own", () => {
    expect(cutMiddle("0123456789".repeat(10), 10)).toEqual({ text: "0123\n[… 90 bytes omitted …]\n456789", bytes: 100, cut: true });
  });

  test("adds no empty line where the beginning ends with one", () => {
    expect(cutMiddle(`abc\n${"x".repeat(100)}`, 10).text).toBe("abc\n[… 94 bytes omitted …]\nxxxxxx");
  });

  test("has the marker within a limit that has room for it", () => {
    for (const text of ["x".repeat(1_000_000), "你".repeat(200_000), "a\n".repeat(50_000)]) {
      const shown = size(cutMiddle(text, 65_536).text);
      expect(shown).toBeLessThanOrEqual(65_536);
      expect(shown).toBeGreaterThan(65_500);
    }
  });

  test("cuts between characters on both sides", () => {
    const { text } = cutMiddle("你".repeat(100), 50);
    expect(text).toBe(`${"你".repeat(6)}\n[… 252 bytes omitted …]\n${"你".repeat(10)}`);
  });

  test("holds its promises for any text and limit", () => {
    const texts = fc.array(fc.constantFrom("a", "é", "你", "🎉", "\n", "\ud800", "\0"), { maxLength: 300 }).map((all) => all.join(""));
    const property = fc.property(texts, fc.nat(200), (text, cap) => {
      const { text: shown, bytes, cut } = cutMiddle(text, cap);
      expect(bytes).toBe(size(text));
      expect(cut).toBe(bytes > cap);
      if (!cut) return expect(shown).toBe(text.toWellFormed());
      expect(shown.isWellFormed()).toBe(true);
      expect(size(shown)).toBeLessThanOrEqual(cap + MARKER);
      const [head = "", tail = ""] = splitAtMarker(shown);
      expect(text.toWellFormed().startsWith(head.replace(/\n$/, ""))).toBe(true);
      expect(text.toWellFormed().endsWith(tail)).toBe(true);
    });
    fc.assert(property, { seed: 1, numRuns: 2000 });
  });
});

describe("cutBytes()", () => {
  test("keeps a byte order mark, NUL and what is not UTF-8, as U+FFFD", () => {
    expect(cutBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0, 0xff, 0x61), new Uint8Array(0), 6, 100).text).toBe("\ufeff\0\ufffda");
  });

  test("holds the limit although bytes that are not UTF-8 grow to three", () => {
    const bytes = new Uint8Array(1000).fill(0xff);
    const { text, cut } = cutBytes(bytes, bytes, 1000, 1000);
    expect(cut).toBe(true);
    expect(size(text)).toBeLessThanOrEqual(1000);
    expect(size(text)).toBeGreaterThan(900);
  });

  test("counts every byte that is not shown, for any bytes", () => {
    const property = fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(200), (bytes, cap) => {
      const { head, tail } = divideCap(cap);
      const first = bytes.subarray(0, Math.max(head, bytes.length <= cap ? bytes.length : head));
      const { text, cut } = cutBytes(first, bytes.length <= cap ? first : bytes.subarray(bytes.length - tail), bytes.length, cap);
      expect(text.isWellFormed()).toBe(true);
      expect(size(text)).toBeLessThanOrEqual(cap + MARKER);
      if (cut) expect(text).toContain("bytes omitted");
    });
    fc.assert(property, { seed: 2, numRuns: 2000 });
  });
});

test("the marker names the number of bytes", () => {
  expect(omissionMarker(12)).toBe("[… 12 bytes omitted …]");
});

function splitAtMarker(text: string): readonly string[] {
  return text.split(/\[… \d+ bytes omitted …\]\n/);
}
