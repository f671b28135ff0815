/**
 * [child process] The tool host: this same program, started with a hidden argument. It reads calls from one descriptor,
 * serves one at a time and answers on another; it ends when there are no more calls to come.
 *
 * The standard streams are the tool's: to print to, and a standard input in which nothing is.
 */
import type { Buffer } from "node:buffer";
import { writeSync } from "node:fs";
import process from "node:process";
import * as v from "valibot";
import { ANSWERS, keepToOurselves, readRequests } from "../platform/channel.ts";
import { isTooDeep, type Json, type JsonInput, type JsonObject, parseJson } from "../session/json.ts";
import type { HostContext, HostModule, HostReply } from "../session/launch.ts";
import { runBuiltin } from "../tools/builtin/catalog.ts";
import { LineReader, toFrame } from "./frames.ts";
import { type FromHost, type HostCall, MAX_FRAME_BYTES, MAX_MODULE_FRAME_BYTES, ToHost } from "./wire.ts";

export type ToolRunner = (tool: string, input: JsonInput, context: HostContext) => Promise<HostReply>;

/**
 * Resolves when no call can come any more, even in the middle of one: nobody waits for its answer any more. A host that
 * was given a module resolves when it has answered.
 */
export async function runToolHost(run: ToolRunner = runBuiltin): Promise<void> {
  const reader = new LineReader(MAX_FRAME_BYTES);
  let last: Promise<void> = Promise.resolve();
  send({ type: "ready" });
  for await (const chunk of readRequests()) {
    for (const line of reader.push(chunk)) {
      const call = v.parse(ToHost, JSON.parse(line));
      if (call.type === "prepare") {
        last = last.then(prepareForModule);
        continue;
      }
      if (call.module !== undefined) {
        await last;
        return send({ type: "reply", id: call.id, reply: await answer(call, run) }, MAX_MODULE_FRAME_BYTES);
      }
      last = last.then(async () => send({ type: "reply", id: call.id, reply: await answer(call, run) }));
    }
  }
}

async function answer(call: HostCall, run: ToolRunner): Promise<HostReply> {
  try {
    const input = { value: parseJson(call.input) as JsonObject, text: call.input };
    return call.module === undefined ? await run(call.tool, input, call.context) : await answerModule(call.module, call, input);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { is_error: true, text: `The tool "${call.tool}" failed: ${text}` };
  }
}

let prepared: Promise<void> | null = null;

/** What a call of a module needs and is the same for all of them. */
function prepareForModule(): Promise<void> {
  return prepared ??= (async () => {
    keepToOurselves();
    (await import("../tools/sdk/module.ts")).prepare();
  })();
}

async function answerModule({ file, ask }: HostModule, { id, tool, context }: HostCall, input: JsonInput): Promise<HostReply> {
  await prepareForModule();
  const { describeModule, runModuleTool } = await import("../tools/sdk/module.ts");
  if (ask === "describe") return await describeModule(file, context);
  const stop = new StopRequest();
  const given = {
    ...context,
    get signal() {
      return stop.signal;
    },
    send: (message: unknown) =>
      send(isTooDeep(message) ? { type: "withheld", id } : { type: "message", id, message: message as Json }, MAX_MODULE_FRAME_BYTES),
  };
  try {
    return await runModuleTool(file, tool, input, given);
  } finally {
    stop.ignore();
  }
}

/**
 * SIGTERM is how a call is told to stop. It ends a tool that has not asked for the signal, as it ends any program: before
 * that, and once the tool has answered, there is nothing to wait for.
 */
class StopRequest {
  readonly #stop = new AbortController();
  readonly #abort = () => this.#stop.abort();
  #heard = false;

  get signal(): AbortSignal {
    if (!this.#heard) process.on("SIGTERM", this.#abort);
    this.#heard = true;
    return this.#stop.signal;
  }

  ignore(): void {
    this.#heard = true;
    process.off("SIGTERM", this.#abort);
  }
}

function send(message: FromHost, most_bytes = MAX_FRAME_BYTES): void {
  const bytes = encode(message, most_bytes);
  for (let written = 0; written < bytes.length;) written += tryWrite(bytes, written);
}

function tryWrite(bytes: Buffer, from: number): number {
  try {
    return writeSync(ANSWERS, bytes, from);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    // The pipe is full and does not block: the worker is busy for a moment.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

function encode(message: FromHost, most_bytes: number): Buffer {
  try {
    return toFrame(message, most_bytes);
  } catch (error) {
    if (!(error instanceof RangeError) || message.type === "ready") throw error;
    if (message.type !== "reply") return toFrame({ type: "withheld", id: message.id }, most_bytes);
    const text = `The tool's answer is too large to be handed over: ${error.message}`;
    return toFrame({ ...message, reply: { is_error: true, text } }, most_bytes);
  }
}
