/** Here-documents: their delimiters, their lines, and how they end. */
import { printsInput } from "./shell-evaluation.ts";
import { identify, inputReading, redirect, sharesInput } from "./shell-input.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, type DelimiterReading, type HereDocument, type HereFrame, OPAQUE } from "./shell-state.ts";

/** bash 5.2 prints a substitution anew before it runs it, and loses what stands between here-documents and commands. */
export const MIXED_UP = "inside `$(…)`, where bash mixes them up";

export function isSubstituted(reader: ShellReader): boolean {
  return reader.frames.some((frame) => frame.kind === "command" && frame.opener === "substitution");
}

export function newDelimiterReading(strip: boolean): DelimiterReading {
  return { strip, text: "", started: false, quoted: false, quote: null, escaped: false };
}

/** One more character of a here-document's delimiter; false if it is complete and the character is still to be read. */
export function readDelimiter(reader: ShellReader, frame: CommandFrame, reading: DelimiterReading, char: string, at: number): boolean {
  if (reading.quote === null && !reading.escaped && /[\s;&|()<>]/.test(char)) {
    if (reading.started) return endDelimiter(reader, frame, reading, at);
    if (char !== " " && char !== "\t") reader.lose("a here-document without a delimiter", at);
    return true;
  }
  if (char === "\n" || (!reading.started && char === "#")) reader.lose("an unusual delimiter of a here-document", at);
  else if (reading.quote !== "'" && ("$`".includes(char) || (char === "\\" && reading.quote === '"'))) {
    reader.lose("an unusual delimiter of a here-document", at);
  } else if (reading.quote === char) reading.quote = null;
  else if (reading.quote === null && !reading.escaped && (char === "'" || char === '"')) {
    reading.quote = char;
    reading.quoted = true;
  } else if (reading.quote === null && !reading.escaped && char === "\\") reading.escaped = reading.quoted = true;
  else {
    reading.escaped = false;
    reading.text += char;
  }
  reading.started = true;
  return true;
}

function endDelimiter(reader: ShellReader, frame: CommandFrame, reading: DelimiterReading, at: number): false {
  const { text, strip, quoted } = reading;
  const substituted = isSubstituted(reader);
  const command = identify(reader, frame.command, at);
  redirect(reader, command, "", at);
  const evaluated = inputReading(frame.command);
  const shared = sharesInput(frame.command);
  const printed = printsInput(frame.command.program);
  if (substituted && frame.pending.length > 0) reader.lose(`a second here-document on one line ${MIXED_UP}`, at);
  if (/[^ -~]/.test(text)) reader.lose("an unusual delimiter of a here-document", at);
  frame.pending.push({
    delimiter: text,
    strip,
    quoted,
    substituted,
    damaging: reader.dialect === "sh",
    evaluated,
    printed,
    command,
    shared,
  });
  frame.delimiter = null;
  return false;
}

export function newHereFrame(document: HereDocument, rest: HereDocument[], from: number): HereFrame {
  return { kind: "here", from, document, rest, line: "", joined: false, backslash: false };
}

/** One more character of the text of a here-document. */
export function readHere(reader: ShellReader, frame: HereFrame, char: string, at: number): void {
  if (char === "\n") return endLine(reader, frame, at);
  if (!frame.document.quoted && char === "\\") {
    reader.escaped = true;
    return;
  }
  extendLine(reader, frame, char, at);
  if (!frame.document.quoted) reader.readExpansions(char);
}

function endLine(reader: ShellReader, frame: HereFrame, at: number): void {
  if (frame.line !== frame.document.delimiter) {
    frame.line = "";
    frame.joined = false;
  } else if (frame.joined) reader.lose("a here-document whose end is a continued line", at);
  else {
    endDocument(reader, frame, at);
    reader.pop();
    const [document, ...rest] = frame.rest;
    if (document !== undefined) reader.push(newHereFrame(document, rest, at + 1));
  }
}

/** All of it was read. */
export function endDocument(reader: ShellReader, { document, from }: HereFrame, at: number): void {
  const { evaluated, command } = document;
  if (evaluated === null) return;
  reader.flows.program(command, { language: evaluated.language, source: reader.textOf(from, at), word: false, at: from });
}

/** A character inside an expansion: its lines count too, since bash looks for the end of a here-document first. */
export function watchHere(reader: ShellReader, frame: HereFrame, char: string, at: number): void {
  if (char === "\n" && frame.backslash) {
    reader.lose("a backslash at the end of a line in an expansion in a here-document, which goes before it is read", at);
  }
  frame.backslash = char === "\\" && !frame.backslash;
  if (char !== "\n") extendLine(reader, frame, char, at);
  else if (frame.line === frame.document.delimiter) reader.lose("an expansion that goes on past the end of its here-document", at);
  else frame.line = "";
}

/** One more character of a line of a here-document that might become its end. */
export function extendLine(reader: ShellReader, frame: HereFrame, char: string, at: number): void {
  const { delimiter, strip, substituted } = frame.document;
  if (frame.line === null || (strip && frame.line === "" && char === "\t")) return;
  const line = frame.line + char;
  if (line.length <= delimiter.length && delimiter.startsWith(line)) frame.line = line;
  else if (!substituted || !frame.line.startsWith(delimiter)) frame.line = null;
  else if (char === ")") reader.lose("a line of a here-document in `$(…)` that begins with its delimiter and has a `)`", at);
  else frame.line = delimiter + OPAQUE;
}
