import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import type { ModelEvent, ModelReply } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import type { ModelErrorKind } from "../../lib/session/outcome.ts";

/** Streams in the manner of the servers they are named after, or of the API of their folder, written by hand. */
const folder = fileURLToPath(import.meta.resolve("../fixtures/recordings/"));
const models = { chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel };
const SEED = 20261129;

interface Expected extends Omit<ModelReply, "provider_blocks"> {
  readonly reasoning?: string;
  readonly provider_blocks?: readonly unknown[];
  /** Calls that are not complete. */
  readonly cut?: readonly string[];
}

interface ExpectedFault {
  readonly fault: ModelErrorKind;
  readonly words: string;
}

/** What a reply of a format of blocks leaves in the log. */
function blocks(wire: string, list: readonly object[]): { readonly provider_blocks: readonly unknown[] } {
  return { provider_blocks: [{ wire, model: "local/m", blocks: list }] };
}

const expected: Readonly<Record<string, Expected | ExpectedFault>> = {
  "chat/openai.sse": {
    text: "Ich lese beides – sofort. 🚀",
    calls: [
      { provider_id: "call_Aq1", name: "read_file", arguments: '{"path":"ä.md"}' },
      { provider_id: "call_Bz2", name: "read_file", arguments: '{"path":"b/c.md","limit":3.0}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 812, output_tokens: 64, cached_input_tokens: 768, reasoning_tokens: 12 },
    model: "gpt-5.2-2025-12-11",
  },
  "chat/openrouter.sse": {
    text: "Counting.",
    reasoning: "The user wants a count.",
    calls: [{ provider_id: "toolu_vrtx_01", name: "wordcount", arguments: '{"path": "README.md"}' }],
    finish: "tool_calls",
    usage: { input_tokens: 400, output_tokens: 90, cached_input_tokens: 0, reasoning_tokens: 31, cost_usd: 0.00255 },
    model: "anthropic/claude-sonnet-4.5",
    provider_blocks: [{
      wire: "chat",
      model: "local/m",
      fields: {
        reasoning_details: [
          { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "The user wants a count.", signature: "EqQBCgIYAhIM" },
        ],
      },
    }],
  },
  "chat/ollama.sse": {
    text: "",
    reasoning: "Two files.",
    calls: [
      { provider_id: "call_q8x", name: "read_file", arguments: '{"path":"a.txt"}' },
      { provider_id: "call_k2p", name: "read_file", arguments: '{"path":"b.txt"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 150, output_tokens: 40 },
    model: "qwen3:8b",
  },
  "chat/llamacpp.sse": {
    text: "",
    calls: [{ provider_id: "Xk3", name: "bash", arguments: '{"command":"echo \\"hi\\" && ls","timeout":1e3}' }],
    finish: "tool_calls",
    usage: { input_tokens: 77, output_tokens: 19 },
    model: "qwen2.5-coder-7b-q4_k_m.gguf",
  },
  "chat/vllm.sse": {
    text: "",
    reasoning: "I should list, then read.",
    calls: [
      { provider_id: "chatcmpl-tool-11aa", name: "list_directory", arguments: '{"path": "."}' },
      { provider_id: "chatcmpl-tool-44dd", name: "read_file", arguments: '{"path": "x"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 205, output_tokens: 20 },
    model: "Qwen/Qwen3-32B",
    provider_blocks: [{ wire: "chat", model: "local/m", fields: { reasoning_content: "I should list, then read." } }],
  },
  "chat/lmstudio.sse": {
    text: "There is nothing to call.",
    calls: [],
    finish: "stop",
    usage: { input_tokens: 0, output_tokens: 0, unreported_replies: 1 },
    model: "openai/gpt-oss-20b",
  },
  "chat/lmstudio-calls.sse": {
    text: "",
    calls: [
      { provider_id: "365174485", name: "state", arguments: '{"key":"k"}' },
      { provider_id: "365174486", name: "state", arguments: '{"key":"j"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 0, output_tokens: 0, unreported_replies: 1 },
    model: "openai/gpt-oss-20b",
  },
  "chat/no-ids.sse": {
    text: "",
    calls: [
      { name: "read_file", arguments: '{"path":"a.txt"}' },
      { name: "read_file", arguments: '{"path":"b.txt"}' },
      { name: "read_file", arguments: '{"path":"c.txt"}' },
      { name: "wordcount", arguments: '{"path":"a.txt"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 0, output_tokens: 0, unreported_replies: 1 },
    model: "mistral-small-3.2-24b",
  },
  "chat/cumulative.sse": {
    text: "",
    calls: [{ provider_id: "call_cum", name: "edit_file", arguments: '{"path":"src/main.ts","old":"a { b","new":"a } b"}' }],
    finish: "tool_calls",
    usage: { input_tokens: 30, output_tokens: 21 },
    model: "glm-4.6",
  },

  "responses/text.sse": {
    text: "Ein Wort über Äpfel 🍏: knackig.",
    calls: [],
    finish: "stop",
    usage: { input_tokens: 31, output_tokens: 14, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "gpt-5.2-2025-12-11",
  },
  "responses/call.sse": {
    text: "",
    calls: [{ provider_id: "call_9Xk2", name: "read_file", arguments: '{"path":"docs/a b.md","limit":3.0,"at":9007199254740993}' }],
    finish: "tool_calls",
    usage: { input_tokens: 210, output_tokens: 22, cached_input_tokens: 128, reasoning_tokens: 0 },
    model: "gpt-5.2-2025-12-11",
  },
  "responses/parallel.sse": {
    text: "I look at both.",
    reasoning: "**Planning**\n\nTwo files.\n\nRead both.",
    calls: [
      { provider_id: "call_aa", name: "read_file", arguments: '{"path":"a.txt"}' },
      { provider_id: "call_bb", name: "read_file", arguments: '{"path":"b.txt"}' },
      { provider_id: "call_cc", name: "list_tasks", arguments: "{}" },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 1500, output_tokens: 260, cached_input_tokens: 1408, reasoning_tokens: 192 },
    model: "gpt-5.4-2026-03-05",
    ...blocks("responses", [
      {
        opaque: {
          type: "reasoning",
          id: "rs_01",
          summary: [{ type: "summary_text", text: "**Planning**\n\nTwo files." }, { type: "summary_text", text: "Read both." }],
          encrypted_content: "gAAAAABb2c3==",
        },
      },
      { text: 15, fields: { phase: "commentary" } },
      { call: 0 },
      { call: 1 },
      { call: 2 },
    ]),
  },
  "responses/two-messages.sse": {
    text: "First.\n\nThen this.",
    calls: [],
    finish: "stop",
    usage: { input_tokens: 40, output_tokens: 12, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "gpt-5.4-2026-03-05",
    ...blocks("responses", [{ text: 6, fields: { phase: "commentary" } }, { text: 10, fields: { phase: "final_answer" } }]),
  },
  "responses/refusal.sse": {
    text: "I can’t help with that.",
    calls: [],
    finish: "content_filter",
    usage: { input_tokens: 60, output_tokens: 9, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "gpt-5.2-2025-12-11",
  },
  "responses/incomplete.sse": {
    text: "Writing.",
    calls: [{ provider_id: "call_cut", name: "write_file", arguments: '{"path":"big.txt","content":"line 1\\nline 2' }],
    cut: ["call_cut"],
    finish: "length",
    usage: { input_tokens: 90, output_tokens: 64, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "gpt-5.2-2025-12-11",
  },
  "responses/filtered.sse": {
    text: "Half a ",
    calls: [],
    finish: "content_filter",
    usage: { input_tokens: 90, output_tokens: 4, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "gpt-5.2-2025-12-11",
  },
  "responses/shifting-ids.sse": {
    text: "",
    calls: [
      { provider_id: "call_p0", name: "read_file", arguments: '{"path":"zero"}' },
      { provider_id: "call_p1", name: "read_file", arguments: '{"path":"one"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 77, output_tokens: 20, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "gpt-5-mini",
  },
  "responses/one-place.sse": {
    text: "",
    calls: [
      { provider_id: "call_it_a", name: "read_file", arguments: '{"path":"a"}' },
      { provider_id: "call_it_b", name: "read_file", arguments: '{"path":"b"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 10, output_tokens: 5, cached_input_tokens: 0, reasoning_tokens: 0 },
    model: "bridged",
  },
  "responses/error.sse": { fault: "rate_limited", words: "Rate limit reached" },
  "responses/failed.sse": { fault: "transport", words: "The model had an error" },

  "anthropic/text.sse": {
    text: "Grüße! 👋\nAlles klar.",
    calls: [],
    finish: "stop",
    usage: { input_tokens: 25, output_tokens: 12, cached_input_tokens: 0, cache_write_input_tokens: 0 },
    model: "claude-sonnet-4-5-20250929",
  },
  "anthropic/call.sse": {
    text: "I read it.",
    calls: [{ provider_id: "toolu_01A", name: "read_file", arguments: '{"path": "docs/ü.md", "limit": 3.0}' }],
    finish: "tool_calls",
    usage: { input_tokens: 1064, output_tokens: 58, cached_input_tokens: 1024, cache_write_input_tokens: 0 },
    model: "claude-sonnet-4-5-20250929",
  },
  "anthropic/thinking.sse": {
    text: "Counting.",
    reasoning: "The user wants a count.",
    calls: [{ provider_id: "toolu_01T", name: "wordcount", arguments: '{"path":"README.md"}' }],
    finish: "tool_calls",
    usage: { input_tokens: 2060, output_tokens: 90, cached_input_tokens: 0, cache_write_input_tokens: 2048, reasoning_tokens: 31 },
    model: "claude-opus-4-6",
    ...blocks("anthropic", [
      { opaque: { type: "thinking", thinking: "The user wants a count.", signature: "EqQBCgIYAhIM1==" } },
      { text: 9 },
      { call: 0 },
    ]),
  },
  "anthropic/parallel.sse": {
    text: "",
    calls: [
      { provider_id: "toolu_01P", name: "read_file", arguments: '{"path":"a"}' },
      { provider_id: "toolu_02P", name: "list_tasks", arguments: "{}" },
      { provider_id: "toolu_03P", name: "now", arguments: "{}" },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 25, output_tokens: 70, cached_input_tokens: 0, cache_write_input_tokens: 0 },
    model: "claude-sonnet-4-5-20250929",
  },
  "anthropic/interleaved.sse": {
    text: "Both.",
    reasoning: "And the other.",
    calls: [
      { provider_id: "toolu_01I", name: "read_file", arguments: '{"path":"a"}' },
      { provider_id: "toolu_02I", name: "read_file", arguments: '{"path":"b"}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 25, output_tokens: 120, cached_input_tokens: 0, cache_write_input_tokens: 0 },
    model: "claude-opus-5",
    ...blocks("anthropic", [
      { opaque: { type: "redacted_thinking", data: "EmwKAhgBEgy3va3==" } },
      { opaque: { type: "thinking", thinking: "", signature: "EuYBCkQ==" } },
      { text: 5 },
      { call: 0 },
      { opaque: { type: "thinking", thinking: "And the other.", signature: "EuYBCkR==" } },
      { call: 1 },
    ]),
  },
  "anthropic/refusal.sse": {
    text: "I will not go on",
    calls: [],
    finish: "content_filter",
    usage: { input_tokens: 25, output_tokens: 6, cached_input_tokens: 0, cache_write_input_tokens: 0 },
    model: "claude-sonnet-4-5-20250929",
  },
  "anthropic/max-tokens.sse": {
    text: "Writing.",
    calls: [{ provider_id: "toolu_01C", name: "write_file", arguments: '{"path":"big.txt", "content":"line 1\\nli' }],
    cut: ["toolu_01C"],
    finish: "length",
    usage: { input_tokens: 25, output_tokens: 32000, cached_input_tokens: 0, cache_write_input_tokens: 0 },
    model: "claude-sonnet-4-5-20250929",
  },
  "anthropic/whole-input.sse": {
    text: "",
    calls: [{ provider_id: "call_w", name: "bash", arguments: '{"command":"echo hi","timeout":1e3}' }],
    finish: "tool_calls",
    usage: { input_tokens: 33, output_tokens: 9, cached_input_tokens: 0, cache_write_input_tokens: 0 },
    model: "glm-4.6",
  },
  "anthropic/overloaded.sse": { fault: "overloaded", words: "Overloaded" },
};

describe("recordings", () => {
  test("every recording has what is expected of it", async () => {
    const files = await Promise.all(
      Object.keys(models).map(async (wire) => (await readdir(join(folder, wire))).map((name) => `${wire}/${name}`)),
    );
    expect(files.flat().sort()).toEqual(Object.keys(expected).sort());
  });

  for (const [name, wanted] of Object.entries(expected)) {
    if ("fault" in wanted) {
      test(`${name} fails as ${wanted.fault}`, async () => {
        const fault = await play(name, [await readFile(join(folder, name))]);
        expect(fault).toMatchObject({ name: "ModelError", kind: wanted.fault });
        expect(String(fault)).toContain(wanted.words);
      });
    } else {
      test(`${name} gives its reply, and every whole call is ready before the end`, async () => {
        const { reasoning = "", cut = [], ...reply } = wanted;
        const events = await eventsOf(name, [await readFile(join(folder, name))]);
        expect(events.at(-1)).toEqual({ type: "finished", reply });
        expect(joined(events, "text")).toBe(reply.text);
        expect(joined(events, "reasoning")).toBe(reasoning);
        const announced = events.filter((event) => event.type === "call_announced").map((event) => [event.position, event.name]);
        expect(announced).toEqual(reply.calls.map((call, position) => [position, call.name]));
        const ready = events.filter((event) => event.type === "call_ready").map((event) => [event.position, event.name, event.arguments]);
        const whole = reply.calls.flatMap((call, position) =>
          cut.includes(call.provider_id ?? "") ? [] : [[position, call.name, call.arguments]]
        );
        expect([...ready].sort()).toEqual(whole);
      });
    }

    test(`${name} gives the same events however its bytes are cut`, async () => {
      const bytes = await readFile(join(folder, name));
      const whole = await play(name, [bytes]);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 40 }), async (cuts) => {
          expect(await play(name, cut(bytes, cuts))).toEqual(whole);
        }),
        { seed: SEED, numRuns: 60 },
      );
      expect(await play(name, cut(bytes, [...bytes.keys()]))).toEqual(whole);
    });

    test(`${name} cut off anywhere gives a transport error or, after its end was said, the same`, async () => {
      const bytes = await readFile(join(folder, name));
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), async (end) => {
          const outcome = await play(name, [bytes.subarray(0, end)]);
          const last = Array.isArray(outcome) ? outcome.at(-1) : undefined;
          if (last?.type === "finished") expect(last.reply.calls).toEqual("fault" in wanted ? [] : wanted.calls);
          else if (!("fault" in wanted && kindOf(outcome) === wanted.fault)) expect(kindOf(outcome)).toBe("transport");
        }),
        { seed: SEED, numRuns: 150 },
      );
    });
  }
});

async function eventsOf(name: string, chunks: readonly Uint8Array[]): Promise<ModelEvent[]> {
  const events = await play(name, chunks);
  if (!Array.isArray(events)) throw events;
  return events;
}

/** What the recording gives, or the error it ends with. */
async function play(name: string, chunks: readonly Uint8Array[]): Promise<ModelEvent[] | Error> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) if (chunk.length > 0) controller.enqueue(chunk);
      controller.close();
    },
  });
  const create = models[name.slice(0, name.indexOf("/")) as keyof typeof models];
  const fetch = () => Promise.resolve(new Response(body));
  const model = create({ id: "local/m", model: "m", baseUrl: "http://127.0.0.1:9/v1", fetch });
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream({ messages: [], tools: [] }, new AbortController().signal)) events.push(event);
    return events;
  } catch (error) {
    return error as Error;
  }
}

function kindOf(outcome: unknown): unknown {
  return (outcome as { readonly kind?: unknown }).kind;
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const borders = [...new Set([0, ...at, bytes.length])].sort((left, right) => left - right);
  return borders.slice(1).map((end, position) => bytes.subarray(borders[position], end));
}

function joined(events: readonly ModelEvent[], type: "text" | "reasoning"): string {
  return events.map((event) => event.type === type ? event.text : "").join("");
}
