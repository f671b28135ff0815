/**
 * JSON that a person wrote, with the place of every value: settings are refused with line and column. Stricter than
 * `JSON.parse` in ways that matter for rules: a key written twice is a fault, and so are absurd depth and text that is
 * no Unicode.
 */
import { faultPosition } from "../session/arguments.ts";
import { withoutByteOrderMark } from "../session/byte-order-mark.ts";

/** From 1. Columns count UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export type LocatedJson =
  | {
    readonly kind: "located";
    readonly value: unknown;
    /** Where a value stands: at its key, or for an element at its first character. Of an absent one: the nearest thing around it. */
    positionOf(path: Path): Position;
  }
  | { readonly kind: "fault"; readonly message: string; readonly position: Position };

export type Path = readonly (string | number)[];

const MAX_DEPTH = 64;

export function parseLocated(source: string): LocatedJson {
  const text = withoutByteOrderMark(source);
  const fault = (message: string, offset: number): LocatedJson => ({ kind: "fault", message, position: toPosition(text, offset) });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Hosts word and place this fault differently: the place is found below.
    const offset = faultPosition(text);
    return fault(
      text.trim() === "" ? "it is empty; it must hold one JSON object" : `it is not JSON: ${describeFault(text, offset)}`,
      offset,
    );
  }
  const walk = new Walk(text);
  walk.value([], 0);
  if (walk.fault !== null) return fault(walk.fault.message, walk.fault.offset);
  const positionOf = (path: Path): Position => {
    for (let length = path.length; length > 0; length--) {
      const offset = walk.offsets.get(keyOf(path.slice(0, length)));
      if (offset !== undefined) return toPosition(text, offset);
    }
    return toPosition(text, text.length - text.trimStart().length);
  };
  return { kind: "located", value, positionOf };
}

function describeFault(text: string, offset: number): string {
  if (offset >= text.trimEnd().length) return "it ends too early";
  const rest = text.slice(offset, offset + 20).split(/[\r\n]/)[0] ?? "";
  if (/^\/[/*]/.test(rest)) return "comments are not allowed";
  if (/^,?\s*[}\]]/.test(text.slice(offset))) return "there is a comma too many, or a value is missing";
  return `unexpected ${JSON.stringify(rest.toWellFormed())}`;
}

function toPosition(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}

/** Goes over text that is known to be JSON, and notes where things are. */
class Walk {
  readonly offsets = new Map<string, number>();
  fault: { readonly message: string; readonly offset: number } | null = null;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(path: Path, depth: number): void {
    this.#space();
    if (depth > MAX_DEPTH) {
      this.fault ??= { message: `it is nested deeper than ${MAX_DEPTH} levels`, offset: this.#at };
      this.#at = this.#text.length;
      return;
    }
    const first = this.#text[this.#at];
    if (first === "{") this.#members(path, depth);
    else if (first === "[") this.#elements(path, depth);
    else this.#scalar();
  }

  #members(path: Path, depth: number): void {
    const seen = new Set<string>();
    this.#list("}", () => {
      const start = this.#at;
      const key = JSON.parse(this.#scalar()) as string;
      if (seen.has(key)) this.fault ??= { message: `the key ${JSON.stringify(key)} is written twice`, offset: start };
      seen.add(key);
      this.offsets.set(keyOf([...path, key]), start);
      this.#space();
      this.#at++;
      this.value([...path, key], depth + 1);
    });
  }

  #elements(path: Path, depth: number): void {
    let index = 0;
    this.#list("]", () => {
      const inner = [...path, index++];
      this.offsets.set(keyOf(inner), this.#at);
      this.value(inner, depth + 1);
    });
  }

  #list(close: string, member: () => void): void {
    this.#at++;
    this.#space();
    while (this.#at < this.#text.length && this.#text[this.#at] !== close) {
      member();
      this.#space();
      if (this.#text[this.#at] === ",") this.#at++;
      this.#space();
    }
    this.#at++;
  }

  #scalar(): string {
    const pattern = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\]}]+/y;
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0] ?? "";
    if (token.startsWith('"') && /\\u[dD]/.test(token) && !(JSON.parse(token) as string).isWellFormed()) {
      this.fault ??= { message: "half of a surrogate pair stands alone in a text", offset: this.#at };
    }
    this.#at += Math.max(1, token.length);
    return token;
  }

  #space(): void {
    while (" \t\r\n".includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at++;
  }
}
