/**
 * The arguments of one call as they grow. Normally every piece continues the text. Some servers send the whole text
 * so far in every piece, or once more at the end; that is accepted only where reading the piece as a continuation
 * cannot be right.
 *
 * A1  Pieces that join to a JSON object are never read in another way.
 * A2  What cannot be read in either way stays as it came and is not an object, so it cannot run.
 * A3  The work is linear in the characters received.
 */
import { canonicalText } from "../session/json.ts";
import { ModelError } from "./model.ts";
import { ObjectScanner, type ScanStatus } from "./object-scanner.ts";

/** Characters of one call's arguments. */
export const MAX_ARGUMENTS = 8 * 1024 * 1024;

export class ArgumentsText {
  #text = "";
  #scanner = new ObjectScanner();
  /** The last piece, while every piece so far may have been the whole text; else empty. */
  #snapshot = "";
  /** Set once pieces are known to be whole texts: what had been joined before that was known. */
  #misjoined: string | null = null;

  /** Everything so far as one string. */
  get text(): string {
    return this.#text;
  }

  get status(): ScanStatus {
    return this.#scanner.status;
  }

  /** True if anything but white space came. */
  get begun(): boolean {
    return this.#scanner.begun;
  }

  /** True if all of it may have come: in one of the readings it is a whole object. */
  get mayBeWhole(): boolean {
    return this.status === "complete" || this.#isSnapshotWhole;
  }

  /** True if `piece` continues what is not complete, or says it again from its beginning. */
  fits(piece: string): boolean {
    if (startsWith(piece, this.#text)) return true;
    return this.#misjoined === null && (startsWith(piece, this.#snapshot) || this.#scanner.foresee(piece) !== "invalid");
  }

  append(piece: string): void {
    const size = startsWith(piece, this.#text) ? piece.length : this.#text.length + piece.length;
    if (size > MAX_ARGUMENTS) {
      throw new ModelError("malformed", `Cannot take a tool call as its arguments are longer than ${MAX_ARGUMENTS} characters`);
    }
    if (this.status === "complete") this.#appendAfterEnd(piece);
    else if (this.#misjoined !== null) this.#replace(piece);
    else this.#join(piece);
  }

  /** True if `piece` says again what is already complete here. */
  repeats(piece: string): boolean {
    if (piece.trim() === this.#text.trim()) return true;
    return this.status === "complete" && isObject(piece) && canonicalText(piece) === canonicalText(this.#text);
  }

  /** The final text. `cut`: the reply hit a length limit, so an unfinished text really is unfinished. */
  finish(cut: boolean): string {
    return !cut && this.#isSnapshotWhole ? this.#snapshot : this.#text;
  }

  /** True if the last piece is a whole object, while the pieces joined are the beginning of another. */
  get #isSnapshotWhole(): boolean {
    return this.status === "open" && this.#misjoined === null && this.#snapshot !== this.#text && isObject(this.#snapshot);
  }

  #join(piece: string): void {
    const { begun } = this;
    const restates = begun && (startsWith(piece, this.#text) || startsWith(piece, this.#snapshot));
    if (restates || !begun) this.#snapshot = piece;
    else if (this.#snapshot !== "" && piece.trim() !== "") this.#snapshot = "";
    if (this.#scanner.feed(piece) === "invalid" && restates) {
      const scanner = new ObjectScanner();
      if (scanner.feed(piece) !== "invalid") {
        this.#misjoined = this.#text;
        this.#text = piece;
        this.#scanner = scanner;
        return;
      }
    }
    this.#text += piece;
  }

  #replace(piece: string): void {
    if (!startsWith(piece, this.#text)) return this.#spoil(piece);
    this.#scanner.feed(piece, this.#text.length);
    this.#text = piece;
  }

  #appendAfterEnd(piece: string): void {
    if (piece.trim() !== "" && !this.repeats(piece)) this.#spoil(piece);
  }

  /** A2: puts back all that was received, which no parser takes for an object. */
  #spoil(piece: string): void {
    this.#text = (this.#misjoined ?? "") + this.#text + piece;
    this.#misjoined = null;
    this.#snapshot = "";
    this.#scanner.status = "invalid";
  }
}

/** The length is compared first: looking into a text that is still a rope of pieces would flatten it every time. */
function startsWith(piece: string, start: string): boolean {
  return start !== "" && piece.length >= start.length && piece.startsWith(start);
}

function isObject(text: string): boolean {
  return new ObjectScanner().feed(text) === "complete";
}
