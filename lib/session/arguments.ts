import { type Json, type JsonInput, type JsonObject, rewriteCanonical } from "./json.ts";

/** What became of the text a model wrote as a call's arguments. */
export type ParsedArguments =
  | { readonly kind: "input"; readonly input: JsonInput }
  | { readonly kind: "malformed"; readonly message: string };

/** Deeper input than this is refused: a parser of a tool would likely give up earlier. */
const MAX_DEPTH = 256;
const SHOWN_CHARACTERS = 200;

/**
 * Reads a call's arguments. Blank text and `null` are an empty object; anything else that is not a JSON object is
 * malformed, with the position of the fault, and must not run.
 */
export function parseArguments(text: string): ParsedArguments {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "null") return { kind: "input", input: { value: {}, text: "{}" } };
  let value: Json;
  try {
    value = JSON.parse(trimmed) as Json;
  } catch (error) {
    return malformed(`The arguments are not valid JSON: ${faultOf(trimmed, error as Error)}`, text);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return malformed(`The arguments must be a JSON object, not ${nameOf(value)}`, text);
  }
  if (depthOver(trimmed, MAX_DEPTH)) return malformed(`The arguments are nested deeper than ${MAX_DEPTH} levels`, text);
  return { kind: "input", input: { value: value as JsonObject, text: rewriteCanonical(trimmed) } };
}

function malformed(problem: string, text: string): ParsedArguments {
  const shown = text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
  return { kind: "malformed", message: `${problem}. Received: ${shown.toWellFormed()}` };
}

function nameOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** Where parsing fails. Hosts word their messages differently and Bun names no position, so we find it ourselves. */
function faultOf(text: string, error: Error): string {
  const position = faultPosition(text);
  const where = position >= text.length
    ? `the text ends at character ${text.length} before the value is complete`
    : `at character ${position}`;
  return `${where} (${error.message})`;
}

/** The first character at which no valid JSON document can go on. */
export function faultPosition(text: string): number {
  const scanner = new Scanner(text);
  scanner.space();
  if (!scanner.value(0)) return scanner.at;
  scanner.space();
  return scanner.at;
}

/** A recogniser of JSON that stops at the first character it cannot accept. */
class Scanner {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  space(): void {
    while (/[ \t\r\n]/.test(this.#text.charAt(this.at)) && this.at < this.#text.length) this.at++;
  }

  value(depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    const first = this.#text[this.at];
    if (first === "{") return this.#members("}", depth, () => this.#pair(depth));
    if (first === "[") return this.#members("]", depth, () => this.value(depth + 1));
    if (first === '"') return this.#match(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y);
    return this.#match(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
  }

  #members(close: string, _depth: number, member: () => boolean): boolean {
    this.at++;
    this.space();
    if (this.#text[this.at] === close) return ++this.at > 0;
    for (;;) {
      this.space();
      if (!member()) return false;
      this.space();
      if (this.#text[this.at] === close) return ++this.at > 0;
      if (this.#text[this.at] !== ",") return false;
      this.at++;
    }
  }

  #pair(depth: number): boolean {
    if (this.#text[this.at] !== '"' || !this.value(depth)) return false;
    this.space();
    if (this.#text[this.at] !== ":") return false;
    this.at++;
    this.space();
    return this.value(depth + 1);
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text);
    if (found === null) return false;
    this.at += found[0].length;
    return true;
  }
}

function depthOver(text: string, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (quoted) {
      if (character === "\\") index++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "{" || character === "[") {
      if (++depth > limit) return true;
    } else if (character === "}" || character === "]") depth--;
  }
  return false;
}
