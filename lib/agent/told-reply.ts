/**
 * What watchers are told of a reply while it is written. One that begins anew says most often what it said before: then
 * only what is new is told. Once it says anything else, what was told is taken back as that of a failed attempt is, and
 * the reply is told from its beginning.
 */
import type { ModelEvent } from "../model/model.ts";
import type { LiveEvent } from "../session/live.ts";

type Written = Exclude<ModelEvent, { readonly type: "call_ready" | "finished" }>;

interface Where {
  readonly session: string;
  readonly step: number;
  readonly attempt: number;
}

export class ToldReply {
  readonly #where: Where;
  readonly #tell: (event: LiveEvent) => void;
  readonly #text = new Retelling();
  readonly #reasoning = new Retelling();
  /** Names as JSON texts, none of which begins another. */
  readonly #calls = new Retelling();
  readonly #parts = [this.#text, this.#reasoning, this.#calls];
  #names: string[] = [];

  constructor(where: Where, tell: (event: LiveEvent) => void) {
    this.#where = where;
    this.#tell = tell;
  }

  take(event: Written): void {
    switch (event.type) {
      case "text":
        return this.#say("text_delta", this.#text.rest(event.text));
      case "reasoning":
        return this.#say("reasoning_delta", this.#reasoning.rest(event.text));
      case "call_announced":
        return this.#announce(event.name);
      case "restarted":
        this.#names = [];
        for (const part of this.#parts) part.restart();
    }
  }

  /** The reply is whole: what was told beyond it is no part of it. */
  end(): void {
    if (this.#parts.some((part) => part.fallsShort)) this.#tellAnew();
  }

  #say(type: "text_delta" | "reasoning_delta", rest: string | null): void {
    if (rest === null || this.#isElsewhere(rest)) this.#tellAnew();
    else if (rest !== "") this.#tell({ type, ...this.#where, text: rest });
  }

  #announce(name: string): void {
    this.#names.push(name);
    const rest = this.#calls.rest(JSON.stringify(name));
    if (rest === null || this.#isElsewhere(rest)) this.#tellAnew();
    else if (rest !== "") this.#tell({ type: "status", ...this.#where, status: "call_announced", text: name });
  }

  /** It goes on in one part while another has not said all that was told: the same reply would say its parts in the same order. */
  #isElsewhere(rest: string): boolean {
    return rest !== "" && this.#parts.some((part) => part.fallsShort);
  }

  #tellAnew(): void {
    this.#tell({ type: "status", ...this.#where, status: "superseded" });
    const { said: reasoning } = this.#reasoning;
    if (reasoning !== "") this.#tell({ type: "reasoning_delta", ...this.#where, text: reasoning, whole: true });
    const { said: text } = this.#text;
    if (text !== "") this.#tell({ type: "text_delta", ...this.#where, text, whole: true });
    for (const [index, name] of this.#names.entries()) {
      const whole = index === 0 ? { whole: true as const } : {};
      this.#tell({ type: "status", ...this.#where, status: "call_announced", text: name, ...whole });
    }
    for (const part of this.#parts) part.forget();
  }
}

/** A text that may be said again from its beginning. */
class Retelling {
  /** Since it began the last time. */
  said = "";
  /** What was told before that. */
  #before = "";

  restart(): void {
    if (!this.fallsShort) this.#before = this.said;
    this.said = "";
  }

  /** What of this piece was not told yet; null if it is something else than what was told. */
  rest(piece: string): string | null {
    const at = this.said.length;
    this.said += piece;
    if (at >= this.#before.length) return piece;
    const known = this.#before.slice(at, at + piece.length);
    return piece.startsWith(known) ? piece.slice(known.length) : null;
  }

  /** More was told than has been said. */
  get fallsShort(): boolean {
    return this.#before.length > this.said.length;
  }

  forget(): void {
    this.#before = "";
  }
}
