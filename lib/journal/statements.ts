/** What a journal's file is asked and told, in SQL. Writing functions run inside a transaction and check before they write. */
import type { StoredEvent } from "../session/event.ts";
import type { Mode } from "../session/outcome.ts";
import {
  JournalConflict,
  JournalHeld,
  JournalOccupied,
  type Lease,
  LeaseLost,
  type LeaseOwner,
  type LeaseRequest,
  type ListCursor,
  type LogRow,
  type SessionSummary,
  type Standing,
} from "./journal.ts";
import { ELSEWHERE, type HeldLease, LEASE_MS, settlesPredecessor, spanOf, stillHolds } from "./lease.ts";
import type { Store } from "./store.ts";
import { changeSummary, emptySummary, summarise, type Summary, toSessionSummary } from "./summary.ts";
import { decodeRow } from "./upcast.ts";

/** How much is read in one go: the event loop waits for it. */
const CHUNK_ROWS = 500;
const CHUNK_CHARACTERS = 4_000_000;

/**
 * All of the events, their place in the summary, or nothing.
 * @throws {JournalConflict} @throws {LeaseLost}
 */
export function writeEvents(
  store: Store,
  lease: HeldLease,
  expected: number,
  events: readonly StoredEvent[],
  bodies: readonly string[],
): void {
  const last = events[events.length - 1];
  if (last === undefined || changeSummary(events) || !moveHead(store, lease, expected, last)) {
    checkHead(store, lease, expected);
    if (last !== undefined) writeSummary(store, lease.session, events);
  }
  const insert = store.statement("INSERT INTO events VALUES (?, ?, ?)");
  for (const [index, body] of bodies.entries()) insert.run(lease.session, expected + 1 + index, body);
  if (lease.isInherited && events.some(settlesPredecessor)) dropPredecessor(store, lease.session);
}

/** Both checks and the summary in one statement, for the many events that a list does not show. False: nothing was written. */
function moveHead(store: Store, { session, token }: HeldLease, expected: number, last: StoredEvent): boolean {
  const moved = store.statement(`
    UPDATE sessions SET seq = ?1, updated_at = ?2
    WHERE session = ?3 AND seq = ?4 AND (SELECT token FROM leases WHERE session = ?3) = ?5
  `).run(last.seq, last.at, session, expected, token);
  return Number(moved.changes) > 0;
}

function checkHead(store: Store, { session, token }: HeldLease, expected: number): void {
  const found = store.statement(
    "SELECT (SELECT token FROM leases WHERE session = ?1) AS token, (SELECT max(seq) FROM events WHERE session = ?1) AS head",
  ).get(session) as { readonly token: string | null; readonly head: number | null };
  if (found.token !== token) throw new LeaseLost(session);
  if ((found.head ?? 0) !== expected) throw new JournalConflict(session, expected, found.head ?? 0);
}

function writeSummary(store: Store, session: string, events: readonly StoredEvent[]): void {
  const row = store.statement("SELECT * FROM sessions WHERE session = ?").get(session) as unknown as SummaryRow | undefined;
  insertSummary(store, session, summarise(row === undefined ? emptySummary : toSummary(row), events));
}

function insertSummary(store: Store, session: string, summary: Summary): void {
  const { title, workspace, model, mode, opened_at, updated_at, seq, turns, turn_open } = summary;
  store.statement("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    .run(session, title, workspace, model, mode, opened_at, updated_at, seq, turns, turn_open ? 1 : 0);
}

function toSummary({ title, workspace, model, mode, opened_at, updated_at, seq, turns, turn_open }: SummaryRow): Summary {
  return { title, workspace, model, mode: mode as Mode, opened_at, updated_at, seq, turns, turn_open: turn_open !== 0 };
}

/** What one look reads. The next one goes on behind `last` and may take `next` rows; 0 at the end of the log. */
export interface Chunk<T> {
  readonly rows: readonly T[];
  readonly last: number;
  readonly next: number;
}

/**
 * A hole in the numbers is a damaged row too. Rows are taken with `all`: on Deno 2.9 `iterate` ends without a word
 * at a damaged page.
 */
export function readChunk<T>(
  store: Store,
  session: string,
  after: number,
  limit: number,
  keep: (row: LogRow, text: string) => T,
): Chunk<T> {
  const stored = store.statement("SELECT seq, body FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?")
    .all(session, after, limit) as unknown as readonly { readonly seq: number; readonly body: string }[];
  const rows: T[] = [];
  let [last, characters] = [after, 1];
  for (const { seq, body } of stored) {
    if (seq > last + 1) rows.push(keep(missing(last + 1, seq - 1), ""));
    rows.push(keep(decodeRow(session, seq, body), body));
    last = seq;
    characters += body.length;
  }
  const fitting = Math.ceil(stored.length * CHUNK_CHARACTERS / characters);
  return { rows, last, next: stored.length < limit ? 0 : Math.min(CHUNK_ROWS, fitting) };
}

function missing(first: number, last: number): LogRow {
  const reason = first === last ? `event ${first} is missing` : `events ${first} to ${last} are missing`;
  return { kind: "damaged", seq: last, reason, text: "" };
}

export function readHead(store: Store, session: string): number {
  const row = store.statement("SELECT max(seq) AS head FROM events WHERE session = ?").get(session) as { readonly head: number | null };
  return row.head ?? 0;
}

export function readStanding(store: Store, session: string): Standing {
  const { head, ...lease } = store.statement(`
    SELECT (SELECT max(seq) FROM events WHERE session = ?1) AS head, token, runtime, pid, start_time, place, expires_at
    FROM (SELECT 1) LEFT JOIN leases ON session = ?1
  `).get(session) as unknown as { readonly head: number | null } & (LeaseRow | { readonly token: null });
  return { head: head ?? 0, held: lease.token !== null && isHeld(lease) };
}

/** Newest first; a negative `limit` is none. */
export function readSummaries(store: Store, limit: number, before: ListCursor | null): readonly SessionSummary[] {
  const rows = store.statement(`
    SELECT sessions.*, token, runtime, pid, start_time, place, expires_at
    FROM sessions LEFT JOIN leases USING (session)
    WHERE ?1 IS NULL OR (updated_at, session) < (?1, ?2)
    ORDER BY updated_at DESC, session DESC LIMIT ?3
  `).all(
    before?.updated_at ?? null,
    before?.session ?? null,
    limit,
  ) as unknown as readonly (SummaryRow & (LeaseRow | { readonly token: null }))[];
  return rows.map((row) => toSessionSummary(row.session, toSummary(row), row.token !== null && isHeld(row)));
}

/**
 * Gives back the holder that died, if there was one: the last that drove the session, not one that has only looked in since.
 * @throws {JournalHeld}
 */
export function takeLease(store: Store, session: string, owner: LeaseOwner, token: string): Taken | null {
  const row = store.statement("SELECT * FROM leases WHERE session = ?").get(session) as unknown as LeaseRow | undefined;
  if (row !== undefined && isHeld(row)) throw new JournalHeld(session, toOwner(row));
  // What was asked of an earlier holder by somebody who is gone must not hold for this one; whoever still waits asks again.
  store.statement("DELETE FROM requests WHERE session = ?").run(session);
  if (row !== undefined) store.statement("INSERT OR IGNORE INTO predecessors SELECT * FROM leases WHERE session = ?").run(session);
  store.statement("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)")
    .run(session, token, owner.runtime, owner.pid, owner.start_time, owner.place, Date.now() + LEASE_MS);
  const last = store.statement("SELECT * FROM predecessors WHERE session = ?").get(session) as unknown as LeaseRow | undefined;
  return last === undefined ? null : { holder: toOwner(last), held: spanOf(last.token, last.expires_at) };
}

function dropPredecessor(store: Store, session: string): void {
  store.statement("DELETE FROM predecessors WHERE session = ?").run(session);
}

export interface Taken {
  readonly holder: LeaseOwner;
  readonly held: Lease["predecessor_held"];
}

export function renewLease(store: Store, lease: HeldLease): boolean {
  const renewed = store.statement("UPDATE leases SET expires_at = ? WHERE session = ? AND token = ?")
    .run(Date.now() + LEASE_MS, lease.session, lease.token);
  return Number(renewed.changes) > 0;
}

/** @throws {LeaseLost} */
export function removeLog(store: Store, { session, token }: HeldLease): void {
  const dropped = store.statement("DELETE FROM leases WHERE session = ? AND token = ?").run(session, token);
  if (Number(dropped.changes) === 0) throw new LeaseLost(session);
  store.statement("DELETE FROM requests WHERE session = ?").run(session);
  dropPredecessor(store, session);
  store.statement("DELETE FROM events WHERE session = ?").run(session);
  store.statement("DELETE FROM sessions WHERE session = ?").run(session);
}

/** Sets rows aside, in a table of this connection's own that ends with it. Outside of a transaction on the journal. */
export function setAside(store: Store, session: string, from: number, texts: readonly string[]): void {
  store.beside(() => {
    store.statement(
      "CREATE TEMP TABLE IF NOT EXISTS intake (session TEXT, seq INTEGER, body TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID",
    )
      .run();
    const insert = store.statement("INSERT INTO temp.intake VALUES (?, ?, ?)");
    for (const [index, text] of texts.entries()) insert.run(session, from + index, text);
  });
}

/** @throws {JournalOccupied} @throws {JournalHeld} */
export function takeIn(store: Store, session: string, summary: Summary): void {
  const lease = store.statement("SELECT * FROM leases WHERE session = ?").get(session) as unknown as LeaseRow | undefined;
  if (lease !== undefined && isHeld(lease)) throw new JournalHeld(session, toOwner(lease));
  if (readHead(store, session) > 0) throw new JournalOccupied(session);
  store.statement("INSERT INTO main.events SELECT session, seq, body FROM temp.intake WHERE session = ? ORDER BY seq").run(session);
  insertSummary(store, session, summary);
  if (!summary.turn_open) return;
  const { runtime, pid, start_time, place } = ELSEWHERE;
  store.statement("INSERT OR REPLACE INTO predecessors VALUES (?, ?, ?, ?, ?, ?, ?)").run(session, "", runtime, pid, start_time, place, 0);
}

export function dropAside(store: Store, session: string): void {
  store.beside(() => void store.statement("DELETE FROM temp.intake WHERE session = ?").run(session));
}

export function writeRequest(store: Store, { id, type, session, turn, grace_ms }: LeaseRequest): void {
  store.statement("INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?)").run(id, session, type, turn, grace_ms);
}

export function dropRequest(store: Store, id: string): void {
  store.statement("DELETE FROM requests WHERE id = ?").run(id);
}

/** Of all sessions: there are hardly ever any. */
export function readRequests(store: Store): readonly LeaseRequest[] {
  return store.statement("SELECT id, session, type, turn, grace_ms FROM requests WHERE type = 'cancel'")
    .all() as unknown as readonly LeaseRequest[];
}

export function dropLease(store: Store, token: string): void {
  store.statement("DELETE FROM leases WHERE token = ?").run(token);
}

function isHeld(row: LeaseRow): boolean {
  return stillHolds(toOwner(row), row.expires_at <= Date.now());
}

function toOwner({ runtime, pid, start_time, place }: LeaseRow): LeaseOwner {
  return { runtime, pid, start_time, place };
}

interface SummaryRow extends Omit<Summary, "turn_open" | "mode"> {
  readonly session: string;
  readonly mode: string;
  readonly turn_open: number;
}

interface LeaseRow extends LeaseOwner {
  readonly token: string;
  readonly expires_at: number;
}
