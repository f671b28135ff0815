/**
 * Batches of a session's lines as the body of a response: an event stream or JSON lines. Promise P8.
 *
 * W1  Only durable events carry an `id`; nothing that a model, a tool or a client wrote is ever in a field but `data`,
 *     and that is one JSON document, which has no line breaks.
 * W2  The next batch is asked for when the last one was taken, and that is given in pieces: what is in flight is one piece,
 *     whoever reads how slowly.
 * W3  A reader that takes nothing for `stall_ms` while something waits for it is cut off; it can come back with its id.
 */
import { Buffer } from "node:buffer";
import type { Batch, Line } from "../agent/readers.ts";
import { Stall } from "./stall.ts";

export interface StreamFormat {
  readonly content_type: string;
  /** Sent at once, so that the client sees its connection open. */
  readonly greeting: string;
  readonly heartbeat: string;
  frame(line: Line): string;
  reset(batch: Extract<Batch, { kind: "reset" }>): string;
}

export interface StreamTimes {
  readonly heartbeat_ms: number;
  readonly stall_ms: number;
}

export type StreamEnd = "finished" | "left" | "stalled" | "failed";

export const EVENT_STREAM: StreamFormat = {
  content_type: "text/event-stream; charset=utf-8",
  greeting: "retry: 1000\n\n",
  heartbeat: ":\n\n",
  frame: ({ seq, text }) => seq === null ? `data: ${text}\n\n` : `id: ${seq}\ndata: ${text}\n\n`,
  reset: (batch) => `event: reset\ndata: ${resetText(batch)}\n\n`,
};

export const JSON_LINES: StreamFormat = {
  content_type: "application/x-ndjson; charset=utf-8",
  greeting: "",
  heartbeat: '{"type":"heartbeat"}\n',
  frame: ({ text }) => `${text}\n`,
  reset: (batch) => `${resetText(batch)}\n`,
};

export interface StreamSource {
  readonly batches: AsyncGenerator<Batch, void>;
  /** Makes the batches end, whatever they wait for. */
  stop(): void;
  readonly times: StreamTimes;
  ended(how: StreamEnd): void;
}

export function streamBatches(format: StreamFormat, source: StreamSource): ReadableStream<Uint8Array> {
  return new ReadableStream(new BatchWriter(format, source), { highWaterMark: 0 });
}

/** One event may be of megabytes: on a slow way its reader takes some of it all the time. */
const PIECE_BYTES = 64 * 1024;

class BatchWriter {
  readonly #format: StreamFormat;
  readonly #source: StreamSource;
  #next: Promise<IteratorResult<Batch, void>> | null = null;
  /** Of the batch that is being given. */
  #rest: Uint8Array = new Uint8Array();
  /** W3. */
  #stall: Stall | null = null;
  #greeted = false;
  #ended = false;

  constructor(format: StreamFormat, source: StreamSource) {
    this.#format = format;
    this.#source = source;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#stall?.end();
    try {
      const piece = await this.#piece();
      if (this.#ended) return;
      if (piece === null) {
        this.#end("finished");
        return controller.close();
      }
      controller.enqueue(piece);
      this.#stall ??= new Stall(this.#source.times.stall_ms, () => this.#cutOff(controller));
      this.#stall.begin();
    } catch (error) {
      if (this.#ended) return;
      this.#end("failed");
      controller.error(error);
    }
  }

  #cutOff(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#end("stalled");
    controller.error(new Error("The reader takes nothing"));
  }

  cancel(): void {
    this.#end("left");
  }

  /** Null: there is nothing more. */
  async #piece(): Promise<Uint8Array | null> {
    if (this.#rest.length === 0) {
      const chunk = await this.#chunk();
      if (chunk === null || chunk.length <= PIECE_BYTES) return chunk;
      this.#rest = chunk;
    }
    const piece = this.#rest.subarray(0, PIECE_BYTES);
    this.#rest = this.#rest.subarray(PIECE_BYTES);
    return piece;
  }

  async #chunk(): Promise<Uint8Array | null> {
    if (!this.#greeted) {
      this.#greeted = true;
      if (this.#format.greeting !== "") return Buffer.from(this.#format.greeting);
    }
    this.#next ??= this.#source.batches.next();
    const result = await firstOf(this.#next, this.#source.times.heartbeat_ms);
    if (result === null) return Buffer.from(this.#format.heartbeat);
    this.#next = null;
    if (result.done === true) return null;
    const batch = result.value;
    return batch.kind === "reset" ? Buffer.from(this.#format.reset(batch)) : encode(batch.lines, this.#format);
  }

  #end(how: StreamEnd): void {
    this.#stall?.end();
    if (this.#ended) return;
    this.#ended = true;
    this.#source.stop();
    // It may wait to be asked again. What it fails with concerns nobody any more.
    this.#source.batches.return().catch(() => undefined);
    this.#source.ended(how);
  }
}

/** Many readers get the same line: its bytes are made once for each format. */
const encoded = new Map<StreamFormat, WeakMap<Line, Buffer>>([[EVENT_STREAM, new WeakMap()], [JSON_LINES, new WeakMap()]]);

function encode(lines: readonly Line[], format: StreamFormat): Uint8Array {
  const known = encoded.get(format);
  const frames = lines.map((line) => {
    const before = known?.get(line);
    if (before !== undefined) return before;
    const frame = Buffer.from(format.frame(line));
    known?.set(line, frame);
    return frame;
  });
  return frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames);
}

/** `after`: null if what was sent is no number that an id of ours can be. */
function resetText({ reason, after, head }: Extract<Batch, { kind: "reset" }>): string {
  return JSON.stringify({ type: "reset", reason, after: after < Number.MAX_SAFE_INTEGER ? after : null, head });
}

/** Null if nothing comes in time. */
async function firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
