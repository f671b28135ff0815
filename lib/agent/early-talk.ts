/**
 * What an early run prints and says. Until a call takes the run over nobody is told; then whoever watches is told as if
 * the call had begun only now. Of a run that no call takes over nothing is told.
 */
import { Buffer } from "node:buffer";
import { liveOmissionMarker } from "../session/excerpt.ts";
import type { Json } from "../session/json.ts";
import { borderBehind } from "./readers-live.ts";

export type Said =
  | { readonly kind: "printed"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "sent"; readonly message: Json };

type Printed = Extract<Said, { kind: "printed" }>;

/** Of messages, as JSON text. */
const HELD_CHARACTERS = 128 * 1024;
/** Of what is printed. As of a call that is joined late, the end is kept. */
const PRINTED_CHARACTERS = 64 * 1024;
const AROUND = 64;

export class EarlyTalk {
  #held: Said[] = [];
  #left = HELD_CHARACTERS;
  #printed = 0;
  #omitted_bytes = 0;
  #listener: ((said: Said) => void) | null = null;

  say(said: Said): void {
    if (this.#listener !== null) this.#listener(said);
    else if (said.kind === "printed") this.#hold(said);
    else this.#holdMessage(said);
  }

  /** Tells what was said so far, in its order, and from now on what is said. */
  tellTo(listener: (said: Said) => void): void {
    this.#listener = listener;
    this.#noteOmitted();
    for (const said of this.#held.splice(0)) listener(said);
  }

  /** Pieces are joined: they came in small ones so that somebody could watch. */
  #hold(said: Printed): void {
    const last = this.#held[this.#held.length - 1];
    if (last?.kind === "printed" && last.stream === said.stream) {
      this.#held[this.#held.length - 1] = { ...last, text: last.text + said.text };
    } else {
      this.#held.push(said);
      this.#printed += AROUND;
    }
    this.#printed += said.text.length;
    // Not with every piece: cutting costs.
    if (this.#printed > PRINTED_CHARACTERS * 1.25) this.#cut();
  }

  #cut(): void {
    while (this.#printed > PRINTED_CHARACTERS) {
      const [at, first] = this.#firstPrinted();
      if (first === null) return;
      const excess = this.#printed - PRINTED_CHARACTERS;
      const gone = excess < first.text.length ? borderBehind(first.text, excess) : first.text.length;
      const rest = first.text.slice(gone);
      this.#omitted_bytes += Buffer.byteLength(first.text.slice(0, gone));
      this.#printed -= gone + (rest === "" ? AROUND : 0);
      this.#held.splice(at, 1, ...rest === "" ? [] : [{ ...first, text: rest }]);
    }
  }

  #noteOmitted(): void {
    const [at, first] = this.#firstPrinted();
    if (this.#omitted_bytes === 0 || first === null) return;
    this.#held[at] = { ...first, text: `${liveOmissionMarker(this.#omitted_bytes)}\n${first.text}` };
  }

  #firstPrinted(): readonly [number, Printed | null] {
    const at = this.#held.findIndex(({ kind }) => kind === "printed");
    const first = this.#held[at];
    return [at, first?.kind === "printed" ? first : null];
  }

  /** The first ones and the newest, as where there are too many of them at a time. */
  #holdMessage(said: Extract<Said, { kind: "sent" }>): void {
    const size = JSON.stringify(said.message).length + AROUND;
    if (size > this.#left) {
      const newest = this.#held.findLastIndex(({ kind }) => kind === "sent");
      if (newest >= 0) this.#held.splice(newest, 1);
    }
    this.#left -= size;
    this.#held.push(said);
  }
}
