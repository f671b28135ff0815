/** A journal that lives as long as this process: for one-off calls and tests. */
import { type StoredEvent, toPlainEvent } from "../session/event.ts";
import {
  type Intake,
  type Journal,
  JournalConflict,
  JournalHeld,
  JournalOccupied,
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
import { ELSEWHERE, HeldLease, settlesPredecessor, stillHolds, toPredecessor } from "./lease.ts";
import { checkNumbering } from "./numbering.ts";
import { emptySummary, summarise, type Summary, toSessionSummary } from "./summary.ts";
import { decodeRow } from "./upcast.ts";

export function createMemoryJournal(): Journal {
  return new MemoryJournal();
}

interface Log {
  /** JSON text, as a file would keep it: no reader shares an object with a writer. */
  readonly bodies: string[];
  summary: Summary;
}

class MemoryJournal implements Journal {
  readonly #logs = new Map<string, Log>();
  readonly #leases = new Map<string, HeldLease>();
  readonly #predecessors = new Map<string, LeaseOwner>();
  #closed = false;

  async append(lease: Lease, expected: number, events: readonly StoredEvent[]): Promise<void> {
    this.#checkOpen();
    const { session } = lease;
    checkNumbering(session, expected, events);
    if (this.#leases.get(session) !== lease) throw new LeaseLost(session);
    const log: Log = this.#logs.get(session) ?? { bodies: [], summary: emptySummary };
    if (log.bodies.length !== expected) throw new JournalConflict(session, expected, log.bodies.length);
    if (events.length === 0) return;
    for (const event of events) log.bodies.push(JSON.stringify(toPlainEvent(event)));
    log.summary = summarise(log.summary, events);
    this.#logs.set(session, log);
    if (events.some(settlesPredecessor)) this.#predecessors.delete(session);
  }

  async read(session: string, options: { readonly after?: number; readonly limit?: number } = {}): Promise<readonly LogRow[]> {
    return (await this.readStored(session, options)).map(({ row }) => row);
  }

  async readStored(session: string, options: { readonly after?: number; readonly limit?: number } = {}): Promise<readonly StoredRow[]> {
    this.#checkOpen();
    const { after = 0, limit = Infinity } = options;
    const bodies = this.#logs.get(session)?.bodies ?? [];
    return bodies.slice(after, after + limit).map((text, index) => ({ row: decodeRow(session, after + index + 1, text), text }));
  }

  async head(session: string): Promise<number> {
    this.#checkOpen();
    return this.#logs.get(session)?.bodies.length ?? 0;
  }

  async standing(session: string): Promise<Standing> {
    return { head: await this.head(session), held: this.#holder(session) !== null };
  }

  async list({ before, ...options }: { readonly limit?: number; readonly before?: ListCursor } = {}): Promise<readonly SessionSummary[]> {
    this.#checkOpen();
    return [...this.#logs]
      .map(([session, log]) => toSessionSummary(session, log.summary, this.#holder(session) !== null))
      .filter((each) => before === undefined || newestFirst(before, each) < 0)
      .sort(newestFirst)
      .slice(0, options.limit ?? Infinity);
  }

  async acquire(session: string, owner: LeaseOwner): Promise<Lease> {
    return this.begin(session, owner);
  }

  hurry(): void {
    // Nobody waits here.
  }

  begin(session: string, owner: LeaseOwner): Lease {
    this.#checkOpen();
    const holder = this.#holder(session);
    if (holder !== null) throw new JournalHeld(session, holder);
    const previous = this.#leases.get(session);
    previous?.lose();
    if (previous !== undefined && !this.#predecessors.has(session)) this.#predecessors.set(session, previous.owner);
    const predecessor = toPredecessor(this.#predecessors.get(session) ?? null, owner);
    const lease = new HeldLease(session, owner, crypto.randomUUID(), predecessor, null, {
      release: async (released) => {
        if (this.#leases.get(session) === released) this.#leases.delete(session);
      },
    });
    this.#leases.set(session, lease);
    return lease;
  }

  openIntake(session: string): Intake {
    const log: Log = { bodies: [], summary: emptySummary };
    return {
      add: async (events, texts) => {
        this.#checkOpen();
        checkNumbering(session, log.bodies.length, events);
        log.bodies.push(...texts);
        log.summary = summarise(log.summary, events);
      },
      commit: async () => {
        this.#checkOpen();
        const holder = this.#holder(session);
        if (holder !== null) throw new JournalHeld(session, holder);
        if (this.#logs.has(session)) throw new JournalOccupied(session);
        if (log.bodies.length > 0) this.#logs.set(session, { ...log, bodies: [...log.bodies] });
        if (log.summary.turn_open) this.#predecessors.set(session, ELSEWHERE);
      },
      discard: async () => void log.bodies.splice(0),
    };
  }

  /** The holder is in this process, and hears at once. */
  async ask(request: LeaseRequest): Promise<void> {
    this.#checkOpen();
    this.#leases.get(request.session)?.hear(request);
  }

  async withdraw(): Promise<void> {}

  async remove(lease: Lease): Promise<void> {
    this.#checkOpen();
    if (this.#leases.get(lease.session) !== lease) throw new LeaseLost(lease.session);
    this.#logs.delete(lease.session);
    this.#leases.delete(lease.session);
    this.#predecessors.delete(lease.session);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#leases.clear();
  }

  #holder(session: string): LeaseOwner | null {
    const lease = this.#leases.get(session);
    return lease !== undefined && stillHolds(lease.owner, false) ? lease.owner : null;
  }

  #checkOpen(): void {
    if (this.#closed) throw new JournalUnavailable("memory", "io", "Cannot use the journal as it has been closed");
  }
}

function newestFirst(left: ListCursor, right: ListCursor): number {
  const [a, b] = [left.updated_at + left.session, right.updated_at + right.session];
  return a < b ? 1 : a > b ? -1 : 0;
}
