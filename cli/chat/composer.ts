/** From typed lines to what was meant to be said: one line, several that end in a backslash, or a block. */

const FENCE = '"""';

export class Composer {
  #lines: string[] = [];
  #inBlock = false;

  /** Whether a text has begun and needs more lines. */
  get isOpen(): boolean {
    return this.#inBlock || this.#lines.length > 0;
  }

  /**
   * The whole text, or null if more lines belong to it.
   * @param pasted the line is one of a pasted text, which ends where the person says so.
   */
  add(line: string, pasted = false): string | null {
    if (line.trim() === FENCE && !pasted) {
      this.#inBlock = !this.#inBlock;
      return this.#inBlock ? null : this.#finish();
    }
    if (this.#inBlock || pasted) {
      this.#lines.push(line);
      return null;
    }
    const goesOn = line.endsWith("\\");
    this.#lines.push(goesOn ? line.slice(0, -1) : line);
    return goesOn ? null : this.#finish();
  }

  /** Forgets what was begun. */
  clear(): void {
    this.#lines = [];
    this.#inBlock = false;
  }

  #finish(): string {
    const text = this.#lines.join("\n");
    this.clear();
    return text;
  }
}
