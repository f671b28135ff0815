/**
 * The newest events of one session, shared by all who read it: a bounded ring in which each reader has a place.
 *
 * T1  An item may be read by who has every durable event before it (`base`) and, for a live one, none after it.
 * T2  Whoever falls out of the ring goes on from the journal. It has missed live events, and gets no more of them before it
 *     is told all that is live.
 */
import { type Line, toLine } from "./readers-line.ts";
import type { FeedEvent } from "./feed.ts";

/** Of the ring, in characters. */
const RING_CHARACTERS = 1024 * 1024;
const RING_ITEMS = 4096;
/** Around a live event's own text. */
const LIVE_CHARACTERS = 160;

interface Item {
  readonly line: Line;
  /** The last durable event before it. */
  readonly base: number;
  readonly size: number;
}

/** Where a reader is: behind durable event `cursor`, and in the ring at `position`. */
export interface Place {
  readonly cursor: number;
  readonly position: number;
  /** Live events from before were missed: none is of use until what is live is told as a whole. */
  readonly missed: boolean;
}

export class Tail {
  /** The last durable event that is known of; 0 if there is none. */
  head = 0;
  readonly #items: Item[] = [];
  readonly #waiting = new Set<() => void>();
  #first = 0;
  #size = 0;

  /** The place behind all that is in the ring. */
  get end(): number {
    return this.#first + this.#items.length;
  }

  /** Something happened in this runtime. */
  publish(event: FeedEvent): void {
    const line = toLine(event);
    if (line.seq !== null && line.seq <= this.head) return;
    this.#push({ line, base: this.head, size: line.seq === null ? liveSize(event) : line.text.length });
    if (line.seq !== null) this.head = line.seq;
    this.wake();
  }

  /** The journal goes on to this event, whoever wrote it. */
  advance(head: number): void {
    if (head === this.head) return;
    this.head = head;
    this.wake();
  }

  /** What a reader at this place may read now, at most about so many characters; its new place. */
  take({ cursor, position, missed }: Place, characters: number): { readonly lines: readonly Line[]; readonly place: Place } {
    const lines: Line[] = [];
    let at = Math.max(position, this.#first);
    missed ||= at > position;
    for (let taken = 0; taken < characters && at < this.end; at++) {
      const item = this.#items[at - this.#first];
      if (item === undefined || item.base > cursor) break;
      const { seq } = item.line;
      if (seq === null ? missed || item.base < cursor : seq <= cursor) continue;
      lines.push(item.line);
      taken += item.size;
      if (seq !== null) cursor = seq;
    }
    return { lines, place: { cursor, position: at, missed } };
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.add(resolve));
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  /** Nobody reads any more. */
  clear(): void {
    this.#first = this.end;
    this.#items.length = 0;
    this.#size = 0;
  }

  #push(item: Item): void {
    this.#items.push(item);
    this.#size += item.size;
    while (this.#items.length > 1 && (this.#size > RING_CHARACTERS || this.#items.length > RING_ITEMS)) {
      this.#size -= this.#items.shift()?.size ?? 0;
      this.#first++;
    }
  }
}

function liveSize(event: FeedEvent): number {
  return LIVE_CHARACTERS + ("text" in event && typeof event.text === "string" ? event.text.length : 0);
}
