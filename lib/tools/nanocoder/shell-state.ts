/**
 * What is known of a shell script that was read up to some character: plain data, so that a reading can be forked
 * where a section may or may not be there, and compared with another.
 */
import type { ProgramReading } from "./program-text.ts";
import type { Fact } from "./shell-source.ts";
import type { WrapperReading } from "./wrappers.ts";

export type Dialect = "bash" | "sh";

/** A quoted or expanded part of a word: it is there, but it cannot be a keyword, an operator or a comment. */
export const OPAQUE = "\u0000";

/** An escape of `$'…'` that may be any character. */
export const ESCAPE = "\u0000!";

/** A command whose name is not written out. */
export const UNKNOWN = "\u0000";

export interface HereDocument {
  readonly delimiter: string;
  /** `<<-`: leading tabs of every line are dropped. */
  readonly strip: boolean;
  /** Nothing in it expands. */
  readonly quoted: boolean;
  /** Inside `$(…)`, bash also ends it at a line that begins with the delimiter and has a `)`. */
  readonly substituted: boolean;
  /** dash drops a byte where a line begins like the delimiter and goes on with a character beyond ASCII. */
  readonly damaging: boolean;
  /** A program reads it as one. */
  readonly evaluated: Evaluation | null;
  /** The command that reads it. */
  readonly command: string;
  /** Others read it too. */
  readonly shared: boolean;
  /** What reads it prints it as it is. */
  readonly printed: boolean;
}

export interface Evaluation {
  /** Not if this command turns out to have its program elsewhere; null absent for one that cannot. */
  readonly unless?: Fact;
  /** The program that reads it; null for a shell. */
  readonly language: string | null;
}

/** A delimiter that is being read after `<<`. */
export interface DelimiterReading {
  readonly strip: boolean;
  text: string;
  started: boolean;
  quoted: boolean;
  quote: "'" | '"' | null;
  escaped: boolean;
}

export type Position =
  | "command"
  /** After an assignment or a redirection: a command may follow, a keyword may not. */
  | "assigned"
  | "argument"
  | "for"
  | "function"
  | "subject"
  | "in"
  | "pattern"
  | "more_pattern";

export type Group =
  /** `body`: of a function. */
  | { readonly kind: "paren"; readonly body?: boolean }
  | { readonly kind: "case" }
  | { readonly kind: "glob" }
  /** `a=(…)`: back to that word afterwards. */
  | { readonly kind: "array"; readonly word: string; readonly plain: string; readonly position: Position }
  /** `[[ … ]]`. `sources`: what stands there since the last `&&` or `||`; `arithmetic`: an operator there evaluates its operands. */
  | { readonly kind: "condition"; depth: number; sources: string[]; arithmetic: boolean };

/** The simple command that is being read. */
export interface SimpleCommand {
  /** Its name without quotes, after `builtin` and `command`; `UNKNOWN` if it is not written out. */
  program: string | null;
  /** `builtin` or `command`, whose own options may follow. */
  prefix: string;
  /** The last complete word, opaque parts included; empty before the first. */
  previous: string;
  /** `--` was there. */
  ended: boolean;
  /** A word names a shell, so that `-c` announces a script. */
  shell: boolean;
  /** It has its script: what follows are arguments. */
  scripted: boolean;
  /** A word names another interpreter. */
  text: ProgramReading | null;
  /** It runs another command, which is not named yet. */
  wrapper: WrapperReading | null;
  /** A word is `ssh`. */
  remote: boolean;
  /** The index of the next argument, and of the next one that a script in the command is given; -1 while there is none. */
  index: number;
  given: number;
  /** Both may be more than that. */
  vague: boolean;
  /** The next word is a script for a shell, or one of the options before it. */
  runs: boolean;
  /** Words so far that begin with `-` or `+`, of a command that declares names; `-s` of a shell. */
  flags: string;
  /** Of `printf` and `read`. `value`: the next word is that of an option. */
  stage: "options" | "value" | "operands";
  /** What the word before may have of a value and be `-v`, of `test`; empty if it is `-v`, null if it cannot be. */
  operator: string[] | null;
  /** The variable of a `for` or of `printf -v`; what `xargs` puts its lines in place of. */
  target: string;
  /** Names the command, and what it prints; empty before its first word or redirection. */
  output: string;
  /** What the command before it in a pipe prints. */
  input: string;
  /** Its words so far, for what they say of its output; null if they are too many, or not always the same. */
  line: string | null;
}

/** A script or the body of a function, as far as it was read. */
export interface Scope {
  /** The function; empty for the script itself. */
  readonly name: string;
  /** Open groups of the frame where it began. */
  readonly groups: number;
  braces: number;
  compounds: number;
  loops: number;
  /** How often `shift` has run; null if that is not known. */
  shifted: number | null;
}

export interface CommandFrame {
  readonly kind: "command";
  /** What `)` outside of any group does: only `substitution` ends there. */
  readonly opener: "script" | "substitution" | "backtick";
  groups: Group[];
  /** Of functions that are being defined, the innermost last; the first is the script's own. */
  scopes: Scope[];
  /** The function whose body comes next. */
  defining: string | null;
  /** Whether the command runs, and where, depends on the one before: `&&`, `||`, `|`, `&`. */
  chained: boolean;
  position: Position;
  word: string;
  /** The word without its quotes; what expands is `OPAQUE`, a variable followed by its name. */
  plain: string;
  /** Sources of values in the word, where that matters. */
  wild: string[];
  /** Where the word begins, and whether it may become several, or none. */
  began: number;
  several: boolean;
  /** Where it is a substitution: the source of what it prints. */
  readonly source: string;
  /** Open `[` of a subscript `name[…]`; 0 outside. */
  subscript: number;
  redirect: boolean;
  /** `&`: of `<&`. */
  direction: "<" | ">" | "&";
  /** Its target may be `<(…)`. */
  nested: boolean;
  /** The redirection is `>&`. */
  duplicates: boolean;
  /** The redirection is `<<<`. */
  hereString: boolean;
  /** The beginning of an operator whose next character decides: `<`, `<<`, `>`, `(`, `;`, `;;`, `&`. */
  operator: string;
  comment: boolean;
  delimiter: DelimiterReading | null;
  pending: HereDocument[];
  command: SimpleCommand;
}

export type Frame =
  | CommandFrame
  | { readonly kind: "double" }
  | { readonly kind: "single" }
  /** `either`: in `${…}`, where its text must be the same with these quotes and without. */
  | { readonly kind: "ansi"; readonly either?: boolean }
  | ParameterFrame
  | ArithmeticFrame
  | HereFrame;

/** `${…}`. `around`: what quotes it already, a string in double quotes or a here-document. */
export interface ParameterFrame {
  readonly kind: "parameter";
  readonly around: "double" | "here" | null;
  phase: "start" | "name" | "colon" | "word" | "offset" | "subscript";
  /** `${#x}` and `${!x}`. */
  prefixed: "" | "#" | "!";
  name: string;
  /** What follows the name; only its beginning in a `word`. */
  text: string;
  /** What follows is a pattern to cut off: `#` or `%`. */
  cuts: boolean;
  /** The last character, for `<(`. */
  last: string;
}

/** `$((…))`, `((…))` and `$[…]`. */
export interface ArithmeticFrame {
  readonly kind: "arithmetic";
  readonly close: ")" | "]";
  /** `((…))`, which dash reads as two subshells. */
  readonly command: boolean;
  depth: number;
  /** The first of the two closing parentheses was read. */
  closing: boolean;
  last: string;
  /** The name or number that is being read. */
  name: string;
}

export interface HereFrame {
  readonly kind: "here";
  /** Where its text begins. */
  readonly from: number;
  document: HereDocument;
  rest: HereDocument[];
  /** The line so far without stripped tabs; null once it cannot be the end any more. */
  line: string | null;
  /** A continuation is part of the line. */
  joined: boolean;
  /** Inside an expansion: an odd number of backslashes was read last. */
  backslash: boolean;
}

/** Why what follows cannot be read, and where that began. */
export interface Lost {
  readonly kind: "lost" | "dead";
  readonly why: string;
  readonly at: number;
}

export function newCommandFrame(opener: CommandFrame["opener"], source = ""): CommandFrame {
  return {
    kind: "command",
    opener,
    groups: [],
    scopes: opener === "script" ? [newScope("", 0)] : [],
    defining: null,
    chained: false,
    position: "command",
    word: "",
    plain: "",
    wild: [],
    began: -1,
    several: false,
    source,
    subscript: 0,
    redirect: false,
    direction: ">",
    nested: false,
    duplicates: false,
    hereString: false,
    operator: "",
    comment: false,
    delimiter: null,
    pending: [],
    command: newSimpleCommand(),
  };
}

export function newSimpleCommand(): SimpleCommand {
  return {
    program: null,
    prefix: "",
    previous: "",
    ended: false,
    shell: false,
    scripted: false,
    text: null,
    wrapper: null,
    remote: false,
    index: 1,
    given: -1,
    vague: false,
    runs: false,
    flags: "",
    stage: "options",
    operator: null,
    target: "",
    output: "",
    input: "",
    line: "",
  };
}

export function newScope(name: string, groups: number): Scope {
  return { name, groups, braces: 1, compounds: 0, loops: 0, shifted: 0 };
}
