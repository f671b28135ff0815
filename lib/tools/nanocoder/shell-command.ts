/**
 * Reading of command text: words, operators, comments, keywords as far as they change quoting (`case`, `[[`, `((`),
 * here-documents that are due.
 */
import { assignedName, mentionNames, subscriptOf } from "./shell-evaluation.ts";
import { newArithmeticFrame } from "./shell-expansions.ts";
import { isSubstituted, MIXED_UP, newDelimiterReading, newHereFrame, readDelimiter } from "./shell-here.ts";
import { identify, redirect, shareInput, sharesInput } from "./shell-input.ts";
import { mention } from "./shell-mention.ts";
import { endOutput } from "./shell-output.ts";
import type { ShellReader } from "./shell-reader.ts";
import { enterSubshell, forgetShifts, scopeOf } from "./shell-scope.ts";
import { inputOf, printedBy, STANDARD_INPUT } from "./shell-source.ts";
import { type CommandFrame, type Group, newCommandFrame, OPAQUE } from "./shell-state.ts";
import { beginCommand, endCommand, endWord } from "./shell-word.ts";

export function readCommand(reader: ShellReader, frame: CommandFrame, char: string, at: number): void {
  if (frame.word === "" && frame.began < 0) frame.began = at;
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
      frame.word = extended(extended(frame.word, OPAQUE), OPAQUE);
      return reader.push({ kind: "single" });
    case '"':
      frame.word = extended(extended(frame.word, OPAQUE), OPAQUE);
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
export function beginValue(frame: CommandFrame, at: number): void {
  if (frame.word === "" && frame.began < 0) frame.began = at;
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

/** The character after the beginning of an operator; false if it still has to be read by itself. */
function readOperator(reader: ShellReader, frame: CommandFrame, char: string, at: number): boolean {
  const operator = frame.operator;
  frame.operator = "";
  switch (operator) {
    case "(":
      if (char !== "(") {
        shareInput(reader, frame, at);
        push(frame, { kind: "paren", body: enterSubshell(frame) });
        return false;
      }
      beginCommand(frame);
      reader.push(newArithmeticFrame(")", true));
      return true;
    case "<":
    case ">":
      if (char === "(") {
        frame.redirect = frame.nested;
        extendWord(frame, OPAQUE);
        openProcess(reader, frame, operator, at);
      } else if (char === "<" && operator === "<") frame.operator = "<<";
      else if (char === "&" && operator === ">") frame.duplicates = true;
      else if (operator === "<" && (char === "&" || char === ">")) frame.direction = char;
      return "(<>&|".includes(char);
    case "<<":
      if (frame.groups.at(-1)?.kind === "condition") reader.lose("`<<` in `[[`", at);
      frame.hereString = char === "<";
      if (char === "<") redirect(reader, identify(reader, frame.command, at), "", at);
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
function openProcess(reader: ShellReader, frame: CommandFrame, operator: "<" | ">", at: number): void {
  const source = `$(${at}`;
  if (operator === "<") {
    mention(reader, source, at, false);
    const command = identify(reader, frame.command, at);
    reader.flows.flow({ to: inputOf(command), from: source, level: "value", at });
    if (frame.nested) redirect(reader, command, source, at);
    if (sharesInput(frame.command)) reader.flows.flow({ to: STANDARD_INPUT, from: source, level: "value", at });
  }
  reader.push(newCommandFrame("substitution", operator === "<" ? source : ""));
}

function readNewline(reader: ShellReader, frame: CommandFrame, at: number): void {
  if (subscriptOf(frame)) return reader.lose("a line that ends inside a subscript", at);
  endWord(reader, frame, at);
  const kind = frame.groups.at(-1)?.kind;
  if (kind !== "array" && kind !== "condition" && !["in", "pattern", "more_pattern", "subject"].includes(frame.position)) {
    if (frame.position !== "command") frame.chained = false;
    endCommand(reader, at);
    beginCommand(frame);
  }
  const [document, ...rest] = frame.pending;
  if (document === undefined || reader.fate !== null) return;
  if (kind === "array" || kind === "condition") return reader.lose("a here-document inside an array or `[[`", at);
  frame.pending = [];
  reader.push(newHereFrame(document, rest, at + 1));
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
    if (char !== ";" && frame.command.program === "shift") forgetShifts(reader);
    const { output } = frame.command;
    endOutput(reader, frame, at, char === "|");
    const printed = output === "" ? printedBy(scopeOf(reader).name) : output;
    beginCommand(frame);
    frame.chained = char !== ";";
    if (char === "|") frame.command.input = printed;
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
  frame.nested = frame.redirect;
  if (kind === "condition") return;
  frame.redirect = true;
  frame.direction = frame.nested ? frame.direction : char === "<" ? "<" : ">";
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
    const name = frame.word === "" ? frame.command.program ?? "" : frame.word;
    reader.flows.note("function", name);
    push(frame, { kind: "paren" });
    frame.defining = name;
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
    if (group.body === true) frame.scopes.pop();
    endCommand(reader, at);
    beginCommand(frame);
  } else if (group?.kind === "array") {
    frame.groups.pop();
    frame.word = `${group.word}${OPAQUE})`;
    frame.plain = `${group.plain}${OPAQUE})`;
    frame.position = group.position;
  } else if (group !== undefined || frame.opener !== "substitution") reader.die("a `)` that closes nothing", at);
  else if (frame.pending.length > 0) reader.lose("a here-document that is due when its `$(…)` closes", at);
  else if (reader.fate === null) {
    endCommand(reader, at);
    reader.pop();
  }
}
