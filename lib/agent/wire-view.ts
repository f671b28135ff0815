/**
 * A session's lines in the message shapes of the Stella SDK. One event may be several messages, or none: the last of
 * them carries the event's `seq`, so that whoever goes on from there misses nothing.
 */
import { isKnown, parseEvent, type StoredEvent } from "../session/event.ts";
import type { LiveEvent } from "../session/live.ts";
import { initialWireState, projectEvent, projectLive, type WireState } from "../tools/sdk/wire.ts";
import { now } from "./ids.ts";
import type { Batch, Line } from "./readers.ts";

/** Reads a page of lines behind an event; none at the end of the log. */
export type ReadPage = (after: number) => Promise<readonly Line[]>;

/** `after`: the cursor that the batches were asked for with. */
export async function* inWireShapes(batches: AsyncGenerator<Batch, void>, after: number, read: ReadPage): AsyncGenerator<Batch, void> {
  const view = new WireView(after, read);
  for await (const batch of batches) {
    if (batch.kind === "reset") {
      view.restart();
      yield batch;
    } else {
      const lines = await view.toMessages(batch.lines);
      if (lines.length > 0) yield { kind: "lines", lines };
    }
  }
}

export class WireView {
  readonly #read: ReadPage;
  #after: number;
  /** Null until a to-do list is to be sent: that is always the whole list, so what came before must be known. */
  #state: WireState | null;

  constructor(after: number, read: ReadPage) {
    this.#after = after;
    this.#read = read;
    this.#state = after === 0 ? initialWireState : null;
  }

  /** What follows is the log from its beginning. */
  restart(): void {
    this.#after = 0;
    this.#state = initialWireState;
  }

  async toMessages(lines: readonly Line[]): Promise<readonly Line[]> {
    const messages: Line[] = [];
    for (const line of lines) messages.push(...await this.#messagesOf(line));
    return messages;
  }

  async #messagesOf({ seq, text }: Line): Promise<readonly Line[]> {
    if (seq === null) return projectLive(JSON.parse(text) as LiveEvent, now()).map((message) => ({ seq, text: JSON.stringify(message) }));
    const event = readEvent(text);
    if (event === null) return [];
    if (this.#state === null && changesTask(event)) this.#state = await this.#stateBefore();
    const { state, messages } = projectEvent(this.#state ?? initialWireState, event);
    if (this.#state !== null) this.#state = state;
    return messages.map((message, index) => ({ seq: index === messages.length - 1 ? seq : null, text: JSON.stringify(message) }));
  }

  /** The tasks as they were at the cursor. No task has changed between it and the event that asks. */
  async #stateBefore(): Promise<WireState> {
    let state = initialWireState;
    for (let last = 0; last < this.#after;) {
      const lines = await this.#read(last);
      for (const { seq, text } of lines) {
        const event = seq === null || seq > this.#after ? null : readEvent(text);
        if (event !== null && changesTask(event)) ({ state } = projectEvent(state, event));
      }
      const end = lines.at(-1)?.seq ?? null;
      if (end === null) break;
      last = end;
    }
    return state;
  }
}

function changesTask(event: StoredEvent): boolean {
  return isKnown(event) && event.type === "task_changed";
}

/** Null for a row that cannot be read. */
function readEvent(text: string): StoredEvent | null {
  const value = JSON.parse(text) as { readonly type?: unknown };
  return value.type === "damaged" ? null : parseEvent(value);
}
