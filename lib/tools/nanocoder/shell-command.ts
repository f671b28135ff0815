/**
 * Reading of command text: words, operators, comments, keywords as far as they change quoting (`case`, `[[`, `((`),
 * here-documents that are due.
 */
import { endArgument } from "./shell-arguments.ts";
import { assignedName, mentionNames, subscriptOf } from "./shell-evaluation.ts";
import { newArithmeticFrame } from "./shell-expansions.ts";
import { POSITIONAL, STANDARD_INPUT } from "./shell-flow.ts";
import { isSubstituted, MIXED_UP, newDelimiterReading, newHereFrame, readDelimiter } from "./shell-here.ts";
import { inputReading, noteProgram } from "./shell-input.ts";
import { mention } from "./shell-mention.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, ESCAPE, type Group, newCommandFrame, newSimpleCommand, OPAQUE, UNKNOWN } from "./shell-state.ts";

export function readCommand(reader: ShellReader, frame: CommandFrame, char: string, at: number): void {
  if (frame.comment && char !== "\n") return;
  frame.comment = false;
  if (frame.delimiter !== null && readDelimiter(reader, frame, frame.delimiter, char, at)) return;
  if (reader.fate !== null || (frame.operator !== "" && readOperator(reader, frame, char, at))) return;
  if (reader.fate !== null) return;
  if (frame.groups.at(-1)?.kind === "glob" && readGlob(reader, frame, char, at)) return;
  if ("();&|<>".includes(char) && subscriptOf(frame)) return reader.lose("an operator inside a subscript", at);
  switch (char) {
    case " ":
    case "\t":
      return subscriptOf(frame) ? extendWord(frame, OPAQUE) : endWord(reader, frame, at);
    case "\n":
      return readNewline(reader, frame, at);
    case "\\":
      reader.escaped = true;
      return;
    case "'":
      frame.word = extended(frame.word, OPAQUE);
      return reader.push({ kind: "single" });
    case '"':
      frame.word = extended(frame.word, OPAQUE);
      return reader.push({ kind: "double" });
    case "`":
      extendWord(frame, OPAQUE);
      return reader.openBackticks();
    case "$":
      extendWord(frame, OPAQUE);
      reader.dollar = true;
      return;
    case "#":
      return readHash(reader, frame, at);
    case "(":
      return openParenthesis(reader, frame, at);
    case ")":
      return closeParenthesis(reader, frame, at);
    case ";":
    case "&":
    case "|":
      return readSeparator(reader, frame, char, at);
    case "<":
    case ">":
      return readRedirection(reader, frame, char, at);
    default:
      return readPlain(reader, frame, char, at);
  }
}

/** A value begins here. */
export function beginValue(frame: CommandFrame): void {
  if (frame.operator === "(") push(frame, { kind: "paren" });
  frame.operator = "";
}

/** A word goes on with a value. */
export function commandValue(frame: CommandFrame): void {
  extendWord(frame, OPAQUE);
}

/** Only the beginning of a word can matter: no keyword is that long. */
const LONGEST_WORD = 128;

function extended(text: string, char: string): string {
  return text.length < LONGEST_WORD ? text + char : text;
}

function extendWord(frame: CommandFrame, char: string): void {
  frame.word = extended(frame.word, char);
  frame.plain = extended(frame.plain, char);
}

export function extendPlain(reader: ShellReader, frame: CommandFrame, char: string): void {
  frame.plain = extended(frame.plain, char);
  if (frame.plain.length === LONGEST_WORD && !/[^\w[\]-]/.test(frame.plain)) reader.lose("a very long name", reader.at);
}

/** Where the elements of a list would not all be words of the same kind: a value, a file, a name. */
export function isOneWord({ redirect, position, groups, plain, command }: CommandFrame): boolean {
  if (groups.at(-1)?.kind === "array" || groups.at(-1)?.kind === "condition") return false;
  if (redirect) return true;
  if (position === "argument") return ["declare", "typeset", "local", "export", "readonly", "test", "["].includes(command.program ?? "");
  return ["command", "assigned"].includes(position) && assignedName(plain) !== null;
}

function endSubscript(reader: ShellReader, frame: CommandFrame, at: number): void {
  const calculated = subscriptOf(frame);
  frame.subscript--;
  if (!calculated) return;
  const from = frame.plain.indexOf("[");
  mentionNames(reader, frame.plain.slice(from + 1), at, "arithmetic", assignedName(`${frame.plain.slice(0, from)}=`) ?? "");
}

function readPlain(reader: ShellReader, frame: CommandFrame, char: string, at: number): void {
  if (char === "[" && (frame.subscript > 0 || /^[A-Za-z_]\w*$/.test(frame.word))) frame.subscript++;
  else if (char === "[" && frame.word === "" && frame.groups.at(-1)?.kind === "array") frame.subscript++;
  else if (char === "]" && frame.subscript > 0) endSubscript(reader, frame, at);
  extendWord(frame, char);
}

function readHash(reader: ShellReader, frame: CommandFrame, at: number): void {
  if (frame.word === "") {
    if (frame.groups.at(-1)?.kind === "condition") reader.lose("`#` in `[[`", at);
    else frame.comment = true;
  } else if (frame.word.endsWith(`${OPAQUE})`)) reader.lose("`#` right after an array", at);
  else extendWord(frame, "#");
}

/** In a pattern such as `@(a|b)` only quotes, expansions and parentheses count. */
function readGlob(reader: ShellReader, frame: CommandFrame, char: string, at: number): boolean {
  if ("'\"`$\\".includes(char)) return false;
  if (char === "(") frame.groups.push({ kind: "glob" });
  else if (char === ")") frame.groups.pop();
  else if ("#<>;&\n".includes(char)) reader.lose("an operator in a pattern such as `@(…)`", at);
  extendWord(frame, char);
  return true;
}

function push(frame: CommandFrame, group: Group): void {
  frame.groups.push(group);
  beginCommand(frame);
}

function beginCommand(frame: CommandFrame): void {
  frame.word = "";
  frame.plain = "";
  frame.wild = [];
  frame.subscript = 0;
  frame.redirect = false;
  frame.position = "command";
  frame.command = newSimpleCommand();
}

/** The character after the beginning of an operator; false if it still has to be read by itself. */
function readOperator(reader: ShellReader, frame: CommandFrame, char: string, at: number): boolean {
  const operator = frame.operator;
  frame.operator = "";
  switch (operator) {
    case "(":
      if (char !== "(") {
        push(frame, { kind: "paren" });
        return false;
      }
      beginCommand(frame);
      reader.push(newArithmeticFrame(")", true));
      return true;
    case "<":
    case ">":
      if (char === "(") {
        frame.redirect = false;
        extendWord(frame, OPAQUE);
        openProcess(reader, operator, at);
      } else if (char === "<" && operator === "<") frame.operator = "<<";
      else if (char === "&" && operator === ">") frame.duplicates = true;
      return "(<>&|".includes(char);
    case "<<":
      if (frame.groups.at(-1)?.kind === "condition") reader.lose("`<<` in `[[`", at);
      frame.hereString = char === "<";
      if (char === "<") return true;
      frame.redirect = false;
      frame.delimiter = newDelimiterReading(char === "-");
      return char === "-" || readDelimiter(reader, frame, frame.delimiter, char, at);
    case ";":
      if (char !== ";" && char !== "&") return false;
      if (frame.groups.at(-1)?.kind === "case") frame.position = "pattern";
      if (char === ";") frame.operator = ";;";
      return true;
    case ";;":
      return char === "&";
    default:
      if (char === ">") readRedirection(reader, frame, char, at);
      return char === ">";
  }
}

/** `<(…)`, which is read by the command, and maybe as its input. */
function openProcess(reader: ShellReader, operator: "<" | ">", at: number): void {
  const source = `$(${at}`;
  if (operator === "<") {
    mention(reader, source, at, false);
    reader.flows.flow({ to: STANDARD_INPUT, from: source, level: "value", at });
  }
  reader.push(newCommandFrame("substitution", operator === "<" ? source : ""));
}

function readNewline(reader: ShellReader, frame: CommandFrame, at: number): void {
  if (subscriptOf(frame)) return reader.lose("a line that ends inside a subscript", at);
  endWord(reader, frame, at);
  const kind = frame.groups.at(-1)?.kind;
  if (kind !== "array" && kind !== "condition" && !["in", "pattern", "more_pattern", "subject"].includes(frame.position)) {
    beginCommand(frame);
  }
  const [document, ...rest] = frame.pending;
  if (document === undefined || reader.fate !== null) return;
  if (kind === "array" || kind === "condition") return reader.lose("a here-document inside an array or `[[`", at);
  frame.pending = [];
  reader.push(newHereFrame(document, rest));
}

function readSeparator(reader: ShellReader, frame: CommandFrame, char: string, at: number): void {
  endWord(reader, frame, at);
  const group = frame.groups.at(-1);
  if (group?.kind === "condition") {
    group.sources = [];
    group.arithmetic = false;
  } else if (group?.kind === "array") reader.lose(`\`${char}\` in an array`, at);
  else if (["pattern", "more_pattern"].includes(frame.position) && char === "|") frame.position = "more_pattern";
  else if (["subject", "in", "pattern", "more_pattern"].includes(frame.position)) reader.die("a `case` that is not complete", at);
  else {
    if (char === ";" && frame.pending.length > 0 && isSubstituted(reader)) reader.lose(`a \`;\` after a here-document ${MIXED_UP}`, at);
    const { output } = frame.command;
    beginCommand(frame);
    if (char === "|") frame.command.input = output;
    if (char === "|") reader.flows.flow({ to: STANDARD_INPUT, from: output, level: "output", at });
    if (char !== "|") frame.operator = char;
  }
}

function readRedirection(reader: ShellReader, frame: CommandFrame, char: string, at: number): void {
  const kind = frame.groups.at(-1)?.kind;
  if (kind === "array") return reader.lose("a redirection in an array", at);
  if (/^(?:\d+|\{\w+\})$/.test(frame.word)) frame.word = frame.plain = "";
  else if (/^\{.*\}$/s.test(frame.plain)) {
    mentionNames(reader, frame.plain, at, "read_twice");
    reader.lose("a redirection to a descriptor in a subscript", at);
  } else endWord(reader, frame, at);
  frame.operator = char;
  if (kind === "condition") return;
  frame.redirect = true;
  frame.duplicates = false;
  frame.hereString = false;
  if (frame.position === "command") frame.position = "assigned";
}

function openParenthesis(reader: ShellReader, frame: CommandFrame, at: number): void {
  const group = frame.groups.at(-1);
  const last = frame.word.at(-1) ?? "";
  if (group?.kind === "condition") group.depth++;
  else if (last === "=" && /^(?:[A-Za-z_]\w*(?:\[.*\])?)\+?=$/s.test(frame.word)) {
    // bash 5.2 does not see backslashes in it.
    if (isSubstituted(reader)) return reader.lose("an array inside `$(…)`, which bash reads differently", at);
    reader.flows.note("array", assignedName(frame.plain) ?? "");
    frame.groups.push({ kind: "array", word: frame.word, plain: frame.plain, position: frame.position });
    frame.word = frame.plain = "";
    frame.position = "argument";
  } else if (last !== "" && "?*+@!".includes(last) && frame.word !== "!") {
    frame.groups.push({ kind: "glob" });
    extendWord(frame, "(");
  } else if (group?.kind === "array") reader.lose("a parenthesis in an array", at);
  else if (frame.word === "" && frame.position === "pattern") frame.position = "more_pattern";
  else if (frame.word === "" && (frame.position === "command" || frame.position === "for")) frame.operator = "(";
  else if (definesFunction(frame)) {
    reader.flows.note("function", frame.word === "" ? frame.command.program ?? "" : frame.word);
    push(frame, { kind: "paren" });
  } else reader.lose("a parenthesis in an unusual place", at);
}

function definesFunction(frame: CommandFrame): boolean {
  if (frame.redirect) return false;
  if (frame.word !== "") return ["command", "function"].includes(frame.position) && !frame.word.includes(OPAQUE) && frame.word !== "!";
  return frame.position === "argument" && frame.command.previous !== "" && frame.command.previous === frame.command.program;
}

function closeParenthesis(reader: ShellReader, frame: CommandFrame, at: number): void {
  endWord(reader, frame, at);
  const group = frame.groups.at(-1);
  if (group?.kind === "condition" && group.depth > 0) group.depth--;
  else if (group?.kind === "case" && ["pattern", "more_pattern"].includes(frame.position)) beginCommand(frame);
  else if (group?.kind === "paren") {
    frame.groups.pop();
    beginCommand(frame);
  } else if (group?.kind === "array") {
    frame.groups.pop();
    frame.word = `${group.word}${OPAQUE})`;
    frame.plain = `${group.plain}${OPAQUE})`;
    frame.position = group.position;
  } else if (group !== undefined || frame.opener !== "substitution") reader.die("a `)` that closes nothing", at);
  else if (frame.pending.length > 0) reader.lose("a here-document that is due when its `$(…)` closes", at);
  else if (reader.fate === null) reader.pop();
}

function endWord(reader: ShellReader, frame: CommandFrame, at: number): void {
  const { word, plain } = frame;
  if (word === "") return;
  noteNames(reader, frame, plain, at);
  frame.word = frame.plain = "";
  frame.subscript = 0;
  if (frame.redirect) {
    frame.redirect = false;
    return;
  }
  const group = frame.groups.at(-1);
  if (group?.kind === "condition") return endConditionWord(reader, frame, group, word, plain, at);
  if (group?.kind === "array") return;
  endWordOf(reader, frame, word, plain, at);
  frame.wild = [];
}

/** A literal word that may name a variable goes where the value of a variable would. */
function noteNames({ flows }: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  const { position, command, redirect } = frame;
  if (redirect || frame.groups.at(-1)?.kind === "condition") return;
  const [, to, name] = /^([A-Za-z_]\w*)=(\w+|[@*])$/.exec(plain) ?? [];
  if (to !== undefined && name !== undefined) flows.name(to, name, at);
  else if (position === "argument" && /^(?:\w+|[@*])$/.test(plain)) {
    if (command.program === "in" && command.target !== "") flows.name(command.target, plain, at);
    else if (command.program === "set") flows.name(POSITIONAL, plain, at);
    else if (command.program !== null) flows.name(POSITIONAL, plain, at, command.program);
  }
}

function endWordOf(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  switch (frame.position) {
    case "command":
      return endFirstWord(reader, frame, word, plain, at);
    case "assigned":
      if (!isAssignment(word)) beginArguments(reader, frame, word, plain, at);
      return;
    case "argument":
      return noteArgument(reader, frame, word, plain, at);
    case "for":
      frame.command.target = plain;
      reader.flows.flow({ to: plain, from: POSITIONAL, level: "value", at });
      frame.position = "assigned";
      return;
    case "function":
      reader.flows.note("function", plain);
      frame.position = "command";
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
    frame.position = "assigned";
  } else beginArguments(reader, frame, word, plain, at);
}

function endCase(reader: ShellReader, frame: CommandFrame, at: number): void {
  if (frame.groups.at(-1)?.kind !== "case") return reader.die("an `esac` that closes nothing", at);
  frame.groups.pop();
  beginCommand(frame);
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(word);
}

/** Variables that builtins assign without being told, and from where. */
const IMPLIED: ReadonlyMap<string, readonly [string, string]> = new Map([
  ["read", ["REPLY", STANDARD_INPUT]],
  ["mapfile", ["MAPFILE", STANDARD_INPUT]],
  ["readarray", ["MAPFILE", STANDARD_INPUT]],
  ["getopts", ["OPTARG", POSITIONAL]],
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
  command.output = `|${at}`;
  command.program = options !== null ? "command -v" : plain.includes(OPAQUE) ? UNKNOWN : plain;
  const [to, from] = IMPLIED.get(command.program) ?? [];
  if (to !== undefined && from !== undefined) reader.flows.flow({ to, from, level: "value", at });
  noteWord(reader, frame, plain, at);
  if (command.program === "do") beginCommand(frame);
}

function noteArgument(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  // `for x do` has no separator before its body.
  endArgument(reader, frame, word, plain, at);
  noteWord(reader, frame, plain, at);
}

function noteWord(reader: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  const command = frame.command;
  const before = inputReading(command);
  noteProgram(reader, command, plain, at);
  command.ended ||= plain === "--";
  command.previous = plain;
  const evaluated = inputReading(command);
  if (evaluated === null || before !== null) return;
  if (command.input !== "") reader.flows.sink({ kind: "evaluated", from: [command.input], at, ...evaluated });
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
