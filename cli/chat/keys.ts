/** What a terminal sends for keys, one token each; letters that came at once are one. */

export interface Token {
  readonly text: string;
  /** Letters, which are put in as they are. */
  readonly typed: boolean;
}

/** An escape sequence, a control character, or letters up to the next of these. */
const TOKEN = /\x1b(?:\[[0-?]*[ -/]*[@-~]?|O[ -~]?|[^\x1b])?|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+/g;

export class KeyReader {
  /** The last chunk ended where a sequence may go on. */
  #isCut = false;

  read(chunk: string): readonly Token[] {
    if (chunk === "") return [];
    const wasCut = this.#isCut;
    this.#isCut = /\x1b(?:\[[0-?]*[ -/]*|O)?$/.test(chunk);
    if (wasCut) return [{ text: chunk, typed: false }];
    return [...chunk.matchAll(TOKEN)].map(([text]) => ({ text, typed: !/[\x00-\x1f\x7f]/.test(text) }));
  }
}
