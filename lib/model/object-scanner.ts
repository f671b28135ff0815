/**
 * Recognises one JSON object while its text arrives. Every character is looked at once, whatever the chunking, so
 * the moment the object ends is known without parsing anything twice.
 *
 * A text is `complete` exactly if `JSON.parse` accepts it, it is an object, and it nests no deeper than MAX_DEPTH.
 */
export type ScanStatus = "open" | "complete" | "invalid";

export class ObjectScanner {
  status: ScanStatus = "open";
  #expect: Expect = "object";
  /** One entry per open bracket: true for an object, false for an array. */
  readonly #open: boolean[] = [];
  #inKey = false;
  /** What is left of a literal (`rue` after `t`), or how many hex digits of an escape are missing. */
  #rest = "";
  #digits = 0;

  /** True if a character came that is no white space. */
  get begun(): boolean {
    return this.status !== "open" || this.#expect !== "object";
  }

  /** What `feed` would give, without taking anything. */
  foresee(text: string): ScanStatus {
    const copy = new ObjectScanner();
    copy.status = this.status;
    copy.#expect = this.#expect;
    copy.#open.push(...this.#open);
    copy.#inKey = this.#inKey;
    copy.#rest = this.#rest;
    copy.#digits = this.#digits;
    return copy.feed(text);
  }

  /** Takes the characters of `text` from `start` on. What comes after an invalid character is not looked at. */
  feed(text: string, start = 0): ScanStatus {
    let index = start;
    while (index < text.length && this.status !== "invalid") {
      if (this.#expect === "string") index = this.#skipPlain(text, index);
      if (index >= text.length) break;
      if (!this.#take(text.charCodeAt(index))) this.status = "invalid";
      index++;
    }
    return this.status;
  }

  /** Most characters of a long argument are ordinary ones inside a string. */
  #skipPlain(text: string, from: number): number {
    let index = from;
    for (; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code === QUOTE || code === BACKSLASH || code < SPACE) break;
    }
    return index;
  }

  #take(code: number): boolean {
    switch (this.#expect) {
      case "object":
        return isSpace(code) || (code === OPEN_BRACE && this.#enter(true));
      case "end":
        return isSpace(code);
      case "string":
        return this.#takeInString(code);
      case "escape":
        return this.#takeEscape(code);
      case "hex":
        if (!isHex(code)) return false;
        if (--this.#digits === 0) this.#expect = "string";
        return true;
      case "literal":
        if (code !== this.#rest.charCodeAt(0)) return false;
        this.#rest = this.#rest.slice(1);
        return this.#rest === "" ? this.#endValue() : true;
      case "first_key":
      case "key":
        if (isSpace(code)) return true;
        if (code === CLOSE_BRACE && this.#expect === "first_key") return this.#leave(true);
        return code === QUOTE && this.#beginString(true);
      case "colon":
        if (isSpace(code)) return true;
        return code === COLON && this.#await("value");
      case "first_item":
        if (code === CLOSE_BRACKET) return this.#leave(false);
        return isSpace(code) || this.#beginValue(code);
      case "value":
        return isSpace(code) || this.#beginValue(code);
      case "after":
        return this.#takeAfterValue(code);
      default:
        return this.#takeInNumber(code, this.#expect);
    }
  }

  #takeInString(code: number): boolean {
    if (code === BACKSLASH) return this.#await("escape");
    if (code !== QUOTE) return false;
    return this.#inKey ? this.#await("colon") : this.#endValue();
  }

  #takeEscape(code: number): boolean {
    if (code === LOWER_U) {
      this.#digits = 4;
      return this.#await("hex");
    }
    return '"\\/bfnrt'.includes(String.fromCharCode(code)) && this.#await("string");
  }

  #beginValue(code: number): boolean {
    if (code === QUOTE) return this.#beginString(false);
    if (code === OPEN_BRACE) return this.#enter(true);
    if (code === OPEN_BRACKET) return this.#enter(false);
    if (code === MINUS) return this.#await("minus");
    if (code === ZERO) return this.#await("zero");
    if (isDigit(code)) return this.#await("integer");
    const literal = LITERALS[String.fromCharCode(code)];
    if (literal === undefined) return false;
    this.#rest = literal;
    return this.#await("literal");
  }

  #takeInNumber(code: number, state: NumberState): boolean {
    const next = nextInNumber(state, code);
    if (next !== null) return this.#await(next);
    return NUMBER_MAY_END.has(state) && this.#endValue() && this.#takeAfterValue(code);
  }

  #takeAfterValue(code: number): boolean {
    if (isSpace(code)) return true;
    const inObject = this.#open.at(-1) === true;
    if (code === COMMA) return this.#await(inObject ? "key" : "value");
    if (code === CLOSE_BRACE) return inObject && this.#leave(true);
    return code === CLOSE_BRACKET && !inObject && this.#leave(false);
  }

  #beginString(isKey: boolean): boolean {
    this.#inKey = isKey;
    return this.#await("string");
  }

  #enter(isObject: boolean): boolean {
    if (this.#open.length >= MAX_DEPTH) return false;
    this.#open.push(isObject);
    return this.#await(isObject ? "first_key" : "first_item");
  }

  #leave(isObject: boolean): boolean {
    if (this.#open.pop() !== isObject) return false;
    return this.#endValue();
  }

  #endValue(): boolean {
    if (this.#open.length > 0) return this.#await("after");
    this.status = "complete";
    return this.#await("end");
  }

  #await(expect: Expect): true {
    this.#expect = expect;
    return true;
  }
}

type NumberState = "minus" | "zero" | "integer" | "point" | "fraction" | "exponent" | "sign" | "power";
type Expect =
  | "object"
  | "end"
  | "string"
  | "escape"
  | "hex"
  | "literal"
  | "first_key"
  | "key"
  | "colon"
  | "first_item"
  | "value"
  | "after"
  | NumberState;

/** Arguments nested deeper are refused when they are read, so they need not be recognised. */
const MAX_DEPTH = 256;
const NUMBER_MAY_END: ReadonlySet<NumberState> = new Set<NumberState>(["zero", "integer", "fraction", "power"]);
const LITERALS: Readonly<Record<string, string>> = { t: "rue", f: "alse", n: "ull" };

function nextInNumber(state: NumberState, code: number): NumberState | null {
  switch (state) {
    case "minus":
      if (code === ZERO) return "zero";
      return isDigit(code) ? "integer" : null;
    case "zero":
    case "integer":
      if (isDigit(code)) return state === "integer" ? "integer" : null;
      if (code === POINT) return "point";
      return isExponent(code) ? "exponent" : null;
    case "point":
    case "fraction":
      if (isDigit(code)) return "fraction";
      return state === "fraction" && isExponent(code) ? "exponent" : null;
    case "exponent":
      if (code === PLUS || code === MINUS) return "sign";
      return isDigit(code) ? "power" : null;
    case "sign":
    case "power":
      return isDigit(code) ? "power" : null;
  }
}

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function isSpace(code: number): boolean {
  return code === SPACE || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= 0x39;
}

function isHex(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

function isExponent(code: number): boolean {
  return code === 0x65 || code === 0x45;
}
