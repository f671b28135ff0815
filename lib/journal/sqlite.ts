/** The journal in one SQLite file: the embedded default. Several processes may use the same file. [main thread] */
import { clearInterval, setInterval } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { type StoredEvent, toPlainEvent } from "../session/event.ts";
import { GroupCommit } from "./group-commit.ts";
import { SqliteIntake } from "./intake.ts";
import {
  type Intake,
  type Journal,
  JournalUnavailable,
  type Lease,
  LeaseLost,
  type LeaseOwner,
  type LeaseRequest,
  type ListCursor,
  type LogRow,
  type SessionSummary,
  type Standing,
  type StoredRow,
} from "./journal.ts";
import { HeldLease, RENEW_MS, toPredecessor } from "./lease.ts";
import { checkNumbering } from "./numbering.ts";
import {
  dropLease,
  dropRequest,
  readChunk,
  readHead,
  readRequests,
  readStanding,
  readSummaries,
  removeLog,
  renewLease,
  takeLease,
  type Taken,
  writeEvents,
  writeRequest,
} from "./statements.ts";

export interface SqliteJournalOptions {
  readonly path: string;
  /** Told of what went wrong where nobody waits for an answer, unless whoever used the journal was just told the same. */
  readonly onNotice?: (notice: { readonly code: "lease_not_renewed" | "lease_not_released"; readonly text: string }) => void;
  /** How long to wait for a file that another process keeps locked. */
  readonly patience_ms?: number;
}

/** @throws {JournalUnavailable} the file cannot be used. One that is only locked is waited for at first use. */
export function openSqliteJournal(options: SqliteJournalOptions): Journal {
  return new SqliteJournal(options);
}

/** The first look at a log is short: many logs are. */
const FIRST_ROWS = 50;
/** How often a holder that listens looks for requests. */
const LISTEN_MS = 100;

interface ReadOptions {
  readonly after?: number;
  readonly limit?: number;
}

class SqliteJournal implements Journal {
  readonly #writer: GroupCommit;
  readonly #notify: NonNullable<SqliteJournalOptions["onNotice"]>;
  /** Of every lease that may be in the file, from before it is asked for. */
  readonly #tokens = new Set<string>();
  readonly #held = new Set<HeldLease>();
  /** Why a lease that was given at once could not be had; null if it could. */
  readonly #refusals = new WeakMap<Lease, Promise<unknown>>();
  #renewal: ReturnType<typeof setInterval> | null = null;
  #renewing = false;
  /** The last append failed as the journal cannot be used: whoever asked for it knows. */
  #told = false;
  #listening: ReturnType<typeof setInterval> | null = null;
  #looking = false;
  #closing: Promise<void> | null = null;

  constructor({ path, onNotice = () => {}, patience_ms = 30_000 }: SqliteJournalOptions) {
    this.#writer = new GroupCommit(path, patience_ms);
    this.#notify = onNotice;
  }

  async append(lease: Lease, expected: number, events: readonly StoredEvent[]): Promise<void> {
    checkNumbering(lease.session, expected, events);
    try {
      const held = this.#ours(lease);
      const bodies = events.map((event) => JSON.stringify(toPlainEvent(event)));
      await this.#writer.submit(true, (store) => writeEvents(store, held, expected, events, bodies));
      this.#told = false;
    } catch (error) {
      const reason = error instanceof LeaseLost ? await this.#refusals.get(lease) ?? error : error;
      if (reason instanceof JournalUnavailable) this.#told = true;
      if (error instanceof LeaseLost && lease instanceof HeldLease) this.#lose(lease);
      throw reason;
    }
  }

  read(session: string, options: ReadOptions = {}): Promise<readonly LogRow[]> {
    return this.#read(session, options, (row) => row);
  }

  readStored(session: string, options: ReadOptions = {}): Promise<readonly StoredRow[]> {
    return this.#read(session, options, (row, text) => ({ row, text }));
  }

  head(session: string): Promise<number> {
    return this.#writer.read((store) => readHead(store, session));
  }

  standing(session: string): Promise<Standing> {
    return this.#writer.read((store) => readStanding(store, session));
  }

  list({ limit, before }: { readonly limit?: number; readonly before?: ListCursor } = {}): Promise<readonly SessionSummary[]> {
    return this.#writer.read((store) => readSummaries(store, limit ?? -1, before ?? null));
  }

  async acquire(session: string, owner: LeaseOwner): Promise<Lease> {
    const token = uuidv7();
    return this.#hold(session, owner, token, await this.#take(session, owner, token));
  }

  begin(session: string, owner: LeaseOwner): Lease {
    const token = uuidv7();
    const refused = this.#take(session, owner, token).then(() => null, (error: unknown) => error);
    const lease = this.#hold(session, owner, token, null);
    this.#refusals.set(lease, refused);
    void refused.then((error) => error === null ? undefined : this.#lose(lease));
    return lease;
  }

  #take(session: string, owner: LeaseOwner, token: string): Promise<Taken | null> {
    this.#tokens.add(token);
    return this.#writer.submit(false, (store) => takeLease(store, session, owner, token)).catch((error: unknown) => {
      this.#tokens.delete(token);
      throw error;
    });
  }

  #hold(session: string, owner: LeaseOwner, token: string, previous: Taken | null): HeldLease {
    const lease = new HeldLease(session, owner, token, toPredecessor(previous?.holder ?? null, owner), previous?.held ?? null, {
      release: (each) => this.#release(each),
      attend: () => void (this.#listening ??= this.#startListening()),
    });
    this.#held.add(lease);
    this.#renewal ??= this.#startRenewal();
    return lease;
  }

  openIntake(session: string): Intake {
    return new SqliteIntake(session, this.#writer);
  }

  async ask(request: LeaseRequest): Promise<void> {
    await this.#writer.submit(false, (store) => writeRequest(store, request));
  }

  async withdraw({ id }: LeaseRequest): Promise<void> {
    await this.#writer.submit(false, (store) => dropRequest(store, id));
  }

  async remove(lease: Lease): Promise<void> {
    const held = this.#ours(lease);
    await this.#writer.submit(true, (store) => removeLog(store, held));
    this.#forget(held);
  }

  hurry(): void {
    this.#writer.hurry();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #read<T>(
    session: string,
    { after = 0, limit = Infinity }: ReadOptions,
    keep: (row: LogRow, text: string) => T,
  ): Promise<readonly T[]> {
    const rows: T[] = [];
    for (let [last, wanted] = [after, FIRST_ROWS]; wanted > 0 && rows.length < limit;) {
      if (rows.length > 0) await setImmediate();
      const chunk = await this.#writer.read((store) => readChunk(store, session, last, Math.min(wanted, limit - rows.length), keep));
      for (const row of chunk.rows) rows.push(row);
      [last, wanted] = [chunk.last, chunk.next];
    }
    return rows.length > limit ? rows.slice(0, limit) : rows;
  }

  #ours(lease: Lease): HeldLease {
    if (lease instanceof HeldLease && this.#held.has(lease)) return lease;
    throw new LeaseLost(lease.session);
  }

  async #release(lease: HeldLease): Promise<void> {
    if (!this.#held.has(lease)) return;
    await this.#writer.submit(false, (store) => dropLease(store, lease.token));
    this.#forget(lease);
  }

  #lose(lease: HeldLease): void {
    this.#forget(lease);
    lease.lose();
  }

  #forget(lease: HeldLease): void {
    this.#tokens.delete(lease.token);
    this.#held.delete(lease);
    if (this.#held.size > 0 || this.#renewal === null) return;
    clearInterval(this.#renewal);
    this.#renewal = null;
  }

  #startRenewal(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => void this.#renew(), RENEW_MS);
    timer.unref();
    return timer;
  }

  #startListening(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => void this.#look(), LISTEN_MS);
    timer.unref();
    return timer;
  }

  /** Never rejects. A request is taken out of the file when it has been heard. */
  async #look(): Promise<void> {
    const listening = new Map([...this.#held].filter((lease) => lease.isListening).map((lease) => [lease.session, lease]));
    if (listening.size === 0) return this.#stopListening();
    if (this.#looking) return;
    this.#looking = true;
    try {
      const requests = (await this.#writer.read(readRequests)).filter(({ session }) => listening.has(session));
      for (const request of requests) {
        listening.get(request.session)?.hear(request);
        await this.withdraw(request);
      }
    } catch {
      // The file is locked for long, or gone: whoever appends is told, and whoever asked gets no answer.
    } finally {
      this.#looking = false;
    }
  }

  #stopListening(): void {
    if (this.#listening !== null) clearInterval(this.#listening);
    this.#listening = null;
  }

  /**
   * Never rejects. Who holds a lease hears of its loss; a journal that cannot be used costs nobody a lease, and is told to
   * the next who uses it; anything else is a notice.
   */
  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    try {
      const leases = [...this.#held];
      const lost = await this.#writer.submit(false, (store) => leases.filter((lease) => !renewLease(store, lease)));
      for (const lease of lost) if (this.#held.has(lease)) this.#lose(lease);
    } catch (error) {
      if (!(error instanceof JournalUnavailable)) this.#notify({ code: "lease_not_renewed", text: String(error) });
    } finally {
      this.#renewing = false;
    }
  }

  /** A lease whose acquisition is still waiting is dropped with the others: its row is written just before. */
  async #close(): Promise<void> {
    this.#stopListening();
    await this.#writer.close((store) => this.#tokens.forEach((token) => dropLease(store, token))).catch((error: unknown) => {
      if (error instanceof JournalUnavailable && (this.#told || this.#tokens.size === 0)) return;
      this.#notify({ code: "lease_not_released", text: error instanceof JournalUnavailable ? error.message : String(error) });
    });
    for (const lease of [...this.#held]) this.#forget(lease);
  }
}
