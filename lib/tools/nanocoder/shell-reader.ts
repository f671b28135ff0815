/**
 * Follows the quoting of a shell script from left to right, one character at a time, and says in what place the next
 * character stands. It reads what bash and dash read the same way; what they do not is `lost`.
 *
 * Q1  In a place that `place()` names, both shells are in that place: a value encoded for it is seen as it is.
 * Q2  A reading that is not sure says so, and stays unsure to the end of the script. It never guesses.
 * Q3  A value that was put in is opaque: it ends nothing, begins nothing and is never looked at.
 * Q4  The state is plain data (`shell-state.ts`): a fork reads on by itself; equal keys read on equally.
 */
import { beginValue, commandValue, extendPlain, isOneWord, readCommand } from "./shell-command.ts";
import { newArithmeticFrame, newParameterFrame, readArithmetic, readParameter } from "./shell-expansions.ts";
import type { Flows } from "./shell-flow.ts";
import { endDocument, extendLine, readHere, watchHere } from "./shell-here.ts";
import { mention, mentionParameters } from "./shell-mention.ts";
import { type Place, placeOf, type Refusal } from "./shell-place.ts";
import { scopeOf } from "./shell-scope.ts";
import { tagSource } from "./shell-source.ts";
import { endCommand } from "./shell-word.ts";
import {
  type CommandFrame,
  type Dialect,
  ESCAPE,
  type Frame,
  type Lost,
  newCommandFrame,
  newScope,
  OPAQUE,
  type Scope,
  type SimpleCommand,
} from "./shell-state.ts";

/** Every character costs a look at each. */
const DEEPEST = 40;

export interface Beginning {
  /** All that will be read. */
  readonly text: string;
  /** Of a script between backticks: what it prints, and whose parameters it sees. */
  readonly source?: string | null;
  readonly outer?: Scope;
}

/** What is known exactly as long as all readings of it agree, and does not change the quoting. */
const VAGUE = new Set(["previous", "index", "given", "vague", "line"]);

function meetCommand(command: SimpleCommand, other: SimpleCommand): void {
  command.vague ||= other.vague || command.index !== other.index;
  command.index = Math.min(command.index, other.index);
  command.given = Math.min(command.given, other.given);
  if (command.line !== other.line) command.line = null;
}

/** Told of a tag whose place turned out later to be one where nothing can stand. */
export type Objection = (tag: number, refusal: Refusal) => void;

export class ShellReader {
  frames: Frame[];
  /** A backslash was read and the next character decides what it means. */
  escaped = false;
  /** The same for `$`, and for `$(`. */
  dollar = false;
  substitution = false;
  /** The script between backticks, which is read after its own backslashes are taken out. */
  inner: ShellReader | null = null;
  innerEscaped = false;
  fate: Lost | null = null;
  /** The name of a variable after `$`, as far as it was read. */
  name: string | null = null;
  /** Whose parameters are meant where no frame says so. */
  readonly outer: Scope;
  readonly #text: string;
  readonly #dialect: Dialect;
  readonly #object: Objection;
  readonly #flows: Flows;
  #at = 0;

  constructor(dialect: Dialect, object: Objection, flows: Flows, { text, source = null, outer = newScope("", 0) }: Beginning) {
    this.#dialect = dialect;
    this.#object = object;
    this.#flows = flows;
    this.#text = text;
    this.outer = outer;
    this.frames = [newCommandFrame(source === null ? "script" : "backtick", source ?? "")];
  }

  textOf(from: number, to: number): string {
    return from < 0 ? "" : this.#text.slice(from, to);
  }

  get flows(): Flows {
    return this.#flows;
  }

  /** The character that is being read. */
  get at(): number {
    return this.#at;
  }

  get dialect(): Dialect {
    return this.#dialect;
  }

  /** Equal for readings that go on equally; what only warnings look at does not count. */
  key(): string {
    return JSON.stringify(this, (name, value: unknown) => VAGUE.has(name) ? undefined : value);
  }

  /** Keeps of what is vague only what another reading with the same key knows too. */
  meet(other: ShellReader): void {
    if (other.inner !== null) this.inner?.meet(other.inner);
    for (const [index, frame] of this.frames.entries()) {
      const same = other.frames[index];
      if (frame.kind === "command" && same?.kind === "command") meetCommand(frame.command, same.command);
    }
  }

  fork(): ShellReader {
    // It reads no more.
    if (this.fate !== null) return this;
    return this.#revive(JSON.parse(JSON.stringify(this)) as ShellReader);
  }

  #revive(plain: ShellReader): ShellReader {
    const { outer, inner } = plain;
    const copy = new ShellReader(this.#dialect, this.#object, this.#flows, { text: this.#text, outer });
    Object.assign(copy, plain, { inner: inner === null ? null : this.#revive(inner) });
    return copy;
  }

  /** Where something put in now would stand. */
  place(): Place | Refusal {
    return placeOf(this);
  }

  /** Reads on over literal text. `at`: where the character stands, for messages. */
  feed(char: string, at: number): void {
    if (this.fate !== null) return;
    this.#at = at;
    if (this.inner === null) this.#feedName(char, at);
    this.#watchLines(char, at);
    if (this.inner !== null) this.#feedBackticks(this.inner, char, at);
    else if (this.escaped) this.#feedEscaped(char, at);
    else if (this.#feedPending(char, at)) return;
    else this.#read(char, at);
  }

  /** Reads on over a value that renders as something. */
  value(tag: number, list: boolean): void {
    if (this.fate !== null) return;
    if (this.inner === null) this.#endName(tag);
    for (const frame of this.frames) {
      if (frame.kind !== "here") continue;
      frame.line = null;
      frame.backslash = false;
    }
    if (this.inner !== null) return this.inner.value(tag, list);
    if (this.substitution) this.#enterSubstitution();
    const top = this.top;
    if (top.kind === "command" && list && isOneWord(top)) this.object(tag, { kind: "refused", code: "list" });
    if (top.kind === "command") beginValue(top, tag);
    if (top.kind === "command") top.several ||= list;
    mention(this, tagSource(tag), tag);
    if (top.kind === "command") commandValue(top);
    else if (top.kind === "parameter") top.last = OPAQUE;
    else this.literal(OPAQUE);
  }

  /** The script ends here. */
  end(at: number): void {
    if (this.fate !== null || this.inner !== null) return;
    this.feed("\n", at);
    const [, document] = this.frames;
    if (document?.kind === "here") endDocument(this, document, at);
  }

  /** A character inside of quotes, for the word that they stand in. */
  literal(char: string): void {
    const around = this.frames.at(-2);
    if (around?.kind === "command" && this.top.kind !== "here") extendPlain(this, around, char);
  }

  #feedName(char: string, at: number): void {
    if (this.name === null) return;
    if (/\w/.test(char)) this.name += char;
    else this.#endName(at);
  }

  #endName(at: number): void {
    const name = this.name;
    this.name = null;
    if (name !== null) mention(this, name, at);
  }

  get #inString(): boolean {
    return this.inner === null && ["single", "double", "ansi"].includes(this.top.kind);
  }

  /** How much one character costs to read. */
  get depth(): number {
    return this.frames.length + (this.inner?.depth ?? 0);
  }

  get top(): Frame {
    const top = this.frames.at(-1);
    if (top === undefined) throw new TypeError("Cannot read on as no frame is open");
    return top;
  }

  /** The command whose word the top frame is a part of. */
  get command(): CommandFrame | null {
    return this.frames.findLast((frame) => frame.kind === "command") ?? null;
  }

  /** Whether a complete script may end here. */
  get atRest(): boolean {
    const [frame, ...more] = this.frames;
    if (this.fate !== null || this.inner !== null || this.escaped || this.substitution || frame?.kind !== "command") return false;
    const [document] = more;
    if (document !== undefined && more.length === 1 && document.kind === "here") {
      return document.rest.length === 0 && document.line === document.document.delimiter && frame.groups.length === 0;
    }
    return more.length === 0 && frame.groups.length === 0 && !frame.comment && frame.delimiter === null && frame.pending.length === 0;
  }

  push(frame: Frame): void {
    if (this.frames.length < DEEPEST) this.frames.push(frame);
    else this.lose("quotes and expansions nested too deeply", this.#at);
  }

  pop(): void {
    this.frames.pop();
  }

  openBackticks(): void {
    const source = `$(${this.#at}`;
    mention(this, source, this.#at);
    const outer = scopeOf(this);
    this.inner = new ShellReader(this.#dialect, this.#object, this.#flows, { text: this.#text, source, outer });
  }

  lose(why: string, at: number): void {
    this.fate ??= { kind: "lost", why, at };
  }

  /** The shell refuses the script from here on, so nothing after it runs; inside a substitution that is not certain. */
  die(why: string, at: number): void {
    const certain = this.frames.length === 1 && this.command?.opener === "script";
    this.fate ??= { kind: certain ? "dead" : "lost", why, at };
  }

  object(tag: number, refusal: Refusal): void {
    this.#object(tag, refusal);
  }

  #feedPending(char: string, at: number): boolean {
    if (this.substitution) {
      if (char !== "(") {
        this.#enterSubstitution();
        return false;
      }
      this.substitution = false;
      this.push(newArithmeticFrame(")", false));
      return true;
    }
    if (!this.dollar) return false;
    this.dollar = false;
    return this.#feedDollar(char, at);
  }

  #enterSubstitution(): void {
    this.substitution = false;
    const source = `$(${this.#at}`;
    mention(this, source, this.#at);
    this.push(newCommandFrame("substitution", source));
  }

  /** The character after `$`; false if the dollar stands for itself and the character still has to be read. */
  #feedDollar(char: string, at: number): boolean {
    const top = this.top;
    if (char === "(") this.substitution = true;
    else if (char === "{") this.push(newParameterFrame(top));
    else if (char === "'" && top.kind === "parameter" && top.phase === "word" && this.#dialect === "bash") {
      this.push({ kind: "ansi", either: true });
    } else if ((char === "'" || char === '"') && top.kind === "parameter") {
      this.lose("`$` and a quote in `${…}`, which bash reads differently", at);
    } else if ((char === "'" || char === '"') && top.kind === "command") {
      // The dollar is no part of the word.
      top.plain = top.plain.slice(0, -1);
      this.push({ kind: char === "'" ? "ansi" : "double" });
    } else if (char === "[") this.#openBracketArithmetic(at);
    else if (char === "\\") {
      this.lose("a backslash right after `$`", at);
      return true;
    } else {
      if (/[A-Za-z_]/.test(char)) this.name = char;
      else if (/[\d@*]/.test(char)) mentionParameters(this, char, at);
      if (this.name !== null) this.#showName(char);
      return /[\w$#?@*!-]/.test(char);
    }
    return true;
  }

  /** The name goes on as part of the word; its first character was read with the dollar. */
  #showName(char: string): void {
    if (this.top.kind === "command") extendPlain(this, this.top, char);
    else if (this.top.kind === "double") this.literal(char);
  }

  /** The same for `${name}`, whose end is marked. */
  showNamed(name: string): void {
    for (const char of name + OPAQUE) this.#showName(char);
  }

  #openBracketArithmetic(at: number): void {
    if (this.#dialect === "sh") this.lose("`$[`, which one sh calculates and another prints", at);
    else this.push(newArithmeticFrame("]", false));
  }

  #feedEscaped(char: string, at: number): void {
    this.escaped = false;
    const top = this.top;
    if (top.kind === "command" && char !== "\n") {
      top.word += OPAQUE;
      extendPlain(this, top, char);
    }
    if (top.kind === "double" && char !== "\n") this.literal('$`"\\'.includes(char) ? char : `\\${char}`);
    if (top.kind === "ansi" && top.either === true && !"ntrabefv".includes(char)) {
      this.lose("`$'…'` in `${…}`, which bash reads differently", at);
    }
    if (top.kind === "ansi") this.literal(/[0-7xuUc]/.test(char) ? ESCAPE : char);
    if (top.kind === "here" && char === "\n") top.joined = true;
    else if (top.kind === "here") {
      extendLine(this, top, "\\", at);
      extendLine(this, top, char, at);
    }
    if (top.kind === "ansi" && this.#dialect === "sh") this.lose("a backslash in `$'…'`, which not every sh knows", at);
  }

  #feedBackticks(inner: ShellReader, char: string, at: number): void {
    if (this.innerEscaped) {
      this.innerEscaped = false;
      if (char === '"' && this.top.kind === "here") inner.lose('`\\"` in backticks in a here-document, which shells read differently', at);
      if (char === "\n" && inner.top.kind !== "command") inner.lose("a continued line in quotes in backticks", at);
      if (!"$`\\".includes(char)) inner.feed("\\", at);
      inner.feed(char, at);
    } else if (char === "\\") this.innerEscaped = true;
    else if (char === "`") {
      this.inner = null;
      endCommand(inner, at);
      if (!inner.atRest) this.lose(inner.fate?.why ?? "backticks that close inside quotes or a comment", inner.fate?.at ?? at);
    } else inner.feed(char, at);
  }

  #read(char: string, at: number): void {
    const top = this.top;
    switch (top.kind) {
      case "command":
        return readCommand(this, top, char, at);
      case "double":
        if (char === '"') return this.pop();
        if (char !== "\\") this.literal("$`".includes(char) ? OPAQUE : char);
        this.readExpansions(char);
        return;
      case "single":
        if (char === "'") this.pop();
        else this.literal(char);
        return;
      case "ansi":
        if (top.either === true && '}"$`\n'.includes(char)) this.lose("`$'…'` in `${…}`, which bash reads differently", at);
        if (char === "'") this.pop();
        else if (char === "\\") this.escaped = true;
        else this.literal(char);
        return;
      case "parameter":
        return readParameter(this, top, char, at);
      case "arithmetic":
        return readArithmetic(this, top, char, at);
      case "here":
        return readHere(this, top, char, at);
    }
  }

  /** What expands in a string, a here-document or `${…}`. */
  readExpansions(char: string): void {
    if (char === "\\") this.escaped = true;
    else if (char === "$") this.dollar = true;
    else if (char === "`") this.openBackticks();
  }

  /** Lines count for a here-document also where something else is read inside it: bash looks for its end first. */
  #watchLines(char: string, at: number): void {
    for (const frame of this.frames) {
      if (frame === this.frames.at(-1) && this.inner === null) break;
      if (frame.kind === "here") watchHere(this, frame, char, at);
      if (char === "\n" && frame.kind === "command" && frame.pending.length > 0 && !(frame === this.command && this.#inString)) {
        this.lose("a line that ends inside an expansion while a here-document is due", at);
      }
    }
  }
}
