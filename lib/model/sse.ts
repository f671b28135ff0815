/**
 * The body of a streamed answer: bytes → text → server-sent events. One await per network chunk, not per event.
 *
 * E1  No wait is longer than the idle limit, and an abort ends the current one at once.
 * E2  No more than MAX_EVENT characters are kept of an event that does not end.
 * E3  Comments keep a connection, they are not progress: without an event for `quietMs` it is given up.
 */
import { setTimeout as startTimer } from "node:timers";
import { createParser, type EventSourceMessage } from "eventsource-parser";

export interface ServerEvent {
  readonly event?: string;
  readonly data: string;
  /** The stream ended before the blank line that ends an event, so `data` may be cut. */
  readonly unterminated?: true;
}

/** A stream that cannot be read on, without the words for whose stream it was. */
export class StreamFault extends Error {
  override readonly name = "StreamFault";
  constructor(readonly kind: "idle_timeout" | "malformed", message: string) {
    super(message);
  }
}

export const MAX_EVENT = 32 * 1024 * 1024;
/** How long a connection that is no longer read may take to end properly. */
const LINGER_MS = 1000;

/** How patient to be with a body; asked anew for every chunk. */
export interface Patience {
  idleMs(): number;
  /** True once all that matters has arrived: the connection is then left to end by itself, so that it can be used again. */
  satisfied(): boolean;
}

/**
 * The text of a body as it arrives.
 * @throws {StreamFault} on silence. @throws the signal's reason, or whatever the connection fails with.
 */
export async function* readText(body: ReadableStream<Uint8Array>, patience: Patience, signal: AbortSignal): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let ended = false;
  try {
    while (!ended) {
      const { done, value } = await settleWithin(reader.read(), patience.idleMs(), signal);
      ended = done;
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (text !== "") yield text;
    }
  } finally {
    if (!ended) void leave(reader, patience.satisfied());
  }
}

/**
 * The events of a text stream, one array per chunk that completes any.
 * @throws {StreamFault} on an event without end, or on nothing but comments.
 */
export async function* readEvents(chunks: AsyncIterable<string>, quietMs: number): AsyncGenerator<readonly ServerEvent[]> {
  let events: ServerEvent[] = [];
  let overflow = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT,
    onEvent: (event) => events.push(toServerEvent(event)),
    onError: (error) => overflow ||= error.type === "max-buffer-size-exceeded",
  });
  let progress = performance.now();
  for await (const chunk of chunks) {
    parser.feed(chunk);
    if (overflow) throw new StreamFault("malformed", `one event of the stream is longer than ${MAX_EVENT} characters`);
    if (events.length > 0) {
      progress = performance.now();
      yield events;
      events = [];
    } else {
      requireProgress(progress, quietMs, "the endpoint sent nothing but keep-alive comments");
    }
  }
  parser.feed("\n\n");
  if (events.length > 0) yield events.map((event) => ({ ...event, unterminated: true as const }));
}

/** @throws {StreamFault} if `since` is longer ago than `quietMs`. */
export function requireProgress(since: number, quietMs: number, problem: string): void {
  const quiet = performance.now() - since;
  if (quiet > quietMs) throw new StreamFault("idle_timeout", `${problem} for ${Math.round(quiet / 1000)} s`);
}

/**
 * The result of `work`, unless `ms` pass or the signal aborts first.
 * @throws {StreamFault} `idle_timeout`. @throws the signal's reason.
 */
export function settleWithin<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const late = () => settle(() => reject(new StreamFault("idle_timeout", `the endpoint sent nothing for ${ms / 1000} s`)));
    const abort = () => settle(() => reject(signal.reason));
    const timer = startTimer(late, ms);
    const settle = (then: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      then();
    };
    work.then((value) => settle(() => resolve(value)), (error) => settle(() => reject(error)));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

function toServerEvent({ event, data }: EventSourceMessage): ServerEvent {
  return event === undefined ? { data } : { event, data };
}

/** Closes the body; `politely`: after a moment in which it may end by itself. */
async function leave(reader: ReadableStreamDefaultReader<Uint8Array>, politely: boolean): Promise<void> {
  if (!politely) return await cancel(reader);
  const timer = startTimer(() => void cancel(reader), LINGER_MS).unref();
  try {
    while (!(await reader.read()).done);
  } catch {
    // The reply is complete; how its connection ends is of no interest.
  } finally {
    clearTimeout(timer);
  }
}

async function cancel(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    await reader.cancel();
  } catch {
    // It had failed already, and that is what is being reported.
  }
}
