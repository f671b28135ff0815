/** The JSON documents of an endpoint's answer: those of an event stream, or the one of an answer that is plain JSON. */
import { parseKeepingNumbers } from "../session/json.ts";
import { connectionError, type Place, reportedError, unreadableError } from "./fault.ts";
import { type Fields, isFields } from "./fields.ts";
import type { AnswerText } from "./exchange.ts";
import { EventReader, requireProgress, type ServerEvent, StreamFault } from "./sse.ts";

export interface Document {
  readonly fields: Fields;
  /** The text that was parsed. */
  readonly text: string;
  /** The fields once more, with numbers as written. */
  readonly exact: () => unknown;
}

const MAX_DOCUMENT = 32 * 1024 * 1024;

/** An answer's events. The content type is not believed. */
export class Answer {
  readonly #place: Place;
  readonly #text: AnswerText;
  readonly #quietMs: number;
  /** Present once it is known not to be one JSON document. */
  #events: EventReader | null = null;
  /** What it began with, as long as no event came. */
  #start: string | null = null;
  #over = false;

  constructor(place: Place, text: AnswerText, quietMs: number) {
    this.#place = place;
    this.#text = text;
    this.#quietMs = quietMs;
  }

  /**
   * The events of the next chunk that completes any; null at the end.
   * @throws {ModelError} also for what is neither an event stream nor JSON.
   */
  async next(): Promise<readonly ServerEvent[] | null> {
    try {
      while (!this.#over) {
        const events = this.#events === null ? await this.#begin() : this.#read(this.#events, await this.#text.next());
        if (events.length > 0) return events;
      }
      return null;
    } catch (error) {
      throw error instanceof StreamFault ? connectionError(this.#place, error) : error;
    }
  }

  close(): void {
    this.#text.close();
  }

  async #begin(): Promise<readonly ServerEvent[]> {
    const start = await collect(this.#text, this.#quietMs, (text) => text.trim() !== "");
    if (/^\s*</.test(start)) throw unreadableError(this.#place, "the endpoint sent HTML instead of an event stream", start);
    if (/^\s*[[{]/.test(start)) {
      this.#over = true;
      return [{ data: start + await collect(this.#text, this.#quietMs, () => false) }];
    }
    this.#start = start;
    this.#events = new EventReader(this.#quietMs);
    return this.#read(this.#events, start);
  }

  #read(reader: EventReader, chunk: string | null): readonly ServerEvent[] {
    this.#over = chunk === null;
    const events = chunk === null ? reader.end() : reader.feed(chunk);
    if (events.length > 0) this.#start = null;
    else if (this.#over && this.#start !== null && !beginsField(this.#start)) {
      throw unreadableError(this.#place, "the endpoint sent neither an event stream nor JSON", this.#start);
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

/** The text up to the chunk with which it is `enough`, or to the end. */
async function collect(source: AnswerText, quietMs: number, enough: (text: string) => boolean): Promise<string> {
  const since = performance.now();
  let text = "";
  while (!enough(text)) {
    const chunk = await source.next();
    if (chunk === null) break;
    text += chunk;
    if (text.length > MAX_DOCUMENT) throw new StreamFault("malformed", `the answer is longer than ${MAX_DOCUMENT} characters`);
    requireProgress(since, quietMs, "the endpoint did not finish its answer");
  }
  return text;
}

/** True for text, however short, that can be the beginning of an event stream. */
function beginsField(text: string): boolean {
  const [field = ""] = text.trimStart().split(/[:\r\n]/, 1);
  return ["data", "event", "id", "retry"].some((each) => each.startsWith(field));
}
