/**
 * The body of a streamed answer: bytes → text → server-sent events. A network chunk costs one wait and no timer.
 *
 * E1  No wait is longer than the idle limit, and an abort ends the current one at once.
 * E2  No more than MAX_EVENT characters are kept of an event that does not end.
 * E3  Comments keep a connection, they are not progress: without an event for `quietMs` it is given up.
 */
import { setTimeout as startTimer } from "node:timers";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { ByteReader } from "../platform/byte-reader.ts";

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
const MORE = { stream: true };

/** How patient to be with a body; asked anew for every chunk. */
export interface Patience {
  idleMs(): number;
  /** True once all that matters has arrived: the connection is then left to end by itself, so that it can be used again. */
  satisfied(): boolean;
}

/** The text of a body as it arrives. One reader, one wait at a time. */
export class BodyText {
  readonly #reader: ByteReader;
  readonly #patience: Patience;
  readonly #signal: AbortSignal;
  readonly #explain: (error: unknown) => unknown;
  readonly #decoder = new TextDecoder();
  readonly #watch: IdleWatch;
  #ended = false;
  #closed = false;
  #silence: StreamFault | null = null;
  /** Ends the current wait, as one for a body that has ended. */
  readonly #abort = () => void cancel(this.#reader);

  /** `explain`: what to throw for a silence (a `StreamFault`) or for what the connection fails with. */
  constructor(body: ReadableStream<Uint8Array>, patience: Patience, signal: AbortSignal, explain: (error: unknown) => unknown) {
    this.#explain = explain;
    this.#reader = body.getReader();
    this.#patience = patience;
    this.#signal = signal;
    this.#watch = new IdleWatch((fault) => {
      this.#silence = fault;
      this.#abort();
    });
    signal.addEventListener("abort", this.#abort);
  }

  /** More of the text; null at its end. @throws the signal's reason, or what explains a failure. */
  async next(): Promise<string | null> {
    try {
      while (!this.#ended) {
        this.#signal.throwIfAborted();
        this.#watch.begin(this.#patience.idleMs());
        const { done, value } = await this.#reader.read();
        this.#watch.end();
        this.#signal.throwIfAborted();
        if (this.#silence !== null) throw this.#silence;
        this.#ended = done;
        const text = done ? this.#decoder.decode() : this.#decoder.decode(value, MORE);
        if (text !== "") return text;
      }
      return null;
    } catch (error) {
      this.#signal.throwIfAborted();
      throw this.#explain(error);
    }
  }

  /** Nothing more is read. What has not ended is left, or cut off if not all that matters has arrived. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#watch.stop();
    this.#signal.removeEventListener("abort", this.#abort);
    if (!this.#ended) void leave(this.#reader, this.#patience.satisfied());
  }
}

/**
 * A limit for each of many short waits. Setting a timer for each would cost more than the wait: one timer is left
 * running from wait to wait, and looks when it fires whether the current one really is that old.
 */
class IdleWatch {
  readonly #expire: (fault: StreamFault) => void;
  #timer: ReturnType<typeof startTimer> | null = null;
  /** When the timer fires. */
  #fires = 0;
  /** When the current wait is too long; infinite between waits. */
  #due = Infinity;
  #limit = 0;

  constructor(expire: (fault: StreamFault) => void) {
    this.#expire = expire;
  }

  begin(limit: number): void {
    this.#limit = limit;
    this.#due = performance.now() + limit;
    if (this.#timer === null || this.#due < this.#fires) this.#arm(limit);
  }

  end(): void {
    this.#due = Infinity;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#due = Infinity;
  }

  #arm(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#fires = performance.now() + ms;
    this.#timer = startTimer(() => this.#look(), ms);
  }

  #look(): void {
    this.#timer = null;
    if (this.#due === Infinity) return;
    const left = this.#due - performance.now();
    // Timers of some hosts fire up to a millisecond early.
    if (left >= 1) this.#arm(left);
    else this.#expire(silence(this.#limit));
  }
}

/** The events of a text that comes in chunks. */
export class EventReader {
  readonly #quietMs: number;
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT,
    onEvent: (event) => this.#events.push(toServerEvent(event)),
    onError: (error) => this.#overflow ||= error.type === "max-buffer-size-exceeded",
  });
  #events: ServerEvent[] = [];
  #overflow = false;
  /** When the first chunk without an event came after one with; null if the last one had some. */
  #quiet: number | null = null;

  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /**
   * The events that this chunk completes.
   * @throws {StreamFault} on an event without end, or on nothing but comments.
   */
  feed(chunk: string): readonly ServerEvent[] {
    this.#parser.feed(chunk);
    if (this.#overflow) throw new StreamFault("malformed", `one event of the stream is longer than ${MAX_EVENT} characters`);
    if (this.#events.length > 0) this.#quiet = null;
    else requireProgress(this.#quiet ??= performance.now(), this.#quietMs, "the endpoint sent nothing but keep-alive comments");
    return this.#take();
  }

  /** The event in which the text ended, if there is one. */
  end(): readonly ServerEvent[] {
    this.#parser.feed("\n\n");
    return this.#take().map((event) => ({ ...event, unterminated: true as const }));
  }

  #take(): readonly ServerEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }
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
    const late = () => settle(() => reject(silence(ms)));
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

function silence(ms: number): StreamFault {
  return new StreamFault("idle_timeout", `the endpoint sent nothing for ${ms / 1000} s`);
}

function toServerEvent({ event, data }: EventSourceMessage): ServerEvent {
  return event === undefined ? { data } : { event, data };
}

/** Closes the body; `politely`: after a moment in which it may end by itself. */
async function leave(reader: ByteReader, politely: boolean): Promise<void> {
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

async function cancel(reader: ByteReader): Promise<void> {
  try {
    await reader.cancel();
  } catch {
    // It had failed already, and that is what is being reported.
  }
}
