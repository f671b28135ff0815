import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { BlockReply, type SentBlock, toSentBlocks } from "../../lib/model/block-reply.ts";
import { ModelError, type ModelReply } from "../../lib/model/model.ts";
import type { Message } from "../../lib/session/message.ts";

const SEED = 20261130;

type Assistant = Extract<Message, { role: "assistant" }>;

type Spoken = { readonly text: string } | { readonly call: string } | { readonly opaque: string };

const spoken = fc.array(
  fc.oneof(
    fc.record({ text: fc.string({ minLength: 1, unit: "binary" }) }),
    fc.record({ call: fc.constantFrom("a", "b") }),
    fc.record({ opaque: fc.string({ minLength: 1 }) }),
  ),
  { maxLength: 12 },
);

function replyOf(blocks: readonly Spoken[]): ModelReply {
  const reply = new BlockReply("m");
  blocks.forEach((block, key) => {
    if ("text" in block) {
      for (const half of [block.text.slice(0, 1), block.text.slice(1)]) reply.addBlockText(key, half);
    } else if ("call" in block) reply.addCall({ index: key, name: block.call, arguments: `{"n":${key}}` });
    else reply.addOpaque({ data: block.opaque });
  });
  const last = reply.closeBlocks("w", "p/m").at(-1);
  if (last?.type !== "finished") throw new Error("no reply");
  return JSON.parse(JSON.stringify(last.reply)) as ModelReply;
}

function toMessage({ text, calls, provider_blocks }: ModelReply): Assistant {
  const named = calls.map((call, position) => ({ id: `c${position}`, name: call.name, arguments: call.arguments }));
  return { role: "assistant", text, calls: named, ...(provider_blocks === undefined ? {} : { provider_blocks }) };
}

function show(block: SentBlock): Spoken {
  if (block.kind === "text") return { text: block.text };
  return block.kind === "call" ? { call: block.call.name } : { opaque: String(block.fields.data) };
}

describe("blocks", () => {
  test("go back as they came, whatever their order, save for opaque ones at the end", () => {
    fc.assert(
      fc.property(spoken, (blocks) => {
        const reply = replyOf(blocks);
        const sent = toSentBlocks(toMessage(reply), "w", "p/m", () => true).map(show);
        const lead = blocks.slice(0, blocks.findLastIndex((block) => !("opaque" in block)) + 1);
        const whole = lead.map((block) => "text" in block ? { text: block.text.toWellFormed() } : block);
        if (reply.provider_blocks !== undefined) expect(sent).toEqual(whole);
        expect(reply.text).toBe(blocks.flatMap((block) => "text" in block ? [block.text] : []).join("\n\n").toWellFormed());
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("of a log that was changed since, or made up, never lose or invent text and calls", () => {
    const made = fc.array(
      fc.oneof(
        fc.record({ text: fc.integer({ min: -3, max: 9 }) }),
        fc.record({ call: fc.integer({ min: -1, max: 3 }) }),
        fc.record({ opaque: fc.constant({ data: "x" }) }),
        fc.anything(),
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(made, fc.string(), fc.nat({ max: 2 }), (blocks, text, calls) => {
        const message: Assistant = {
          role: "assistant",
          text,
          calls: Array.from({ length: calls }, (_each, at) => ({ id: `c${at}`, name: "t", arguments: "{}" })),
          provider_blocks: [{ wire: "w", model: "p/m", blocks }],
        };
        const sent = toSentBlocks(message, "w", "p/m", () => true);
        const said = sent.flatMap((block) => block.kind === "text" ? [block.text] : []);
        expect([said.join(""), said.join("\n\n")]).toContain(text);
        expect(sent.flatMap((block) => block.kind === "call" ? [block.call.id] : [])).toEqual(message.calls.map((call) => call.id));
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("have a limit, in number and in what opaque ones hold", () => {
    const many = new BlockReply("m");
    expect(() => {
      for (let count = 0; count < 5000; count++) many.addOpaque({});
    }).toThrow(ModelError);
    expect(() => new BlockReply("m").countOpaque(17 * 1024 * 1024)).toThrow("its reasoning is longer");
  });
});
