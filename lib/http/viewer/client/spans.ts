/** What took time: replies being written, calls, early runs, waits for an answer. One list for the timeline drawing. */
import type { EventOf } from "../../../session/event.ts";
import { plural } from "./format.ts";
import type { RecordedEvent } from "./wire.ts";

export type Row = "model" | "early" | "call" | "wait";

/** `used`, `unused`: an early run whose result became a call's, or nobody's. */
export type Tone = "good" | "bad" | "unknown" | "used" | "unused";

export interface Span {
  /** Of the call, the early run or the attempt. */
  readonly id: string;
  readonly row: Row;
  readonly turn: number;
  readonly step: number;
  readonly name: string;
  /** The call whose it is. */
  call: string | null;
  readonly seq: number;
  readonly from: number;
  /** Null: it goes on. */
  to: number | null;
  tone: Tone;
  /** What became of it, in a word or two. */
  fate: string;
}

export class Spans {
  readonly all: Span[] = [];
  readonly #open = new Map<string, Span>();
  /** Early runs whose fate is open. */
  readonly #early = new Map<string, Span>();
  readonly #names = new Map<string, string>();
  #step = 0;
  #last = 0;

  apply(event: RecordedEvent, at: number, turn: number): void {
    this.#take(event, at, turn);
    this.#last = at;
  }

  #take(event: RecordedEvent, at: number, turn: number): void {
    switch (event.type) {
      case "step_started":
        this.#step = event.step;
        return this.#abandonModel();
      case "attempt_started":
        this.#abandonModel();
        return this.#begin({
          id: "model",
          row: "model",
          name: replyName(event.step, event.attempt),
          seq: event.seq,
          from: at,
          turn,
          fate: "being written",
        });
      case "attempt_failed":
        return this.#end("model", at, "bad", `failed: ${event.error.kind}`);
      case "reply_committed":
        for (const { call, name } of event.calls) this.#names.set(call, name);
        return this.#end("model", at, "good", callsText(event.calls.length));
      case "speculation_started":
        this.#begin({ id: event.speculation, row: "early", name: event.name, seq: event.seq, from: at, turn, fate: "runs early" });
        return this.#remember(event.speculation);
      case "speculation_ended":
        return this.#end(event.speculation, at, "good", "ready");
      case "speculation_discarded":
        return this.#discard(event, at);
      case "approval_requested":
        return this.#begin({
          id: `wait ${event.call}`,
          row: "wait",
          name: this.#nameOf(event.call),
          seq: event.seq,
          from: at,
          turn,
          fate: "waits",
        }, event.call);
      case "approval_answered":
        return this.#end(
          `wait ${event.call}`,
          at,
          event.decision === "allow" ? "good" : "bad",
          event.decision === "allow" ? "allowed" : "denied",
        );
      case "call_allowed":
        return this.#end(`wait ${event.call}`, at, "good", "allowed");
      case "call_started":
        return this.#begin({ id: event.call, row: "call", name: event.name, seq: event.seq, from: at, turn, fate: "runs" }, event.call);
      case "call_ended":
        return this.#endCall(event, at);
      case "turn_ended":
        for (const id of [...this.#open.keys()]) this.#end(id, at, "unknown", "ended with its turn");
        return;
      default:
        return;
    }
  }

  #begin(span: Omit<Span, "to" | "tone" | "step" | "call">, call: string | null = null): void {
    const begun: Span = { ...span, call, step: this.#step, to: null, tone: "good" };
    this.all.push(begun);
    this.#open.set(span.id, begun);
  }

  #end(id: string, at: number, tone: Tone, fate: string): void {
    const span = this.#open.get(id);
    if (span === undefined) return;
    Object.assign(span, { to: at, tone, fate });
    this.#open.delete(id);
  }

  /** The runtime died while the model wrote: it stopped with the last thing that was recorded, not when somebody resumed. */
  #abandonModel(): void {
    this.#end("model", this.#last, "unknown", "interrupted");
  }

  #remember(id: string): void {
    const span = this.#open.get(id);
    if (span !== undefined) this.#early.set(id, span);
  }

  #discard({ speculation, reason, cause = reason }: EventOf<"speculation_discarded">, at: number): void {
    const early = this.#early.get(speculation);
    if (early === undefined) return;
    this.#end(speculation, at, "unused", "");
    Object.assign(early, { tone: "unused", fate: `not used: ${cause.replaceAll("_", " ")}` });
    this.#early.delete(speculation);
  }

  #endCall(event: EventOf<"call_ended">, at: number): void {
    const { call, outcome, result, duration_ms, speculation } = event;
    this.#end(`wait ${call}`, at, "unknown", "withdrawn");
    const span = this.#open.get(call);
    // When a lost call really ended nobody knows: it is drawn as long as it is known to have run.
    if (outcome.kind === "unknown") this.#end(call, Math.min(at, (span?.from ?? at) + duration_ms), "unknown", "outcome unknown");
    else this.#end(call, at, result.is_error ? "bad" : "good", result.is_error ? "failed" : "done");
    if (speculation !== undefined) this.#adopt(speculation, call, at);
  }

  #adopt(id: string, call: string, at: number): void {
    const early = this.#early.get(id);
    if (early === undefined) return;
    this.#early.delete(id);
    this.#end(id, at, "used", "");
    Object.assign(early, { tone: "used", fate: "ran early, used", call });
  }

  #nameOf(call: string): string {
    return this.#names.get(call) ?? "call";
  }
}

function replyName(step: number, attempt: number): string {
  return `reply ${step}${attempt === 1 ? "" : `, attempt ${attempt}`}`;
}

function callsText(calls: number): string {
  return calls === 0 ? "an answer" : `asks for ${plural(calls, "call")}`;
}
