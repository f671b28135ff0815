/**
 * Reads a JSON document by ourselves, as `JSON.parse` falls short of what a call's input needs: V8 15.0 (Deno 2.9.6)
 * reads a key that is written with an escape as another key once the parser is warm, hosts word their errors
 * differently, and neither keeps a number's text without a reviver, which takes ten times as long.
 *
 * It accepts what `JSON.parse` accepts, up to a depth that no stack minds, and gives the same value; `canonical` is the
 * document with its keys sorted by UTF-16 units, without white space, numbers as written. Strings are decoded by the
 * host, one by one.
 */

/** The place where a text stops being JSON, or gets too deep or too much to be read. */
export class JsonFault extends SyntaxError {
  override readonly name = "JsonFault";
  readonly position: number;
  readonly beyondLimits: boolean;

  constructor(message: string, position: number, beyondLimits = false) {
    super(message);
    this.position = position;
    this.beyondLimits = beyondLimits;
  }
}

export interface ReadDocument {
  readonly value: unknown;
  readonly canonical: string;
}

export interface ReadOptions {
  /** What a number becomes, of its token. */
  readonly number?: (token: string) => unknown;
  readonly mostDepth?: number;
  readonly mostValues?: number;
  /** A key that an object has twice is a fault; otherwise the last counts, as for `JSON.parse`. */
  readonly uniqueKeys?: boolean;
}

const MOST_DEPTH = 1000;

/** @throws {JsonFault} */
export function readDocument(text: string, options: ReadOptions = {}): ReadDocument {
  return new Reader(text, options).document();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const BARE = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const CONTROL = /[\u0000-\u001f]/;
/** As much of an escape as can be one, and all of one. */
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{0,4})?/y;
const WHOLE_ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})$/;

class Reader {
  readonly #text: string;
  readonly #number: (token: string) => unknown;
  readonly #mostDepth: number;
  readonly #mostValues: number;
  readonly #uniqueKeys: boolean;
  #at = 0;
  #depth = 0;
  #values = 0;
  /** Of the value that was read last. */
  #canonical = "";

  constructor(text: string, { number = Number, mostDepth = MOST_DEPTH, mostValues = Infinity, uniqueKeys = false }: ReadOptions) {
    this.#text = text;
    this.#number = number;
    this.#mostDepth = mostDepth;
    this.#mostValues = mostValues;
    this.#uniqueKeys = uniqueKeys;
  }

  document(): ReadDocument {
    this.#space();
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) this.#fail();
    return { value, canonical: this.#canonical };
  }

  #value(): unknown {
    if (++this.#values > this.#mostValues) {
      throw new JsonFault(`made of more than ${this.#mostValues} values`, this.#at, true);
    }
    const first = this.#text.charCodeAt(this.#at);
    if (first === QUOTE) return this.#string();
    if (first !== OPEN_OBJECT && first !== OPEN_LIST) return this.#bare();
    if (++this.#depth > this.#mostDepth) {
      throw new JsonFault(`nested deeper than ${this.#mostDepth} levels at character ${this.#at}`, this.#at, true);
    }
    this.#at++;
    const value = first === OPEN_OBJECT ? this.#object() : this.#list();
    this.#depth--;
    return value;
  }

  #object(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    const keys: string[] = [];
    const written: string[] = [];
    let sorted = true;
    if (this.#space() !== CLOSE_OBJECT) {
      for (;;) {
        if (this.#text.charCodeAt(this.#at) !== QUOTE) this.#fail();
        const keyAt = this.#at;
        const key = this.#string();
        if (this.#uniqueKeys && Object.hasOwn(members, key)) {
          throw new JsonFault(`the key ${JSON.stringify(key.slice(0, 80))} comes a second time at character ${keyAt}`, keyAt);
        }
        const name = this.#canonical;
        if (this.#space() !== COLON) this.#fail();
        this.#at++;
        this.#space();
        setOwn(members, key, this.#value());
        sorted &&= keys.length === 0 || (keys[keys.length - 1] ?? "") < key;
        keys.push(key);
        written.push(`${name}:${this.#canonical}`);
        if (!this.#goesOn(CLOSE_OBJECT)) break;
      }
    }
    this.#at++;
    this.#canonical = `{${(sorted ? written : inOrder(keys, written)).join(",")}}`;
    return members;
  }

  #list(): unknown[] {
    const items: unknown[] = [];
    const written: string[] = [];
    if (this.#space() !== CLOSE_LIST) {
      do {
        items.push(this.#value());
        written.push(this.#canonical);
      } while (this.#goesOn(CLOSE_LIST));
    }
    this.#at++;
    this.#canonical = `[${written.join(",")}]`;
    return items;
  }

  /** Past the comma before the next member; false if there is none. */
  #goesOn(close: number): boolean {
    const next = this.#space();
    if (next === close) return false;
    if (next !== COMMA) this.#fail();
    this.#at++;
    this.#space();
    return true;
  }

  #string(): string {
    const start = this.#at;
    const end = this.#closingQuote(start);
    if (end === -1) this.#failIn(start);
    this.#at = end + 1;
    const token = this.#text.slice(start, this.#at);
    const hasEscape = token.includes("\\");
    const value = hasEscape ? decode(token) : token.slice(1, -1);
    if (value === null || (!hasEscape && CONTROL.test(token))) this.#failIn(start);
    this.#canonical = hasEscape || !token.isWellFormed() ? JSON.stringify(value) : token;
    return value;
  }

  #closingQuote(start: number): number {
    let end = this.#text.indexOf('"', start + 1);
    while (end !== -1 && this.#isEscaped(end, start)) end = this.#text.indexOf('"', end + 1);
    return end;
  }

  #isEscaped(quote: number, start: number): boolean {
    let slashes = 0;
    while (quote - 1 - slashes > start && this.#text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    return slashes % 2 === 1;
  }

  /** A number, `true`, `false` or `null`. */
  #bare(): unknown {
    BARE.lastIndex = this.#at;
    const token = BARE.exec(this.#text)?.[0];
    if (token === undefined) this.#fail();
    this.#at += token.length;
    this.#canonical = token;
    switch (token) {
      case "true":
        return true;
      case "false":
        return false;
      case "null":
        return null;
    }
    return this.#number(token);
  }

  /** Skips white space and tells what comes next. */
  #space(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#text.charCodeAt(++this.#at);
    return code;
  }

  /** Fails where a string that begins here cannot go on. */
  #failIn(start: number): never {
    let at = start + 1;
    for (let code = this.#text.charCodeAt(at); code >= 0x20; code = this.#text.charCodeAt(at)) {
      if (code !== BACKSLASH) {
        at++;
        continue;
      }
      ESCAPE.lastIndex = at;
      const length = ESCAPE.exec(this.#text)?.[0].length ?? 0;
      at += length;
      if (!WHOLE_ESCAPE.test(this.#text.slice(at - length, at))) break;
    }
    this.#at = at;
    this.#fail();
  }

  #fail(): never {
    throw new JsonFault(`unexpected ${shown(this.#text, this.#at)} at character ${this.#at}`, this.#at);
  }
}

/** As `JSON.parse` does it: `__proto__` is a key like any other, and of a key that comes twice the last counts. */
function setOwn(members: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") members[key] = value;
  else Object.defineProperty(members, key, { value, writable: true, enumerable: true, configurable: true });
}

function inOrder(keys: readonly string[], written: readonly string[]): readonly string[] {
  const last = new Map(keys.map((key, index) => [key, written[index] ?? ""]));
  return [...last.keys()].sort().map((key) => last.get(key) ?? "");
}

/** Null if the token is no JSON string. */
function decode(token: string): string | null {
  try {
    return JSON.parse(token) as string;
  } catch {
    // A wrong escape or a control character: the caller says where.
    return null;
  }
}

function shown(text: string, at: number): string {
  const point = text.codePointAt(at);
  return point === undefined ? "end" : JSON.stringify(String.fromCodePoint(point));
}
