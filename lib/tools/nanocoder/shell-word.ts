/** The words of a command: which are keywords, assignments, its name, its arguments, and what each of them says. */
import { endArgument } from "./shell-arguments.ts";
import { assignedName } from "./shell-evaluation.ts";
import { identify, inputReading, isShellOption, noteProgram, runsFile, shareInput } from "./shell-input.ts";
import { noteAlias, noteFile, noteRedirection, noteRun, noteScript } from "./shell-files.ts";
import { endOutput } from "./shell-output.ts";
import type { ShellReader } from "./shell-reader.ts";
import { allOf, argumentOf, forgetShifts, isExact, noteEsac, noteKeyword, noteShift, scopeOf } from "./shell-scope.ts";
import { inheritedBy, inputOf, STANDARD_INPUT } from "./shell-source.ts";
import { type CommandFrame, ESCAPE, type Group, newSimpleCommand, OPAQUE, UNKNOWN } from "./shell-state.ts";

export function beginCommand(frame: CommandFrame): void {
  frame.word = "";
  frame.plain = "";
  frame.wild = [];
  frame.began = -1;
  frame.several = false;
  frame.subscript = 0;
  frame.redirect = false;
  frame.position = "command";
  frame.command = newSimpleCommand();
}

/** What a command prints is what the substitution around it prints. */
export function endCommand(reader: ShellReader, at: number): void {
  const { command: frame } = reader;
  if (frame !== null) endOutput(reader, frame, at);
}

export function endWord(reader: ShellReader, frame: CommandFrame, at: number): void {
  const { word, plain } = frame;
  if (word === "") frame.began = -1;
  if (word === "") return;
  noteNames(reader, frame, plain, at);
  frame.word = frame.plain = "";
  frame.subscript = 0;
  if (frame.redirect) {
    frame.redirect = false;
    noteRedirection(reader, frame, plain, at);
    return endWordThere(frame);
  }
  const group = frame.groups.at(-1);
  if (group?.kind === "condition") endConditionWord(reader, frame, group, word, plain, at);
  else if (group?.kind !== "array") endWordOf(reader, frame, word, plain, at);
  endWordThere(frame);
}

function endWordThere(frame: CommandFrame): void {
  frame.wild = [];
  frame.began = -1;
  frame.several = false;
}

/** A literal word that may name a variable goes where the value of a variable would. */
function noteNames(reader: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  const { flows } = reader;
  const { position, command, redirect } = frame;
  if (redirect || frame.groups.at(-1)?.kind === "condition") return;
  const [, to, name] = /^([A-Za-z_]\w*)=(\w+|[@*])$/.exec(plain) ?? [];
  if (to !== undefined && name !== undefined) flows.name(to, name, at);
  else if (position === "argument" && /^(?:\w+|[@*])$/.test(plain)) {
    if (command.program === "in" && command.target !== "") flows.name(command.target, plain, at);
    else if (command.program !== null) {
      const isSet = command.program === "set";
      const words = isSet ? argumentOf(scopeOf(reader).name, 0, false) : argumentOf(command.program, command.index, isExact(frame));
      for (const argument of words) flows.name(argument, plain, at);
    }
  }
}

function endWordOf(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  switch (frame.position) {
    case "command":
      return endFirstWord(reader, frame, word, plain, at);
    case "assigned":
      if (isAssignment(word)) noteAlias(reader, plain, at);
      else beginArguments(reader, frame, word, plain, at);
      return;
    case "argument":
      return noteArgument(reader, frame, word, plain, at);
    case "for":
      frame.command.target = plain;
      reader.flows.flow({ to: plain, from: allOf(scopeOf(reader).name), level: "value", at, unless: `listed:${at}` });
      frame.command.input = "";
      frame.position = "assigned";
      return;
    case "function":
      reader.flows.note("function", plain);
      frame.position = "command";
      frame.defining = plain;
      return;
    case "subject":
      frame.position = "in";
      return;
    case "in":
      if (word === "in") frame.position = "pattern";
      else reader.die("a `case` without `in`", at);
      return;
    case "pattern":
      if (word === "esac") return endCase(reader, frame, at);
      frame.position = "more_pattern";
      return;
    case "more_pattern":
      return;
  }
}

/** Words after which a keyword may follow; `-p` is an option of `time`. */
const GOING_ON = new Set(["-p", "--", "if", "then", "else", "elif", "while", "until", "do", "time", "!", "{", "}", "fi", "done"]);

function endFirstWord(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  noteKeyword(reader, frame, word);
  if (/^(?:\{|if|while|until|for|select|case)$/.test(word)) shareInput(reader, frame, at);
  if (GOING_ON.has(word)) return;
  if (word === "case") {
    frame.groups.push({ kind: "case" });
    frame.position = "subject";
  } else if (word === "esac") endCase(reader, frame, at);
  else if (word === "for" || word === "select") {
    if (word === "select") reader.flows.flow({ to: "REPLY", from: STANDARD_INPUT, level: "value", at });
    frame.position = "for";
  } else if (word === "function") frame.position = "function";
  else if (word === "[[") frame.groups.push({ kind: "condition", depth: 0, sources: [], arithmetic: false });
  else if (word === "coproc") reader.lose("`coproc`", at);
  else if (word === "alias" && reader.dialect === "sh") reader.lose("`alias`, which may change how the rest is read", at);
  else if (isAssignment(word)) {
    if (/^\w+\[/.test(word)) reader.flows.note("array", assignedName(plain) ?? "");
    noteAlias(reader, plain, at);
    frame.position = "assigned";
  } else beginArguments(reader, frame, word, plain, at);
}

function endCase(reader: ShellReader, frame: CommandFrame, at: number): void {
  if (frame.groups.at(-1)?.kind !== "case") return reader.die("an `esac` that closes nothing", at);
  frame.groups.pop();
  noteEsac(reader);
  beginCommand(frame);
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(word);
}

/** What a command prints is not guessed from more words than these. */
const LONGEST_LINE = 256;

/** Variables to which builtins assign their input without being told. */
const IMPLIED: ReadonlyMap<string, string> = new Map([
  ["read", "REPLY"],
  ["mapfile", "MAPFILE"],
  ["readarray", "MAPFILE"],
]);

/** They run the builtin, or the program, that is named after their options. */
const PREFIXES = new Set(["builtin", "command"]);

function beginArguments(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  const { command } = frame;
  if (/\{.*(?:,|\.\.).*\}/s.test(word)) return reader.lose("a brace expansion that names a command", at);
  if (plain.includes(ESCAPE)) return reader.lose("an escape such as \\x2d in the name of a command", at);
  if (PREFIXES.has(plain)) command.prefix = plain;
  const options = command.prefix === "" || PREFIXES.has(plain) ? null : /^-[pvV-]*$/.exec(plain)?.[0] ?? null;
  if (command.prefix !== "" && (PREFIXES.has(plain) || (options !== null && !/[vV]/.test(options)))) {
    frame.position = "assigned";
    return;
  }
  frame.position = "argument";
  identify(reader, command, at);
  command.program = options !== null ? "command -v" : plain.includes(OPAQUE) ? UNKNOWN : plain;
  reader.flows.flow({ to: STANDARD_INPUT, from: inputOf(command.output), level: "value", at, when: `function:${command.program}` });
  const implied = IMPLIED.get(command.program);
  if (implied !== undefined) reader.flows.flow({ to: implied, from: inputOf(command.output), level: "value", at });
  if (command.program === "getopts") reader.flows.flow({ to: "OPTARG", from: allOf(scopeOf(reader).name), level: "value", at });
  if (command.program === "shift") noteShift(reader, frame);
  if (command.program === "in") reader.flows.note("listed", command.target);
  if (/[/\0]/.test(plain)) noteRun(reader, command, plain, at);
  else if (/^g?make$/.test(plain)) noteRun(reader, command, "Makefile", at);
  noteWord(reader, frame, plain, at);
  if (/[/\0]/.test(plain) && !command.shell && command.text === null) command.given = 1;
  // `for x do` has no separator before its body.
  if (command.program === "do") beginCommand(frame);
}

function noteArgument(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  const { command } = frame;
  const { given } = command;
  if (command.program === "shift") forgetShifts(reader);
  if (runsFile(command, plain)) noteRun(reader, command, plain, at);
  else noteFile(reader, frame, plain, at);
  endArgument(reader, frame, word, plain, at);
  noteWord(reader, frame, plain, at);
  if (frame.several) command.vague = true;
  else command.index++;
  if (command.given !== -1 && command.given === given && !frame.several && !isShellOption(command, plain)) command.given++;
}

function noteWord(reader: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  const command = frame.command;
  const before = inputReading(command);
  noteProgram(reader, frame, plain, at);
  if (command.line !== null) command.line = command.line.length < LONGEST_LINE ? `${command.line}${plain} ` : null;
  command.ended ||= plain === "--";
  command.previous = plain;
  const evaluated = inputReading(command);
  if (evaluated === null || before !== null) return;
  reader.flows.sink({ kind: "evaluated", from: [inheritedBy(command.output)], at, ...evaluated });
  if (command.input !== "") {
    noteScript(reader, command.output, evaluated.language, at, evaluated.unless === undefined ? {} : { unless: evaluated.unless });
  }
  frame.pending = frame.pending.map((document) => ({ ...document, evaluated: document.evaluated ?? evaluated }));
}

const CALCULATING = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"]);

function endConditionWord(
  reader: ShellReader,
  frame: CommandFrame,
  group: Extract<Group, { kind: "condition" }>,
  word: string,
  plain: string,
  at: number,
): void {
  if (word === "]]") {
    frame.groups.pop();
    frame.position = "command";
  } else if (CALCULATING.has(word)) {
    group.arithmetic = true;
    for (const source of group.sources) reader.flows.sink({ kind: "arithmetic", from: [source], at });
  } else {
    const names = [...plain.matchAll(/(?<![\w\u0000])[A-Za-z_]\w*/g)].map(([name]) => name);
    group.sources.push(...names);
    if (group.arithmetic) { for (const name of names) reader.flows.sink({ kind: "arithmetic", from: [name], at }); }
  }
}
