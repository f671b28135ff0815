/**
 * Where the keys of a TOML document stand. The parser tells positions of syntax errors only, so this reads the text
 * once more. It is meant for documents that the parser has accepted; on others it still ends, with what it found.
 */
import type { Position } from "../diagnostic.ts";

export interface Positions {
  /** The key itself, or the closest table above it that the document names. */
  of(path: readonly string[]): Position | null;
  /** Dates that the parser accepts although no calendar has them. */
  readonly impossibleDates: readonly Position[];
}

export function findPositions(text: string): Positions {
  const scanner = new Scanner(text);
  scanner.scan();
  const locate = createLocator(text);
  return {
    impossibleDates: scanner.impossibleDates.map(locate),
    of: (path) => {
      let key: Key | undefined = scanner.root;
      let offset: number | null = null;
      for (const part of path) {
        key = key.children?.get(part);
        if (key === undefined) break;
        offset = key.offset ?? offset;
      }
      return offset === null ? null : locate(offset);
    },
  };
}

/** Line and column of offsets, from 1; a byte order mark takes no column. */
export function createLocator(text: string): (offset: number) => Position {
  const starts = [text.startsWith("\uFEFF") ? 1 : 0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let line = 0;
    for (let step = 1 << 30; step > 0; step >>= 1) if ((starts[line + step] ?? Infinity) <= offset) line += step;
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** One part of a path; what stands below it is found from here, so that a long path costs no more than its parts. */
interface Key {
  /** Null for an element of an array, which has no key of its own. */
  offset: number | null;
  children: Map<string, Key> | null;
}

function child(parent: Key, part: string): Key {
  parent.children ??= new Map();
  const known = parent.children.get(part) ?? { offset: null, children: null };
  parent.children.set(part, known);
  return known;
}

class Scanner {
  readonly root: Key = { offset: null, children: null };
  readonly impossibleDates: number[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    let table = this.root;
    this.#match(/\uFEFF/y);
    while (this.#at < this.#text.length) {
      const before = this.#at;
      this.#skipBlank();
      if (this.#match(/\[\[?/y) !== null) {
        table = this.#key(this.root);
        this.#match(/[ \t]*\]\]?/y);
      } else if (this.#at < this.#text.length) {
        this.#assignment(table);
      }
      // A character that fits nowhere: the parser has said so already.
      if (this.#at === before) this.#at++;
    }
  }

  #assignment(table: Key): void {
    const key = this.#key(table);
    this.#match(/[ \t]*=[ \t]*/y);
    this.#value(key);
  }

  /** A dotted key; each of its parts is noted where it stands first. */
  #key(table: Key): Key {
    let key = table;
    do {
      this.#match(/[ \t]+/y);
      const start = this.#at;
      const part = this.#keyPart();
      if (part === null) return key;
      key = child(key, part);
      key.offset ??= start;
    } while (this.#match(/[ \t]*\.[ \t]*/y) !== null);
    return key;
  }

  #keyPart(): string | null {
    const literal = this.#match(/'[^'\n]*'/y);
    if (literal !== null) return literal.slice(1, -1);
    const quoted = this.#match(/"(?:[^"\\\n]|\\.)*"/y);
    if (quoted !== null) return unquote(quoted);
    return this.#match(/[^\s.=\[\]{}"'#,]+/y);
  }

  #value(key: Key): void {
    const opener = this.#text.charAt(this.#at);
    if (opener === '"' || opener === "'") return this.#string();
    if (opener === "[") return this.#list(key);
    if (opener === "{") return this.#inlineTable(key);
    const start = this.#at;
    const bare = this.#match(/[^\n,\]}#]+/y);
    if (bare !== null && isImpossibleDate(bare)) this.impossibleDates.push(start);
  }

  #string(): void {
    const multiline = this.#match(/"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}|'''(?:[^']|'{1,2}(?!'))*'{3,5}/y);
    if (multiline === null && this.#match(/"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y) === null) this.#at++;
  }

  #list(key: Key): void {
    this.#at++;
    for (let index = 0; this.#at < this.#text.length; index++) {
      this.#skipBlank();
      if (this.#match(/\]/y) !== null) return;
      const before = this.#at;
      this.#value(child(key, String(index)));
      this.#skipBlank();
      this.#match(/,/y);
      if (this.#at === before) return;
    }
  }

  #inlineTable(key: Key): void {
    this.#at++;
    while (this.#at < this.#text.length) {
      this.#skipBlank();
      if (this.#match(/\}/y) !== null) return;
      const before = this.#at;
      this.#assignment(key);
      this.#skipBlank();
      this.#match(/,/y);
      if (this.#at === before) return;
    }
  }

  /** White space, line ends and comments. */
  #skipBlank(): void {
    this.#match(/(?:[\s]+|#[^\n]*)*/y);
  }

  #match(expression: RegExp): string | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }
}

function unquote(quoted: string): string {
  const plain = quoted.replace(
    /\\U([0-9a-fA-F]{8})/g,
    (_, digits: string) => String.fromCodePoint(Math.min(parseInt(digits, 16), 0x10ffff)),
  )
    .replace(/\\x([0-9a-fA-F]{2})/g, "\\u00$1").replaceAll("\\e", "\\u001b");
  try {
    return JSON.parse(plain) as string;
  } catch {
    // An escape that only TOML knows: the key is then found by its raw spelling, which merely loses a position.
    return plain.slice(1, -1);
  }
}

function isImpossibleDate(bare: string): boolean {
  const found = /^(\d{4})-(\d\d)-(\d\d)/.exec(bare);
  if (found === null) return false;
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && day > (leap ? 29 : 28);
}
