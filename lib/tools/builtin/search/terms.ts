/** What is looked for in a line, and a plain text that every line with a match contains: files without it need no closer look. */

export interface Terms {
  /** Null: there is no such text. */
  readonly needle: Needle | null;
  /** Whether a line matches. */
  test(line: string): boolean;
  /** Where the first match of a matching line begins. */
  locate(line: string): number;
  /** Whether a matching line has the text as a word of its own. */
  isWord(line: string): boolean;
  /** More characters of a line than this are not looked at. */
  readonly longest_line: number;
}

export interface Needle {
  readonly text: string;
  readonly ignore_case: boolean;
}

const LONGEST_LINE = 100_000;
/** Steps that one line may take at most: its length times the size of the program. */
const LINE_STEPS = 20_000_000;

export function literalTerms(query: string, ignore_case: boolean): Terms {
  const expression = new RegExp(escapeLiteral(query), ignore_case ? "iu" : "u");
  const word = new RegExp(
    `${/^\w/.test(query) ? "(?<!\\w)" : ""}${escapeLiteral(query)}${/\w$/.test(query) ? "(?!\\w)" : ""}`,
    ignore_case ? "iu" : "u",
  );
  return {
    needle: toNeedle(query, ignore_case),
    test: ignore_case ? (line) => expression.test(line) : (line) => line.includes(query),
    locate: (line) => line.search(expression),
    isWord: (line) => word.test(line),
    longest_line: ignore_case ? LONGEST_LINE : Infinity,
  };
}

/** @throws {Error} the pattern is none, or cannot be run in linear time; the message says why. */
export async function patternTerms(pattern: string, ignore_case: boolean): Promise<Terms> {
  const { RE2JS } = await import("re2js");
  const expression = RE2JS.compile(pattern, ignore_case ? RE2JS.CASE_INSENSITIVE : 0);
  return {
    needle: toNeedle(requiredText(pattern), ignore_case),
    test: (line) => expression.test(line),
    locate: (line) => {
      const matcher = expression.matcher(line);
      return matcher.find() ? matcher.start() : 0;
    },
    isWord: () => false,
    longest_line: Math.min(LONGEST_LINE, Math.floor(LINE_STEPS / expression.programSize())),
  };
}

/**
 * The longest plain text that every match of an RE2 pattern contains; "" if that is not plain to see. Only the top level is
 * read: groups are passed over, alternatives and flags mean that nothing is certain.
 */
export function requiredText(pattern: string): string {
  let best = "";
  let run = "";
  const end = () => {
    if (run.length > best.length) best = run;
    run = "";
  };
  for (let at = 0; at < pattern.length; at++) {
    const character = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    if (character === "|" || pattern.startsWith("(?", at)) return "";
    if (character === "(" || character === "[") {
      const close = character === "(" ? endOfGroup(pattern, at) : endOfClass(pattern, at);
      if (close < 0) return "";
      end();
      at = close;
    } else if (character === "\\") {
      const escaped = pattern.charAt(++at);
      if (/[dDwWsSbBAztnrfva]/.test(escaped)) end();
      else if (/[!-/:-@[-`{-~]/.test(escaped)) run += escaped;
      else return "";
    } else if ("*?{".includes(character)) {
      run = [...run].slice(0, -1).join("");
      end();
      if (character === "{") at += Math.max(1, /^\{\d+(?:,\d*)?\}/.exec(pattern.slice(at))?.[0].length ?? 0) - 1;
    } else if ("+.^$".includes(character)) {
      end();
    } else {
      run += character;
      at += character.length - 1;
    }
  }
  end();
  return best;
}

function endOfGroup(pattern: string, open: number): number {
  let depth = 0;
  for (let at = open; at < pattern.length; at++) {
    const character = pattern.charAt(at);
    if (pattern.startsWith("(?", at) || pattern.startsWith("\\Q", at)) return -1;
    if (character === "\\") at++;
    else if (character === "[") at = endOfClass(pattern, at);
    else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return at;
    if (at < 0) return -1;
  }
  return -1;
}

function endOfClass(pattern: string, open: number): number {
  let at = open + 1;
  if (pattern.charAt(at) === "^") at++;
  if (pattern.charAt(at) === "]") at++;
  for (; at < pattern.length; at++) {
    const character = pattern.charAt(at);
    if (character === "\\") at++;
    else if (pattern.startsWith("[:", at)) at = Math.max(at, pattern.indexOf(":]", at) + 1);
    else if (character === "]") return at;
  }
  return -1;
}

/** Beyond ASCII, engines may differ in what they take for the same letter; U+FFFD may stand for bytes that are no text. */
function toNeedle(text: string, ignore_case: boolean): Needle | null {
  const certain = text !== "" && !text.includes("\uFFFD") && text.isWellFormed() && (!ignore_case || /^[\x20-\x7e]*$/.test(text));
  return certain ? { text, ignore_case } : null;
}

export function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
