/**
 * How the system reads the first line of a program, and `env` its own arguments: the one place that knows. Everybody who
 * asks what a command will start (may it run, can it start, what was it) asks here.
 */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { basename } from "node:path";

export interface Shebang {
  /** A path; what is relative is so to the folder that the program is started in, whatever its own folder is. */
  readonly interpreter: string;
  /** All the rest of the line is one argument, or there is none. */
  readonly argument: string | null;
  /** The line ends with CR LF: then the name of the interpreter, or the argument, ends with an invisible character. */
  readonly endsWithCr: boolean;
}

/** So many bytes of a program are looked at for its first line, as Linux does. */
const HEAD_BYTES = 256;

/** Null if the program has no such line. `head`: its first bytes, a character each. */
export function readShebang(head: string): Shebang | null {
  if (!head.startsWith("#!")) return null;
  const line = head.slice(2, HEAD_BYTES).split("\n", 1)[0] ?? "";
  const [, interpreter = "", rest = ""] = /^[ \t]*([^ \t]*)[ \t]*(.*?)[ \t]*$/s.exec(line) ?? [];
  if (interpreter === "") return null;
  return { interpreter: utf8(interpreter), argument: rest === "" ? null : utf8(rest), endsWithCr: line.endsWith("\r") };
}

/** The first bytes of a file, a character each; "" if it cannot be read. A pipe is not waited for. */
export function headOf(path: string): string {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(HEAD_BYTES);
      return bytes.subarray(0, readSync(file, bytes, 0, HEAD_BYTES, 0)).toString("latin1");
    } finally {
      closeSync(file);
    }
  } catch {
    // A program may be executable without being readable; then its first line is not known.
    return "";
  }
}

/** The argument vector that the system makes of one whose program has such a line. `path`: where the program was found. */
export function interpretedArgv({ interpreter, argument }: Shebang, path: string, rest: readonly string[]): readonly string[] {
  // A name without a slash is a path too: nothing looks it up on the PATH.
  const program = interpreter.includes("/") ? interpreter : `./${interpreter}`;
  return [program, ...(argument === null ? [] : [argument]), path, ...rest];
}

/** What `env` starts: on which PATH and in which folder, if it is given one, and the words of the command. */
export interface EnvCommand {
  readonly path: string | undefined;
  readonly folder: string | undefined;
  readonly argv: readonly string[];
}

export function isEnv(program: string): boolean {
  return basename(program) === "env";
}

/** @param rest what stands behind `env`. */
export function readEnvCommand(rest: readonly string[]): EnvCommand {
  const words = expandSplit(rest) ?? [];
  const start = words.findIndex((word, index) => isCommand(word, words[index - 1]));
  const own = start === -1 ? words : words.slice(0, start);
  const path = own.findLast((word) => word.startsWith("PATH="))?.slice("PATH=".length);
  const folders = own.map((word, index) => /^(?:-C|--chdir)$/.test(word) ? own[index + 1] : /^(?:-C|--chdir=)(.+)$/s.exec(word)?.[1]);
  const folder = folders.findLast((found) => found !== undefined);
  return { path, folder, argv: start === -1 ? [] : words.slice(start) };
}

const SPLIT = /^(?:-([iv0]*)S|--split-string=?)(.*)$/s;
/** `-S` may stand in what it takes apart; nobody means that more often. */
const MOST_SPLITS = 10;

export function isSplit(word: string): boolean {
  return SPLIT.test(word);
}

/**
 * `-S` takes one word apart into several, which are read as if they stood there; options may stand before it in one word.
 * Null if that goes on for too long.
 */
export function expandSplit(words: readonly string[], splits = 0): readonly string[] | null {
  const at = words.findIndex((word, index) => isSplit(word) || isCommand(word, words[index - 1]));
  const [, flags = "", attached] = SPLIT.exec(words[at] ?? "") ?? [];
  const next = at + (attached === "" ? 2 : 1);
  const text = attached === "" ? words[next - 1] : attached;
  if (attached === undefined || text === undefined) return words;
  if (splits >= MOST_SPLITS) return null;
  const before = [...words.slice(0, at), ...(flags === "" ? [] : [`-${flags}`])];
  return expandSplit([...before, ...split(text), ...words.slice(next)], splits + 1);
}

/** Flags whose value is the next word. */
const TAKES_VALUE = /^(?:-[iv0]*[uCa]|--unset|--chdir|--argv0)$/;

/** What stands from there on is the command's own. */
function isCommand(word: string, before: string | undefined): boolean {
  return !TAKES_VALUE.test(before ?? "") && !word.startsWith("-") && !/^[^=]+=/.test(word);
}

const WORD = /\\_|(?:[^\s"'\\]|\\[^_]|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')+/g;
const CONTROLS: Readonly<Record<string, string>> = { f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", _: " " };

/** With the quotes and escapes of `env -S`. A variable (`${NAME}`) stays as it is written. */
function split(text: string): readonly string[] {
  const words: string[] = [];
  for (const [piece] of text.matchAll(WORD)) {
    if (piece.startsWith("#")) break;
    const end = piece.search(/(?<!\\)(?:\\\\)*\\c/);
    if (piece !== "\\_") words.push(plain(end === -1 ? piece : piece.slice(0, end)));
    if (end !== -1) break;
  }
  return words;
}

function plain(piece: string): string {
  const escapes = (text: string) => text.replaceAll(/\\([\s\S])/g, (_, escaped: string) => CONTROLS[escaped] ?? escaped);
  return piece.replaceAll(
    /"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'|\\[\s\S]/g,
    (whole: string, double?: string, single?: string) => single?.replaceAll(/\\([\\'])/g, "$1") ?? escapes(double ?? whole),
  );
}

function utf8(text: string): string {
  return Buffer.from(text, "latin1").toString();
}
