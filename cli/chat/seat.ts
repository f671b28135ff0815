/** The session that a conversation is in. */
import { type FeedEvent, type Mode, type Runtime, type Session, type SessionSummary, UsageError } from "../../mod.ts";

export class Seat {
  readonly #agent: Runtime;
  readonly #tell: (event: FeedEvent) => void;
  #session: Session;
  #isOurs: boolean;

  private constructor(agent: Runtime, tell: (event: FeedEvent) => void, session: Session, isOurs: boolean) {
    this.#agent = agent;
    this.#tell = tell;
    this.#session = session;
    this.#isOurs = isOurs;
  }

  /** Takes a new session, or the one that is named. @throws what `create` and `open` of an agent throw. */
  static async take(agent: Runtime, id: string | undefined, tell: (event: FeedEvent) => void): Promise<Seat> {
    const session = id === undefined ? await agent.create() : await agent.open(id);
    const seat = new Seat(agent, tell, session, id === undefined);
    await session.settled();
    if (id === undefined) await seat.#tellBeginning();
    session.watch(tell);
    return seat;
  }

  get session(): Session {
    return this.#session;
  }

  /** The folder that it works in, which need not be the one that we were started for. */
  get workspace(): string {
    return this.#session.state().header?.workspace ?? this.#agent.workspace;
  }

  get mode(): Mode {
    return this.#session.state().header?.mode ?? "normal";
  }

  get hasOpenTurn(): boolean {
    return this.#session.state().turn.kind !== "idle";
  }

  /** @throws {UsageError} there is no such session, or we are in it. @throws {JournalHeld} */
  async move(id: string): Promise<void> {
    if (id === this.#session.id) throw new UsageError(`Cannot go on with session "${id}" as this is it, and no turn of it is open`);
    const next = await this.#agent.open(id, { as: "recorded" });
    await this.#leave();
    await this.#sit(next, false);
  }

  /** Opens the session once more, with the tools and settings that there are now. @throws {ConfigError} and it stays as it was. */
  async renew(): Promise<void> {
    this.#agent.reread();
    await this.#agent.workshop(this.workspace);
    await this.#agent.release(this.#session);
    await this.#sit(await this.#agent.open(this.#session.id, { as: "recorded" }), this.#isOurs);
  }

  /** Other sessions of this workspace, the newest first. */
  async others(limit: number): Promise<readonly SessionSummary[]> {
    const all = await this.#agent.list();
    const { workspace } = this.#agent;
    return all.filter((each) => each.workspace === workspace && each.session !== this.#session.id && each.turns > 0).slice(0, limit);
  }

  async close(): Promise<void> {
    await this.#leave();
  }

  async #sit(session: Session, isOurs: boolean): Promise<void> {
    this.#session = session;
    this.#isOurs = isOurs;
    await session.settled();
    session.watch(this.#tell);
  }

  /** One that was begun here and in which nothing was said leaves no trace. */
  async #leave(): Promise<void> {
    const { id } = this.#session;
    const isEmpty = this.#isOurs && this.#session.state().counts.turns === 0;
    await this.#agent.release(this.#session);
    if (isEmpty) await this.#agent.remove(id);
  }

  /** What was recorded before anybody could watch, such as what is wrong with a tool's file. */
  async #tellBeginning(): Promise<void> {
    for (const row of await this.#agent.events(this.#session.id)) if (row.kind === "event") this.#tell(row.event);
  }
}
