/**
 * One session that this runtime drives for many clients: its turns belong to nobody's connection.
 *
 * S1  At most one turn runs; prompts that may wait do so in order, in memory.
 * S2  What is shown is what is durable: the state is folded from the feed, never taken from the writer.
 * S3  After a failed append the session is of no more use (`broken`): it must be opened again.
 * S4  A turn that only waits for answers can be left: it stays open in the log, as after a crash, and can be resumed.
 * S5  Nothing begins, and nothing that waited is let go on, in a folder that is not in place any more.
 */
import type { CallState, SessionState } from "../session/state.ts";
import { sha256 } from "../platform/digest.ts";
import { evolve } from "../session/evolve.ts";
import type { SessionStatus } from "../session/status.ts";
import { type EventOf, isKnown, type SessionEvent } from "../session/event.ts";
import { next } from "../session/next.ts";
import { Approvals } from "./desk-approvals.ts";
import { keyReused, recordedTurn } from "./desk-keys.ts";
import { DeskRefusal, notAsked, notWaiting, workspaceGone } from "./desk-refusal.ts";
import { isInPlace } from "./in-place.ts";
import { inputDigest } from "../gate/authorize.ts";
import type { Answer, Question } from "./approver.ts";
import type { Mode } from "../session/outcome.ts";
import type { FeedEvent } from "./feed.ts";
import type { PromptedBy, Session, TurnOptions } from "./session.ts";
import type { StopReason, TurnResult } from "./turn.ts";

/** A prompt that was taken. */
export interface TakenPrompt {
  readonly turn: number;
  /** It waits for the turns before it. */
  readonly queued: boolean;
  /** It was taken before with the same key, and nothing is said of its end. */
  readonly repeated?: true;
  /** Null: it was dropped before its turn began. Rejects with what ended the turn otherwise. */
  readonly ended: Promise<TurnResult | null>;
}

/** A prompt that waits for the turns before it, until the log has it. */
export interface QueuedPrompt {
  /** Where it stands now: it moves up when one before it is dropped. */
  readonly turn: number;
  readonly text: string;
  readonly key?: string;
}

export interface Answering {
  readonly decision: "allow" | "deny";
  readonly by: string;
  readonly reason?: string;
  /** Of the input that the person saw; absent: whatever waits now. */
  readonly input_digest?: string;
}

const QUEUE_LIMIT = 16;
/** Keys of dropped prompts that are remembered, so that one sent again is not taken for a new one. */
const DROPPED_LIMIT = 256;

interface Running {
  readonly turn: number;
  readonly stop: AbortController;
  readonly now: AbortController;
  readonly ended: Promise<TurnResult>;
  /** As `ended`; rejects when the turn is left. */
  readonly told: Promise<TurnResult>;
  readonly leave: (reason: DeskRefusal) => void;
}

interface Waiting {
  readonly text: string;
  readonly by: PromptedBy;
  readonly ended: PromiseWithResolvers<TurnResult | null>;
}

export class DeskSession {
  readonly session: Session;
  readonly #approvals = new Approvals();
  /** Questions of sessions that work for this one, by call: they are asked here, and are in their own sessions' states. */
  readonly #below = new Map<string, { readonly session: string; readonly input_digest: string }>();
  readonly #answered = new Map<string, (event: SessionEvent) => void>();
  readonly #queue: Waiting[] = [];
  /** Taken from the queue, and not in the log yet. */
  #beginning: Waiting | null = null;
  /** With digests of their texts. */
  readonly #dropped = new Map<string, string>();
  readonly #changed: () => void;
  /** Resolves the next time that nothing goes on but waiting for answers. */
  #pause = Promise.withResolvers<void>();
  #shown: SessionState;
  #running: Running | null = null;
  #broken = false;

  /** `session` must be settled. `changed` is called when a turn has ended. */
  constructor(session: Session, tell: (event: FeedEvent) => void, changed: () => void) {
    this.session = session;
    this.#shown = session.state();
    this.#changed = changed;
    session.watch((event) => {
      if ("seq" in event) this.#see(event);
      tell(event);
    });
  }

  get id(): string {
    return this.session.id;
  }

  get state(): SessionState {
    return this.#shown;
  }

  get status(): SessionStatus {
    const { turn } = this.#shown;
    if (turn.kind === "idle") return "idle";
    if (this.#running === null) return "interrupted";
    const waits = this.#below.size > 0 || (turn.phase.kind === "calling" && turn.phase.calls.some(isAsking));
    return waits ? "waiting" : "running";
  }

  get running(): boolean {
    return this.#running !== null;
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** Only waits for answers: it needs nothing that other turns may lack. */
  get waiting(): boolean {
    return this.#running !== null && this.#onlyWaits;
  }

  get queued(): readonly QueuedPrompt[] {
    const first = this.#shown.counts.turns + 1;
    const waiting = [...(this.#beginning === null ? [] : [this.#beginning]), ...this.#queue];
    return waiting.map(({ text, by: { key } }, index) => ({ turn: first + index, text, ...(key === undefined ? {} : { key }) }));
  }

  /**
   * The prompt that the log or the queue has with this key.
   * @throws {DeskRefusal} it was another one, or it was dropped.
   */
  known(key: string, text: string): TakenPrompt | null {
    const recorded = recordedTurn(this.session.state(), key, text);
    if (recorded !== null) return repeated(recorded, false);
    const waiting = this.queued.find((each) => each.key === key);
    const dropped = this.#dropped.get(key);
    if (waiting === undefined ? dropped !== undefined && dropped !== sha256(text) : waiting.text !== text) throw keyReused();
    if (waiting !== undefined) return repeated(waiting.turn, true);
    if (dropped === undefined) return null;
    throw new DeskRefusal("dropped", "Cannot take this prompt again as it was dropped from the queue: send it with another key");
  }

  /** @throws {DeskRefusal} */
  async prompt(text: string, by: PromptedBy, ifBusy: "refuse" | "queue"): Promise<TakenPrompt> {
    if (this.#running === null && this.#queue.length === 0) return await this.#begin(text, by);
    if (ifBusy === "refuse") {
      throw new DeskRefusal("busy", `Cannot prompt session "${this.id}" as turn ${this.session.state().counts.turns} is running`);
    }
    if (this.#queue.length >= QUEUE_LIMIT) {
      throw new DeskRefusal("too_many_prompts", `Cannot queue a prompt in session "${this.id}" as ${QUEUE_LIMIT} are waiting`);
    }
    const ended = Promise.withResolvers<TurnResult | null>();
    // Whoever does not wait for the end need not hear how it ended.
    ended.promise.catch(() => undefined);
    this.#queue.push({ text, by, ended });
    return { turn: this.session.state().counts.turns + this.#queue.length, queued: true, ended: ended.promise };
  }

  /**
   * Holds for every call that was not decided yet, also one that is asked about. The event that says so; the last one
   * that there is, if it was the mode before. @throws {DeskRefusal}
   */
  async changeMode(mode: Mode, by: string): Promise<number> {
    const before = this.session.state();
    if (before.header?.mode === mode) return before.seq;
    this.#checkInPlace();
    try {
      return await this.session.changeMode(mode, by);
    } catch (error) {
      this.#broken = true;
      throw error;
    }
  }

  /** Takes up a turn that was left open. @throws {DeskRefusal} nothing is open, or it is running. */
  resume(): Omit<TakenPrompt, "queued"> {
    if (this.#running !== null) throw new DeskRefusal("busy", `Cannot resume session "${this.id}" as its turn is running`);
    if (this.#shown.turn.kind !== "idle") this.#checkInPlace();
    const { turn, told } = this.#takeUp(null);
    return { turn, ended: told };
  }

  /**
   * Nothing new begins from now on, questions are withdrawn, and queued prompts are dropped; after `grace_ms` the
   * calls that still run are ended. A turn that nobody drives is closed. @throws {DeskRefusal} no turn is open.
   */
  cancel(reason: StopReason, grace_ms: number): { readonly turn: number; readonly dropped: number } {
    const dropped = this.dropQueue();
    const running = this.#running ?? this.#takeUp(reason);
    running.stop.abort(reason);
    const insist = () => running.now.abort(reason);
    if (grace_ms <= 0) insist();
    else {
      const timer = setTimeout(insist, grace_ms);
      running.ended.catch(() => undefined).finally(() => clearTimeout(timer));
    }
    return { turn: running.turn, dropped };
  }

  /** Prompts that wait are not run; how many these were. */
  dropQueue(): number {
    const dropped = this.#queue.splice(0);
    for (const { ended, by, text } of dropped) {
      if (by.key !== undefined) this.#dropped.set(by.key, sha256(text));
      ended.resolve(null);
    }
    for (const oldest of this.#dropped.keys()) {
      if (this.#dropped.size <= DROPPED_LIMIT) break;
      this.#dropped.delete(oldest);
    }
    return dropped.length;
  }

  /** Resolves when the answer is durable. @throws {DeskRefusal} the call does not wait for this answer. */
  async answer(call: string, { input_digest, ...answer }: Answering): Promise<void> {
    const { turn } = this.session.state();
    const asked = turn.kind === "running" && turn.phase.kind === "calling"
      ? turn.phase.calls.find((each) => each.call === call)
      : undefined;
    if (asked?.status.kind === "requested") throw notAsked(call);
    if (asked?.status.kind !== "asking") throw notWaiting(call, this.session.state());
    if (this.#running === null) {
      throw new DeskRefusal("interrupted", `Cannot answer call "${call}" as its turn is not running: resume the session first`);
    }
    if (input_digest !== undefined && input_digest !== asked.status.input_digest) {
      throw altered(call);
    }
    if (answer.decision === "allow") this.#checkInPlace();
    if (!this.#approvals.answer(call, answer)) throw new DeskRefusal("settled", `Cannot answer call "${call}" as it has been answered`);
    const recorded = new Promise<SessionEvent>((resolve) => void this.#answered.set(call, resolve));
    const event = await Promise.race([recorded, this.#running.ended.then(() => null)]);
    if (event?.type !== "approval_answered") throw new DeskRefusal("settled", `Cannot answer call "${call}" as it was settled without one`);
  }

  /** Whether a session that works for this one waits for an answer: to this call, or to any. */
  asksFor(session: string, call?: string): boolean {
    return [...this.#below].some(([asked, below]) => below.session === session && (call === undefined || asked === call));
  }

  /** As `answer`, for a call that `asksFor` knows; resolves when the answer is on its way. @throws {DeskRefusal} */
  answerBelow(call: string, { input_digest, ...answer }: Answering): void {
    if (input_digest !== undefined && input_digest !== this.#below.get(call)?.input_digest) throw altered(call);
    if (answer.decision === "allow") this.#checkInPlace();
    if (!this.#approvals.answer(call, answer)) throw new DeskRefusal("settled", `Cannot answer call "${call}" as it has been answered`);
  }

  async #ask({ session, call, input }: Question, signal: AbortSignal): Promise<Answer> {
    if (session === undefined) return await this.#approvals.ask(call, signal);
    this.#below.set(call, { session, input_digest: inputDigest(input) });
    try {
      return await this.#approvals.ask(call, signal);
    } finally {
      this.#below.delete(call);
      this.#approvals.forget(call);
    }
  }

  /** No turn runs, or one that only waits for answers: such a one may be left. */
  get resting(): boolean {
    return this.#running === null || this.#onlyWaits;
  }

  async rested(): Promise<void> {
    while (this.#running !== null && !this.#onlyWaits) {
      await Promise.race([this.#pause.promise, this.#running.ended.then(() => undefined, () => undefined)]);
    }
  }

  /** A turn that waits goes on elsewhere: whoever waits for its end is told. */
  leave(): void {
    const turn = this.#running?.turn;
    this.#running?.leave(new DeskRefusal("draining", `Cannot wait for the end of turn ${turn} as the server shuts down: resume it later`));
  }

  get #onlyWaits(): boolean {
    const { turn, speculation } = this.#shown;
    if (turn.kind === "idle" || turn.phase.kind !== "calling" || this.#answered.size > 0) return false;
    return next(this.#shown).every(({ kind }) => kind === "ask_person") &&
      speculation.open.every(({ duration_ms }) => duration_ms !== null);
  }

  async #begin(text: string, by: PromptedBy): Promise<TakenPrompt> {
    const { turn } = this.session.state();
    if (turn.kind === "running") {
      throw new DeskRefusal(
        "interrupted",
        `Cannot prompt session "${this.id}" as turn ${turn.turn} was interrupted: resume or cancel it first`,
      );
    }
    this.#checkInPlace();
    const durable = Promise.withResolvers<void>();
    const { told } = this.#run(this.session.state().counts.turns + 1, null, (options) => {
      const begun = this.session.begin(text, { ...options, ...by });
      begun.durable.then(durable.resolve, durable.reject);
      return begun.ended;
    });
    await durable.promise;
    return { turn: this.session.state().counts.turns, queued: false, ended: told };
  }

  /** S5. @throws {DeskRefusal} */
  #checkInPlace(): void {
    const workspace = this.session.state().header?.workspace ?? "";
    if (!isInPlace(workspace)) throw workspaceGone(this.id, workspace);
  }

  #takeUp(stopped: StopReason | null): Running {
    const { turn } = this.session.state();
    if (turn.kind === "idle") throw new DeskRefusal("no_turn", `Cannot find a turn to work on as none is open in session "${this.id}"`);
    return this.#run(turn.turn, stopped, async (options) => {
      const result = await this.session.resume(options);
      if (result === null) throw new Error(`Cannot resume session "${this.id}": its turn was closed meanwhile`);
      return result;
    });
  }

  /** `stopped`: the turn is only closed, nothing of it begins. */
  #run(turn: number, stopped: StopReason | null, start: (options: TurnOptions) => Promise<TurnResult>): Running {
    const [stop, now] = [new AbortController(), new AbortController()];
    if (stopped !== null) stop.abort(stopped);
    const ask = (question: Question, signal: AbortSignal) => this.#ask(question, signal);
    const approver = Object.assign(ask, { takes_many: true as const });
    const ended = start({ stop: stop.signal, now: now.signal, approver }).catch((error: unknown) => {
      this.#broken = true;
      throw error;
    }).finally(() => this.#finish());
    const left = Promise.withResolvers<never>();
    const told = Promise.race([ended, left.promise]);
    // Not everybody who begins a turn waits for it.
    told.catch(() => undefined);
    this.#running = { turn, stop, now, ended, told, leave: left.reject };
    return this.#running;
  }

  #finish(): void {
    this.#running = null;
    const first = this.#queue.shift();
    if (first === undefined) return this.#changed();
    this.#beginning = first;
    this.#begin(first.text, first.by).then(({ ended }) => first.ended.resolve(ended), (error: unknown) => {
      this.#beginning = null;
      first.ended.reject(error);
      if (this.#running === null) this.#finish();
    });
  }

  #see(event: Extract<FeedEvent, { readonly seq: number }>): void {
    if (event.seq <= this.#shown.seq) return;
    this.#shown = evolve(this.#shown, event);
    if (isKnown(event) && event.type === "prompted") this.#beginning = null;
    if (isKnown(event) && (event.type === "approval_answered" || event.type === "call_allowed" || event.type === "call_ended")) {
      this.#settle(event);
    }
    if (!this.#onlyWaits) return;
    this.#pause.resolve();
    this.#pause = Promise.withResolvers<void>();
  }

  #settle(event: EventOf<"approval_answered" | "call_allowed" | "call_ended">): void {
    this.#approvals.forget(event.call);
    this.#answered.get(event.call)?.(event);
    this.#answered.delete(event.call);
  }
}

/** Taken before: nothing is said of its end. */
export function repeated(turn: number, queued: boolean): TakenPrompt {
  return { turn, queued, repeated: true, ended: Promise.resolve(null) };
}

function isAsking(call: CallState): boolean {
  return call.status.kind === "asking";
}

function altered(call: string): DeskRefusal {
  return new DeskRefusal("altered", `Cannot answer call "${call}" as it waits with another input than the one that was answered`);
}
