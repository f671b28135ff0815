/**
 * What a server needs on top of a runtime: one driver per session, shared by all requests; turns that go on whoever
 * listens; many readers. [main thread]
 *
 * D1  A session is open here at most once; it is opened when something is to be done with it and released when idle.
 * D2  Looking at a session never opens it: state and events come from what is durable.
 * D3  Only sessions in the folders that the desk is for exist for it, and nothing is begun in one whose folder is not in
 *     place any more.
 * D4  A client's choice of a model names no file of this machine.
 */
import { UsageError } from "../config/error.ts";
import { JournalHeld, type SessionSummary } from "../journal/journal.ts";
import type { Mode } from "../session/outcome.ts";
import type { SessionState } from "../session/state.ts";
import type { SessionStatus } from "../session/status.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { Agent } from "./agent.ts";
import { Entrances } from "./desk-entrances.ts";
import { checkModelName, toModelRefusal } from "./desk-models.ts";
import { Records } from "./desk-records.ts";
import { DeskRefusal, notAdmitted, notAsked, notWaiting, toRefusal } from "./desk-refusal.ts";
import { recordedTurn } from "./desk-keys.ts";
import { type Answering, type DeskSession, type QueuedPrompt, repeated, type TakenPrompt } from "./desk-session.ts";
import { Seats } from "./desk-seats.ts";
import type { FeedEvent } from "./feed.ts";
import type { Fork } from "./fork.ts";
import type { NewSessionOptions } from "./options.ts";
import type { PromptedBy, Session } from "./session.ts";
import { type Batch, type Line, Readers } from "./readers.ts";

export interface DeskOptions {
  /** Folders that sessions may work in or below; else the runtime's workspace. */
  readonly roots?: readonly string[];
  readonly max_turns?: number;
  readonly max_sessions?: number;
  /** Sessions whose turn only waits for answers: they take no place of the others. */
  readonly max_waiting?: number;
  readonly max_readers?: number;
  /** How long a session stays open after its last use. */
  readonly idle_ms?: number;
}

/** What a session is, as of event `state.seq`. */
export interface SessionView {
  readonly state: SessionState;
  readonly status: SessionStatus;
  /** Prompts that wait for the turns before them. */
  readonly queued: readonly QueuedPrompt[];
}

/** One row of a list. */
export interface Row extends Omit<SessionSummary, "status"> {
  readonly status: SessionStatus;
}

export interface ListOptions {
  readonly limit: number;
  readonly before?: { readonly updated_at: string; readonly session: string };
}

const DEFAULTS = { max_turns: 32, max_sessions: 64, max_waiting: 256, max_readers: 1024, idle_ms: 15_000 };
const SHUT_DOWN = { reason: "stopped", detail: "the server was shut down" } as const;
const CANCELLED = { reason: "cancelled", detail: "cancelled by a client" } as const;
/** At the end of a drain, from the stop at a safe point to the end of what still runs. */
const STOP_GRACE_MS = 5000;

export class Desk {
  readonly limits: Required<Omit<DeskOptions, "roots">>;
  readonly #agent: Agent;
  readonly #records: Records;
  readonly #readers: Readers;
  readonly #seats: Seats;
  readonly #entrances = new Entrances();
  readonly #watchers = new Set<(event: FeedEvent) => void>();
  #draining = false;

  constructor(agent: Agent, { roots = [agent.workspace], ...limits }: DeskOptions = {}) {
    this.#agent = agent;
    this.limits = { ...DEFAULTS, ...limits };
    this.#records = new Records(() => agent.log, roots);
    this.#readers = new Readers({
      read: (session, options) => agent.log.read(session, options),
      head: (session) => agent.log.head(session),
    });
    this.#seats = new Seats(agent, {
      ...this.limits,
      opened: ({ id, state }) => {
        this.#records.forget(id);
        this.#readers.drive(id, state.seq);
      },
      tell: (id, event) => this.#tell(id, event),
      left: (id) => this.#readers.undrive(id),
      // Whoever looked at it meanwhile saw that it was held: by us.
      released: (id) => this.#records.forget(id),
    });
  }

  get roots(): readonly string[] {
    return this.#records.roots;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** `waiting`: turns that only wait for answers; `turns` has them too. */
  get counts(): { readonly sessions: number; readonly turns: number; readonly waiting: number; readonly readers: number } {
    const open = this.#seats.all;
    const running = open.filter((session) => session.running);
    return {
      sessions: open.length,
      turns: running.length,
      waiting: running.filter(({ waiting }) => waiting).length,
      readers: this.#readers.count,
    };
  }

  /** Tells of everything that happens in sessions that are driven here. */
  watch(watcher: (event: FeedEvent) => void): void {
    this.#watchers.add(watcher);
  }

  toolbox(workspace = this.#defaultWorkspace): Promise<Toolbox> {
    return refusing(() => this.#agent.toolbox(this.#records.admit(workspace)));
  }

  /** @throws {DeskRefusal} the journal takes no writes. */
  probe(): Promise<void> {
    return refusing(() => this.#agent.probe());
  }

  create(options: NewSessionOptions): Promise<SessionView> {
    return refusing(async () => {
      this.#checkNotDraining();
      const workspace = this.#records.admit(options.workspace ?? this.#defaultWorkspace);
      if (options.model !== undefined) await checkModelName(this.#agent, options.model, workspace);
      this.#seats.makeRoom();
      const session = await this.#createIn(workspace, options);
      return await this.#seats.useNew(session, viewOf);
    });
  }

  /** Newest first. */
  list(options: ListOptions): Promise<readonly Row[]> {
    return refusing(() => this.#list(options));
  }

  view(id: string): Promise<SessionView> {
    return refusing(async () => {
      const driven = this.#seats.get(id);
      if (driven !== null) return viewOf(driven);
      const { state, held } = await this.#records.view(id);
      // It may have been opened meanwhile.
      const opened = this.#seats.get(id);
      if (opened !== null) return viewOf(opened);
      if (this.#seats.all.some((session) => session.asksFor(id))) return { state, status: "waiting", queued: [] };
      // Whoever comes or goes here drives nothing.
      const byOthers = held && !this.#seats.has(id);
      return { state, status: state.turn.kind === "idle" ? "idle" : byOthers ? "held" : "interrupted", queued: [] };
    });
  }

  /** Nothing is begun for a prompt that the log has with the same `key`. */
  prompt(id: string, text: string, { if_busy, ...by }: PromptedBy & { readonly if_busy: "refuse" | "queue" }): Promise<TakenPrompt> {
    return this.#within(id, async () => {
      this.#checkNotDraining();
      try {
        return await this.#use(id, (session) => {
          const known = by.key === undefined ? null : session.known(by.key, text);
          if (known !== null) return known;
          this.#checkMayBegin(session);
          return session.prompt(text, by, if_busy);
        });
      } catch (error) {
        const recorded = await this.#recorded(id, text, by.key);
        if (recorded === null) throw error;
        return recorded;
      }
    });
  }

  /** What is known of a prompt where its session could not be opened. @throws {DeskRefusal} the log has another one with this key. */
  async #recorded(id: string, text: string, key: string | undefined): Promise<TakenPrompt | null> {
    if (key === undefined || this.#seats.get(id) !== null) return null;
    const turn = recordedTurn((await this.#records.view(id)).state, key, text);
    return turn === null ? null : repeated(turn, false);
  }

  resume(id: string): Promise<Omit<TakenPrompt, "queued">> {
    return this.#within(id, async () => {
      this.#checkNotDraining();
      return await this.#use(id, (session) => {
        this.#checkMayBegin(session);
        return session.resume();
      });
    });
  }

  /** Holds at once, also for a turn that runs; the last event that there is then. */
  changeMode(id: string, mode: Mode, by: string): Promise<number> {
    return this.#within(id, async () => {
      this.#checkNotDraining();
      return await this.#use(id, (session) => session.changeMode(mode, by));
    });
  }

  /** Where another runtime drives the session it is asked to, and the answer comes when it has. */
  cancel(id: string, grace_ms: number): Promise<{ readonly turn: number; readonly dropped: number }> {
    return this.#within(id, async () => {
      const { turn } = (await this.view(id)).state;
      if (turn.kind === "idle") throw new DeskRefusal("no_turn", `Cannot cancel in session "${id}" as no turn is open`);
      try {
        return await this.#use(id, (session) => session.cancel(CANCELLED, grace_ms));
      } catch (error) {
        // A turn can be closed without its folder.
        if (!(error instanceof JournalHeld || (error instanceof DeskRefusal && error.code === "workspace_gone"))) throw error;
        await this.#agent.cancel(id, { grace_ms });
        this.#records.forget(id);
        return { turn: turn.turn, dropped: 0 };
      }
    });
  }

  answer(id: string, call: string, answer: Answering): Promise<void> {
    return this.#within(id, async () => {
      await this.#checkKnown(id);
      const driven = this.#seats.get(id);
      if (driven === null) return await this.#answerBelow(id, call, answer);
      await driven.answer(call, answer);
    });
  }

  fork(id: string, at: number | undefined): Promise<Fork> {
    return this.#within(id, async () => {
      this.#checkNotDraining();
      await this.#records.checkInPlace(id);
      return await this.#agent.fork(id, at);
    });
  }

  /** Two at once are one. @throws {DeskRefusal} `busy` while a turn runs. */
  remove(id: string): Promise<void> {
    return refusing(() =>
      this.#entrances.remove(id, async () => {
        await this.#checkKnown(id);
        if (this.#seats.get(id)?.running === true) {
          throw new DeskRefusal("busy", `Cannot remove session "${id}" as a turn is running: cancel it first`);
        }
        await this.#seats.release(id);
        await this.#agent.remove(id);
        this.#records.forget(id);
        this.#readers.remove(id);
      })
    );
  }

  /** Number of the last event. */
  head(id: string): Promise<number> {
    return refusing(async () => this.#seats.get(id)?.state.seq ?? await this.#records.head(id));
  }

  /** Recorded events behind `after`, as many as there are in one go. The session must exist. */
  page(id: string, after: number): Promise<readonly Line[]> {
    return refusing(() => this.#readers.page(id, after));
  }

  /** Events behind `after`, then what happens. The session must exist. @throws {DeskRefusal} */
  follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<Batch, void> {
    if (this.#readers.count >= this.limits.max_readers) {
      throw new DeskRefusal("too_many_readers", `Cannot follow session "${id}" as ${this.limits.max_readers} readers are connected`);
    }
    return this.#readers.follow(id, after, signal);
  }

  /**
   * Takes no new work; running turns have `bound_ms` to finish, then stop at a safe point, then at once, as they do when
   * `now` aborts. A turn that only waits for answers is left open, to be resumed elsewhere. Everything is released at
   * the end. How many turns were stopped.
   */
  async drain(bound_ms: number, now: AbortSignal = new AbortController().signal): Promise<number> {
    this.#draining = true;
    for (const session of this.#seats.all) session.dropQueue();
    const stopped = new Set<DeskSession>();
    let grace_ms: number | null = null;
    const stopAll = (grace: number) => {
      grace_ms = grace;
      for (const session of this.#seats.all) {
        if (session.resting) continue;
        stopped.add(session);
        session.cancel(SHUT_DOWN, grace);
      }
    };
    const timer = setTimeout(() => stopAll(STOP_GRACE_MS), bound_ms);
    const insist = () => stopAll(0);
    now.addEventListener("abort", insist, { once: true });
    if (now.aborted) insist();
    while (this.#seats.all.some(({ resting }) => !resting)) {
      // One that waited may have got its answer too late.
      if (grace_ms !== null) stopAll(grace_ms);
      await Promise.all(this.#seats.all.map((session) => session.rested()));
    }
    clearTimeout(timer);
    now.removeEventListener("abort", insist);
    for (const session of this.#seats.all) session.leave();
    await this.#seats.releaseAll();
    return stopped.size;
  }

  get #defaultWorkspace(): string {
    return this.roots[0] ?? this.#agent.workspace;
  }

  /** For what is done in a session that may be removed. */
  #within<T>(id: string, work: () => Promise<T>): Promise<T> {
    return refusing(() => this.#entrances.enter(id, work));
  }

  /** D3. @throws {DeskRefusal} */
  async #use<T>(id: string, work: (session: DeskSession) => T | Promise<T>): Promise<T> {
    if (this.#seats.get(id) === null) await this.#records.checkInPlace(id);
    try {
      return await this.#seats.use(id, work);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      // Another runtime may have removed it a moment ago.
      this.#records.forget(id);
      await this.#records.head(id);
      throw error;
    }
  }

  /** D3: the folder may have been swapped since it was looked at. @throws {DeskRefusal} */
  async #createIn(workspace: string, options: NewSessionOptions): Promise<Session> {
    const session = await this.#agent.create({ ...options, workspace }).catch((error: unknown) => {
      throw options.model === undefined ? error : toModelRefusal(error);
    });
    if (session.state().header?.workspace === workspace) return session;
    await this.#agent.release(session);
    await this.#agent.remove(session.id);
    throw notAdmitted(workspace);
  }

  #tell(id: string, event: FeedEvent): void {
    this.#readers.publish(id, event);
    for (const watcher of this.#watchers) watcher(event);
  }

  async #list({ limit, before }: ListOptions): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let last = before; rows.length < limit;) {
      const page = await this.#agent.log.list({ limit, ...(last === undefined ? {} : { before: last }) });
      const ours = page.filter(({ workspace }) => this.#records.admits(workspace));
      rows.push(...ours.map((row) => ({ ...row, status: this.#seats.get(row.session)?.status ?? row.status })));
      last = page[page.length - 1];
      if (page.length < limit) break;
    }
    return rows.slice(0, limit);
  }

  async #answerBelow(id: string, call: string, answer: Answering): Promise<void> {
    const above = this.#seats.all.find((session) => session.asksFor(id, call));
    if (above === undefined) return await this.#refuseAnswer(id, call);
    above.answerBelow(call, answer);
  }

  async #refuseAnswer(id: string, call: string): Promise<never> {
    const { state, held } = await this.#records.view(id);
    const { turn } = state;
    const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
    if (calls.some((each) => each.call === call && each.status.kind === "asking")) {
      if (held) {
        throw new DeskRefusal("held", `Cannot answer call "${call}" here as another runtime has session "${id}" open: answer it there`);
      }
      throw new DeskRefusal("interrupted", `Cannot answer call "${call}" as its turn is not running: resume the session first`);
    }
    if (calls.some((each) => each.call === call && each.status.kind === "requested")) throw notAsked(call);
    throw notWaiting(call, state);
  }

  /** D3. @throws {DeskRefusal} */
  async #checkKnown(id: string): Promise<void> {
    if (this.#seats.get(id) === null) await this.#records.head(id);
  }

  /** Opening the session may have taken a while. */
  #checkMayBegin({ running }: DeskSession): void {
    this.#checkNotDraining();
    const { turns, waiting } = this.counts;
    if (running || turns - waiting < this.limits.max_turns) return;
    throw new DeskRefusal(
      "too_many_turns",
      `Cannot begin a turn as ${this.limits.max_turns} are running, without those that only wait for answers`,
    );
  }

  #checkNotDraining(): void {
    if (this.#draining) throw new DeskRefusal("draining", "Cannot begin anything new as the server is shutting down");
  }
}

function viewOf({ state, status, queued }: DeskSession): SessionView {
  return { state, status, queued };
}

async function refusing<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toRefusal(error);
  }
}
