/** The JSON documents of an endpoint's answer: those of an event stream, or the one of an answer that is plain JSON. */
import { parseKeepingNumbers } from "../session/json.ts";
import { connectionError, type Place, reportedError, unreadableError } from "./fault.ts";
import { type Fields, isFields } from "./fields.ts";
import { readEvents, requireProgress, type ServerEvent, StreamFault } from "./sse.ts";

export interface Document {
  readonly fields: Fields;
  /** The text that was parsed. */
  readonly text: string;
  /** The fields once more, with numbers as written. */
  readonly exact: () => unknown;
}

const MAX_DOCUMENT = 32 * 1024 * 1024;

/**
 * An answer's events, one list per chunk that completes any. The content type is not believed.
 * @throws {ModelError} for what is neither an event stream nor JSON.
 */
export async function* readAnswer(place: Place, chunks: AsyncGenerator<string>, quietMs: number): AsyncGenerator<readonly ServerEvent[]> {
  try {
    const start = await collect(chunks, quietMs, (text) => text.trim() !== "");
    if (/^\s*</.test(start)) throw unreadableError(place, "the endpoint sent HTML instead of an event stream", start);
    if (/^\s*[[{]/.test(start)) yield [{ data: start + await collect(chunks, quietMs, () => false) }];
    else yield* readStream(place, start, chunks, quietMs);
  } catch (error) {
    throw error instanceof StreamFault ? connectionError(place, error) : error;
  } finally {
    await chunks.return(undefined);
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

async function* readStream(
  place: Place,
  start: string,
  chunks: AsyncGenerator<string>,
  quietMs: number,
): AsyncGenerator<readonly ServerEvent[]> {
  let empty = true;
  for await (const events of readEvents(withStart(start, chunks), quietMs)) {
    empty = false;
    yield events;
  }
  if (empty && !beginsField(start)) throw unreadableError(place, "the endpoint sent neither an event stream nor JSON", start);
}

/** The text up to the chunk with which it is `enough`, or to the end. */
async function collect(chunks: AsyncGenerator<string>, quietMs: number, enough: (text: string) => boolean): Promise<string> {
  const since = performance.now();
  let text = "";
  while (!enough(text)) {
    const next = await chunks.next();
    if (next.done) break;
    text += next.value;
    if (text.length > MAX_DOCUMENT) throw new StreamFault("malformed", `the answer is longer than ${MAX_DOCUMENT} characters`);
    requireProgress(since, quietMs, "the endpoint did not finish its answer");
  }
  return text;
}

async function* withStart(start: string, chunks: AsyncGenerator<string>): AsyncGenerator<string> {
  yield start;
  yield* chunks;
}

/** True for text, however short, that can be the beginning of an event stream. */
function beginsField(text: string): boolean {
  const [field = ""] = text.trimStart().split(/[:\r\n]/, 1);
  return ["data", "event", "id", "retry"].some((each) => each.startsWith(field));
}
