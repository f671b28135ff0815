/**
 * Parsing a reply's stream on one core: network chunks in, model events out, in MB/s of stream.
 *
 * The baseline decodes the same chunks and only splits them into lines, so it does the least that any reader must.
 * Not measured: the network, TLS, and what the loop does with the events.
 *
 * `bun tests/bench/model.bench.ts [--json]`
 */
import { createChatModel } from "../../lib/model/chat.ts";
import { delta, DONE, sse } from "../fixtures/endpoint.ts";

const ROUNDS = 9;
const CHUNK = 16 * 1024;
const encoder = new TextEncoder();

interface Load {
  readonly name: string;
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
}

const loads = [
  load("text deltas of a word", Array.from({ length: 40_000 }, (_each, index) => delta({ content: ` word${index % 97}` }))),
  load("8 calls of 64 KB in fragments of 16 characters", argumentFragments(8, 64 * 1024, 16)),
  load("1 call of 4 MB in fragments of 4 KB", argumentFragments(1, 4 * 1024 * 1024, 4096)),
];

const results = [];
for (const each of loads) {
  const baseline: number[] = [];
  const parsed: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    baseline.push(await rate(each, splitLines));
    parsed.push(await rate(each, readReply));
  }
  results.push({
    load: each.name,
    megabytes: round(each.bytes / 1e6),
    baseline_mb_s: median(baseline),
    model_mb_s: median(parsed),
    lowest_mb_s: Math.min(...parsed),
  });
}

if (process.argv.includes("--json")) console.log(JSON.stringify({ schema_version: 1, bench: "model", results }));
else {for (const each of results) {
    console.log(
      `${each.load} (${each.megabytes} MB): ${each.model_mb_s} MB/s (lowest ${each.lowest_mb_s}), only lines ${each.baseline_mb_s} MB/s`,
    );
  }}

function load(name: string, documents: readonly object[]): Load {
  const bytes = encoder.encode(sse(...documents, delta({}, "stop"), DONE));
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK) chunks.push(bytes.subarray(at, at + CHUNK));
  return { name, chunks, bytes: bytes.length };
}

function argumentFragments(calls: number, size: number, piece: number): readonly object[] {
  const text = `{"content":"${"some text, with \\n breaks ".repeat(size / 26)}"}`;
  return Array.from({ length: calls }, (_each, index) => [
    delta({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: "write_file", arguments: "" } }] }),
    ...Array.from(
      { length: Math.ceil(text.length / piece) },
      (_piece, at) => delta({ tool_calls: [{ index, function: { arguments: text.slice(at * piece, (at + 1) * piece) } }] }),
    ),
  ]).flat();
}

async function rate(each: Load, work: (body: ReadableStream<Uint8Array>) => Promise<number>): Promise<number> {
  const start = performance.now();
  const seen = await work(toBody(each.chunks));
  const took = performance.now() - start;
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

async function readReply(body: ReadableStream<Uint8Array>): Promise<number> {
  const model = createChatModel({
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
