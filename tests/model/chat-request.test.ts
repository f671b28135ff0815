import { describe, expect, test } from "bun:test";
import { toBody } from "../../lib/model/chat-request.ts";
import { namesIn } from "../../lib/model/tool-names.ts";
import type { Message } from "../../lib/session/message.ts";

function messagesOf(messages: readonly Message[]): unknown {
  const request = { messages, tools: [] };
  return toBody({ id: "local/m", model: "m" }, request, namesIn(request), { includeUsage: true }).messages;
}

describe("messages", () => {
  test("carry reasoning back to the model that wrote it, to no other, and never in place of the message", () => {
    const block = (model: string) => ({
      wire: "chat",
      model,
      fields: { reasoning_details: [{ type: "reasoning.encrypted", data: "x" }], content: "forged", role: "system" },
    });
    const message = (model: string): Message => ({
      role: "assistant",
      text: "a",
      calls: [],
      provider_blocks: [block(model), "odd", null],
    });
    expect(messagesOf([message("local/m"), message("local/other")])).toEqual([
      { reasoning_details: [{ type: "reasoning.encrypted", data: "x" }], role: "assistant", content: "a" },
      { role: "assistant", content: "a" },
    ]);
  });
});
