/**
 * What a server needs on top of a runtime: one driver per session, shared by all requests; turns that go on whoever
 * listens; many readers. [main thread]
 *
 * D1  A session is open here at most once; it is opened when something is to be done with it and released when idle.
 * D2  Looking at a session never opens it: state and events come from what is durable.
 * D3  Only sessions in the folders that the desk is for exist for it.
 */
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import type { SessionSummary } from "../journal/journal.ts";
import { fold, initialState, type SessionState } from "../session/state.ts";
import type { SessionStatus } from "../session/status.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { Agent } from "./agent.ts";
import { DeskRefusal, toRefusal } from "./desk-refusal.ts";
import { type Answering, DeskSession, type TakenPrompt } from "./desk-session.ts";
import type { FeedEvent } from "./feed.ts";
import type { Fork } from "./fork.ts";
import type { NewSessionOptions } from "./options.ts";
import { type Batch, type Line, Readers } from "./readers.ts";
import type { Session } from "./session.ts";

export interface DeskOptions {
  /** Folders that sessions may work in or below; else the runtime's workspace. */
  readonly roots?: readonly string[];
  readonly max_turns?: number;
  readonly max_sessions?: number;
  readonly max_readers?: number;
  /** How long a session stays open after its last use. */
  readonly idle_ms?: number;
}

/** What a session is, as of event `state.seq`. */
export interface SessionView {
  readonly state: SessionState;
  readonly status: SessionStatus;
}

const DEFAULTS = { max_turns: 32, max_sessions: 64, max_readers: 1024, idle_ms: 15_000 };
const KNOWN_STATES = 16;
const SHUT_DOWN = { reason: "stopped", detail: "the server was shut down" } as const;
const CANCELLED = { reason: "cancelled", detail: "cancelled by a client" } as const;

interface Seat {
  readonly opened: Promise<DeskSession>;
  users: number;
  timer: ReturnType<typeof setTimeout> | null;
}

export class Desk {
  readonly limits: Required<Omit<DeskOptions, "roots">>;
  /** Absolute, without symlinks. */
  readonly roots: readonly string[];
  readonly #agent: Agent;
  readonly #readers: Readers;
  readonly #seats = new Map<string, Seat>();
  readonly #open = new Map<string, DeskSession>();
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #states = new Map<string, SessionState>();
  readonly #watchers = new Set<(event: FeedEvent) => void>();
  #draining = false;

  constructor(agent: Agent, { roots = [agent.workspace], ...limits }: DeskOptions = {}) {
    this.#agent = agent;
    this.limits = { ...DEFAULTS, ...limits };
    this.roots = roots.map((root) => realpathSync(root));
    this.#readers = new Readers({
      read: (session, options) => this.#agent.log.read(session, options),
      head: (session) => this.#agent.log.head(session),
    });
  }

  get draining(): boolean {
    return this.#draining;
  }

  get counts(): { readonly sessions: number; readonly turns: number; readonly readers: number } {
    return { sessions: this.#open.size, turns: this.#turns(), readers: this.#readers.count };
  }

  /** Tells of everything that happens in sessions that are driven here. */
  watch(watcher: (event: FeedEvent) => void): void {
    this.#watchers.add(watcher);
  }

  toolbox(workspace?: string): Promise<Toolbox> {
    return refusing(() => this.#agent.toolbox(workspace === undefined ? undefined : this.#admit(workspace)));
  }

  /** @throws {DeskRefusal} the journal takes no writes. */
  probe(): Promise<void> {
    return refusing(() => this.#agent.probe());
  }

  create(options: NewSessionOptions): Promise<SessionView & { readonly session: string }> {
    return refusing(async () => {
      this.#checkNotDraining();
      this.#makeRoom();
      const workspace = this.#admit(options.workspace ?? this.roots[0] ?? this.#agent.workspace);
      const session = await this.#agent.create({ ...options, workspace });
      return await this.#use(session.id, async ({ id, state, status }) => ({ session: id, state, status }), session);
    });
  }

  /** Newest first. */
  list(
    options: { readonly limit: number; readonly before?: { readonly updated_at: string; readonly session: string } },
  ): Promise<readonly Row[]> {
    return refusing(() => this.#list(options));
  }

  view(id: string): Promise<SessionView> {
    return refusing(async () => {
      const driven = this.#open.get(id);
      if (driven !== undefined && !driven.broken) return { state: driven.state, status: driven.status };
      const state = await this.#recorded(id);
      return { state, status: state.turn.kind === "idle" ? "idle" : await this.#statusOfOpenTurn(id) };
    });
  }

  prompt(id: string, text: string, options: { readonly source: string; readonly if_busy: "refuse" | "queue" }): Promise<TakenPrompt> {
    return refusing(async () => {
      this.#checkNotDraining();
      return await this.#use(id, (session) => {
        if (!session.running) this.#checkTurns();
        return session.prompt(text, options.source, options.if_busy);
      });
    });
  }

  resume(id: string): Promise<Pick<TakenPrompt, "turn" | "ended">> {
    return refusing(async () => {
      this.#checkNotDraining();
      return await this.#use(id, (session) => {
        if (!session.running) this.#checkTurns();
        const { turn, ended } = session.resume();
        return { turn, ended };
      });
    });
  }

  cancel(id: string, grace_ms: number): Promise<{ readonly turn: number; readonly dropped: number }> {
    return refusing(() => this.#use(id, (session) => session.cancel(CANCELLED, grace_ms)));
  }

  answer(id: string, call: string, answer: Answering): Promise<void> {
    return refusing(async () => {
      await this.#checkKnown(id);
      if (!this.#open.has(id)) await this.#refuseAnswer(id, call);
      await this.#use(id, (session) => session.answer(call, answer));
    });
  }

  fork(id: string, at: number | undefined): Promise<Fork> {
    return refusing(async () => {
      this.#checkNotDraining();
      await this.#checkKnown(id);
      return await this.#agent.fork(id, at);
    });
  }

  /** @throws {DeskRefusal} `busy` while a turn runs. */
  remove(id: string): Promise<void> {
    return refusing(async () => {
      await this.#checkKnown(id);
      if (this.#open.get(id)?.running === true) {
        throw new DeskRefusal("busy", `Cannot remove session "${id}" as a turn is running: cancel it first`);
      }
      await this.#release(id);
      await this.#agent.remove(id);
      this.#states.delete(id);
      this.#readers.remove(id);
    });
  }

  /** Number of the last event. */
  head(id: string): Promise<number> {
    return refusing(async () => {
      await this.#checkKnown(id);
      return this.#open.get(id)?.state.seq ?? await this.#agent.log.head(id);
    });
  }

  /** Recorded events behind `after`, as many as there are in one go. */
  page(id: string, after: number): Promise<readonly Line[]> {
    return refusing(() => this.#readers.page(id, after));
  }

  /** Events behind `after`, then what happens. The session must exist. */
  follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<Batch, void> {
    if (this.#readers.count >= this.limits.max_readers) {
      throw new DeskRefusal("too_many_readers", `Cannot follow session "${id}" as ${this.limits.max_readers} readers are connected`);
    }
    return this.#readers.follow(id, after, signal);
  }

  /**
   * Takes no new work; running turns have `bound_ms` to finish, then stop at a safe point, then at once. Everything is
   * released at the end.
   */
  async drain(bound_ms: number): Promise<void> {
    this.#draining = true;
    const open = [...this.#open.values()];
    const idle = Promise.all(open.map((session) => session.idle()));
    for (const session of open) session.dropQueue();
    if (!await within(idle, bound_ms)) {
      for (const session of open.filter(({ running }) => running)) session.cancel(SHUT_DOWN, STOP_GRACE_MS);
      await idle;
    }
    await Promise.allSettled([...this.#seats.keys()].map((id) => this.#release(id)));
  }

  async #list(
    options: { readonly limit: number; readonly before?: { readonly updated_at: string; readonly session: string } },
  ): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let { before } = options; rows.length < options.limit;) {
      const page = await this.#agent.log.list({ limit: options.limit, ...(before === undefined ? {} : { before }) });
      rows.push(
        ...page.filter(({ workspace }) => this.#admits(workspace)).map((row) => ({
          ...row,
          status: this.#open.get(row.session)?.status ?? row.status,
        })),
      );
      before = page[page.length - 1];
      if (page.length < options.limit) break;
    }
    return rows.slice(0, options.limit);
  }

  /** Opens the session if it is not, and keeps it open while `work` goes on. */
  async #use<T>(id: string, work: (session: DeskSession) => T | Promise<T>, created?: Session): Promise<T> {
    const seat = await this.#take(id, created);
    seat.users++;
    try {
      return await work(await seat.opened);
    } finally {
      seat.users--;
      this.#rest(id, seat);
    }
  }

  async #take(id: string, created: Session | undefined): Promise<Seat> {
    if (created === undefined) await this.#checkKnown(id);
    await this.#leaving.get(id);
    const known = this.#seats.get(id);
    if (known !== undefined && this.#open.get(id)?.broken !== true) return known;
    if (known !== undefined) await this.#release(id);
    const again = this.#seats.get(id);
    if (again !== undefined) return again;
    this.#makeRoom();
    const seat: Seat = { opened: this.#drive(id, created), users: 0, timer: null };
    this.#seats.set(id, seat);
    seat.opened.catch(() => this.#seats.get(id) === seat && this.#seats.delete(id));
    return seat;
  }

  async #drive(id: string, created: Session | undefined): Promise<DeskSession> {
    const session = created ?? await this.#agent.open(id, { as: "recorded" });
    try {
      await session.settled();
    } catch (error) {
      await this.#agent.release(session).catch(() => undefined);
      throw error;
    }
    const driven = new DeskSession(
      session,
      (event) => this.#tell(id, event),
      () => this.#seats.has(id) && this.#rest(id, this.#seats.get(id) as Seat),
    );
    this.#open.set(id, driven);
    this.#states.delete(id);
    this.#readers.drive(id, driven.state.seq);
    return driven;
  }

  #tell(id: string, event: FeedEvent): void {
    this.#readers.publish(id, event);
    for (const watcher of this.#watchers) watcher(event);
  }

  /** Starts the clock of a session that nothing uses. */
  #rest(id: string, seat: Seat): void {
    if (seat.timer !== null) clearTimeout(seat.timer);
    seat.timer = null;
    const session = this.#open.get(id);
    if (session === undefined || this.#isUsed(id, seat)) return;
    seat.timer = setTimeout(() => {
      if (!this.#isUsed(id, seat)) void this.#release(id);
    }, session.broken ? 0 : this.limits.idle_ms);
    seat.timer.unref?.();
  }

  #isUsed(id: string, seat: Seat): boolean {
    return seat.users > 0 || this.#open.get(id)?.running === true;
  }

  #release(id: string): Promise<void> {
    const leaving = this.#leaving.get(id) ?? this.#leave(id).finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, leaving);
    return leaving;
  }

  async #leave(id: string): Promise<void> {
    const seat = this.#seats.get(id);
    if (seat === undefined) return;
    if (seat.timer !== null) clearTimeout(seat.timer);
    this.#seats.delete(id);
    const session = this.#open.get(id);
    this.#open.delete(id);
    this.#readers.undrive(id);
    // A journal that failed has been told to whoever used the session.
    if (session !== undefined) await this.#agent.release(session.session).catch(() => undefined);
  }

  /** The oldest session that nothing uses goes. @throws {DeskRefusal} all are in use. */
  #makeRoom(): void {
    if (this.#seats.size < this.limits.max_sessions) return;
    for (const [id, seat] of this.#seats) {
      if (this.#isUsed(id, seat) || !this.#open.has(id)) continue;
      void this.#release(id);
      return;
    }
    throw new DeskRefusal("too_many_sessions", `Cannot open another session as ${this.limits.max_sessions} are in use`);
  }

  #turns(): number {
    let running = 0;
    for (const session of this.#open.values()) if (session.running) running++;
    return running;
  }

  #checkTurns(): void {
    if (this.#turns() < this.limits.max_turns) return;
    throw new DeskRefusal("too_many_turns", `Cannot begin a turn as ${this.limits.max_turns} are running`);
  }

  #checkNotDraining(): void {
    if (this.#draining) throw new DeskRefusal("draining", "Cannot begin anything new as the server is shutting down");
  }

  /** D3. @throws {DeskRefusal} */
  async #checkKnown(id: string): Promise<void> {
    if (!this.#open.has(id)) await this.#recorded(id);
  }

  /** The state that the journal holds; what was folded before is not read again. */
  async #recorded(id: string): Promise<SessionState> {
    const known = this.#states.get(id) ?? initialState;
    const head = await this.#agent.log.head(id);
    const state = known.seq === head ? known : await this.#foldFrom(id, known.seq < head ? known : initialState);
    if (state.header === null || !this.#admits(state.header.workspace)) {
      throw new DeskRefusal("unknown_session", `Cannot find session "${id}"`);
    }
    this.#states.delete(id);
    this.#states.set(id, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= KNOWN_STATES) break;
      this.#states.delete(oldest);
    }
    return state;
  }

  async #foldFrom(id: string, from: SessionState): Promise<SessionState> {
    const rows = await this.#agent.log.read(id, { after: from.seq });
    const state = fold(rows.flatMap((row) => row.kind === "event" ? [row.event] : []), from);
    return { ...state, seq: from.seq + rows.length };
  }

  async #statusOfOpenTurn(id: string): Promise<SessionStatus> {
    const row = (await this.#agent.log.list()).find(({ session }) => session === id);
    return row?.status === "held" ? "held" : "interrupted";
  }

  async #refuseAnswer(id: string, call: string): Promise<void> {
    const { turn } = await this.#recorded(id);
    const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
    if (calls.some((each) => each.call === call && each.status.kind === "asking")) {
      throw new DeskRefusal("interrupted", `Cannot answer call "${call}" as its turn is not running: resume the session first`);
    }
    throw new DeskRefusal("settled", `Cannot answer call "${call}" as it does not wait for an answer in session "${id}"`);
  }

  /** @throws {DeskRefusal} the folder is none, or not one for this desk; which of them is not said. */
  #admit(workspace: string): string {
    try {
      const real = realpathSync(workspace);
      if (this.#admits(real)) return real;
    } catch {
      // There is no such folder, or no way to it.
    }
    throw new DeskRefusal("unacceptable", `Cannot work in "${workspace}" as it is not a folder below those that this server is for`);
  }

  #admits(workspace: string): boolean {
    return this.roots.some((root) => workspace === root || workspace.startsWith(root.endsWith(sep) ? root : root + sep));
  }
}

export interface Row extends Omit<SessionSummary, "status"> {
  readonly status: SessionStatus;
}

/** From the stop at a safe point to the end of what still runs. */
const STOP_GRACE_MS = 5000;

async function refusing<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toRefusal(error);
  }
}

/** Whether it settles within the time. */
async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([work.then(() => true), promise]);
  } finally {
    clearTimeout(timer);
  }
}
