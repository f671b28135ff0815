/** The JSON documents of an endpoint's answer: those of an event stream, or the one of an answer that is plain JSON. */
import { parseKeepingNumbers } from "../session/json.ts";
import { connectionError, type Place, reportedError, unreadableError } from "./fault.ts";
import { type Fields, isFields } from "./fields.ts";
import { EventReader, requireProgress, type ServerEvent, StreamFault } from "./sse.ts";

export interface Document {
  readonly fields: Fields;
  /** The text that was parsed. */
  readonly text: string;
  /** The fields once more, with numbers as written. */
  readonly exact: () => unknown;
}

const MAX_DOCUMENT = 32 * 1024 * 1024;

/** An answer's text, chunk by chunk → its events. The content type is not believed. */
export class AnswerReader {
  readonly #place: Place;
  readonly #quietMs: number;
  readonly #since = performance.now();
  /** What it began with; of a JSON document all that came. */
  #text = "";
  #isDocument = false;
  /** Present once it is known to be no document. */
  #events: EventReader | null = null;
  #empty = true;

  constructor(place: Place, quietMs: number) {
    this.#place = place;
    this.#quietMs = quietMs;
  }

  /**
   * The events that this chunk completes; null is the end.
   * @throws {ModelError} for what is neither an event stream nor JSON, and for one without end.
   */
  read(chunk: string | null): readonly ServerEvent[] {
    try {
      return this.#events === null ? this.#begin(chunk) : this.#readEvents(this.#events, chunk);
    } catch (error) {
      throw error instanceof StreamFault ? connectionError(this.#place, error) : error;
    }
  }

  /** Of an answer that broke off: the document, if it was one and all of it had come. */
  salvage(): readonly ServerEvent[] {
    return this.#isDocument && isWhole(this.#text) ? [{ data: this.#text }] : [];
  }

  #begin(chunk: string | null): readonly ServerEvent[] {
    const ended = chunk === null;
    this.#text += chunk ?? "";
    if (this.#text.length > MAX_DOCUMENT) throw new StreamFault("malformed", `the answer is longer than ${MAX_DOCUMENT} characters`);
    if (!ended) requireProgress(this.#since, this.#quietMs, "the endpoint did not finish its answer");
    if (!this.#isDocument && !ended && this.#text.trim() === "") return [];
    this.#isDocument ||= /^\s*[[{]/.test(this.#text);
    if (this.#isDocument) return ended ? [{ data: this.#text }] : [];
    if (/^\s*</.test(this.#text)) throw unreadableError(this.#place, "the endpoint sent HTML instead of an event stream", this.#text);
    this.#events = new EventReader(this.#quietMs);
    const events = this.#readEvents(this.#events, this.#text);
    return ended ? [...events, ...this.#readEvents(this.#events, null)] : events;
  }

  #readEvents(reader: EventReader, chunk: string | null): readonly ServerEvent[] {
    const events = chunk === null ? reader.end() : reader.feed(chunk);
    this.#empty &&= events.length === 0;
    if (chunk === null && this.#empty && !beginsField(this.#text)) {
      throw unreadableError(this.#place, "the endpoint sent neither an event stream nor JSON", this.#text);
    }
    return events;
  }
}

/** True for the line that says that nothing more comes. */
export function isDone(event: ServerEvent): boolean {
  return event.data.length < 16 && event.data.trim() === "[DONE]";
}

/**
 * The document of an event; undefined if there is none, or only the beginning of one at the end of the stream.
 * @throws {ModelError} for what is not a JSON object, and for an object that reports an error.
 */
export function parseDocument(place: Place, event: ServerEvent): Document | undefined {
  const parsed = parse(place, event);
  if (parsed === undefined) return undefined;
  const fields = firstOf(parsed);
  if (!isFields(fields)) throw unreadableError(place, "the endpoint sent JSON that is not an object", event.data);
  const isError = event.event === "error" || fields.error || fields.object === "error" || fields.type === "error";
  if (isError) throw reportedError(place, fields);
  return { fields, text: event.data, exact: () => firstOf(parseKeepingNumbers(event.data)) };
}

/** Some servers put their document into a list. */
function firstOf(parsed: unknown): unknown {
  return Array.isArray(parsed) ? parsed[0] : parsed;
}

function parse(place: Place, event: ServerEvent): unknown {
  if (event.data === "") return undefined;
  try {
    return JSON.parse(event.data);
  } catch {
    if (event.unterminated || event.data.trim() === "") return undefined;
    throw unreadableError(place, "the endpoint sent a line that is not JSON", event.data);
  }
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // It is only the beginning of one.
    return false;
  }
}

/** True for text, however short, that can be the beginning of an event stream. */
function beginsField(text: string): boolean {
  const [field = ""] = text.trimStart().split(/[:\r\n]/, 1);
  return ["data", "event", "id", "retry"].some((each) => each.startsWith(field));
}
