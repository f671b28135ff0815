/**
 * What is live in one session now: what was told since the last durable event that replaces it. Whoever joins is given
 * it, so that it makes no difference when one came. Promises P5 and P8.
 *
 * N1  It says what a reader has that was there from the beginning.
 * N2  It is bounded: of more the end is kept, and `omitted` says how much is missing before it.
 * N3  Each of its parts begins with an event that is `whole`: it replaces what a reader may have of that part. What a
 *     reply had before it began anew is taken back first, as it may have parts no more.
 */
import { isKnown, type StoredEvent } from "../session/event.ts";
import type { LiveEvent } from "../session/live.ts";
import type { FeedEvent } from "./feed.ts";
import { type Line, toLine } from "./readers-line.ts";

/** Of a reply's text, and of its reasoning, in characters. */
const TEXT_CHARACTERS = 512 * 1024;
/** Of what one call has printed, in characters. */
const OUTPUT_CHARACTERS = 64 * 1024;
const MOST_ANNOUNCED = 256;
const NAME_CHARACTERS = 200;
/** Fewer run at the same time. Of more nothing is kept. */
const MOST_CALLS = 64;
/** A longer status is not kept. */
const STATUS_CHARACTERS = 16 * 1024;

type Status = Extract<LiveEvent, { type: "status" }>;
type Stream = Extract<LiveEvent, { type: "call_output" }>["stream"];

/** A reply that is being written. */
interface Draft {
  readonly step: number;
  readonly attempt: number;
  /** It began anew: a reader may have what was told of it before. */
  readonly anew: boolean;
  readonly text: KeptEnd<"text">;
  readonly reasoning: KeptEnd<"reasoning">;
  readonly announced: string[];
}

export class LiveNow {
  readonly #session: string;
  #draft: Draft | null = null;
  readonly #outputs = new Map<string, KeptEnd<Stream>>();
  /** The last of each call, and under "" the last of none. */
  readonly #statuses = new Map<string, Status>();
  #lines: readonly Line[] | null = null;

  constructor(session: string) {
    this.#session = session;
  }

  take(event: FeedEvent): void {
    this.#lines = null;
    if ("seq" in event) this.#settle(event);
    else this.#add(event);
  }

  clear(): void {
    this.#lines = null;
    this.#draft = null;
    this.#outputs.clear();
    this.#statuses.clear();
  }

  /** The same ones until something happens, whoever asks. */
  lines(): readonly Line[] {
    return this.#lines ??= [...this.#draftEvents(), ...this.#outputEvents(), ...this.#statusEvents()].map(toLine);
  }

  #settle(event: StoredEvent): void {
    if (!isKnown(event)) return;
    if (event.type === "turn_ended") return this.clear();
    if (event.type === "attempt_started" || event.type === "attempt_failed" || event.type === "reply_committed") this.#draft = null;
    if (event.type !== "call_ended") return;
    this.#outputs.delete(event.call);
    this.#statuses.delete(event.call);
  }

  #add(event: LiveEvent): void {
    switch (event.type) {
      case "text_delta":
        return this.#draftOf(event).text.add("text", event.text);
      case "reasoning_delta":
        return this.#draftOf(event).reasoning.add("reasoning", event.text);
      case "call_output":
        if (event.whole === true) this.#outputs.delete(event.call);
        return this.#outputOf(event.call)?.add(event.stream, event.text);
      case "status":
        return this.#addStatus(event);
    }
  }

  #addStatus(event: Status): void {
    const { status, step, attempt, text = "", call = "" } = event;
    if (step === undefined || attempt === undefined) {
      this.#statuses.delete(call);
      if (this.#statuses.size < MOST_CALLS && JSON.stringify(event).length <= STATUS_CHARACTERS) this.#statuses.set(call, event);
    } else if (status === "superseded") this.#draft = newDraft(step, attempt, true);
    else if (status === "call_announced") {
      const { announced } = this.#draftOf({ step, attempt });
      if (announced.length < MOST_ANNOUNCED) announced.push(text.slice(0, NAME_CHARACTERS).toWellFormed());
    }
  }

  #draftOf({ step, attempt }: Pick<Draft, "step" | "attempt">): Draft {
    if (this.#draft?.step === step && this.#draft.attempt === attempt) return this.#draft;
    return this.#draft = newDraft(step, attempt, false);
  }

  #outputOf(call: string): KeptEnd<Stream> | undefined {
    const known = this.#outputs.get(call);
    if (known !== undefined || this.#outputs.size >= MOST_CALLS) return known;
    const output = new KeptEnd<Stream>(OUTPUT_CHARACTERS);
    this.#outputs.set(call, output);
    return output;
  }

  *#draftEvents(): Generator<LiveEvent> {
    if (this.#draft === null) return;
    const { step, attempt, anew, text, reasoning, announced } = this.#draft;
    const where = { session: this.#session, step, attempt };
    if (anew) yield { type: "status", ...where, status: "superseded" };
    yield* reasoning.events((piece) => ({ type: "reasoning_delta", ...where, text: piece }));
    yield* text.events((piece) => ({ type: "text_delta", ...where, text: piece }));
    for (const [index, name] of announced.entries()) {
      const event: LiveEvent = { type: "status", ...where, status: "call_announced", text: name };
      yield index === 0 ? { ...event, whole: true } : event;
    }
  }

  *#outputEvents(): Generator<LiveEvent> {
    for (const [call, output] of this.#outputs) {
      yield* output.events((text, stream) => ({ type: "call_output", session: this.#session, call, stream, text }));
    }
  }

  *#statusEvents(): Generator<LiveEvent> {
    for (const status of this.#statuses.values()) yield { ...status, whole: true };
  }
}

function newDraft(step: number, attempt: number, anew: boolean): Draft {
  const [text, reasoning] = [new KeptEnd<"text">(TEXT_CHARACTERS), new KeptEnd<"reasoning">(TEXT_CHARACTERS)];
  return { step, attempt, anew, text, reasoning, announced: [] };
}

/** Pieces are joined up to this. */
const PIECE_CHARACTERS = 16 * 1024;
/** Around a piece's own text. */
const PIECE_COST = 160;

/** The end of what came on some streams, in the order in which it came. */
class KeptEnd<S extends string> {
  readonly #most: number;
  readonly #pieces: { readonly stream: S; text: string }[] = [];
  #size = 0;
  #omitted = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(stream: S, text: string): void {
    const last = this.#pieces[this.#pieces.length - 1];
    if (last?.stream === stream && last.text.length < PIECE_CHARACTERS) last.text += text;
    else {
      this.#pieces.push({ stream, text });
      this.#size += PIECE_COST;
    }
    this.#size += text.length;
    // Not with every piece: cutting costs.
    if (this.#size > this.#most * 1.25) this.#cut();
  }

  *events(toEvent: (text: string, stream: S) => LiveEvent): Generator<LiveEvent> {
    const omitted = this.#omitted === 0 ? {} : { omitted: this.#omitted };
    for (const [index, { stream, text }] of this.#pieces.entries()) {
      const event = toEvent(text, stream);
      yield index === 0 ? { ...event, whole: true, ...omitted } : event;
    }
  }

  #cut(): void {
    for (let first = this.#pieces[0]; first !== undefined && this.#size > this.#most; first = this.#pieces[0]) {
      const excess = this.#size - this.#most;
      const gone = excess < first.text.length ? borderBehind(first.text, excess) : first.text.length;
      this.#omitted += gone;
      this.#size -= gone;
      first.text = first.text.slice(gone);
      if (first.text !== "") continue;
      this.#pieces.shift();
      this.#size -= PIECE_COST;
    }
  }
}

/** Not between the halves of a surrogate pair. */
export function borderBehind(text: string, at: number): number {
  const half = text.charCodeAt(at);
  return half >= 0xdc00 && half <= 0xdfff ? at + 1 : at;
}
