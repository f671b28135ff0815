/**
 * The simple commands in a text for a shell, wherever they stand: in lists, pipes, groups, branches and substitutions.
 * For judging a text that is not run: what cannot be read with certainty is said to be unknown, or the whole is null.
 *
 * S1  A word is `known` only if its text is what the shell makes of it. `$HOME` and `~` are, if the caller names them.
 * S2  Every substitution in a word is read as commands of its own.
 * S3  Depth and length are bounded.
 */

export interface ShellWord {
  /** Without quotes; what is filled in while it runs is missing from it if the word is not known. */
  readonly text: string;
  readonly known: boolean;
  /** As it was written, for people. */
  readonly source: string;
}

export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** Files that it reads by `<`. */
  readonly inputs: readonly ShellWord[];
}

const MAX_LENGTH = 256 * 1024;
const MAX_DEPTH = 40;
const MAX_COMMANDS = 5000;

/** Null: it cannot be read. */
export function readShell(text: string, home?: string): readonly ShellCommand[] | null {
  if (text.length > MAX_LENGTH) return null;
  const commands: ShellCommand[] = [];
  try {
    new ShellReader(text, home, commands, 0).readAll();
  } catch (error) {
    if (error instanceof UnreadableShell) return null;
    throw error;
  }
  return commands;
}

class UnreadableShell extends Error {
  override readonly name = "UnreadableShell";
}

interface HereDocument {
  readonly end: string;
  readonly literal: boolean;
  readonly indented: boolean;
}

const BLANK = /[ \t\r]/;
const META = /[\s;&|()<>]/;

class ShellReader {
  readonly #text: string;
  readonly #home: string | undefined;
  readonly #commands: ShellCommand[];
  readonly #depth: number;
  readonly #waiting: HereDocument[] = [];
  #at = 0;
  #nesting = 0;
  #words: ShellWord[] = [];
  #inputs: ShellWord[] = [];

  constructor(text: string, home: string | undefined, commands: ShellCommand[], depth: number) {
    if (depth > MAX_DEPTH) throw new UnreadableShell();
    this.#text = text;
    this.#home = home;
    this.#commands = commands;
    this.#depth = depth;
  }

  readAll(): void {
    this.#list(false, 0);
  }

  /** Commands up to the end, or to the `)` that closes a group. */
  #list(closed: boolean, depth: number): void {
    if (depth + this.#depth > MAX_DEPTH) throw new UnreadableShell();
    let cases = 0;
    for (;;) {
      this.#skipBlanks();
      const character = this.#text[this.#at];
      if (character === undefined) {
        if (closed) throw new UnreadableShell();
        return this.#finish();
      }
      if (character === "\n") this.#newline();
      else if (character === ")") {
        this.#finish();
        this.#at++;
        if (closed) return;
        throw new UnreadableShell();
      } else if (character === "(") this.#group(depth);
      else if (this.#redirection()) continue;
      else if (/[;&|]/.test(character)) {
        this.#finish();
        const ends = /^;;&?|^;&/.exec(this.#text.slice(this.#at, this.#at + 3))?.[0];
        this.#at += ends?.length ?? 1;
        if (ends !== undefined && cases > 0) cases = this.#patterns(cases);
      } else cases = this.#nextWord(cases);
    }
  }

  #nextWord(cases: number): number {
    this.#words.push(this.#word());
    const [first] = this.#words;
    if (first?.source === "[[") this.#condition();
    if (first?.source === "esac" && this.#words.length === 1) {
      this.#words = [];
      return Math.max(0, cases - 1);
    }
    if (this.#words.at(-1)?.source !== "in" || withoutKeywords(this.#words)[0]?.source !== "case") return cases;
    this.#finish();
    return this.#patterns(cases + 1);
  }

  /** The patterns of a branch; how many `case` are open behind them. */
  #patterns(cases: number): number {
    for (;;) {
      this.#skipBlanks();
      const character = this.#text[this.#at];
      if (character === undefined) throw new UnreadableShell();
      if (character === ")") {
        this.#at++;
        return cases;
      }
      if (/[\n|(]/.test(character)) this.#at++;
      else if (META.test(character)) throw new UnreadableShell();
      else if (this.#word().source === "esac") return cases - 1;
    }
  }

  /** `[[ … ]]`: its operators are no ends of commands. */
  #condition(): void {
    for (;;) {
      while (META.test(this.#text[this.#at] ?? "")) this.#at++;
      if (this.#at >= this.#text.length) throw new UnreadableShell();
      if (this.#word().source === "]]") break;
    }
    this.#words = [];
  }

  /** A subshell, an array, or the head of a function. */
  #group(depth: number): void {
    this.#at++;
    const isFunction = this.#words.length > 0 && /^[ \t]*\)/.test(this.#text.slice(this.#at, this.#at + 100));
    if (isFunction) this.#words = [];
    else this.#finish();
    this.#list(true, depth + 1);
  }

  #finish(): void {
    if (this.#words.length > 0 || this.#inputs.length > 0) this.#commands.push({ words: this.#words, inputs: this.#inputs });
    if (this.#commands.length > MAX_COMMANDS) throw new UnreadableShell();
    this.#words = [];
    this.#inputs = [];
  }

  #newline(): void {
    this.#finish();
    this.#at++;
    for (const document of this.#waiting.splice(0)) this.#hereDocument(document);
  }

  #hereDocument({ end, literal, indented }: HereDocument): void {
    const lines: string[] = [];
    for (;;) {
      if (this.#at >= this.#text.length) break;
      const stop = this.#text.indexOf("\n", this.#at);
      const line = this.#text.slice(this.#at, stop === -1 ? undefined : stop);
      this.#at = stop === -1 ? this.#text.length : stop + 1;
      if ((indented ? line.replace(/^\t+/, "") : line) === end) break;
      lines.push(line);
    }
    // What is substituted in it runs; the rest is only read.
    if (!literal) new ShellReader(lines.join("\n"), this.#home, this.#commands, this.#depth + 1).#quotedText(null);
  }

  #skipBlanks(): void {
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) return;
      if (BLANK.test(character)) this.#at++;
      else if (this.#text.startsWith("\\\n", this.#at)) this.#at += 2;
      else if (character === "#") {
        const end = this.#text.indexOf("\n", this.#at);
        this.#at = end === -1 ? this.#text.length : end;
      } else return;
    }
  }

  /** Whether there was one. What is written to is no program that runs. */
  #redirection(): boolean {
    const operator = /^(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|>>|>\||>&|<(?!\()|>(?!\())|^&>>?/.exec(this.#text.slice(this.#at, this.#at + 50))
      ?.[0];
    if (operator === undefined) return false;
    this.#at += operator.length;
    this.#skipBlanks();
    const word = this.#word();
    if (operator.includes("<<<")) return true;
    if (operator.includes("<<")) {
      this.#waiting.push({ end: word.text, literal: /["'\\]/.test(word.source), indented: operator.endsWith("-") });
    } else if (operator.includes("<") && !operator.endsWith("&")) this.#inputs.push(word);
    return true;
  }

  #word(): ShellWord {
    const start = this.#at;
    const built = { text: "", known: true };
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] ?? "";
      if ((character === "<" || character === ">") && this.#text[this.#at + 1] === "(") {
        this.#at += 2;
        this.#substitution();
        built.known = false;
      } else if (META.test(character)) break;
      else this.#piece(character, built, start);
    }
    if (this.#at === start) throw new UnreadableShell();
    return { ...built, source: this.#text.slice(start, this.#at) };
  }

  #piece(character: string, built: { text: string; known: boolean }, start: number): void {
    this.#at++;
    if (character === "'") built.text += this.#upTo("'");
    else if (character === '"') this.#add(built, this.#quotedText('"'));
    else if (character === "\\") {
      const next = this.#text[this.#at++] ?? "";
      if (next !== "\n") built.text += next;
    } else if (character === "$" || character === "`") this.#add(built, this.#expansion(character, true));
    else if (character === "~" && this.#at - 1 === start) this.#add(built, this.#tilde());
    else {
      if (/[*?]/.test(character) || (character === "[" && this.#isSet()) || (character === "{" && this.#isBraceList())) built.known = false;
      built.text += character;
    }
  }

  #add(built: { text: string; known: boolean }, part: string | null): void {
    if (part === null) built.known = false;
    else built.text += part;
  }

  /** `[` alone is a program. */
  #isSet(): boolean {
    return !META.test(this.#text[this.#at] ?? " ");
  }

  #isBraceList(): boolean {
    return /^[^\s}]*(?:,|\.\.)/.test(this.#text.slice(this.#at, this.#at + 1000));
  }

  #tilde(): string | null {
    const next = this.#text[this.#at];
    return next === undefined || next === "/" || META.test(next) ? this.#home ?? null : null;
  }

  #upTo(end: string): string {
    const stop = this.#text.indexOf(end, this.#at);
    if (stop === -1) throw new UnreadableShell();
    const text = this.#text.slice(this.#at, stop);
    this.#at = stop + 1;
    return text;
  }

  /** Up to the closing quote, or to the end for a here-document; null if something in it is not known. */
  #quotedText(end: '"' | null): string | null {
    let text = "";
    let known = true;
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined && end !== null) throw new UnreadableShell();
      if (character === undefined) break;
      this.#at++;
      if (character === end) break;
      if (character === "\\") {
        const next = this.#text[this.#at] ?? "";
        if (/[$`"\\\n]/.test(next)) this.#at++;
        text += /[$`"\\]/.test(next) ? next : next === "\n" ? "" : character;
      } else if (character === "$" || character === "`") {
        const part = this.#expansion(character, false);
        known &&= part !== null;
        text += part ?? "";
      } else text += character;
    }
    return known ? text : null;
  }

  /** What stands for it, or null; `bare`: outside of double quotes. */
  #expansion(character: "$" | "`", bare: boolean): string | null {
    if (character === "`") {
      const inner = /^(?:[^`\\]|\\[\s\S])*/.exec(this.#text.slice(this.#at))?.[0] ?? "";
      this.#at += inner.length + 1;
      if (this.#at > this.#text.length) throw new UnreadableShell();
      new ShellReader(inner.replaceAll(/\\([$`\\])/g, "$1"), this.#home, this.#commands, this.#depth + 1).readAll();
      return null;
    }
    const next = this.#text[this.#at] ?? "";
    if (next === "(") {
      this.#at++;
      this.#substitution();
      return null;
    }
    if (next === "{") return this.#parameter();
    if (bare && (next === "'" || next === '"')) return this.#dollarQuote(next);
    const name = /^(?:\w+|[@*#?$!-])/.exec(this.#text.slice(this.#at, this.#at + 200))?.[0] ?? "";
    this.#at += name.length;
    if (name === "") return "$";
    // Numbers, whatever they are.
    if (/^[#?$]$/.test(name)) return "0";
    return name === "HOME" ? this.#home ?? null : null;
  }

  #dollarQuote(quote: string): string | null {
    this.#at++;
    if (quote === '"') return this.#quotedText('"');
    const inner = /^(?:[^'\\]|\\[\s\S])*/.exec(this.#text.slice(this.#at))?.[0] ?? "";
    this.#at += inner.length + 1;
    if (this.#at > this.#text.length) throw new UnreadableShell();
    return inner.includes("\\") ? null : inner;
  }

  /** `${…}` */
  #parameter(): string | null {
    const start = ++this.#at;
    for (;;) {
      const character = this.#text[this.#at++];
      if (character === undefined) throw new UnreadableShell();
      if (character === "}") break;
      if (character === "\\") this.#at++;
      else if (character === "'") this.#upTo("'");
      else if (character === '"') this.#quotedText('"');
      else if (character === "$" || character === "`") this.#expansion(character, false);
    }
    return this.#text.slice(start, this.#at - 1) === "HOME" ? this.#home ?? null : null;
  }

  /** Behind `$(`, up to its end. The words around it are kept. */
  #substitution(): void {
    const [words, inputs] = [this.#words, this.#inputs];
    this.#words = [];
    this.#inputs = [];
    this.#list(true, this.#nesting++);
    this.#nesting--;
    this.#words = words;
    this.#inputs = inputs;
  }
}

const KEYWORDS: readonly string[] = [
  "!",
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "while",
  "until",
  "do",
  "done",
  "{",
  "}",
  "coproc",
  "function",
];

/** From the word in the place of a command on. */
export function withoutKeywords(words: readonly ShellWord[]): readonly ShellWord[] {
  const start = words.findIndex(({ source }) => !KEYWORDS.includes(source));
  return start === -1 ? [] : words.slice(start);
}
