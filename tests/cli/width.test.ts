import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { clipToWidth, widthOf } from "../../cli/width.ts";

describe("widthOf()", () => {
  test("is what terminals give to letters, to East Asian scripts, to pictures and to marks", () => {
    const widths = {
      "": 0,
      "abc": 3,
      "é": 1,
      "e\u0301": 1,
      "日本語": 6,
      "한글": 4,
      "ｱ": 1,
      "Ａ": 2,
      "😀": 2,
      "✂": 1,
      "❤": 1,
      "…": 1,
      "a\u200bb": 2,
    };
    for (const [text, width] of Object.entries(widths)) expect([text, widthOf(text)]).toEqual([text, width]);
  });
});

describe("clipToWidth()", () => {
  test("gives a beginning that fits, and no shorter one than must be", () => {
    const text = fc.array(fc.constantFrom("a", "é", "e\u0301", "日", "😀", " "), { maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 20 }), (whole, most) => {
        const clipped = clipToWidth(whole, most);
        expect(whole.startsWith(clipped)).toBe(true);
        expect(widthOf(clipped)).toBeLessThanOrEqual(most);
        const [next] = whole.slice(clipped.length);
        if (next !== undefined) expect(widthOf(clipped + next)).toBeGreaterThan(most);
      }),
      { seed: 40, numRuns: 1000 },
    );
  });
});
