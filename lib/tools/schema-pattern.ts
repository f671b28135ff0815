/**
 * Patterns of a schema, run in linear time. A pattern is ECMAScript; the engine speaks RE2, so it is translated first.
 *
 * T1  A translated pattern matches the same strings as the original (with the `u` flag).
 * T2  What cannot be translated is refused at load, never run by a backtracking engine. What needs no engine gets none
 *     (`schema-pattern-plain.ts`).
 *
 * Look-ahead right after a leading `^` is the one thing beyond RE2 that authors do write (`^(?!-)`): such a pattern
 * becomes several, each wanted or unwanted. Other look-around and backreferences are refused.
 */

import { matchPlain, type PlainPattern, readPlain } from "./schema-pattern-plain.ts";

/** One or more RE2 patterns; a text matches if each of them matches exactly when it is `wanted`. */
export interface PatternPlan {
  readonly parts: readonly { readonly source: string; readonly wanted: boolean }[];
  /** Takes their place. */
  readonly plain?: PlainPattern;
}

export type Translation =
  | { readonly kind: "plan"; readonly plan: PatternPlan; /** About how many steps it compiles to. */ readonly size: number }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly problem: string; readonly remedy: string };

type RefusalCode = "schema_pattern" | "schema_pattern_unsupported";

/** A pattern that is ready to run. `cost` is the work that a text of this length takes at most. */
export interface Matcher {
  test(text: string): boolean;
  cost(length: number): number;
}

/** @throws {Error} if the engine refuses the plan (its message says why). */
export type PatternEngine = (plan: PatternPlan) => Matcher;

const LONGEST_PATTERN = 2000;
/** Steps of one compiled pattern. A repeat is compiled as often as it may occur, so that a short text can make gigabytes. */
const LARGEST_PROGRAM = 10_000;
const CLASS_STEPS = 2;
/** Characters that are looked at in the time of one step. */
const PLAIN_PER_STEP = 8;

/** Loaded on demand: importing the engine takes longer than starting a session. */
export async function loadPatternEngine(): Promise<PatternEngine> {
  const { RE2JS } = await import("re2js");
  return ({ parts, plain }) => {
    if (plain !== undefined) return { test: matchPlain(plain), cost: (length) => Math.ceil(length / PLAIN_PER_STEP) };
    const compiled = parts.map(({ source, wanted }) => ({ expression: RE2JS.compile(source), wanted }));
    const size = compiled.reduce((sum, { expression }) => sum + expression.programSize(), 0);
    return {
      test: (text) => compiled.every(({ expression, wanted }) => expression.test(text) === wanted),
      cost: (length) => size * (length + 1),
    };
  };
}

export function translatePattern(source: string): Translation {
  if (source.length > LONGEST_PATTERN) {
    return refused("schema_pattern_unsupported", `a pattern may have at most ${LONGEST_PATTERN} characters, this one has ${source.length}`);
  }
  const fault = syntaxFault(source);
  if (fault !== null) return refused("schema_pattern", fault);
  const plain = readPlain([...source.matchAll(PATTERN_TOKENS)].map(([token]) => token));
  if (plain !== null) return { kind: "plan", plan: { parts: [], plain }, size: 1 };
  const size = programSize(source);
  if (size > LARGEST_PROGRAM) {
    return refused("schema_pattern_unsupported", `its repeats come to ${shownSize(size)} steps, and a pattern may have ${LARGEST_PROGRAM}`);
  }
  try {
    return { kind: "plan", plan: { parts: splitLookaheads(source) }, size };
  } catch (error) {
    if (error instanceof Unsupported) return refused("schema_pattern_unsupported", error.message);
    throw error;
  }
}

class Unsupported extends Error {
  override readonly name = "Unsupported";
}

function refused(code: RefusalCode, problem: string): Translation {
  return { kind: "refused", code, problem, remedy: REMEDIES[code] };
}

const REMEDIES: Readonly<Record<RefusalCode, string>> = {
  schema_pattern: "Write a regular expression of JavaScript.",
  schema_pattern_unsupported: "Write it without look-around, backreferences and repeats of thousands.",
};

/** Schemas in the wild have escapes that only the lenient flavour accepts (`\_`), so both count as valid. */
function syntaxFault(source: string): string | null {
  for (const flags of ["u", ""]) {
    try {
      new RegExp(source, flags);
      return null;
    } catch (error) {
      if (flags === "") return error instanceof Error ? error.message : String(error);
    }
  }
  return null;
}

/** An estimate from above, without compiling: atoms, times what repeats them. */
function programSize(source: string): number {
  const open: number[] = [];
  let total = 1;
  let last = 0;
  for (const [token] of source.matchAll(PATTERN_TOKENS)) {
    const [, low, high] = /^\{(\d+)(,\d*)?\}$/.exec(token) ?? [];
    if (low !== undefined) {
      const times = Math.max(1, Number(low), Number(high?.slice(1) ?? 0)) + (high === "," ? 1 : 0);
      total += last * (times - 1) + times;
      last = last * times + times;
    } else if (token.startsWith("(")) {
      open.push(total);
      total += 2;
      last = 0;
    } else if (token === ")") {
      last = total - (open.pop() ?? 0);
    } else {
      // A star or a bar is one step too, and what is repeated stays the same.
      if (!"*+?|".includes(token)) last = token.startsWith("[") ? CLASS_STEPS : 1;
      total += "*+?|".includes(token) ? 1 : last;
    }
  }
  return total;
}

const PATTERN_TOKENS =
  /\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[^])|\[\^?(?:\\[^]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|\((?:\?(?:<?[=!]|:|<[^>]*>))?|[^]/gu;

function shownSize(size: number): string {
  return size < 1e9 ? String(size) : "more than a thousand million";
}

function splitLookaheads(source: string): PatternPlan["parts"] {
  const parts: { source: string; wanted: boolean }[] = [];
  let rest = source;
  while (/^\^\(\?[=!]/.test(rest)) {
    const end = closingParenthesis(rest, 1);
    parts.push({ source: `^(?:${translate(rest.slice(4, end))})`, wanted: rest[3] === "=" });
    rest = `^${rest.slice(end + 1)}`;
    if (/^\^[*+?{]/.test(rest)) throw new Unsupported("a repeated look-ahead is not supported");
  }
  if (parts.length > 0 && hasTopLevelAlternative(rest)) throw new Unsupported("look-ahead beside a top-level `|` is not supported");
  return [...parts, { source: translate(rest), wanted: true }];
}

function closingParenthesis(source: string, open: number): number {
  let depth = 0;
  for (const [index, character] of structure(source, open)) {
    if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return index;
  }
  throw new Unsupported("its parentheses do not match");
}

function hasTopLevelAlternative(source: string): boolean {
  let depth = 0;
  for (const [, character] of structure(source, 0)) {
    if (character === "(") depth++;
    else if (character === ")") depth--;
    else if (character === "|" && depth === 0) return true;
  }
  return false;
}

/** The characters that are neither escaped nor inside a class. */
function* structure(source: string, from: number): Generator<[number, string]> {
  let inClass = false;
  for (let index = from; index < source.length; index++) {
    const character = source.charAt(index);
    if (character === "\\") index++;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") inClass = true;
    else yield [index, character];
  }
}

function translate(source: string): string {
  return new Translator(source).translate();
}

/** The long names of general categories; the engine knows the short ones. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Letter: "L",
  Cased_Letter: "LC",
  Uppercase_Letter: "Lu",
  Lowercase_Letter: "Ll",
  Titlecase_Letter: "Lt",
  Modifier_Letter: "Lm",
  Other_Letter: "Lo",
  Mark: "M",
  Combining_Mark: "M",
  Nonspacing_Mark: "Mn",
  Spacing_Mark: "Mc",
  Enclosing_Mark: "Me",
  Number: "N",
  Decimal_Number: "Nd",
  digit: "Nd",
  Letter_Number: "Nl",
  Other_Number: "No",
  Punctuation: "P",
  punct: "P",
  Connector_Punctuation: "Pc",
  Dash_Punctuation: "Pd",
  Open_Punctuation: "Ps",
  Close_Punctuation: "Pe",
  Initial_Punctuation: "Pi",
  Final_Punctuation: "Pf",
  Other_Punctuation: "Po",
  Symbol: "S",
  Math_Symbol: "Sm",
  Currency_Symbol: "Sc",
  Modifier_Symbol: "Sk",
  Other_Symbol: "So",
  Separator: "Z",
  Space_Separator: "Zs",
  Line_Separator: "Zl",
  Paragraph_Separator: "Zp",
  Other: "C",
  Control: "Cc",
  cntrl: "Cc",
  Format: "Cf",
  Surrogate: "Cs",
  Private_Use: "Co",
};

/** What ECMAScript calls white space, as ranges of code points. */
const SPACES: readonly (readonly [number, number])[] = [
  [0x9, 0xd],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

function spaceSet(): string {
  return SPACES.map(([low, high]) => `${hex(low)}-${hex(high)}`).join("");
}

function notSpaceSet(): string {
  return [...SPACES, [0x110000, 0] as const]
    .map(([low], index) => `${hex(index === 0 ? 0 : (SPACES[index - 1]?.[1] ?? 0) + 1)}-${hex(low - 1)}`)
    .join("");
}

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** A member of a class: one character, or a ready-made set. */
type Member = { readonly kind: "character"; readonly code: number } | { readonly kind: "set"; readonly text: string };

class Translator {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  translate(): string {
    let out = "";
    while (this.#at < this.#source.length) out += this.#next();
    return out;
  }

  #next(): string {
    const character = this.#source.charAt(this.#at);
    if (character === "\\") return this.#outside(this.#escape(false));
    if (character === "[") return this.#class();
    if (character === "(") return this.#group();
    if (character === "{") return this.#match(/\{\d+(?:,\d*)?\}/y) ?? this.#literal();
    if (character === ".") return this.#skip(1, "[^\\n\\r\\x{2028}\\x{2029}]");
    if ("^$|)*+?".includes(character)) return this.#skip(1, character);
    return this.#literal();
  }

  #outside(member: Member): string {
    if (member.kind === "character") return hex(member.code);
    return /^(?:\\[bBdDwWpP])/.test(member.text) ? member.text : `[${member.text}]`;
  }

  #group(): string {
    const opener = this.#match(/\((?:\?(?:<[=!]|[=!:]|<[^>]*>|[a-z-]+:))?/y) ?? "(";
    if (/^\(\?<?[=!]/.test(opener)) throw new Unsupported("look-around is supported only right after a leading `^`");
    if (/^\(\?[a-z-]+:/.test(opener)) throw new Unsupported("inline modifiers are not supported");
    return "(?:";
  }

  #class(): string {
    const negated = this.#match(/\[\^?/y) === "[^";
    let members = "";
    while (this.#source.charAt(this.#at) !== "]") {
      const low = this.#member();
      const ranged = this.#source.charAt(this.#at) === "-" && this.#source.charAt(this.#at + 1) !== "]";
      if (!ranged || low.kind === "set") {
        members += print(low);
        continue;
      }
      this.#at++;
      const high = this.#member();
      members += high.kind === "set" ? `${print(low)}${hex(0x2d)}${print(high)}` : `${hex(low.code)}-${hex(high.code)}`;
    }
    this.#at++;
    if (members === "") return negated ? "[\\x{0}-\\x{10FFFF}]" : "[^\\x{0}-\\x{10FFFF}]";
    return `[${negated ? "^" : ""}${members}]`;
  }

  #member(): Member {
    return this.#source.charAt(this.#at) === "\\" ? this.#escape(true) : { kind: "character", code: this.#codePoint() };
  }

  #escape(inClass: boolean): Member {
    const letter = this.#source.charAt(this.#at + 1);
    if ("dDwW".includes(letter) || (!inClass && "bB".includes(letter))) return this.#skip(2, { kind: "set", text: `\\${letter}` });
    if (letter === "s" || letter === "S") return this.#skip(2, { kind: "set", text: letter === "s" ? spaceSet() : notSpaceSet() });
    const property = this.#match(/\\[pP]\{[^}]*\}/y);
    if (property !== null) return { kind: "set", text: this.#property(property) };
    const control = CONTROLS[letter];
    if (control !== undefined) return this.#skip(2, { kind: "character", code: control });
    if (inClass && letter === "b") return this.#skip(2, { kind: "character", code: 8 });
    return { kind: "character", code: this.#numericEscape() ?? this.#identityEscape(letter) };
  }

  #property(property: string): string {
    const name = property.slice(3, -1).replace(/^(?:Script|sc|General_Category|gc)=/, "");
    const positive = property.charAt(1) === "p";
    if (/^(?:Script_Extensions|scx)=/.test(name)) throw new Unsupported(`\`${property}\` is not supported; Script= is`);
    if (name === "ASCII") return positive ? "\\x{0}-\\x{7F}" : "\\x{80}-\\x{10FFFF}";
    return `\\${property.charAt(1)}{${CATEGORIES[name] ?? name}}`;
  }

  #numericEscape(): number | null {
    const control = this.#match(/\\c[A-Za-z]/y);
    if (control !== null) return control.charCodeAt(2) % 32;
    if (this.#match(/\\0(?!\d)/y) !== null) return 0;
    const pair = this.#match(/\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y);
    if (pair !== null) return JSON.parse(`"${pair}"`).codePointAt(0);
    const digits = this.#match(/\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]+\}/y);
    return digits === null ? null : parseInt(digits.replace(/^\\[xu]\{?/, ""), 16);
  }

  #identityEscape(letter: string): number {
    if (/[1-9k]/.test(letter)) throw new Unsupported("backreferences are not supported");
    if (/[A-Za-z0-9]/.test(letter)) throw new Unsupported(`the escape \`\\${letter}\` is not supported`);
    this.#at++;
    return this.#codePoint();
  }

  #literal(): string {
    return hex(this.#codePoint());
  }

  #codePoint(): number {
    const code = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }

  #match(expression: RegExp): string | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }

  #skip<T>(length: number, result: T): T {
    this.#at += length;
    return result;
  }
}

function print(member: Member): string {
  return member.kind === "set" ? member.text : hex(member.code);
}

function hex(code: number): string {
  return /[A-Za-z0-9_]/.test(String.fromCodePoint(Math.min(code, 0x10ffff))) ? String.fromCodePoint(code) : `\\x{${code.toString(16)}}`;
}
