import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { createChatModel } from "../../lib/model/chat.ts";
import type { ModelEvent, ModelReply } from "../../lib/model/model.ts";

/** Streams in the manner of the servers they are named after, written by hand. */
const folder = fileURLToPath(import.meta.resolve("../fixtures/recordings/"));
const SEED = 20261129;

type Expected = Omit<ModelReply, "provider_blocks"> & { readonly reasoning?: string; readonly provider_blocks?: readonly unknown[] };

const expected: Readonly<Record<string, Expected>> = {
  "openai.sse": {
    text: "Ich lese beides – sofort. 🚀",
    calls: [
      { provider_id: "call_Aq1", name: "read_file", arguments: '{"path":"ä.md"}' },
      { provider_id: "call_Bz2", name: "read_file", arguments: '{"path":"b/c.md","limit":3.0}' },
    ],
    finish: "tool_calls",
    usage: { input_tokens: 812, output_tokens: 64, cached_input_tokens: 768, reasoning_tokens: 12 },
    model: "gpt-5.2-2025-12-11",
  },
  "openrouter.sse": {
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
  "ollama.sse": {
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
  "llamacpp.sse": {
    text: "",
    calls: [{ provider_id: "Xk3", name: "bash", arguments: '{"command":"echo \\"hi\\" && ls","timeout":1e3}' }],
    finish: "tool_calls",
    usage: { input_tokens: 77, output_tokens: 19 },
    model: "qwen2.5-coder-7b-q4_k_m.gguf",
  },
  "vllm.sse": {
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
  "lmstudio.sse": {
    text: "There is nothing to call.",
    calls: [],
    finish: "stop",
    usage: { input_tokens: 0, output_tokens: 0 },
    model: "openai/gpt-oss-20b",
  },
  "lmstudio-calls.sse": {
    text: "",
    calls: [{ provider_id: "365174485", name: "state", arguments: '{"key":"k"}' }, {
      provider_id: "365174486",
      name: "state",
      arguments: '{"key":"j"}',
    }],
    finish: "tool_calls",
    usage: { input_tokens: 0, output_tokens: 0 },
    model: "openai/gpt-oss-20b",
  },
  "cumulative.sse": {
    text: "",
    calls: [{ provider_id: "call_cum", name: "edit_file", arguments: '{"path":"src/main.ts","old":"a { b","new":"a } b"}' }],
    finish: "tool_calls",
    usage: { input_tokens: 30, output_tokens: 21 },
    model: "glm-4.6",
  },
};

describe("recordings", () => {
  test("every recording has its expected reply", async () => {
    expect((await readdir(folder)).filter((name) => name.endsWith(".sse")).sort()).toEqual(Object.keys(expected).sort());
  });

  for (const [name, { reasoning = "", ...reply }] of Object.entries(expected)) {
    test(`${name} gives its reply, and every call is ready before the end`, async () => {
      const events = await play([await readFile(join(folder, name))]);
      expect(events.at(-1)).toEqual({ type: "finished", reply });
      expect(joined(events, "text")).toBe(reply.text);
      expect(joined(events, "reasoning")).toBe(reasoning);
      const ready = events.filter((event) => event.type === "call_ready").map((event) => [event.position, event.name, event.arguments]);
      expect(ready).toEqual(reply.calls.map((call, position) => [position, call.name, call.arguments]));
    });

    test(`${name} gives the same events however its bytes are cut`, async () => {
      const bytes = await readFile(join(folder, name));
      const whole = await play([bytes]);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 40 }), async (cuts) => {
          expect(await play(cut(bytes, cuts))).toEqual(whole);
        }),
        { seed: SEED, numRuns: 60 },
      );
      expect(await play(cut(bytes, [...bytes.keys()]))).toEqual(whole);
    });

    test(`${name} cut off anywhere gives a transport error or, after its finish reason, the same calls`, async () => {
      const bytes = await readFile(join(folder, name));
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), async (end) => {
          const outcome = await play([bytes.subarray(0, end)]).catch((error: unknown) => error);
          const last = Array.isArray(outcome) ? (outcome as ModelEvent[]).at(-1) : undefined;
          if (last?.type === "finished") expect(last.reply.calls).toEqual(reply.calls);
          else expect(outcome).toMatchObject({ name: "ModelError", kind: "transport" });
        }),
        { seed: SEED, numRuns: 150 },
      );
    });
  }
});

async function play(chunks: readonly Uint8Array[]): Promise<ModelEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) if (chunk.length > 0) controller.enqueue(chunk);
      controller.close();
    },
  });
  const model = createChatModel({
    id: "local/m",
    model: "m",
    baseUrl: "http://127.0.0.1:9/v1",
    fetch: () => Promise.resolve(new Response(body)),
  });
  const events: ModelEvent[] = [];
  for await (const event of model.stream({ messages: [], tools: [] }, new AbortController().signal)) events.push(event);
  return events;
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const borders = [...new Set([0, ...at, bytes.length])].sort((left, right) => left - right);
  return borders.slice(1).map((end, position) => bytes.subarray(borders[position], end));
}

function joined(events: readonly ModelEvent[], type: "text" | "reasoning"): string {
  return events.map((event) => event.type === type ? event.text : "").join("");
}
