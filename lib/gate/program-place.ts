/**
 * May a command run something that lies in the workspace? A tool, hook or server of the user's that does would run a
 * cloned repository's code. Nothing is started to find out.
 *
 * N1  Unknown is a yes: a program, or an argument of one that could run it, whose text the command only makes while it runs.
 * N2  A word that names something that is in the workspace is a yes, wherever it stands, also as a part of a word.
 * N3  What takes its code from the folder it is started in (runners.ts) is a yes by its name alone.
 * N4  The work is bounded; what is longer is a yes.
 * N5  A program whose first line names an interpreter is that command too, and so on: what the system would start counts.
 */
import { lstatSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { expandSplit, headOf, interpretedArgv, isEnv, isSplit, readShebang } from "../platform/shebang.ts";
import { isExecutable, isFile, lies } from "./place.ts";
import {
  APART_FROM_FOLDER,
  CARRIERS,
  CURL_CONFIG,
  FOLDER_RUNNERS,
  HARMLESS_FLAGS,
  programFamily,
  READERS,
  SCRIPT_RUNNERS,
  SHELLS,
  STEERING,
  TALKERS,
  TEXT_PROGRAMS,
  VALUED_FLAGS,
} from "./runners.ts";
import { readShell, type ShellCommand, type ShellWord, withoutKeywords } from "./shell-words.ts";

export interface ProgramContext {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** What commands are started in, if not there. */
  readonly cwd?: string;
  /** The PATH of the child. */
  readonly path: string;
  /** What `~` stands for in a shell of the child. */
  readonly home?: string | undefined;
}

/** Of a command that a shell reads, or of an argument vector; what is longer is not looked through. */
const MOST_WORDS = 20_000;
const MAX_DEPTH = 20;

/** The first word of an argument vector that may lead into the workspace, or null. */
export function workspaceProgram(argv: readonly string[], context: ProgramContext): string | null {
  return new Judge(context).argv(argv.map(toWord));
}

/** The same for a text that a shell is given. */
export function workspaceProgramOf(command: string, context: ProgramContext): string | null {
  return new Judge(context).shell(command);
}

/** The name of the first variable, of those that are set for a program, that may lead it into the workspace; or null. */
export function workspaceVariable(env: Readonly<Record<string, string>>, context: ProgramContext): string | null {
  const judge = new Judge(context);
  return first(Object.entries(env), ([name, text]) => judge.variable(name, { text, known: true, source: name }));
}

/** Whether a program, by a path or by a name on the PATH, is one of the workspace, or has one run it. */
export function isWorkspaceProgram(program: string, context: ProgramContext): boolean {
  const judge = new Judge(context);
  return judge.isOwn(program) || judge.firstLine(program) !== null;
}

class Judge {
  readonly #context: ProgramContext;
  readonly #cwd: string;
  readonly #firstLines = new Map<string, string | null>();
  #depth = 0;
  #words = 0;

  constructor(context: ProgramContext) {
    this.#context = context;
    this.#cwd = context.cwd ?? context.workspace;
  }

  shell(text: string): string | null {
    const commands = this.#depth >= MAX_DEPTH ? null : readShell(text, this.#context.home);
    if (commands === null) return shorten(text);
    this.#depth++;
    const found = first(commands, (command) => this.#command(command));
    this.#depth--;
    return found;
  }

  #command({ words: all, inputs }: ShellCommand): string | null {
    const words = withoutKeywords(all);
    const start = words.findIndex(({ source }) => !ASSIGNMENT.test(source));
    const settings = start === -1 ? words : words.slice(0, start);
    return first(settings, (word) => this.#setting(word)) ??
      (start === -1 ? null : this.argv(words.slice(start))) ??
      first(inputs, (word) => this.#opened(word));
  }

  argv(words: readonly ShellWord[]): string | null {
    const [program, ...rest] = words;
    if (program === undefined) return null;
    this.#words += words.length;
    if (this.#words > MOST_WORDS || !program.known || this.isOwn(program.text)) return shorten(program.source);
    return this.#byName(program, rest) ?? this.#byFirstLine(program);
  }

  #byName(program: ShellWord, rest: readonly ShellWord[]): string | null {
    const name = programFamily(basename(program.text));
    if (TALKERS.has(name)) return ASSIGNERS.has(name) ? first(rest, ({ text, source }) => STEERING.test(text) ? source : null) : null;
    if (READERS.has(name)) return this.#reader(name, rest);
    const names = [name, this.#realName(program.text)];
    const runner = names.find((each) => SHELLS.has(each) || SCRIPT_RUNNERS.has(each) || FOLDER_RUNNERS.has(each));
    if (runner !== undefined) return this.#runner(runner, program, rest);
    if (name === "find") return this.#find(program, rest);
    if (DECLARING.has(name)) return first(rest, (word) => this.#setting(word));
    if (CARRIERS.has(name)) return this.#carried(name, program, rest);
    return first(rest, (word) => this.#argument(word, TEXT_PROGRAMS.has(name)));
  }

  /** Whether a program lies in the workspace, by its name or behind links. */
  isOwn(program: string): boolean {
    if (program.includes("/")) return !this.#outside(resolve(this.#cwd, program));
    const found = this.#locate(program);
    return found !== null && this.#isInside(found);
  }

  #locate(name: string): string | null {
    const files = this.#context.path.split(delimiter).map((folder) => resolve(this.#cwd, folder, name)).filter(isFile);
    // One that cannot be started is passed over, so what lies behind it may be what runs.
    const start = files.findIndex(isExecutable);
    const tried = files.slice(0, start === -1 ? undefined : start + 1);
    return tried.find((path) => this.#isInside(path)) ?? tried.at(-1) ?? null;
  }

  #pathOf(program: string): string | null {
    return program.includes("/") ? resolve(this.#cwd, program) : this.#locate(program);
  }

  #byFirstLine({ text, source }: ShellWord): string | null {
    const line = this.firstLine(text);
    return line === null ? null : shorten(`${source} (${line})`);
  }

  /** The first line of a program if what the system runs by it may lead into the workspace (N5). */
  firstLine(program: string): string | null {
    const path = this.#pathOf(program);
    if (path === null) return null;
    const known = this.#firstLines.get(path);
    if (known !== undefined) return known;
    // It comes to itself again as an argument of its interpreter, or in a circle that no system starts.
    this.#firstLines.set(path, null);
    const judged = this.#judgeFirstLine(path);
    this.#firstLines.set(path, judged);
    return judged;
  }

  #judgeFirstLine(path: string): string | null {
    const shebang = isExecutable(path) ? readShebang(headOf(path)) : null;
    if (shebang === null) return null;
    const line = `#!${shebang.interpreter}${shebang.argument === null ? "" : ` ${shebang.argument}`}`;
    if (this.#depth >= MAX_DEPTH) return line;
    this.#depth++;
    // Its own path has been judged, and is no word that somebody chose: a shim may be called as what it stands for.
    const found = this.argv(interpretedArgv(shebang, join(path, "itself"), []).map(toWord));
    this.#depth--;
    return found === null ? null : line;
  }

  #realName(program: string): string {
    const path = this.#pathOf(program);
    return path === null ? "" : programFamily(basename(realPath(path)));
  }

  #reader(name: string, words: readonly ShellWord[]): string | null {
    const config = name === "curl" ? words.find(({ text, known }) => !known || CURL_CONFIG.test(text)) : undefined;
    if (config !== undefined && CURL_CONFIG.test(config.text)) return config.source;
    return first(words, (word) => name === "jq" && word.text === "." ? null : this.#opened(word));
  }

  /** What is read or written counts as far as it is there and named. */
  #opened({ text, known, source }: ShellWord): string | null {
    return known && [text, text.slice(text.indexOf("=") + 1), text.replace(/^@/, "")].some((each) => this.#exists(each)) ? source : null;
  }

  #find(program: ShellWord, words: readonly ShellWord[]): string | null {
    return words.some(({ text, known, source }) => RUNS_FOUND.test(text) || (!known && source.startsWith("$"))) ? program.source : null;
  }

  #runner(name: string, program: ShellWord, words: readonly ShellWord[]): string | null {
    if (SHELLS.has(name)) return this.#shellRun(program, words);
    if (SCRIPT_RUNNERS.has(name)) return this.#script(name, program, words);
    const isApart = words[0] !== undefined && APART_FROM_FOLDER.get(name)?.test(words[0].text) === true;
    return isApart ? first(words, (word) => this.#file(word)) : program.source;
  }

  #shellRun(program: ShellWord, words: readonly ShellWord[]): string | null {
    for (let index = 0; index < words.length; index++) {
      const { text, known, source } = words[index] as ShellWord;
      const rest = words.slice(index + 1);
      if (!known) return source;
      if (/^--?$/.test(text)) return this.#scriptOf(program, rest);
      if (/^-[a-z]*c$/.test(text)) return this.#codeOf(program, rest);
      if (/^-[a-z]*s/.test(text)) return program.source;
      if (OPTION_NAMED_NEXT.test(text)) index += rest[0]?.known === true && /^\w+$/.test(rest[0].text) ? 1 : 0;
      else if (!/^-[a-z]+$|^--(?:norc|noprofile|no-config|posix|login)$/.test(text)) return this.#scriptOf(program, words.slice(index));
    }
    return this.#scriptOf(program, []);
  }

  #codeOf(shell: ShellWord, [code, ...rest]: readonly ShellWord[]): string | null {
    if (code === undefined || !code.known) return (code ?? shell).source;
    return this.shell(code.text) ?? first(rest, (word) => this.#argument(word, false));
  }

  /** Without a script a shell reads what comes on its standard input. */
  #scriptOf(shell: ShellWord, [script, ...rest]: readonly ShellWord[]): string | null {
    if (script === undefined) return shell.source;
    return script.known && this.#outside(script.text) ? first(rest, (word) => this.#argument(word, false)) : script.source;
  }

  /** By its absolute path outside, a script is as good as a program. Python can be told to leave its folder alone. */
  #script(name: string, program: ShellWord, words: readonly ShellWord[]): string | null {
    const flags = harmlessFlags(name, words.map(({ text }) => text));
    const [target, ...rest] = words.slice(flags);
    if (target === undefined || !target.known) return program.source;
    const isApart = name === "python" && words.slice(0, flags).some(({ text }) => /[IP]/.test(text)) && target.text === "-m";
    return isApart || this.#outside(target.text) ? first(rest, (word) => this.#argument(word, false)) : program.source;
  }

  /** A command that stands in the arguments of another: nobody needs to know where it begins. */
  #carried(name: string, program: ShellWord, given: readonly ShellWord[]): string | null {
    const words = takenApart([program, ...given]).slice(1);
    if (name === "command" && /^-[vV]$/.test(words[0]?.text ?? "")) return null;
    // What comes on its standard input becomes arguments of what it runs.
    if (STREAMERS.has(name) && words.length > 0) return program.source;
    return first([...words.entries()], ([index, word]) => this.#carriedWord(word, words.slice(index)));
  }

  #carriedWord(word: ShellWord, from: readonly ShellWord[]): string | null {
    const { text, known, source } = word;
    if (!known) return source;
    if (ASSIGNMENT.test(text)) return this.#setting(word);
    const isAddress = /^\w+:\/\//.test(text);
    // It may be started in another folder than ours.
    if (text.includes("/") && !isAbsolute(text) && !/^-/.test(text) && !/\s/.test(text) && !isAddress) return source;
    if (this.#startsOther(text) || isJudgedWhole(programFamily(basename(text)))) return this.argv(from);
    if (!text.includes("/") && this.isOwn(text)) return source;
    const code = /^--?[\w-]+=(.*\s.*)$/s.exec(text)?.[1] ?? (/\s/.test(text) ? text : null);
    return (code === null ? null : this.shell(code)) ?? this.#argument(word, false) ?? this.#byFirstLine(word);
  }

  /** Of a program that may run a file it is given. `code`: it may be a text in which programs are named. */
  #argument(word: ShellWord, code: boolean): string | null {
    if (
      RUNS_FOUND.test(word.text) || this.#startsOther(word.text) ||
      (code && word.text.split(/[^\w.-]+/).some((piece) => this.#startsOther(piece)))
    ) {
      return shorten(word.source);
    }
    return this.#file(word) ?? (isAbsolute(word.text) ? this.#byFirstLine(word) : null);
  }

  #file({ text, known, source }: ShellWord): string | null {
    const pieces = piecesOf(text);
    this.#words += pieces.length;
    return !known || this.#words > MOST_WORDS || pieces.some((piece) => this.#names(piece)) ? shorten(source) : null;
  }

  #startsOther(word: string): boolean {
    const name = programFamily(basename(word));
    return /^[\w./+-]+$/.test(word) && (SHELLS.has(name) || SCRIPT_RUNNERS.has(name) && word !== "." || FOLDER_RUNNERS.has(name));
  }

  #setting(word: ShellWord): string | null {
    const [, name = "", value = ""] = /^(\w+)(?:\[[^\]]*\])?\+?=(.*)$/s.exec(word.text) ?? [];
    return name === "" ? word.known ? null : word.source : this.variable(name, { ...word, text: value });
  }

  variable(name: string, { text, known, source }: ShellWord): string | null {
    if (!STEERING.test(name)) return known ? this.#opened({ text, known, source }) : null;
    const isOutside = known && text.split(delimiter).every((part) => this.#outside(part) || /^\d+$/.test(part));
    return isOutside && !piecesOf(text).some((piece) => this.#names(piece)) ? null : source;
  }

  #outside(path: string): boolean {
    return isAbsolute(path) && !/^\/+(?:dev|proc)\//.test(path) && !this.#isInside(path);
  }

  /** Whether it names something of the workspace, there or not yet. */
  #names(piece: string): boolean {
    if (/^(?:\.\.?\/|\/)/.test(piece)) return OF_A_PROCESS.test(piece) || this.#isInside(resolve(this.#cwd, piece));
    return this.#exists(piece) || (piece.includes("/") && this.#exists(piece.slice(0, piece.indexOf("/"))));
  }

  #exists(word: string): boolean {
    if (word === "" || word.length > 4096 || word.includes("\0")) return false;
    const path = resolve(this.#cwd, word);
    try {
      lstatSync(path);
    } catch {
      // Nothing is there, or nothing for us to see.
      return false;
    }
    return this.#isInside(path);
  }

  #isInside(path: string): boolean {
    return lies(path, this.#context.workspace) || lies(realPath(path), this.#context.workspace);
  }
}

/** Flags of `find` behind which a command for each file stands. */
const RUNS_FOUND = /^-(?:exec|ok)/;
/** What it is depends on who asks. */
const OF_A_PROCESS = /^\/+proc\/[^/]+\/(?:cwd|root|fd|task)\b/;
/** Of a shell, with others before it: `-o pipefail`, `-euo pipefail`, `-O extglob`. */
const OPTION_NAMED_NEXT = /^[-+][a-bd-rt-zA-Z]*[oO]$/;
/** Of a flag, that leads to no code: `-W ignore`, `-X utf8`. */
const PLAIN_VALUE = /^[a-z\d_]+(?:=\d+)?$/;
const ASSIGNMENT = /^\w+(?:\[[^\]]*\])?\+?=/;
const DECLARING: ReadonlySet<string> = new Set(["export", "declare", "typeset", "local", "readonly"]);
const ASSIGNERS: ReadonlySet<string> = new Set(["for", "getopts", "let", "printf", "read", "select", "unset"]);
const STREAMERS: ReadonlySet<string> = new Set(["xargs", "parallel"]);

/** What runs something by more than the words of a command that stand in its arguments. */
function isJudgedWhole(name: string): boolean {
  return name === "find" || STREAMERS.has(name) || TEXT_PROGRAMS.has(name);
}

/** How many words at the beginning are flags of this interpreter that lead to no code. */
function harmlessFlags(name: string, words: readonly string[]): number {
  const harmless = HARMLESS_FLAGS.get(name);
  if (harmless === undefined) return 0;
  for (let count = 0;; count++) {
    const [word = "", value = ""] = words.slice(count, count + 2);
    if (VALUED_FLAGS.get(name)?.test(word) === true && PLAIN_VALUE.test(value)) count++;
    else if (!harmless.test(word)) return word === "--" ? count + 1 : count;
  }
}

/** What `env -S` takes apart counts as the words that it becomes. */
function takenApart(words: readonly ShellWord[]): readonly ShellWord[] {
  if (!words.some(({ text }) => isSplit(text)) || !words.every(({ known }) => known)) return words;
  let apart = words;
  let start = 0;
  for (let count = 0; count < MAX_DEPTH; count++) {
    start = apart.findIndex(({ text }, index) => index >= start && isEnv(text)) + 1;
    if (start === 0) return apart;
    const rest = expandSplit(apart.slice(start).map(({ text }) => text));
    if (rest === null) break;
    // It may put in what a variable has.
    apart = [...apart.slice(0, start), ...rest.map((text) => ({ ...toWord(text), known: !text.includes("${") }))];
  }
  return words.map((word) => ({ ...word, known: false }));
}

function toWord(text: string): ShellWord {
  return { text, known: true, source: text };
}

/** What of a word a program may take for the name of a file. */
function piecesOf(text: string): readonly string[] {
  const parts = [
    text,
    text.slice(text.indexOf("=") + 1),
    ...text.split(/[\s=:,;'"`()<>|&{}[\]]+/),
    ...text.match(/(?<![\w./-])\.\.?\/\S*/g) ?? [],
  ];
  return parts.flatMap((part) => [part, part.replace(/^(?:@|-\w)/, "")]).filter((part) => part !== "");
}

/** Of what is not there, where it would be. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It does not exist, or cannot be followed: the folder it is in may lie behind a link all the same.
    const folder = dirname(path);
    return folder === path ? path : join(realPath(folder), basename(path));
  }
}

function first<T>(items: readonly T[], judge: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = judge(item);
    if (found !== null) return found;
  }
  return null;
}

function shorten(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 80 ? `${line.slice(0, 80).toWellFormed()}…` : line;
}
