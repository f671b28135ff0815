/**
 * Parsing a reply's stream on one core, in all three wire formats: network chunks in, model events out, in MB of
 * stream per second of CPU time (of all threads, so that of collecting garbage counts too).
 *
 * The baseline decodes the same chunks and only splits them into lines, so it does the least that any reader must. It
 * joins an unfinished line to every chunk, so a single line of megabytes (Responses says a call once more as a whole)
 * is the one load at which it is slow.
 * Chunks are 16 KB, or single events: as a model that writes token by token arrives, and the most that waiting can cost.
 * In "smallest" an event holds nothing but what makes it one.
 * Not measured: the network, TLS, and what the loop does with the events.
 *
 * `bun tests/bench/model.bench.ts [--json]`
 */
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import { delta, DONE, sse, type TypedDocument, typedSse } from "../fixtures/sse.ts";

const ROUNDS = 9;
const CHUNK = 16 * 1024;
const encoder = new TextEncoder();

interface Load {
  readonly name: string;
  readonly wire: WireName;
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
}

type WireName = "chat" | "responses" | "anthropic";
const models = { chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel };

/** One reply as each wire format writes it: pieces of text, or of the arguments of one call after another. */
const writers: Readonly<
  Record<WireName, { text(pieces: readonly string[]): string; calls(calls: readonly (readonly string[])[]): string }>
> = {
  chat: {
    text: (pieces) => sse(...pieces.map((content) => delta({ content })), delta({}, "stop"), DONE),
    calls: (calls) =>
      sse(
        ...calls.flatMap((pieces, index) => [
          delta({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: "write_file", arguments: "" } }] }),
          ...pieces.map((text) => delta({ tool_calls: [{ index, function: { arguments: text } }] })),
        ]),
        delta({}, "tool_calls"),
        DONE,
      ),
  },
  responses: {
    text: (pieces) =>
      responses(
        pieces.map((text, n) => ({
          type: "response.output_text.delta",
          sequence_number: n,
          item_id: "msg_0a1b2c3d",
          output_index: 0,
          content_index: 0,
          delta: text,
          logprobs: [],
        })),
      ),
    calls: (calls) =>
      responses(calls.flatMap((pieces, output_index) => {
        const item = {
          type: "function_call",
          id: `fc_${output_index}`,
          call_id: `call_${output_index}`,
          name: "write_file",
          arguments: "",
        };
        return [
          { type: "response.output_item.added", output_index, item },
          ...pieces.map((text, n) => ({
            type: "response.function_call_arguments.delta",
            sequence_number: n,
            item_id: item.id,
            output_index,
            delta: text,
          })),
          { type: "response.output_item.done", output_index, item: { ...item, arguments: pieces.join("") } },
        ];
      })),
  },
  anthropic: {
    text: (pieces) =>
      anthropic([
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        ...pieces.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      ]),
    calls: (calls) =>
      anthropic(calls.flatMap((pieces, index) => [
        { type: "content_block_start", index, content_block: { type: "tool_use", id: `toolu_${index}`, name: "write_file", input: {} } },
        ...pieces.map((text) => ({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: text } })),
        { type: "content_block_stop", index },
      ])),
  },
};

/** Replies that a server would be hard put to say in fewer bytes. */
const smallest: Readonly<Record<WireName, (pieces: number) => string>> = {
  chat: (pieces) =>
    `data: {"choices":[{"index":0,"delta":{"content":" word"}}]}\n\n`.repeat(pieces) +
    `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
  responses: (pieces) =>
    `data: {"type":"response.output_text.delta","output_index":0,"delta":" word"}\n\n`.repeat(pieces) +
    `data: {"type":"response.completed","response":{"status":"completed"}}\n\n`,
  anthropic: (pieces) =>
    `data: {"type":"message_start","message":{}}\n\n` +
    `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}\n\n`.repeat(pieces) +
    `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n`,
};

const loads = (["chat", "responses", "anthropic"] as const).flatMap((wire) => [
  load(wire, "text deltas of a word", writers[wire].text(words(40_000))),
  load(wire, "8 calls of 64 KB in fragments of 16 characters", writers[wire].calls(argumentPieces(8, 64 * 1024, 16))),
  load(wire, "1 call of 4 MB in fragments of 4 KB", writers[wire].calls(argumentPieces(1, 4 * 1024 * 1024, 4096))),
  load(wire, "text deltas of a word, an event per chunk", writers[wire].text(words(20_000)), atEvents),
  load(wire, "smallest text deltas, an event per chunk", smallest[wire](100_000), atEvents),
]);

const results = [];
for (const each of loads) {
  const baseline: number[] = [];
  const parsed: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    baseline.push(await rate(each, splitLines));
    parsed.push(await rate(each, readReply));
  }
  results.push({
    wire: each.wire,
    load: each.name,
    megabytes: round(each.bytes / 1e6),
    baseline_mb_s: median(baseline),
    model_mb_s: median(parsed),
    lowest_mb_s: Math.min(...parsed),
    // What else the machine does only takes away.
    highest_mb_s: Math.max(...parsed),
  });
}

if (process.argv.includes("--json")) console.log(JSON.stringify({ schema_version: 1, bench: "model", results }));
else {for (const each of results) {
    console.log(
      `${each.wire}: ${each.load} (${each.megabytes} MB): ${each.model_mb_s} MB/s (${each.lowest_mb_s} to ${each.highest_mb_s}), only lines ${each.baseline_mb_s} MB/s`,
    );
  }}

function responses(events: readonly TypedDocument[]): string {
  return typedSse({ type: "response.created" }, ...events, { type: "response.completed", response: { status: "completed" } });
}

function anthropic(events: readonly TypedDocument[]): string {
  const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } };
  return typedSse({ type: "message_start", message: {} }, ...events, end, { type: "message_stop" });
}

function load(wire: WireName, name: string, stream: string, cut = atSize): Load {
  const chunks = cut(stream);
  return { wire, name, chunks, bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0) };
}

function atSize(stream: string): readonly Uint8Array[] {
  const bytes = encoder.encode(stream);
  return Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_chunk, at) => bytes.subarray(at * CHUNK, (at + 1) * CHUNK));
}

function atEvents(stream: string): readonly Uint8Array[] {
  return stream.split(/(?<=\n\n)/).map((event) => encoder.encode(event));
}

function words(count: number): readonly string[] {
  return Array.from({ length: count }, (_word, at) => ` word${at % 97}`);
}

function argumentPieces(calls: number, size: number, piece: number): readonly (readonly string[])[] {
  const text = `{"content":"${"some text, with \\n breaks ".repeat(size / 26)}"}`;
  const pieces = Array.from({ length: Math.ceil(text.length / piece) }, (_piece, at) => text.slice(at * piece, (at + 1) * piece));
  return Array.from({ length: calls }, () => pieces);
}

async function rate(each: Load, work: (body: ReadableStream<Uint8Array>, wire: WireName) => Promise<number>): Promise<number> {
  const before = process.cpuUsage();
  const seen = await work(toBody(each.chunks), each.wire);
  const { user, system } = process.cpuUsage(before);
  const took = (user + system) / 1000;
  if (seen === 0) throw new Error(`"${each.name}" gave nothing`);
  return round(each.bytes / 1000 / took);
}

async function splitLines(body: ReadableStream<Uint8Array>): Promise<number> {
  const decoder = new TextDecoder();
  let rest = "";
  let lines = 0;
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    lines += parts.length;
  }
  return lines;
}

async function readReply(body: ReadableStream<Uint8Array>, wire: WireName): Promise<number> {
  const model = models[wire]({
    id: "local/m",
    model: "m",
    baseUrl: "http://127.0.0.1:9/v1",
    fetch: () => Promise.resolve(new Response(body)),
  });
  let events = 0;
  for await (const _event of model.stream({ messages: [], tools: [] }, new AbortController().signal)) events++;
  return events;
}

function toBody(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
