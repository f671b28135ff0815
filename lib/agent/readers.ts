/**
 * Following a session: what is recorded, then what happens, for many readers at once. Promises P5 and P8.
 *
 * R1  A reader has a cursor, not a queue: a slow one costs nothing and delays nobody.
 * R2  Every durable event behind the cursor comes once and in order, from the shared tail or from the journal.
 * R3  Live events come between the durable ones they belong to. Whoever joins or was behind is told all that is live as
 *     soon as it has what is recorded, and then what comes: in the end it has what one has that was always there.
 *
 * A session that another runtime drives is looked up in the journal at short intervals.
 */
import type { FeedEvent } from "./feed.ts";
import type { Line } from "./readers-line.ts";
import { LiveNow } from "./readers-live.ts";
import { Pages, type PageSource } from "./readers-pages.ts";
import { type Place, Tail } from "./readers-tail.ts";

export type { Line } from "./readers-line.ts";

/** What a reader gets next. */
export type Batch =
  | { readonly kind: "lines"; readonly lines: readonly Line[] }
  /** The cursor cannot be served: it is ahead of the log, or the log is gone. What follows is the log from its beginning. */
  | { readonly kind: "reset"; readonly reason: "ahead" | "removed"; readonly after: number; readonly head: number };

export interface ReaderSource extends PageSource {
  head(session: string): Promise<number>;
}

/** Characters that a reader is given at a time. */
const BATCH_CHARACTERS = 48 * 1024;
const POLL_MS = 200;

interface Watched {
  readonly tail: Tail;
  /** Of a session that is driven. */
  readonly live: LiveNow;
  readers: number;
  /** Driven by this runtime, which tells the tail of everything. */
  driven: boolean;
  timer: ReturnType<typeof setTimeout> | null;
}

export class Readers {
  readonly #source: ReaderSource;
  readonly #pages: Pages;
  readonly #watched = new Map<string, Watched>();

  constructor(source: ReaderSource) {
    this.#source = source;
    this.#pages = new Pages(source);
  }

  /** How many follow some session now. */
  get count(): number {
    let count = 0;
    for (const { readers } of this.#watched.values()) count += readers;
    return count;
  }

  /** From now on this runtime tells what happens in the session, whose log ends at `head`. */
  drive(session: string, head: number): void {
    const watched = this.#watch(session);
    watched.driven = true;
    this.#stopPolling(watched);
    watched.tail.advance(head);
  }

  publish(session: string, event: FeedEvent): void {
    const watched = this.#watched.get(session);
    if (watched === undefined) return;
    if (watched.driven) watched.live.take(event);
    if (watched.readers > 0) watched.tail.publish(event);
    else if ("seq" in event) watched.tail.advance(event.seq);
  }

  /** Nobody in this runtime drives the session any more. */
  undrive(session: string): void {
    const watched = this.#watched.get(session);
    if (watched === undefined) return;
    watched.driven = false;
    watched.live.clear();
    if (watched.readers > 0) this.#poll(session, watched);
    else this.#watched.delete(session);
  }

  /** The session is gone: its readers are told. */
  remove(session: string): void {
    this.#pages.forget(session);
    const watched = this.#watched.get(session);
    watched?.live.clear();
    watched?.tail.advance(0);
  }

  /** Up to a page of what is recorded behind `after`. */
  async page(session: string, after: number): Promise<readonly Line[]> {
    return await this.#pages.read(session, after);
  }

  /** Everything behind event `after`, then what happens, until the signal aborts. Never two batches at once. */
  async *follow(session: string, after: number, signal: AbortSignal): AsyncGenerator<Batch, void> {
    const watched = this.#join(session);
    const wake = () => watched.tail.wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      if (!watched.driven) watched.tail.advance(await this.#source.head(session));
      yield* this.#read(session, watched, after, signal);
    } finally {
      signal.removeEventListener("abort", wake);
      this.#leave(session, watched);
    }
  }

  async *#read(session: string, { tail, live }: Watched, after: number, signal: AbortSignal): AsyncGenerator<Batch, void> {
    let place: Place = { cursor: after, position: tail.end, missed: true };
    while (!signal.aborted) {
      if (place.cursor > tail.head) {
        const reason = tail.head === 0 ? "removed" : "ahead";
        yield { kind: "reset", reason, after: place.cursor, head: tail.head };
        if (reason === "removed") return;
        place = { cursor: 0, position: tail.end, missed: true };
      }
      const { parts, ...next } = await this.#next(session, tail, place);
      place = next.place;
      for (const part of parts) {
        place = { ...place, cursor: lastOf(part) ?? place.cursor };
        if (place.missed && place.cursor === tail.head) {
          parts.push(...split(live.lines(), BATCH_CHARACTERS));
          place = { ...place, position: tail.end, missed: false };
        }
        if (part.length > 0) yield { kind: "lines", lines: part };
      }
      const { cursor, position, missed } = place;
      if (cursor === tail.head && position === tail.end && !missed && !signal.aborted) await tail.changed();
    }
  }

  /** What the place gets next, in parts of which one is empty if there is nothing. */
  async #next(session: string, tail: Tail, at: Place): Promise<{ readonly parts: (readonly Line[])[]; readonly place: Place }> {
    const { lines, place } = tail.take(at, BATCH_CHARACTERS);
    if (lines.length > 0 || place.cursor >= tail.head) return { parts: [lines], place };
    const read = await this.#pages.read(session, place.cursor);
    // Nothing where something must be: the log was removed meanwhile.
    if (read.length === 0) tail.advance(await this.#source.head(session));
    return { parts: [...split(read, BATCH_CHARACTERS)], place: { ...place, missed: true } };
  }

  #watch(session: string): Watched {
    const known = this.#watched.get(session);
    if (known !== undefined) return known;
    const watched: Watched = { tail: new Tail(), live: new LiveNow(session), readers: 0, driven: false, timer: null };
    this.#watched.set(session, watched);
    return watched;
  }

  #join(session: string): Watched {
    const watched = this.#watch(session);
    watched.readers++;
    if (!watched.driven) this.#poll(session, watched);
    return watched;
  }

  #leave(session: string, watched: Watched): void {
    watched.readers--;
    if (watched.readers > 0) return;
    this.#stopPolling(watched);
    if (watched.driven) watched.tail.clear();
    else this.#watched.delete(session);
  }

  #poll(session: string, watched: Watched): void {
    if (watched.timer !== null) return;
    watched.timer = setTimeout(() => {
      this.#source.head(session).then((head) => {
        if (!watched.driven) watched.tail.advance(head);
      }).catch(() => {
        // A journal that is locked for the moment; the next look tells.
      }).finally(() => {
        if (watched.timer === null) return;
        watched.timer = null;
        this.#poll(session, watched);
      });
    }, POLL_MS);
  }

  #stopPolling(watched: Watched): void {
    if (watched.timer !== null) clearTimeout(watched.timer);
    watched.timer = null;
  }
}

function lastOf(lines: readonly Line[]): number | null {
  return lines.findLast(({ seq }) => seq !== null)?.seq ?? null;
}

/** In pieces of about so many characters. */
function* split(lines: readonly Line[], characters: number): Generator<readonly Line[]> {
  for (let from = 0; from < lines.length;) {
    let to = from;
    for (let size = 0; to < lines.length && size < characters; to++) size += lines[to]?.text.length ?? 0;
    yield lines.slice(from, to);
    from = to;
  }
}
