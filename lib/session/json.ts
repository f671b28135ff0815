/**
 * JSON that keeps what was written. A model may write `3.0` or 9007199254740993; a script can tell those from
 * `3` and 9007199254740992, so the text of a number is never rebuilt from a double.
 */

/** Any value JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A call's input: the value for reading, and the canonical text for running, comparing and digesting. */
export interface JsonInput {
  readonly value: JsonObject;
  readonly text: string;
}

interface RawNumber {
  readonly rawJSON: string;
}

/** `JSON.parse` with source text access and `JSON.rawJSON`: present on Bun and Deno, not yet in the type library. */
const json = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};

/** The parsed value in which every number is a `RawNumber` that remembers its token. */
export function parseKeepingNumbers(text: string): unknown {
  return json.parse(text, (_key, value, context) => typeof value === "number" ? json.rawJSON(context.source ?? String(value)) : value);
}

/** The token of a number that `parseKeepingNumbers` kept, or null if the value is something else. */
export function numberToken(value: unknown): string | null {
  return json.isRawJSON(value) ? value.rawJSON : null;
}

/** Canonical text of a JSON document: keys sorted by UTF-16 units, no white space, number tokens as written. */
export function canonicalText(text: string): string {
  JSON.parse(text);
  return rewriteCanonical(text);
}

/** The same for a text that has been parsed already; on any other it may never end. */
export function rewriteCanonical(text: string): string {
  return new Rewriter(text).rewrite();
}

/** Canonical text of a value that is already parsed (its numbers print as JavaScript prints them). */
export function canonicalValue(value: Json): string {
  return writeSorted(value);
}

/** An input from a value of ours, not from a model's text. */
export function toInput(value: JsonObject): JsonInput {
  return { value, text: canonicalValue(value) };
}

/** One pass over a valid document: a reviver and a tree of numbers that remember their text take ten times as long. */
class Rewriter {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  rewrite(): string {
    this.#space();
    return this.#value();
  }

  #value(): string {
    const first = this.#text.charCodeAt(this.#at);
    if (first === 0x7b) return this.#object();
    if (first === 0x5b) return this.#array();
    return first === 0x22 ? written(this.#string()) : this.#bare();
  }

  #object(): string {
    const keys: string[] = [];
    const members: string[] = [];
    let sorted = true;
    this.#at++;
    for (let next = this.#space(); next !== 0x7d; next = this.#space()) {
      if (next === 0x2c) {
        this.#at++;
        continue;
      }
      const token = this.#string();
      const key = token.includes("\\") ? JSON.parse(token) as string : token.slice(1, -1);
      sorted &&= keys.length === 0 || (keys.at(-1) ?? "") < key;
      this.#space();
      this.#at++;
      this.#space();
      keys.push(key);
      members.push(`${written(token)}:${this.#value()}`);
    }
    this.#at++;
    if (sorted) return `{${members.join(",")}}`;
    // Of a key that comes twice the last counts, as everywhere.
    const byKey = new Map(keys.map((key, index) => [key, index]));
    return `{${[...byKey.keys()].sort().map((key) => members[byKey.get(key) ?? 0]).join(",")}}`;
  }

  #array(): string {
    const items: string[] = [];
    this.#at++;
    for (let next = this.#space(); next !== 0x5d; next = this.#space()) {
      if (next === 0x2c) this.#at++;
      else items.push(this.#value());
    }
    this.#at++;
    return `[${items.join(",")}]`;
  }

  /** The token with its quotes. */
  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (this.#isEscaped(end, start)) end = this.#text.indexOf('"', end + 1);
    this.#at = end + 1;
    return this.#text.slice(start, this.#at);
  }

  #isEscaped(quote: number, start: number): boolean {
    let slashes = 0;
    while (quote - 1 - slashes > start && this.#text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes++;
    return slashes % 2 === 1;
  }

  /** A number, `true`, `false` or `null`. */
  #bare(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !ENDS_BARE.has(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  /** Skips white space and tells what comes next. */
  #space(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#text.charCodeAt(++this.#at);
    return code;
  }
}

/** `,`, `]`, `}` and white space. */
const ENDS_BARE: ReadonlySet<number> = new Set([0x2c, 0x5d, 0x7d, 0x20, 0x0a, 0x0d, 0x09]);

/** A string's token as `JSON.stringify` writes it. */
function written(token: string): string {
  return token.includes("\\") || !token.isWellFormed() ? JSON.stringify(JSON.parse(token)) : token;
}

function writeSorted(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (json.isRawJSON(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  const members = value as Record<string, unknown>;
  const written = Object.keys(members).sort().map((key) => `${JSON.stringify(key)}:${writeSorted(members[key])}`);
  return `{${written.join(",")}}`;
}
