/**
 * Reading of command text: words, operators, comments, keywords as far as they change quoting (`case`, `[[`, `((`),
 * here-documents that are due.
 */
import { subscriptOf } from "./shell-evaluation.ts";
import { newArithmeticFrame } from "./shell-expansions.ts";
import { isSubstituted, MIXED_UP, newDelimiterReading, newHereFrame, readDelimiter } from "./shell-here.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, type Group, newCommandFrame, newSimpleCommand, OPAQUE } from "./shell-state.ts";

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
      extendWord(frame, OPAQUE);
      return reader.push({ kind: "single" });
    case '"':
      extendWord(frame, OPAQUE);
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
      return readPlain(frame, char);
  }
}

/** A value stands here: a word goes on with it. */
export function commandValue(frame: CommandFrame): void {
  if (frame.operator === "(") push(frame, { kind: "paren" });
  frame.operator = "";
  extendWord(frame, OPAQUE);
}

/** Only the beginning of a word can matter: no keyword is that long. */
const LONGEST_WORD = 128;

function extendWord(frame: CommandFrame, char: string): void {
  if (frame.word.length < LONGEST_WORD) frame.word += char;
}

function readPlain(frame: CommandFrame, char: string): void {
  if (char === "[" && (frame.subscript > 0 || /^[A-Za-z_]\w*$/.test(frame.word))) frame.subscript++;
  else if (char === "[" && frame.word === "" && frame.groups.at(-1)?.kind === "array") frame.subscript++;
  else if (char === "]" && frame.subscript > 0) frame.subscript--;
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
        reader.push(newCommandFrame("substitution"));
      } else if (char === "<" && operator === "<") frame.operator = "<<";
      else if (char === "&" && operator === ">") frame.duplicates = true;
      return "(<>&|".includes(char);
    case "<<":
      if (frame.groups.at(-1)?.kind === "condition") reader.lose("`<<` in `[[`", at);
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
    group.tags = [];
    group.arithmetic = false;
  } else if (group?.kind === "array") reader.lose(`\`${char}\` in an array`, at);
  else if (["pattern", "more_pattern"].includes(frame.position) && char === "|") frame.position = "more_pattern";
  else if (["subject", "in", "pattern", "more_pattern"].includes(frame.position)) reader.die("a `case` that is not complete", at);
  else {
    if (char === ";" && frame.pending.length > 0 && isSubstituted(reader)) reader.lose(`a \`;\` after a here-document ${MIXED_UP}`, at);
    beginCommand(frame);
    if (char !== "|") frame.operator = char;
  }
}

function readRedirection(reader: ShellReader, frame: CommandFrame, char: string, at: number): void {
  const kind = frame.groups.at(-1)?.kind;
  if (kind === "array") return reader.lose("a redirection in an array", at);
  if (/^(?:\d+|\{\w+\})$/.test(frame.word)) frame.word = "";
  else endWord(reader, frame, at);
  frame.operator = char;
  if (kind === "condition") return;
  frame.redirect = true;
  frame.duplicates = false;
  if (frame.position === "command") frame.position = "assigned";
}

function openParenthesis(reader: ShellReader, frame: CommandFrame, at: number): void {
  const group = frame.groups.at(-1);
  const last = frame.word.at(-1) ?? "";
  if (group?.kind === "condition") group.depth++;
  else if (last === "=" && /^(?:[A-Za-z_]\w*(?:\[.*\])?)\+?=$/s.test(frame.word)) {
    // bash 5.2 does not see backslashes in it.
    if (isSubstituted(reader)) return reader.lose("an array inside `$(…)`, which bash reads differently", at);
    frame.groups.push({ kind: "array", word: frame.word, position: frame.position });
    frame.word = "";
    frame.position = "argument";
  } else if (last !== "" && "?*+@!".includes(last) && frame.word !== "!") {
    frame.groups.push({ kind: "glob" });
    extendWord(frame, "(");
  } else if (group?.kind === "array") reader.lose("a parenthesis in an array", at);
  else if (frame.word === "" && frame.position === "pattern") frame.position = "more_pattern";
  else if (frame.word === "" && (frame.position === "command" || frame.position === "for")) frame.operator = "(";
  else if (definesFunction(frame)) push(frame, { kind: "paren" });
  else reader.lose("a parenthesis in an unusual place", at);
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
    frame.position = group.position;
  } else if (group !== undefined || frame.opener !== "substitution") reader.die("a `)` that closes nothing", at);
  else if (frame.pending.length > 0) reader.lose("a here-document that is due when its `$(…)` closes", at);
  else if (reader.fate === null) reader.pop();
}

function endWord(reader: ShellReader, frame: CommandFrame, at: number): void {
  const word = frame.word;
  if (word === "") return;
  frame.word = "";
  frame.subscript = 0;
  if (frame.redirect) {
    frame.redirect = false;
    return;
  }
  const group = frame.groups.at(-1);
  if (group?.kind === "condition") return endConditionWord(reader, frame, group, word);
  if (group?.kind === "array") return;
  switch (frame.position) {
    case "command":
      return endFirstWord(reader, frame, word, at);
    case "assigned":
      if (!isAssignment(word)) beginArguments(reader, frame, word, at);
      return;
    case "argument":
      return noteArgument(reader, frame, word, at);
    case "for":
      frame.position = "assigned";
      return;
    case "function":
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
const GOING_ON = new Set(["-p", "if", "then", "else", "elif", "while", "until", "do", "time", "!", "{", "}", "fi", "done"]);

function endFirstWord(reader: ShellReader, frame: CommandFrame, word: string, at: number): void {
  if (GOING_ON.has(word)) return;
  if (word === "case") {
    frame.groups.push({ kind: "case" });
    frame.position = "subject";
  } else if (word === "esac") endCase(reader, frame, at);
  else if (word === "for" || word === "select") frame.position = "for";
  else if (word === "function") frame.position = "function";
  else if (word === "[[") frame.groups.push({ kind: "condition", depth: 0, tags: [], arithmetic: false });
  else if (word === "coproc") reader.lose("`coproc`", at);
  else if (word === "alias" && reader.dialect === "sh") reader.lose("`alias`, which may change how the rest is read", at);
  else if (isAssignment(word)) frame.position = "assigned";
  else beginArguments(reader, frame, word, at);
}

function endCase(reader: ShellReader, frame: CommandFrame, at: number): void {
  if (frame.groups.at(-1)?.kind !== "case") return reader.die("an `esac` that closes nothing", at);
  frame.groups.pop();
  beginCommand(frame);
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(word);
}

function beginArguments(reader: ShellReader, frame: CommandFrame, word: string, at: number): void {
  frame.position = "argument";
  frame.command.program = word;
  noteArgument(reader, frame, word, at);
}

const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "su"]);

const ATTRIBUTING = new Set(["declare", "typeset", "local", "export", "readonly"]);

function noteArgument(reader: ShellReader, frame: CommandFrame, word: string, at: number): void {
  const command = frame.command;
  if (ATTRIBUTING.has(command.program ?? "") && /^[-+]/.test(word)) {
    command.flags += word;
    if (/[in]/.test(word)) reader.lose(`\`${command.program} ${word}\`, after which bash calculates what is assigned`, at);
  }
  // `for x do` has no separator before its body.
  if (command.program === "do") return beginCommand(frame);
  const name = word.slice(word.lastIndexOf("/") + 1);
  command.shell ||= SHELLS.has(name);
  command.remote ||= name === "ssh";
  command.ended ||= word === "--";
  command.previous = word;
}

const CALCULATING = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"]);

function endConditionWord(reader: ShellReader, frame: CommandFrame, group: Extract<Group, { kind: "condition" }>, word: string): void {
  if (word === "]]") {
    frame.groups.pop();
    frame.position = "command";
  } else if (CALCULATING.has(word)) {
    group.arithmetic = true;
    for (const tag of group.tags) reader.object(tag, { kind: "refused", code: "arithmetic" });
  }
}
