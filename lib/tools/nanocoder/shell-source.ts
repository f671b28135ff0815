/** The words in which `shell-flow.ts` is told what of a value goes where. */

/** `output`: what some command printed that was given the value. */
export type Level = "value" | "output";

/** Names of what holds a value: variables by their names, and these. `shell-scope.ts` names positional parameters. */
export const STANDARD_INPUT = "<";
export const MATCH = "BASH_REMATCH";
/** What any command printed, what children find in their environment, and a variable whose name nobody knows. */
export const PRINTED = ">>";
export const ENVIRONMENT = "$";
export const ANYWHERE = "**";

/** The arguments of the script and of its functions, together. */
export const EVERY_ARGUMENT = "@@";

/** What one command reads, and what it was given as `name=value`. */
export function inputOf(command: string): string {
  return `<${command}`;
}

/** What it reads but what stands in the script right there. */
export function inheritedBy(command: string): string {
  return `<<${command}`;
}

/** What the commands in the body of a function print, or those of the script. */
export function printedBy(scope: string): string {
  return `>${scope}`;
}

export function givenTo(command: string, name: string): string {
  return `${command}.${name}`;
}

/** The subscripts of an array, where they are text. */
export function keysOf(name: string): string {
  return `keys:${name}`;
}

/** What the variable holds whose name this one holds, and what is assigned to that one by this. */
export function namedBy(name: string): string {
  return `*${name}`;
}

/** The argument whose number it holds. */
export function numberedBy(name: string): string {
  return `#${name}`;
}

export function assignedBy(name: string): string {
  return `=${name}`;
}

export function tagSource(at: number): string {
  return `tag:${at}`;
}

/** What reading a script costs, with those that are written out in it: a step is about 25 nanoseconds. */
export interface Meter {
  spent: number;
  readonly most: number;
}

/** What telling a flow costs, and following one. */
export const TELLING = 60;
export const FOLLOWING = 10;
/** A look at one frame for one character. */
export const READING = 8;

export interface Edge {
  readonly to: string;
  readonly from: string;
  readonly level: Level;
  readonly at: number;
  /** Only if this is noted of the script, or is not. */
  readonly when?: Fact;
  readonly unless?: Fact;
}

/** `written`: a file is; `listed`: a `for` has its words written out; `scripted`: a command has a script of its own; `numeric`: it prints numbers only; `redirected`: it has an input of its own. */
export type FactKind =
  | "integer"
  | "associative"
  | "array"
  | "function"
  | "shifting"
  | "exporting"
  | "scripted"
  | "numeric"
  | "redirected"
  | "listed"
  | "written";
export type Fact = `${FactKind}:${string}`;

/**
 * `read_twice`: calculated, taken for a name, or for the option that makes the next word one; `evaluated`: run as
 * text of the shell or of another language, as its author says; `unknown`: given to a command that is not known;
 * `named`: says which program runs; `split`: the words of it become arguments of `test`, of which one may be an operator.
 */
export interface Sink {
  readonly kind: "arithmetic" | "read_twice" | "evaluated" | "unknown" | "named" | "split";
  /** All of them have to hold a value for it to matter. */
  readonly from: readonly string[];
  readonly at: number;
  /** The array whose subscript it is: that of an associative one is no arithmetic. */
  readonly of?: string;
  readonly when?: Fact;
  readonly unless?: Fact;
  /** `evaluated`: only if the program that this command was given runs what it finds in one of these. */
  readonly through?: { readonly command: string; readonly as: readonly string[] };
  /** `evaluated`: by what, if not by a shell. */
  readonly language?: string | null;
}

export interface Hit {
  readonly kind: Sink["kind"];
  readonly level: Level;
  /** Null if a tag stands there itself. */
  readonly name: string | null;
  /** What evaluates it, if not a shell. */
  readonly language: string | null;
  readonly at: number;
}

/** A program that is written out in the script. `language`: null for a shell. */
export interface ProgramText {
  readonly language: string | null;
  /** Quotes included, if it is a word; null for one that comes out of a pipe, or of a file that the script has written. */
  readonly source: string | null;
  readonly word: boolean;
  readonly at: number;
  /** Only if this is noted of the script, or is not. */
  readonly when?: Fact;
  readonly unless?: Fact;
}

/** What a program does with what it is given (`second-reading.ts`). */
export interface SecondReading {
  /** Whether it runs what it finds in one of these sources, named as it names them. */
  readonly runs: (sources: readonly string[]) => boolean;
  /** Variables of its environment of which that is true; null: any. */
  readonly names: readonly string[] | null;
}

/** Assigning to them calculates, or makes a shell run what was assigned. */
export const SPECIAL = new Set([
  "RANDOM",
  "SRANDOM",
  "OPTIND",
  "HISTCMD",
  "PS4",
  "PROMPT_COMMAND",
  "ENV",
  "BASH_ENV",
  "BASH_ALIASES",
  "BASH_CMDS",
]);

/** Variables that say to common programs what to run. */
export const RUNNING =
  /^(?:PATH|SHELL|EDITOR|VISUAL|PAGER|BROWSER|MANPAGER|LESSOPEN|LESSCLOSE|SUDO_ASKPASS|SSH_ASKPASS|RSYNC_RSH|(?:GNU)?MAKEFLAGS|TAR_OPTIONS|LD_\w+|DYLD_\w+|GIT_(?:\w*EDITOR|PAGER|SSH\w*|ASKPASS|EXTERNAL_DIFF|PROXY_COMMAND|CONFIG\w*|EXEC_PATH)|KUBE_EDITOR|KUBECTL_EXTERNAL_DIFF|PYTHON(?:STARTUP|PATH|HOME)|PERL5(?:OPT|LIB)|RUBY(?:OPT|LIB)|NODE_(?:OPTIONS|PATH)|\w*JAVA_(?:TOOL_)?OPT(?:ION)?S)$/;
