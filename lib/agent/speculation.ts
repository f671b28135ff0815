/**
 * Read-only calls that run while the model still streams. Promises P3, P6, P7: what is started early is safe to
 * repeat, was allowed by the one gate, and changes nothing but when its result is there.
 *
 * E1  A run is known by (name, canonical input, n-th occurrence), never by a provider's id.
 * E2  A retried attempt of the same step takes over what an earlier one started; nothing is started twice.
 * E3  A call that is announced after one that is not read-only does not start in that attempt.
 * E4  Every run ends as adopted by one call or as discarded with its reason: at once where its call ends without it.
 * E5  What a run says is told as its call's, and only from when that call has started.
 */
import type { EventBody, RequestedCall } from "../session/event.ts";
import { parseArguments } from "../session/arguments.ts";
import type { JsonInput } from "../session/json.ts";
import { UNWANTED } from "../supervisor/first-cause.ts";
import type { Tool } from "../tools/tool.ts";
import { type Claimed, type EarlyRun, identityOf, keyOf, type Settled, startEarly, type Wanted } from "./early-run.ts";
import { whyUnfit } from "./fitness.ts";
import { now } from "./ids.ts";
import type { Slots } from "./slots.ts";
import type { TurnPorts, TurnSignals } from "./turn.ts";
import { WrittenCalls } from "./written-calls.ts";

type Why = Omit<EventBody<"speculation_discarded">, "speculation">;
type DiscardReason = Why["reason"];

/** Its call was not allowed, or could not start. */
const REFUSED: Why = { reason: "cancelled", cause: "refused" };

/** What is kept for a call. */
export interface Reserved {
  /** The early run that the call takes over, which may still be under way; null if the call must run itself. */
  claim(input: JsonInput, program: string): Promise<Claimed | null>;
  /** The call ends without it. */
  forgo(why?: Why): void;
}

/** The early runs of one step. */
export class Speculator {
  readonly #ports: TurnPorts;
  readonly #signals: TurnSignals;
  readonly #slots: Slots;
  readonly #runs = new Map<string, EarlyRun>();
  /** What waits for a place, by key. */
  readonly #queue = new Map<string, Wanted>();
  /** Those that the reply asks for, by the calls that have not begun to start. */
  readonly #kept = new Map<string, EarlyRun>();
  readonly #settling = new Set<Promise<void>>();
  readonly #written = new WrittenCalls();
  #open = false;

  constructor(ports: TurnPorts, signals: TurnSignals, slots: Slots) {
    this.#ports = ports;
    this.#signals = signals;
    this.#slots = slots;
    slots.onFree(() => this.#startQueued());
    // What a call has taken over is let finish, like a call; nothing else has anybody left to want it.
    for (const signal of [signals.stop, signals.now]) signal.addEventListener("abort", () => this.#abandon(), { once: true });
  }

  /** A new attempt at the step's reply, or the same one from its beginning. */
  beginAttempt(): void {
    const { stop, now } = this.#signals;
    this.#queue.clear();
    this.#written.clear();
    this.#open = this.#ports.speculate && !stop.aborted && !now.aborted;
  }

  /** The model has begun to write a call of this name, or has written more of the name. */
  announce(position: number, name: string): void {
    this.#written.announce(position, this.#ports.tools.find(name)?.read_only === true);
  }

  /** A call's arguments are complete. */
  offer(position: number, name: string, text: string): void {
    if (!this.#open || this.#written.isFenced(position)) return;
    const tool = this.#ports.tools.find(name);
    const parsed = parseArguments(text);
    const identity = tool === undefined || parsed.kind !== "input" ? null : identityOf(name, parsed.input);
    this.#written.ask(position, identity);
    if (tool === undefined || identity === null) return;
    const number = this.#firstMissing(identity);
    const input = number === null ? null : this.#allowedEarly(tool, text);
    if (number === null || input === null) return;
    this.#queue.set(keyOf(identity, number), { identity, number, tool, input });
    this.#startQueued();
  }

  /** Of as many runs as the reply asks for by now, the first that there is not. */
  #firstMissing(identity: string): number | null {
    const count = this.#written.count(identity);
    for (let number = 1; number <= count; number++) {
      const key = keyOf(identity, number);
      if (!this.#runs.has(key) && !this.#queue.has(key)) return number;
    }
    return null;
  }

  /** The attempt has ended without a reply: nothing more starts until the next one. */
  endAttempt(): void {
    this.#open = false;
    this.#queue.clear();
  }

  /** The reply is recorded: runs that it asks for are kept for their calls, the others end. */
  commit(calls: readonly RequestedCall[]): void {
    this.endAttempt();
    const counts = new Map<string, number>();
    const asked = new Set<string>();
    let fenced = false;
    for (const call of calls) {
      asked.add(call.name);
      const parsed = parseArguments(call.arguments);
      fenced ||= this.#ports.tools.find(call.name)?.read_only !== true;
      if (parsed.kind !== "input") continue;
      const identity = identityOf(call.name, parsed.input);
      const number = (counts.get(identity) ?? 0) + 1;
      counts.set(identity, number);
      const run = this.#runs.get(keyOf(identity, number));
      if (run === undefined) continue;
      this.#runs.delete(keyOf(identity, number));
      if (fenced) void this.#discard(run, { reason: "fenced" });
      else this.#kept.set(call.call, run);
    }
    // Asked for less often than it was begun is not asked for with something else.
    this.#discardAll((run) => asked.has(run.tool.name) && !counts.has(run.identity) ? "input_changed" : "not_asked");
  }

  /** The early run that is kept for this call, which is about to start; null if there is none. */
  reserve(call: string): Reserved | null {
    const early = this.#kept.get(call);
    if (early === undefined) return null;
    this.#kept.delete(call);
    let isOpen = true;
    return {
      claim: (input, program) => {
        isOpen = false;
        return this.#claim(early, input, program);
      },
      forgo: (why = REFUSED) => {
        if (isOpen) void this.#discard(early, why);
        isOpen = false;
      },
    };
  }

  /** A call that has ended, in whatever way, takes nothing over any more. To be told before anything else may start. */
  forgoEnded(): void {
    const { turn } = this.#ports.recorder.state;
    const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
    const open = new Set(calls.flatMap(({ call, status }) => status.kind === "ended" ? [] : [call]));
    for (const call of [...this.#kept.keys()]) if (!open.has(call)) this.reserve(call)?.forgo();
  }

  async #claim(early: EarlyRun, input: JsonInput, program: string): Promise<Claimed | null> {
    const { speculation, talk } = early;
    const isOther = input.text !== early.input.text;
    if (isOther || await early.program !== program) {
      await this.#discard(early, { reason: isOther ? "input_changed" : "stale" });
      return null;
    }
    void this.#await(early.finished);
    const settled = this.#settle(early);
    // A failed append ends the turn through the recorder.
    settled.catch(() => undefined);
    if (early.run !== null && await settled === null) return null;
    return {
      speculation,
      talk,
      settled,
      get ended() {
        return early.run !== null;
      },
    };
  }

  async #settle(early: EarlyRun): Promise<Settled | null> {
    const run = await early.finished;
    const reason = await whyUnfit(early, run, this.#ports.planContext(null).workspace);
    if (reason === null) return { run, adopted: true };
    await this.#discard(early, { reason });
    return reason === "cancelled" && this.#signals.now.aborted ? { run, adopted: false } : null;
  }

  /** Resolves when all that was thrown away has ended and is recorded. */
  async discarded(): Promise<void> {
    await Promise.all(this.#settling);
  }

  /** Ends what nobody has adopted. */
  async close(reason: DiscardReason): Promise<void> {
    this.#abandon(reason);
    await this.discarded();
  }

  /** What would run, if the gate allows it without asking anybody; null if it must wait. */
  #allowedEarly(tool: Tool, text: string): JsonInput | null {
    if (!tool.read_only || !tool.speculation_safe) return null;
    const mode = this.#ports.recorder.state.header?.mode ?? "normal";
    return this.#ports.gate.allowsUnasked({ name: tool.name, arguments: text, mode, tools: this.#ports.tools });
  }

  #startQueued(): void {
    for (const [key, wanted] of this.#queue) {
      // The call may have come to ask for something else meanwhile.
      const isWanted = wanted.number <= this.#written.count(wanted.identity);
      if (isWanted && !(this.#open && this.#slots.tryTake())) return;
      this.#queue.delete(key);
      if (isWanted && !this.#start(key, wanted)) this.#slots.release();
    }
  }

  /** False if there is nothing to start. */
  #start(key: string, wanted: Wanted): boolean {
    const run = startEarly(wanted, this.#ports, this.#signals.now, () => this.#slots.release());
    if (run !== null) this.#runs.set(key, run);
    return run !== null;
  }

  #abandon(reason: DiscardReason = "cancelled"): void {
    this.endAttempt();
    for (const call of [...this.#kept.keys()]) this.reserve(call)?.forgo({ reason });
    this.#discardAll(() => reason);
  }

  /** Those that the reply did not ask for. */
  #discardAll(reason: (run: EarlyRun) => DiscardReason): void {
    for (const run of this.#runs.values()) void this.#discard(run, { reason: reason(run) });
    this.#runs.clear();
  }

  /** Ends it, if it still runs. Resolves when that is recorded. */
  #discard({ speculation, stop, finished }: EarlyRun, why: Why): Promise<void> {
    stop.abort(UNWANTED);
    return this.#await(finished.then(() => {
      this.#ports.recorder.record({ type: "discard_speculation", at: now(), speculation, ...why });
    }));
  }

  /** `close` waits for it, however the turn ends. */
  #await(ending: Promise<unknown>): Promise<void> {
    // A failed append ends the turn through the recorder.
    const settled = ending.then(() => undefined, () => undefined).finally(() => this.#settling.delete(settled));
    this.#settling.add(settled);
    return settled;
  }
}
