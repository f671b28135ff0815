/** A text that may be said again from its beginning: of that, only what was not told yet is new. */
export class Echo {
  #told = "";
  /** How much of it has been said, this time. */
  #said = 0;

  /** What comes is said from the beginning again. */
  restart(): void {
    this.#said = 0;
  }

  /** What is new in this piece. Once it says something else than before, all of it is. */
  rest(piece: string): string {
    if (this.#said === this.#told.length) return this.#keep(piece, piece);
    const known = this.#told.slice(this.#said, this.#said + piece.length);
    const same = known === "" ? 0 : commonLength(known, piece);
    if (same < known.length) this.#told = this.#told.slice(0, this.#said + same);
    return this.#keep(piece, same === 0 ? piece : piece.slice(same));
  }

  #keep(piece: string, rest: string): string {
    this.#told += rest;
    this.#said += piece.length;
    return rest;
  }
}

/** How long both begin alike, without half a character at the end. */
function commonLength(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  const last = left.charCodeAt(length - 1);
  return length > 0 && length < left.length && last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}
