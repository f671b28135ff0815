/**
 * The sessions that are open here, each once: opened by the first use, kept while it is used or a turn runs, released
 * some time after. One that is leaving has left before it is opened again.
 */
import type { Agent } from "./agent.ts";
import { DeskRefusal } from "./desk-refusal.ts";
import { DeskSession } from "./desk-session.ts";
import type { FeedEvent } from "./feed.ts";
import type { Session } from "./session.ts";

export interface SeatOptions {
  readonly max_sessions: number;
  readonly max_waiting: number;
  readonly idle_ms: number;
  /** Before the first event is told. */
  opened(session: DeskSession): void;
  tell(id: string, event: FeedEvent): void;
  left(id: string): void;
  /** Nothing of it is open here any more. */
  released(id: string): void;
}

interface Seat {
  readonly arrival: Promise<DeskSession>;
  /** Once it has arrived. */
  session: DeskSession | null;
  users: number;
  timer: ReturnType<typeof setTimeout> | null;
}

export class Seats {
  readonly #agent: Agent;
  readonly #options: SeatOptions;
  readonly #seats = new Map<string, Seat>();
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(agent: Agent, options: SeatOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  /** Those that are open. */
  get all(): readonly DeskSession[] {
    return [...this.#seats.values()].flatMap(({ session }) => session === null ? [] : [session]);
  }

  /** The session, if it is open and of use. */
  get(id: string): DeskSession | null {
    const session = this.#seats.get(id)?.session ?? null;
    return session?.broken === true ? null : session;
  }

  /** Whether the session is open here, or about to be, or about to be no more. */
  has(id: string): boolean {
    return this.#seats.has(id) || this.#leaving.has(id);
  }

  /** Opens the session if it is not, and keeps it while `work` goes on. */
  async use<T>(id: string, work: (session: DeskSession) => T | Promise<T>): Promise<T> {
    return await this.#sit(id, await this.#take(id), work);
  }

  /** As `use`, with a session that was just made. */
  async useNew<T>(session: Session, work: (session: DeskSession) => T | Promise<T>): Promise<T> {
    try {
      return await this.#sit(session.id, this.#add(session.id, () => Promise.resolve(session)), work);
    } catch (error) {
      if (!this.#seats.has(session.id)) await this.#agent.release(session).catch(() => undefined);
      throw error;
    }
  }

  /** The oldest session that nothing uses goes, if there is no room for one more. @throws {DeskRefusal} all are in use. */
  makeRoom(): void {
    const { max_sessions, max_waiting } = this.#options;
    const waiting = [...this.#seats.values()].filter(({ session }) => session?.waiting === true).length;
    if (this.#seats.size - Math.min(waiting, max_waiting) < max_sessions) return;
    for (const [id, seat] of this.#seats) {
      if (isUsed(seat)) continue;
      void this.release(id);
      return;
    }
    throw new DeskRefusal("too_many_sessions", `Cannot open another session as ${max_sessions} are in use`);
  }

  /** Resolves when nothing of it is open here. */
  release(id: string): Promise<void> {
    const leaving = this.#leaving.get(id);
    if (leaving !== undefined) return leaving;
    const left = this.#leave(id).finally(() => {
      this.#leaving.delete(id);
      this.#options.released(id);
    });
    this.#leaving.set(id, left);
    return left;
  }

  async releaseAll(): Promise<void> {
    await Promise.all([...this.#seats.keys()].map((id) => this.release(id)));
  }

  async #take(id: string): Promise<Seat> {
    for (;;) {
      const known = this.#seats.get(id);
      if (known?.session?.broken === true) void this.release(id);
      else if (known !== undefined) return known;
      const leaving = this.#leaving.get(id);
      if (leaving === undefined) return this.#add(id, () => this.#agent.open(id, { as: "recorded", inPlace: true }));
      await leaving;
    }
  }

  #add(id: string, open: () => Promise<Session>): Seat {
    this.makeRoom();
    const seat: Seat = { arrival: open().then((session) => this.#arrive(session, seat)), session: null, users: 0, timer: null };
    this.#seats.set(id, seat);
    seat.arrival.catch(() => this.#seats.get(id) === seat && this.#seats.delete(id));
    return seat;
  }

  async #arrive(session: Session, seat: Seat): Promise<DeskSession> {
    try {
      await session.settled();
    } catch (error) {
      await this.#agent.release(session).catch(() => undefined);
      throw error;
    }
    seat.session = new DeskSession(session, (event) => this.#options.tell(session.id, event), () => this.#rest(session.id, seat));
    this.#options.opened(seat.session);
    return seat.session;
  }

  async #sit<T>(id: string, seat: Seat, work: (session: DeskSession) => T | Promise<T>): Promise<T> {
    seat.users++;
    try {
      return await work(await seat.arrival);
    } finally {
      seat.users--;
      this.#rest(id, seat);
    }
  }

  /** Starts the clock of a session that nothing uses. */
  #rest(id: string, seat: Seat): void {
    if (seat.timer !== null) clearTimeout(seat.timer);
    seat.timer = null;
    if (this.#seats.get(id) !== seat || isUsed(seat)) return;
    seat.timer = setTimeout(() => {
      if (this.#seats.get(id) === seat && !isUsed(seat)) void this.release(id);
    }, seat.session?.broken === true ? 0 : this.#options.idle_ms);
  }

  async #leave(id: string): Promise<void> {
    const seat = this.#seats.get(id);
    this.#seats.delete(id);
    if (seat === undefined) return;
    if (seat.timer !== null) clearTimeout(seat.timer);
    this.#options.left(id);
    // A journal that failed has been told to whoever used the session.
    if (seat.session !== null) await this.#agent.release(seat.session.session).catch(() => undefined);
  }
}

/** One that has not arrived is waited for by somebody. */
function isUsed({ session, users }: Seat): boolean {
  return users > 0 || session === null || session.running;
}
