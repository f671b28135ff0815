/**
 * [child process] The tool host: this same program, started with a hidden argument. It reads calls from standard
 * input, serves one at a time and answers on standard output; it ends when standard input does.
 *
 * Whatever a tool prints goes to standard error: standard output carries frames and nothing else.
 */
import type { Buffer } from "node:buffer";
import process from "node:process";
import * as v from "valibot";
import type { JsonInput, JsonObject } from "../session/json.ts";
import type { HostContext, HostReply } from "../session/launch.ts";
import { runBuiltin } from "../tools/builtin/catalog.ts";
import { FrameReader, toFrame } from "./frames.ts";
import { type FromHost, MAX_FRAME_BYTES, ToHost } from "./wire.ts";

export type ToolRunner = (tool: string, input: JsonInput, context: HostContext) => Promise<HostReply>;

/** Resolves at the end of standard input, even in the middle of a call: nobody waits for its answer any more. */
export async function runToolHost(run: ToolRunner = runBuiltin): Promise<void> {
  const send = takeStandardOutput();
  const reader = new FrameReader(MAX_FRAME_BYTES);
  let last: Promise<void> = Promise.resolve();
  send({ type: "ready" });
  for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
    for (const line of reader.push(chunk)) {
      const call = v.parse(ToHost, JSON.parse(line));
      last = last.then(async () => send({ type: "reply", id: call.id, reply: await answer(call, run) }));
    }
  }
}

function takeStandardOutput(): (message: FromHost) => void {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  console.log = console.info = console.debug = console.error;
  return (message) => void write(encode(message));
}

function encode(message: FromHost): Buffer {
  try {
    return toFrame(message, MAX_FRAME_BYTES);
  } catch (error) {
    if (message.type !== "reply") throw error;
    const text = `The tool's answer is too large to be handed over: ${(error as Error).message}`;
    return toFrame({ ...message, reply: { is_error: true, text } }, MAX_FRAME_BYTES);
  }
}

async function answer(call: ToHost, run: ToolRunner): Promise<HostReply> {
  try {
    const input = { value: JSON.parse(call.input) as JsonObject, text: call.input };
    return await run(call.tool, input, call.context);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { is_error: true, text: `The tool "${call.tool}" failed: ${text}` };
  }
}
