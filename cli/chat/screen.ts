/** What keeps output and a line that is being typed apart. */
import type { Out, Shell } from "../terminal.ts";

/** S1  While it is held, what is written waits; it comes out in the order it was written, on either stream. */
export class Screen {
  readonly shell: Shell;
  readonly #waiting: (() => void)[] = [];
  #held = false;

  constructor({ out, err, env, held }: Shell) {
    this.shell = { env, held, out: this.#gate(out), err: this.#gate(err) };
  }

  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    for (const write of this.#waiting.splice(0)) write();
  }

  #gate(out: Out): Out {
    const write = (text: string) => {
      if (this.#held) this.#waiting.push(() => out.write(text));
      else out.write(text);
    };
    return Object.create(out, { write: { value: write } }) as Out;
  }
}
