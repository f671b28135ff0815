/**
 * What a running call tells those who watch it: documents, passed on in order and in bundles. However much is said, what
 * is passed on per time is bounded: in each interval the first ones and the newest; the others are counted.
 */
import { isTooDeep, type Json } from "../session/json.ts";

export type MessageSink = (messages: readonly Json[]) => void;

const INTERVAL_MS = 50;
const MOST_PER_INTERVAL = 32;
const MAX_BYTES = 16 * 1024;

export class MessageRelay {
  readonly #sink: MessageSink;
  #waiting: Json[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;
  #dropped = 0;

  constructor(sink: MessageSink) {
    this.#sink = sink;
  }

  /** How many were not passed on. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @param bytes its size as it came */
  push(message: Json, bytes: number): void {
    if (this.#closed) return;
    if (bytes > MAX_BYTES) return void this.#dropped++;
    if (this.#waiting.length < MOST_PER_INTERVAL) this.#waiting.push(message);
    else {
      this.#waiting[MOST_PER_INTERVAL - 1] = message;
      this.#dropped++;
    }
    this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS);
  }

  /** One that was too long to come this far. */
  withhold(): void {
    this.#dropped++;
  }

  /** Passes on what is waiting. Nothing comes after it. */
  close(): void {
    this.#closed = true;
    this.#flush();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const messages = this.#waiting;
    this.#waiting = [];
    if (messages.length > 0) this.#sink(messages);
  }
}

/** A line longer than this is no message, and is passed over. */
export const MESSAGE_LINE_BYTES = 64 * 1024;

/** The message in a line of a program that speaks in frames; null if it is another frame, or none, or too deep to be passed on. */
export function readMessageLine(line: string): Json | null {
  try {
    const frame = JSON.parse(line) as { readonly type?: unknown; readonly message?: Json } | null;
    return frame?.type === "message" && !isTooDeep(frame.message) ? frame.message ?? null : null;
  } catch {
    // Something else than the program's own code wrote to its standard output.
    return null;
  }
}
