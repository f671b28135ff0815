/** What keeps output apart from a line that is being typed. */
import type { Out, Shell } from "./terminal.ts";

/** S1  While it is held, what is written to a terminal waits; it comes out in the order it was written, on either stream. */
export class Screen {
  readonly shell: Shell;
  readonly #waiting: { readonly out: Out; readonly text: string }[] = [];
  #held = false;

  constructor({ out, err, env, held }: Shell) {
    this.shell = { env, held, out: this.#gate(out), err: this.#gate(err) };
  }

  /** What comes out first when it is released. */
  get next(): string {
    return this.#waiting[0]?.text ?? "";
  }

  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    for (const { out, text } of this.#waiting.splice(0)) out.write(text);
  }

  /** What goes elsewhere disturbs no line, and somebody may read it as it comes. */
  #gate(out: Out): Out {
    if (!out.isTerminal) return out;
    const write = (text: string) => {
      if (!this.#held) out.write(text);
      else if (text !== "") this.#waiting.push({ out, text });
    };
    return Object.create(out, { write: { value: write } }) as Out;
  }
}
