/**
 * The port of the event log: durable, ordered, one writer per session.
 *
 * J1  (session, seq) is unique and gapless; `append` names the head it expects.
 * J2  `append` resolves only when the events are durable; all of its events are stored, or none.
 * J3  Every append checks, in the same transaction, that the lease still belongs to the caller.
 * J4  A row that cannot be decoded never hides the rows after it.
 */
import type { SessionEvent, StoredEvent } from "../session/event.ts";
import type { Mode } from "../session/outcome.ts";

export interface Journal {
  /** @throws {JournalConflict} the head is not `expected`. @throws {LeaseLost} @throws {JournalUnavailable} */
  append(lease: Lease, expected: number, events: readonly StoredEvent[]): Promise<void>;
  /** Rows with `seq > after`, in order, at most `limit`. An unknown session has none. */
  read(session: string, options?: { readonly after?: number; readonly limit?: number }): Promise<readonly LogRow[]>;
  /** As `read`, with each row's text, for whoever passes a log on byte for byte. */
  readStored(session: string, options?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredRow[]>;
  /** `seq` of the last event; 0 for an unknown session. */
  head(session: string): Promise<number>;
  /** The head and who has the session, of one moment and without a look at any other session. */
  standing(session: string): Promise<Standing>;
  /** Newest first; `before` goes on behind a row of an earlier list. */
  list(options?: { readonly limit?: number; readonly before?: ListCursor }): Promise<readonly SessionSummary[]>;
  /**
   * The right to append to one session. Renewed by the journal until released.
   * @throws {JournalHeld} while another live owner has it.
   */
  acquire(session: string, owner: LeaseOwner): Promise<Lease>;
  /**
   * The same at once, for a session that is new: it is written with the first append, or before it. Whoever appends is told
   * if it could not be had.
   */
  begin(session: string, owner: LeaseOwner): Lease;
  /** Takes in the log of a session that is not here yet. Nothing of it is there before it is committed, then all of it. */
  openIntake(session: string): Intake;
  /** Asks whoever holds the session's lease; without a holder nobody hears. A new holder has to be asked again. @throws {JournalUnavailable} */
  ask(request: LeaseRequest): Promise<void>;
  /** The request is no longer made, heard or not. */
  withdraw(request: LeaseRequest): Promise<void>;
  /** Takes the whole log of the lease's session away, and the lease with it. @throws {LeaseLost} @throws {JournalUnavailable} */
  remove(lease: Lease): Promise<void>;
  /** From now on nobody waits long for a file that another process keeps locked: what waits is to end. */
  hurry(): void;
  close(): Promise<void>;
}

/** The place of one row in the order of `list`. */
export type ListCursor = Pick<SessionSummary, "updated_at" | "session">;

export interface Standing {
  /** As `head` has it. */
  readonly head: number;
  /** A runtime that lives has its lease. */
  readonly held: boolean;
}

export type LogRow =
  | { readonly kind: "event"; readonly event: StoredEvent }
  /** Present but not readable; `text` is what is stored, capped. */
  | { readonly kind: "damaged"; readonly seq: number; readonly reason: string; readonly text: string };

/** `text`: the event's JSON as it is stored; empty where a number is missing. */
export interface StoredRow {
  readonly row: LogRow;
  readonly text: string;
}

export interface Intake {
  /** The next events, and the text that each is stored as. @throws {RangeError} they do not follow. @throws {JournalUnavailable} */
  add(events: readonly StoredEvent[], texts: readonly string[]): Promise<void>;
  /** @throws {JournalOccupied} the session is there already. @throws {JournalHeld} @throws {JournalUnavailable} */
  commit(): Promise<void>;
  /** Forgets what was added. Safe after a commit. */
  discard(): Promise<void>;
}

/** What another process wants of the holder of a lease: to cancel this turn, and no other. */
export interface LeaseRequest {
  readonly id: string;
  readonly type: "cancel";
  readonly session: string;
  readonly turn: number;
  /** How long calls that run may go on. */
  readonly grace_ms: number;
}

/** Who holds a lease. Enough to tell whether it still lives, if it runs where we do. */
export interface LeaseOwner {
  /** Random, per runtime. */
  readonly runtime: string;
  readonly pid: number;
  /** Clock ticks since boot, as /proc gives it; empty where it is not known. */
  readonly start_time: string;
  /** Identity of the machine's boot and of the pid namespace: only there does `pid` mean anything. */
  readonly place: string;
}

export interface Lease {
  readonly session: string;
  readonly owner: LeaseOwner;
  /** The last owner that died without releasing the session, unless its turn was resumed, or another began, since. */
  readonly predecessor: LeaseOwner | null;
  /** The log was taken in with its turn open, which was neither resumed here nor followed by another since: it may go on where it came from. */
  readonly is_copy: boolean;
  /** From when to when that owner is known to have lived with the lease; null if it is not known. RFC 3339 UTC with milliseconds. */
  readonly predecessor_held: { readonly from: string; readonly until: string } | null;
  /** Aborts when the lease is found to be lost. */
  readonly lost: AbortSignal;
  /** Tells the listener once of each request, until the returned function is called. */
  listen(listener: (request: LeaseRequest) => void): () => void;
  release(): Promise<void>;
}

/** One row of `orrery sessions list`. */
export interface SessionSummary {
  readonly session: string;
  readonly title: string;
  readonly workspace: string;
  readonly model: string;
  readonly mode: Mode;
  readonly opened_at: string;
  readonly updated_at: string;
  readonly seq: number;
  /** `held` while a runtime drives it; `interrupted`: a turn is open and nobody drives it. */
  readonly status: "idle" | "held" | "interrupted";
  readonly turns: number;
}

/** The log has another head than the caller believed. */
export class JournalConflict extends Error {
  override readonly name = "JournalConflict";
  constructor(readonly session: string, readonly expected: number, readonly actual: number) {
    super(`Cannot append to session "${session}" as its log ends at ${actual}, not at ${expected}`);
  }
}

/** Another runtime drives the session. */
export class JournalHeld extends Error {
  override readonly name = "JournalHeld";
  constructor(readonly session: string, readonly holder: LeaseOwner) {
    super(`Cannot drive session "${session}" as another orrery has it open: process ${holder.pid}`);
  }
}

/** A log cannot be taken in, as the session has one. */
export class JournalOccupied extends Error {
  override readonly name = "JournalOccupied";
  constructor(readonly session: string) {
    super(`Cannot take in session "${session}" as the journal has a session with that id`);
  }
}

/** The lease was taken by another runtime; nothing more may be appended. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  constructor(readonly session: string) {
    super(`Cannot append to session "${session}" as another runtime has taken it over`);
  }
}

/** The store cannot be used: full, read-only, locked for too long, not a journal, newer than this program. */
export class JournalUnavailable extends Error {
  override readonly name = "JournalUnavailable";
  constructor(
    readonly path: string,
    readonly reason: "locked" | "full" | "read_only" | "broken" | "newer" | "io",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export type { SessionEvent };
