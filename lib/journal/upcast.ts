/** Stored JSON text → an event of the current version. Every reader of a log goes through here. */
import { parseEvent, type StoredEvent } from "../session/event.ts";
import { parseJson } from "../session/json.ts";
import type { LogRow } from "./journal.ts";

/** How much of an unreadable row is shown. */
const SHOWN_CHARACTERS = 200;

/** One row of a log, readable or not (J4). `session` and `seq` are where it was found. */
export function decodeRow(session: string, seq: number, text: string): LogRow {
  try {
    const event = upcast(parseJson(text));
    if (event.session !== session) return damaged(seq, `the event is of session "${event.session}"`, text);
    if (event.seq !== seq) return damaged(seq, `the event is numbered ${event.seq}`, text);
    return { kind: "event", event };
  } catch (error) {
    return damaged(seq, error instanceof Error ? error.message : String(error), text);
  }
}

/**
 * A stored value as an event of today. Bodies of version 1 are today's. When a type gets a version 2, its step from 1
 * to 2 belongs here, before the check, and the golden journals of `tests/fixtures/journal` keep it honest.
 * @throws {EventFormatError}
 */
export function upcast(stored: unknown): StoredEvent {
  return parseEvent(stored);
}

function damaged(seq: number, reason: string, text: string): LogRow {
  return { kind: "damaged", seq, reason, text: text.slice(0, SHOWN_CHARACTERS).toWellFormed() };
}
