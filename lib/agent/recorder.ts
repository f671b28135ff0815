/**
 * The only writer of one session: decides, evolves and appends. The state runs ahead of the disk by what is in
 * flight, so commands of one tick share a commit; whoever is about to act on the outside awaits `durable` first.
 *
 * R1  Events are appended in the order they were decided, and told to the feed in that order, once durable.
 * R2  After a failed append nothing more is recorded: every later command throws that failure.
 */
import type { Journal, Lease } from "../journal/journal.ts";
import type { Command, Refusal } from "../session/command.ts";
import { decide } from "../session/decide.ts";
import type { SessionEvent } from "../session/event.ts";
import { fold } from "../session/evolve.ts";
import type { SessionState } from "../session/state.ts";
import type { Feed } from "./feed.ts";

export type Recorded =
  | { readonly kind: "recorded"; readonly events: readonly SessionEvent[]; readonly durable: Promise<void> }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export class Recorder {
  #state: SessionState;
  #durable: SessionState;
  #failure: Error | null = null;
  #settled: Promise<void> = Promise.resolve();
  readonly #broken = Promise.withResolvers<never>();
  readonly #journal: Journal;
  readonly #lease: Lease;
  readonly #feed: Feed;

  constructor(journal: Journal, lease: Lease, feed: Feed, state: SessionState) {
    this.#journal = journal;
    this.#lease = lease;
    this.#feed = feed;
    this.#state = state;
    this.#durable = state;
    // Watched through `broken`; without a turn there is nobody to tell.
    this.#broken.promise.catch(() => undefined);
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The part of `state` that is on disk: what others may be told. */
  get durable(): SessionState {
    return this.#durable;
  }

  /** Rejects with the failure of an append, and never resolves. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** @throws the failure of an earlier append. */
  record(command: Command): Recorded {
    if (this.#failure !== null) throw this.#failure;
    const decision = decide(this.#state, command);
    if (decision.kind === "refused") return decision;
    const { events } = decision;
    const expected = this.#state.seq;
    this.#state = fold(events, this.#state);
    return { kind: "recorded", events, durable: this.#append(expected, events) };
  }

  /** As `record`, for commands that the present state cannot refuse. */
  mustRecord(command: Command): Extract<Recorded, { kind: "recorded" }> {
    const recorded = this.record(command);
    if (recorded.kind === "refused") {
      throw new Error(`Cannot ${command.type} in session "${this.#lease.session}": ${recorded.refusal.message}`);
    }
    return recorded;
  }

  /** Resolves when everything recorded so far is durable. */
  async flush(): Promise<void> {
    await this.#settled;
    if (this.#failure !== null) throw this.#failure;
  }

  #append(expected: number, events: readonly SessionEvent[]): Promise<void> {
    const appended = this.#journal.append(this.#lease, expected, events);
    const before = this.#settled;
    const after = this.#state;
    const durable = appended.then(async () => {
      await before;
      if (this.#failure !== null) throw this.#failure;
      this.#durable = after;
      for (const event of events) this.#feed.tell(event);
    });
    this.#settled = durable.catch((error: Error) => this.#fail(error));
    return durable;
  }

  #fail(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#broken.reject(error);
  }
}
