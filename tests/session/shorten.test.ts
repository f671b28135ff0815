import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Message } from "../../lib/session/message.ts";
import { levelFor, MOST_SHORTENED, shorten } from "../../lib/session/shorten.ts";

function conversation(steps: number, result: string): readonly Message[] {
  const messages: Message[] = [{ role: "system", text: "s".repeat(5000) }, { role: "user", text: "u".repeat(5000) }];
  for (let step = 0; step < steps; step++) {
    messages.push({ role: "assistant", text: "thinking", calls: [{ id: `c${step}`, name: "look", arguments: "{}" }] });
    messages.push({ role: "tool", id: `c${step}`, name: "look", text: result, is_error: false });
  }
  return messages;
}

const bytesOf = (messages: readonly Message[]) => new TextEncoder().encode(JSON.stringify(messages)).length;

describe("shorten()", () => {
  test("leaves everything at level 0, and pairs, order and the last prompt at every level", () => {
    const messages = conversation(5, "r".repeat(60_000));
    expect(shorten(messages, 0)).toBe(messages);
    for (let level = 1; level <= MOST_SHORTENED; level++) {
      const short = shorten(messages, level);
      expect(short.map((message) => message.role)).toEqual(messages.map((message) => message.role));
      expect(short[0]).toEqual(messages[0] as Message);
      expect(short[1]).toEqual(messages[1] as Message);
    }
  });

  test("makes forty results of 60 KiB fit a window of 20,000 tokens within two more requests", () => {
    const messages = conversation(40, "r".repeat(61_440));
    expect(bytesOf(shorten(messages, 2))).toBeLessThan(20_000 * 3);
  });

  test("never makes a conversation longer from one level to the next, and gives the same bytes each time", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 3000, unit: "binary" }), { maxLength: 12 }), (texts) => {
        const messages = texts.flatMap((text, index) => conversation(1, text.repeat(20)).slice(index === 0 ? 0 : 2));
        const sizes = Array.from({ length: MOST_SHORTENED + 1 }, (_none, level) => bytesOf(shorten(messages, level)));
        for (const [level, size] of sizes.entries()) {
          // A marker takes some room itself.
          if (level > 0) expect(size).toBeLessThanOrEqual((sizes[level - 1] ?? 0) + messages.length * 60);
          expect(JSON.stringify(shorten(messages, level))).toBe(JSON.stringify(shorten(messages, level)));
        }
      }),
      { seed: 5, numRuns: 60 },
    );
  });
});

describe("levelFor()", () => {
  test("takes the least level that fits, and the last one if none does", () => {
    const messages = conversation(10, "r".repeat(60_000));
    expect(levelFor(messages, Infinity)).toBe(0);
    expect(levelFor(messages, 100_000)).toBe(1);
    expect(levelFor(messages, 10)).toBe(MOST_SHORTENED);
  });
});
