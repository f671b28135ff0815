/** What an endpoint reports of a reply's use, in all three wire formats: nothing that was left out is taken for a 0 that was said. */
import { afterEach, describe, expect, test } from "bun:test";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import type { Usage } from "../../lib/session/outcome.ts";
import { delta, DONE, type EndpointReply, type FixtureEndpoint, startEndpoint, streamed } from "../fixtures/endpoint.ts";
import { typedSse } from "../fixtures/sse.ts";
import { replyOf } from "./asking.ts";

const open: FixtureEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

type Reported = object | undefined;
type Format = (usage: Reported, early?: Reported) => Promise<Usage>;

const formats: Readonly<Record<"chat" | "responses" | "anthropic", Format>> = {
  async chat(usage) {
    const end = usage === undefined ? [] : [{ choices: [], usage }];
    return await usageOf(createChatModel, streamed(delta({ content: "hi" }), delta({}, "stop"), ...end, DONE));
  },
  async responses(usage) {
    const item = { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "hi" }] };
    const response = { id: "r", status: "completed", output: [item], ...(usage === undefined ? {} : { usage }) };
    return await usageOf(createResponsesModel, { steps: [{ write: typedSse({ type: "response.completed", response }) }] });
  },
  async anthropic(usage, early) {
    const stream = typedSse(
      { type: "message_start", message: { model: "m", ...(early === undefined ? {} : { usage: early }) } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, ...(usage === undefined ? {} : { usage }) },
      { type: "message_stop" },
    );
    return await usageOf(createAnthropicModel, { steps: [{ write: stream }] });
  },
};

async function usageOf(create: typeof createChatModel, reply: EndpointReply): Promise<Usage> {
  const endpoint = await startEndpoint([reply]);
  open.push(endpoint);
  return (await replyOf(create({ id: "local/m", model: "m", baseUrl: endpoint.url }))).usage;
}

const chat = (prompt_tokens?: number, completion_tokens?: number) => ({ prompt_tokens, completion_tokens });
const tokens = (input_tokens?: number, output_tokens?: number) => ({ input_tokens, output_tokens });

/** Format, what is reported (for Messages also at the start), and what is made of it. */
const cases: readonly (readonly [keyof typeof formats, string, Reported, Reported, Usage])[] = [
  ["chat", "both", chat(3, 4), undefined, { input_tokens: 3, output_tokens: 4 }],
  ["chat", "two zeros", chat(0, 0), undefined, { input_tokens: 0, output_tokens: 0 }],
  ["chat", "nothing", undefined, undefined, { input_tokens: 0, output_tokens: 0, unreported_replies: 1 }],
  ["chat", "an empty object", {}, undefined, { input_tokens: 0, output_tokens: 0, unreported_replies: 1 }],
  ["chat", "the input alone", chat(3), undefined, { input_tokens: 3, output_tokens: 0, unreported_replies: 1 }],
  ["chat", "the output alone", chat(undefined, 4), undefined, { input_tokens: 0, output_tokens: 4, unreported_replies: 1 }],
  ["chat", "the cost alone", { cost: 0.5 }, undefined, { input_tokens: 0, output_tokens: 0, cost_usd: 0.5 }],
  ["responses", "both", tokens(3, 4), undefined, { input_tokens: 3, output_tokens: 4 }],
  ["responses", "two zeros", tokens(0, 0), undefined, { input_tokens: 0, output_tokens: 0 }],
  ["responses", "nothing", undefined, undefined, { input_tokens: 0, output_tokens: 0, unreported_replies: 1 }],
  ["responses", "the input alone", tokens(3), undefined, { input_tokens: 3, output_tokens: 0, unreported_replies: 1 }],
  ["anthropic", "both", tokens(undefined, 4), tokens(3, 1), { input_tokens: 3, output_tokens: 4 }],
  ["anthropic", "all at the end", tokens(3, 4), undefined, { input_tokens: 3, output_tokens: 4 }],
  ["anthropic", "two zeros", tokens(0, 0), tokens(0, 0), { input_tokens: 0, output_tokens: 0 }],
  ["anthropic", "nothing", undefined, undefined, { input_tokens: 0, output_tokens: 0, unreported_replies: 1 }],
  ["anthropic", "a beginning alone", undefined, tokens(3, 1), { input_tokens: 3, output_tokens: 1, unreported_replies: 1 }],
  ["anthropic", "the output alone", tokens(undefined, 4), undefined, { input_tokens: 0, output_tokens: 4, unreported_replies: 1 }],
];

const none: Usage = { input_tokens: 0, output_tokens: 0, unreported_replies: 1 };

describe("the use of a reply", () => {
  for (const [format, what, usage, early, expected] of cases) {
    test(`over ${format}, reported with ${what}`, async () => {
      expect(await formats[format](usage, early)).toEqual(expected);
    });
  }

  for (const wrong of [-1, -1e15, 0.5, 1e10, "7", null]) {
    test(`a count of ${JSON.stringify(wrong)} is none, wherever it stands`, async () => {
      const details = { cached_tokens: wrong, cache_write_tokens: wrong, reasoning_tokens: wrong, thinking_tokens: wrong };
      const caches = { cache_read_input_tokens: wrong, cache_creation_input_tokens: wrong, prompt_cache_hit_tokens: wrong };
      const beside = { ...caches, prompt_tokens_details: details, completion_tokens_details: details, input_tokens_details: details };
      const all = { ...beside, output_tokens_details: details };
      for (const format of ["responses", "anthropic"] as const) {
        expect(await formats[format]({ input_tokens: wrong, output_tokens: wrong, ...all }, { input_tokens: wrong })).toEqual(none);
        expect(await formats[format]({ ...tokens(3, 4), ...all })).toEqual({ input_tokens: 3, output_tokens: 4 });
      }
      expect(await formats.chat({ prompt_tokens: wrong, completion_tokens: wrong, ...all })).toEqual(none);
      expect(await formats.chat({ ...chat(3, 4), ...all })).toEqual({ input_tokens: 3, output_tokens: 4 });
    });
  }

  test("a cost below zero is none: it would lift a spend limit", async () => {
    expect(await formats.chat({ cost: -5 })).toEqual(none);
    expect(await formats.chat({ ...chat(3, 4), cost: -5 })).toEqual({ input_tokens: 3, output_tokens: 4 });
  });

  test("over chat, what was counted is not taken back by numbers that can be none", async () => {
    const reply = streamed({ ...delta({ content: "hi" }), usage: chat(3, 4) }, { ...delta({}, "stop"), usage: chat(-1, -1) }, DONE);
    expect(await usageOf(createChatModel, reply)).toEqual({ input_tokens: 3, output_tokens: 4 });
  });
});
