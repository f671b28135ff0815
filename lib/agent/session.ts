/** One open session: who may append to it, its state, and the turns it runs. */
import type { Lease } from "../journal/journal.ts";
import { worthOf } from "../session/early-runs.ts";
import type { LiveEvent } from "../session/live.ts";
import type { Message } from "../session/message.ts";
import type { ChildUse } from "../session/command.ts";
import type { Mode, Outcome, Usage } from "../session/outcome.ts";
import type { CallState, Entry, SessionState } from "../session/state.ts";
import { entriesOf, transcript } from "../session/transcript.ts";
import { mayHaveStarted } from "../session/unread.ts";
import type { Approver } from "./approver.ts";
import type { Feed, Listener } from "./feed.ts";
import { now } from "./ids.ts";
import { takenOver } from "./leftovers.ts";
import { runTurn } from "./loop.ts";
import type { Recorder } from "./recorder.ts";
import { requireText } from "./text.ts";
import type { StopReason, TurnCall, TurnNotes, TurnPorts, TurnResult } from "./turn.ts";

export interface TurnOptions {
  /** Aborts at a safe point: running calls are let finish. */
  readonly stop?: AbortSignal;
  /** Aborts at once: running calls are ended. */
  readonly now?: AbortSignal;
  /** Wall clock of the whole turn; the organisation's limit holds all the same. */
  readonly timeout_ms?: number;
  /** When that time began, of `performance.now()`; else with the turn. */
  readonly timeout_since?: number;
  /** Asks a person in this turn, in place of the runtime's own way. */
  readonly approver?: Approver;
}

/** Where a prompt comes from. */
export interface PromptedBy {
  readonly source: string;
  /** Recorded with it: whoever sends it again can be told that it was taken. */
  readonly key?: string;
}

/** A turn that has begun. */
export interface BegunTurn {
  readonly turn: number;
  /** Resolves when the prompt is durable. */
  readonly durable: Promise<void>;
  /** @throws what the journal throws. */
  readonly ended: Promise<TurnResult>;
}

/** Thrown when the present state refuses what was asked; `code` says why (`busy`, `no_turn`, …). */
export class SessionRefusal extends Error {
  override readonly name = "SessionRefusal";
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

/** How a turn ends that another process asked to cancel. */
export const CANCELLED_ELSEWHERE: StopReason = { reason: "cancelled", detail: "cancelled by another process" };

export class Session {
  readonly id: string;
  readonly #ports: TurnPorts;
  readonly #lease: Lease;
  readonly #used: ReadonlyMap<string, ChildUse>;
  #running = false;
  /** The newest turn that was driven here, and the state that its result is told against. */
  #driven: { readonly turn: number; readonly before: SessionState } | null = null;

  /** `used`: what children have used for calls that were found running. */
  constructor(ports: TurnPorts, lease: Lease, used: ReadonlyMap<string, ChildUse> = new Map()) {
    this.id = ports.session;
    this.#ports = ports;
    this.#lease = lease;
    this.#used = used;
  }

  state(): SessionState {
    return this.#recorder.state;
  }

  /** As much of the state as is in the log for certain. */
  recorded(): SessionState {
    return this.#recorder.durable;
  }

  messages(): readonly Message[] {
    return transcript(this.state());
  }

  /** Tells those who watch something that is in no log. */
  tell(event: LiveEvent): void {
    this.#feed.tell(event);
  }

  /** Tells the listener what is recorded from now on, and live events between. */
  watch(listener: Listener): () => void {
    return this.#feed.watch(listener);
  }

  /**
   * Runs one turn to its end.
   * @throws {SessionRefusal} `busy` while a turn is open. @throws what the journal throws.
   */
  async prompt(text: string, options: PromptedBy & TurnOptions): Promise<TurnResult> {
    return await this.begin(text, options).ended;
  }

  /** As `prompt`, for whoever does not wait for the end. @throws {SessionRefusal} @throws {TypeError} the prompt is no text. */
  begin(text: string, options: PromptedBy & TurnOptions): BegunTurn {
    requireText(text, "a prompt");
    const { source, key } = options;
    const recorded = this.#recorder.record({ type: "prompt", at: now(), text, source, ...(key === undefined ? {} : { key }) });
    if (recorded.kind === "refused") {
      throw new SessionRefusal(recorded.refusal.code, `Cannot prompt session "${this.id}" as ${recorded.refusal.message}`);
    }
    return { turn: this.state().counts.turns, durable: recorded.durable, ended: this.#run(options) };
  }

  /**
   * Holds for every call that is not authorized yet, also of a turn that runs. The number of the event that says so.
   * @throws what the journal throws.
   */
  async changeMode(mode: Mode, by: string): Promise<number> {
    const { durable } = this.#recorder.mustRecord({ type: "change_mode", at: now(), mode, by });
    const { seq } = this.state();
    await durable;
    return seq;
  }

  /** Resolves when all that was recorded is durable. @throws what the journal throws. */
  async settled(): Promise<void> {
    await this.#recorder.flush();
  }

  /**
   * Finishes a turn that its runtime left open; null if nothing is open.
   * @throws what the journal throws.
   */
  async resume(options: TurnOptions): Promise<TurnResult | null> {
    if (this.#running) throw new SessionRefusal("busy", `Cannot resume session "${this.id}" as a turn is running`);
    if (this.state().turn.kind === "idle") return null;
    const before = this.state();
    this.#recorder.mustRecord({ type: "resume", at: now(), ...takenOver(this.#lease), used: this.#used });
    return await this.#run(options, before);
  }

  /** What the log has of a turn that could not be driven to its end; null if none was begun. */
  soFar(): TurnResult | null {
    if (this.#driven === null || this.recorded().header === null) return null;
    const { turn, before } = this.#driven;
    return { ...toResult(turn, before, this.recorded(), newNotes()), reason: "failed", timed_out: false };
  }

  /** Releases the session; an open turn stays open in the log. */
  async close(): Promise<void> {
    try {
      await this.#recorder.flush();
    } finally {
      await this.#lease.release();
    }
  }

  get #recorder(): Recorder {
    return this.#ports.recorder;
  }

  get #feed(): Feed {
    return this.#ports.feed;
  }

  /** `before`: the state that the result is told against. */
  async #run(options: TurnOptions, before = this.state()): Promise<TurnResult> {
    const notes = newNotes();
    const { turn: opened, counts } = this.state();
    const turn = opened.kind === "running" ? opened.turn : counts.turns;
    this.#driven = { turn, before };
    const clock = wallClock(allowedMs(options, this.#ports), options.timeout_since);
    const asked = this.#listenForCancel();
    const stops = [asked.stop, ...(options.stop === undefined ? [] : [options.stop])];
    const nows = [clock.signal, asked.now, ...(options.now === undefined ? [] : [options.now])];
    this.#running = true;
    try {
      const ports = options.approver === undefined ? this.#ports : { ...this.#ports, approver: options.approver };
      await runTurn(ports, { stop: AbortSignal.any(stops), now: AbortSignal.any(nows) }, notes);
      return { ...toResult(turn, before, this.state(), notes), timed_out: clock.signal.aborted };
    } finally {
      this.#running = false;
      clock.stop();
      asked.close();
    }
  }

  /** Another process may ask for the end of the turn that is open now. */
  #listenForCancel(): { readonly stop: AbortSignal; readonly now: AbortSignal; close(): void } {
    const [stop, now] = [new AbortController(), new AbortController()];
    const { turn } = this.state();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = this.#lease.listen((request) => {
      if (turn.kind !== "running" || request.turn !== turn.turn) return;
      stop.abort(CANCELLED_ELSEWHERE);
      if (request.grace_ms <= 0) now.abort(CANCELLED_ELSEWHERE);
      else timer ??= setTimeout(() => now.abort(CANCELLED_ELSEWHERE), request.grace_ms);
    });
    const close = () => {
      leave();
      clearTimeout(timer);
    };
    return { stop: stop.signal, now: now.signal, close };
  }
}

/** What is asked for one turn counts before the settings, and never above the organisation's limit. */
function allowedMs(asked: TurnOptions, { timeout_ms, timeout_most_ms }: TurnPorts): number | null {
  const wanted = asked.timeout_ms ?? timeout_ms;
  return wanted === null || timeout_most_ms === null ? wanted ?? timeout_most_ms : Math.min(wanted, timeout_most_ms);
}

function wallClock(timeout_ms: number | null, since = performance.now()): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  if (timeout_ms === null) return { signal: controller.signal, stop: () => undefined };
  const reason: StopReason = { reason: "stopped", detail: `wall clock of ${Number((timeout_ms / 1000).toPrecision(3))} s reached` };
  const left = since + timeout_ms - performance.now();
  if (left <= 0) controller.abort(reason);
  const timer = setTimeout(() => controller.abort(reason), Math.max(0, left));
  return { signal: controller.signal, stop: () => clearTimeout(timer) };
}

function newNotes(): TurnNotes {
  return { unanswered: false, error: null, answered: false, consultations: 0 };
}

function toResult(turn: number, before: SessionState, after: SessionState, notes: TurnNotes): Omit<TurnResult, "timed_out"> {
  const last = after.turn.kind === "idle" && after.turn.last?.turn === turn ? after.turn.last : null;
  const replies = entriesOf(after).filter((entry): entry is Extract<Entry, { kind: "reply" }> =>
    entry.kind === "reply" && entry.turn === turn
  );
  return {
    turn,
    reason: last?.reason ?? "failed",
    ...(last?.detail === undefined ? {} : { detail: last.detail }),
    text: replies[replies.length - 1]?.reply.text ?? "",
    ...(notes.error === null ? {} : { error: notes.error }),
    unanswered: notes.unanswered,
    steps: after.counts.steps - before.counts.steps + (isAsking(before) ? 1 : 0),
    calls: replies.flatMap((reply) => reply.calls.map(toTurnCall)),
    usage: subtract(after.usage, before.usage),
    speculation: worthOf(after.speculation, before.speculation),
  };
}

/** Whether the step that was open had no reply yet: that is asked for here, though the step began elsewhere. */
function isAsking({ turn }: SessionState): boolean {
  return turn.kind === "running" && turn.phase.kind === "asking";
}

function toTurnCall(call: CallState): TurnCall {
  const { call: id, name, status } = call;
  if (status.kind !== "ended") return { call: id, name, is_error: true, outcome: soFarOf(call) };
  const { outcome, result, speculation } = status;
  return { call: id, name, is_error: result.is_error, outcome, ...(speculation === undefined ? {} : { speculation }) };
}

/** What the log has of a call whose end could not be recorded. */
function soFarOf(call: CallState): Outcome {
  if (mayHaveStarted(call)) return { kind: "unknown", cause: "not_recorded" };
  return { kind: "not_started", reason: call.status.kind === "denied" ? "denied" : "pending" };
}

function subtract(total: Usage, before: Usage): Usage {
  const optional = (key: Exclude<keyof Usage, "input_tokens" | "output_tokens">) =>
    total[key] === undefined ? {} : { [key]: total[key] - (before[key] ?? 0) };
  return {
    input_tokens: total.input_tokens - before.input_tokens,
    output_tokens: total.output_tokens - before.output_tokens,
    ...optional("cached_input_tokens"),
    ...optional("cache_write_input_tokens"),
    ...optional("reasoning_tokens"),
    ...optional("cost_usd"),
    ...optional("unreported_replies"),
  };
}
