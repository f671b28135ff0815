import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { sha256 } from "../../lib/platform/digest.ts";

const texts = ["", "abc", "é, 漢 and 😀", "half of a pair: \ud83d", "a\0b", "x".repeat(100_000)];

describe("sha256", () => {
  test("of a text is that of its UTF-8, whichever host computes it", () => {
    for (const text of texts) {
      expect(sha256(text)).toBe(createHash("sha256").update(text).digest("hex"));
      expect(sha256(text)).toBe(sha256(new TextEncoder().encode(text)));
    }
  });

  test("of bytes that are no text is that of the bytes", () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    expect(sha256(bytes)).toBe(createHash("sha256").update(bytes).digest("hex"));
  });
});
