import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { redact } from "../../lib/model/redact.ts";

const KEY = "sk-live-0123456789abcdefghij";

describe("redact()", () => {
  test("takes out a key that is whole, masked at an end, or broken over lines", () => {
    expect(redact(`bad key ${KEY}.`, [KEY])).toBe("bad key [key].");
    expect(redact(`bad key ${KEY.slice(0, -4)}**** sent`, [KEY])).toBe("bad key [key]**** sent");
    expect(redact(`bad key ****${KEY.slice(5)}`, [KEY])).toBe("bad key ****[key]");
    expect(redact(`${KEY.slice(0, 9)}\n  ${KEY.slice(9)} is bad`, [KEY])).toBe("[key] is bad");
  });

  test("leaves other words, and the first few characters by which people know a key", () => {
    expect(redact("sk-live-… is not a key of this project", [KEY])).toBe("sk-live-… is not a key of this project");
    expect(redact("nothing here", ["", "ab", KEY])).toBe("nothing here");
  });

  test("leaves no telling part of it, wherever it is put and however it is cut", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 40 });
    fc.assert(
      fc.property(text, text, fc.nat({ max: KEY.length }), fc.nat({ max: KEY.length }), (before, after, start, end) => {
        const shown = redact(before + KEY.slice(Math.min(start, end), Math.max(start, end)) + after, [KEY]).replace(/\s/g, "");
        for (let at = 0; at + 12 <= KEY.length; at++) expect(shown).not.toContain(KEY.slice(at, at + 12));
      }),
      { seed: 16, numRuns: 300 },
    );
  });
});
