/**
 * A session on its way out and in, as JSON lines: one line for each event, the bytes that the journal holds. What is
 * taken in is stored as it was written, so that it goes out again byte for byte.
 *
 * X1  Nothing is given out of a log in which an event cannot be read, from that event on; the reason names it.
 * X2  What is not sound is refused with its line, and then nothing of it is in the journal.
 * X3  Neither way holds more than a page of the log in memory.
 * X4  A log that no session can have written is not sound. What follows an event of a type that is not known here may be
 *     due to that event, and is taken as it is.
 */
import type { Intake, Journal } from "../journal/journal.ts";
import { upcast } from "../journal/upcast.ts";
import { emptyList } from "../session/append-list.ts";
import { isKnown, type SessionEvent, type StoredEvent } from "../session/event.ts";
import { evolve } from "../session/evolve.ts";
import { findContradiction } from "../session/sequence.ts";
import { initialState, type SessionState } from "../session/state.ts";
import { UnsoundLog } from "./log-state.ts";
import { checkExists } from "./sessions.ts";

export interface Imported {
  readonly session: string;
  readonly events: number;
  /** The turn that was open; null if none was. It may go on where the session came from. */
  readonly open_turn: number | null;
}

/** Few rows, as an event may be large. */
const PAGE_ROWS = 50;
/** No event of ours comes near this. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const PAGE_BYTES = 1024 * 1024;

/** The lines of what the log holds now, in pages. @throws {UsageError} there is no such session. @throws {UnsoundLog} */
export async function* exportLog(journal: Journal, id: string): AsyncGenerator<string> {
  await checkExists(journal, id);
  const head = await journal.head(id);
  for (let after = 0; after < head; after += PAGE_ROWS) {
    const rows = await journal.readStored(id, { after, limit: Math.min(PAGE_ROWS, head - after) });
    const damaged = rows.findIndex(({ row }) => row.kind === "damaged");
    const sound = damaged === -1 ? rows : rows.slice(0, damaged);
    if (sound.length > 0) yield sound.map(({ text }) => `${text}\n`).join("");
    const row = rows[damaged]?.row;
    if (row?.kind === "damaged") {
      throw new UnsoundLog(`Cannot export event ${row.seq} of session "${id}": ${row.reason}. A fork before it can be exported`);
    }
  }
}

/**
 * Takes in the log of one session.
 * @throws {UnsoundLog} @throws {JournalOccupied} the session is here already. @throws {JournalUnavailable}
 */
export async function importLog(journal: Journal, chunks: AsyncIterable<Uint8Array>): Promise<Imported> {
  let intake: Intake | null = null;
  let page: Page = emptyPage;
  let session = "";
  let number = 0;
  let state: SessionState = initialState;
  let checked = true;
  try {
    for await (const bytes of splitLines(chunks)) {
      number++;
      const { event, text } = readLine(bytes, number, session);
      session = event.session;
      checked &&= isKnown(event);
      if (checked && isKnown(event)) checkSequence(state, event, number);
      // Of what was said before nothing is needed (X3).
      state = { ...evolve(state, event), history: emptyList() };
      intake ??= journal.openIntake(session);
      page = { events: [...page.events, event], texts: [...page.texts, text], bytes: page.bytes + bytes.length };
      if (page.events.length < PAGE_ROWS && page.bytes < PAGE_BYTES) continue;
      await intake.add(page.events, page.texts);
      page = emptyPage;
    }
    if (intake === null) throw new UnsoundLog("Cannot import a session as there is nothing to read");
    await intake.add(page.events, page.texts);
    await intake.commit();
    return { session, events: number, open_turn: state.turn.kind === "running" ? state.turn.turn : null };
  } finally {
    await intake?.discard();
  }
}

interface Page {
  readonly events: readonly StoredEvent[];
  readonly texts: readonly string[];
  readonly bytes: number;
}

const emptyPage: Page = { events: [], texts: [], bytes: 0 };
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readLine(bytes: Uint8Array, number: number, session: string): { readonly event: StoredEvent; readonly text: string } {
  try {
    const text = decoder.decode(bytes);
    if (text.endsWith("\r")) {
      throw new UnsoundLog("it ends with a carriage return, so the file was changed on its way: lines end with \\n alone");
    }
    if (text.startsWith("\ufeff")) {
      throw new UnsoundLog("it begins with a byte order mark, so the file was changed on its way: take that off");
    }
    const event = upcast(JSON.parse(text));
    checkPlace(event, number, session);
    return { event, text };
  } catch (error) {
    const reason = error instanceof TypeError ? "it is not valid UTF-8" : error instanceof Error ? error.message : String(error);
    throw new UnsoundLog(`Cannot import line ${number}: ${reason}`, { cause: error });
  }
}

/** X4 */
function checkSequence(before: SessionState, event: SessionEvent, number: number): void {
  const problem = findContradiction(before, event);
  if (problem !== null) throw new UnsoundLog(`Cannot import line ${number}: ${problem}`);
}

/** One session, from its beginning, without a gap. */
function checkPlace(event: StoredEvent, number: number, session: string): void {
  const opens = isKnown(event) && event.type === "session_opened";
  if (number === 1 && !opens) throw new UnsoundLog(`it is of type "${event.type}", and a session begins with session_opened`);
  if (number > 1 && opens) throw new UnsoundLog("the session is opened a second time");
  if (event.seq !== number) throw new UnsoundLog(`its event is numbered ${event.seq}, and ${number} must follow`);
  if (number > 1 && event.session !== session) throw new UnsoundLog(`its event is of session "${event.session}", not of "${session}"`);
}

const LINE_BREAK = 10;

/** Lines without their breaks. A last line without one was cut off. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let number = 1;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, from)) {
      yield join([...parts, chunk.subarray(from, end)]);
      [parts, size, from] = [[], 0, end + 1];
      number++;
    }
    if (from === chunk.length) continue;
    parts.push(chunk.slice(from));
    size += chunk.length - from;
    if (size > MAX_LINE_BYTES) throw new UnsoundLog(`Cannot import line ${number}: it is longer than ${MAX_LINE_BYTES} bytes`);
  }
  if (size > 0) throw new UnsoundLog(`Cannot import line ${number}: it does not end with a line break, so the file was cut off`);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
