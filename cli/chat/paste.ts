/** Tells pasted text from typed text in what a terminal sends. */

export interface Piece {
  readonly text: string;
  readonly pasted: boolean;
}

const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

/** Asks the terminal to mark what is pasted, and to stop that. */
export const MARK_PASTES = "\x1b[?2004h";
export const LEAVE_PASTES = "\x1b[?2004l";

/** Not by readline, which on Deno 2.9 takes the end of a mark for text. */
export class PasteReader {
  #pasting = false;
  #rest = "";

  /** A mark may arrive in two chunks: what could be its beginning waits for the next. */
  read(chunk: string): readonly Piece[] {
    const pieces: Piece[] = [];
    let text = this.#rest + chunk;
    for (let mark = this.#next; text.includes(mark); mark = this.#next) {
      const at = text.indexOf(mark);
      pieces.push({ text: text.slice(0, at), pasted: this.#pasting });
      text = text.slice(at + mark.length);
      this.#pasting = !this.#pasting;
    }
    this.#rest = beginningOf(this.#next, text);
    pieces.push({ text: text.slice(0, text.length - this.#rest.length), pasted: this.#pasting });
    return pieces.filter((piece) => piece.text !== "");
  }

  get #next(): string {
    return this.#pasting ? END : BEGIN;
  }
}

/** The end of the text that the mark begins with; the escape key alone is none. */
function beginningOf(mark: string, text: string): string {
  for (let length = mark.length - 1; length >= 2; length--) {
    if (text.endsWith(mark.slice(0, length))) return mark.slice(0, length);
  }
  return "";
}
