/**
 * What an early run prints and says. Until a call takes the run over nobody is told; then whoever watches is told as if
 * the call had begun only now. Of a run that no call takes over nothing is told.
 */
import type { Json } from "../session/json.ts";

export type Said =
  | { readonly kind: "printed"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "sent"; readonly message: Json };

/** Of messages, as JSON text. What a run prints is capped where it comes from. */
const HELD_CHARACTERS = 128 * 1024;
const AROUND = 64;

export class EarlyTalk {
  #held: Said[] = [];
  #left = HELD_CHARACTERS;
  #listener: ((said: Said) => void) | null = null;

  say(said: Said): void {
    if (this.#listener !== null) this.#listener(said);
    else if (said.kind === "printed") this.#hold(said);
    else this.#holdMessage(said);
  }

  /** Tells what was said so far, in its order, and from now on what is said. */
  tellTo(listener: (said: Said) => void): void {
    this.#listener = listener;
    for (const said of this.#held.splice(0)) listener(said);
  }

  /** Pieces are joined: they came in small ones so that somebody could watch. */
  #hold(said: Extract<Said, { kind: "printed" }>): void {
    const last = this.#held[this.#held.length - 1];
    if (last?.kind !== "printed" || last.stream !== said.stream) this.#held.push(said);
    else this.#held[this.#held.length - 1] = { ...last, text: last.text + said.text };
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
