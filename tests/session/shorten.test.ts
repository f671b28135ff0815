import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseArguments } from "../../lib/session/arguments.ts";
import type { Message } from "../../lib/session/message.ts";
import { learnBudget, shorten, sizeOf } from "../../lib/session/shorten.ts";

function conversation(steps: number, result: string, args = "{}", prompt = "u".repeat(5000)): readonly Message[] {
  const messages: Message[] = [{ role: "system", text: "s".repeat(5000) }, { role: "user", text: prompt }];
  for (let step = 0; step < steps; step++) {
    messages.push({ role: "assistant", text: "thinking", calls: [{ id: `c${step}`, name: "look", arguments: args }] });
    messages.push({ role: "tool", id: `c${step}`, name: "look", text: result, is_error: false });
  }
  return messages;
}

/** Sizes of the requests that a model with this window is sent, until one fits or none can be shorter. */
function requests(messages: readonly Message[], window_bytes: number): readonly number[] {
  const sent: number[] = [];
  for (let budget: number | null = null;;) {
    const size = sizeOf(shorten(messages, budget ?? Infinity));
    if (size >= (sent.at(-1) ?? Infinity)) return sent;
    sent.push(size);
    if (size <= window_bytes) return sent;
    budget = learnBudget(budget, size);
  }
}

const WINDOW = 80_000;

describe("shorten()", () => {
  test("leaves everything where there is no budget or it is enough", () => {
    const messages = conversation(5, "r".repeat(60_000));
    expect(shorten(messages, Infinity)).toBe(messages);
    expect(shorten(messages, sizeOf(messages))).toBe(messages);
  });

  const large: Readonly<Record<string, readonly Message[]>> = {
    "results": conversation(40, "r".repeat(61_440)),
    "arguments": conversation(40, "ok", JSON.stringify({ path: "a.txt", content: "x".repeat(61_440) })),
    "many small calls": conversation(2000, "tick", '{"n":1}'),
    "a long prompt": conversation(1, "ok", "{}", "p".repeat(112_000)),
    "a prompt of characters that JSON writes as six": conversation(1, "ok", "{}", "\u0001".repeat(60_000)),
    "many calls in one reply": [
      { role: "user", text: "go" },
      {
        role: "assistant",
        text: "",
        calls: Array.from({ length: 100 }, (_none, n) => ({ id: `c${n}`, name: "put", arguments: `{"t":"${"y".repeat(9000)}"}` })),
      },
      ...Array.from(
        { length: 100 },
        (_none, n): Message => ({ role: "tool", id: `c${n}`, name: "put", text: "z".repeat(9000), is_error: false }),
      ),
    ],
    "old prompts": Array.from({ length: 300 }, (): Message => ({ role: "user", text: "q".repeat(4000) })),
  };
  for (const [what, messages] of Object.entries(large)) {
    test(`makes ${what} fit within three requests, each shorter than the one before`, () => {
      const sizes = requests(messages, WINDOW);
      expect(sizes.length).toBeGreaterThan(1);
      expect(sizes.length).toBeLessThanOrEqual(3);
      expect(sizes.at(-1)).toBeLessThanOrEqual(WINDOW);
    });
  }

  test("cuts long arguments and keeps their keys, and the digits of short numbers", () => {
    const messages = conversation(3, "ok", `{"path":"a.txt","n":3.0,"content":"${"x".repeat(16_000)}"}`);
    const [first] = shorten(messages, 40_000).flatMap((message) => message.role === "assistant" ? message.calls : []);
    expect(first?.arguments).toContain('"path":"a.txt","n":3.0,"content":"xx');
    expect(first?.arguments).toContain("bytes omitted");
  });

  test("says how much was left out, with the prompt before it", () => {
    const short = shorten(conversation(2000, "tick"), 40_000);
    expect(short[1]?.text).toMatch(
      /^u+\n\n\[Left out, as the conversation is longer than the model's window: \d+ earlier parts of it\.\]$/,
    );
    expect(short.at(-1)).toMatchObject({ id: "c1999" });
  });

  const piece = fc.record({
    prompt: fc.boolean(),
    text: fc.string({ maxLength: 40, unit: "binary" }),
    repeat: fc.nat({ max: 400 }),
    calls: fc.nat({ max: 3 }),
  });
  const conversations = fc.array(piece, { maxLength: 14 }).map((pieces) => {
    const messages: Message[] = [{ role: "system", text: "Be brief." }, { role: "user", text: "go" }];
    for (const [index, { prompt, text, repeat, calls }] of pieces.entries()) {
      const long = text.repeat(repeat);
      if (prompt) {
        messages.push({ role: "user", text: long });
        continue;
      }
      const ids = Array.from({ length: calls }, (_none, n) => `c${index}_${n}`);
      messages.push({
        role: "assistant",
        text: long,
        calls: ids.map((id) => ({ id, name: "t", arguments: JSON.stringify({ long, n: 1 }) })),
      });
      for (const id of ids) messages.push({ role: "tool", id, name: "t", text: long, is_error: false });
    }
    return messages;
  });

  test("H1: never splits a call from its result, keeps the order, the system text and a prompt, and arguments that are an object", () => {
    fc.assert(
      fc.property(conversations, fc.nat({ max: 60_000 }), (messages, budget) => {
        const short = shorten(messages, budget);
        expect(short[0]).toEqual(messages[0] as Message);
        expect(short.some((message) => message.role === "user")).toBe(true);
        short.forEach((message, index) => {
          if (message.role !== "assistant") return;
          const results = short.slice(index + 1, index + 1 + message.calls.length);
          expect(results.map((each) => each.role === "tool" ? each.id : each.role)).toEqual(message.calls.map(({ id }) => id));
          for (const call of message.calls) expect(parseArguments(call.arguments).kind).toBe("input");
        });
        const idsOf = (all: readonly Message[]) => all.flatMap((message) => message.role === "tool" ? [message.id] : []);
        const ids = idsOf(messages);
        expect(idsOf(short)).toEqual(ids.filter((id) => idsOf(short).includes(id)));
        const calls = short.reduce((sum, message) => sum + (message.role === "assistant" ? message.calls.length : 0), 0);
        expect(idsOf(short)).toHaveLength(calls);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  test("H2: gives the same bytes each time, and never more than there were", () => {
    fc.assert(
      fc.property(conversations, fc.nat({ max: 60_000 }), (messages, budget) => {
        const short = shorten(messages, budget);
        expect(JSON.stringify(shorten(messages, budget))).toBe(JSON.stringify(short));
        // The line that says what is missing takes some room itself.
        expect(sizeOf(short)).toBeLessThanOrEqual(sizeOf(messages) + 200);
      }),
      { seed: 6, numRuns: 300 },
    );
  });
});
