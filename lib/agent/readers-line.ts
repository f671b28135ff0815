/** One event as readers get it: its JSON text is made once, whoever reads it. */
import type { LogRow } from "../journal/journal.ts";
import { toPlainEvent } from "../session/event.ts";
import type { FeedEvent } from "./feed.ts";

export interface Line {
  /** Null: a live event, which cannot be asked for again. */
  readonly seq: number | null;
  /** One JSON document without line breaks. */
  readonly text: string;
}

export function toLine(event: FeedEvent): Line {
  return "seq" in event ? { seq: event.seq, text: JSON.stringify(toPlainEvent(event)) } : new LiveLine(event);
}

/** A row that cannot be read keeps its place, as a line that says so. */
export function rowToLine(session: string, row: LogRow): Line {
  if (row.kind === "event") return toLine(row.event);
  const { seq, reason, text } = row;
  return { seq, text: JSON.stringify({ type: "damaged", session, seq, reason, text }) };
}

/** Many live events are never read: their text waits for the first reader. */
class LiveLine implements Line {
  readonly seq = null;
  readonly #event: object;
  #text: string | null = null;

  constructor(event: object) {
    this.#event = event;
  }

  get text(): string {
    return this.#text ??= JSON.stringify(this.#event);
  }
}
