/**
 * Files that a script writes and then runs, by the last part of their names. A command that was given something of a
 * value together with a file may have written it there, unless it is known only to read.
 */
import type { ShellReader } from "./shell-reader.ts";
import { scopeOf } from "./shell-scope.ts";
import { printedBy, type ProgramText, STANDARD_INPUT } from "./shell-source.ts";
import { identify, inputReading, redirect, sharesInput } from "./shell-input.ts";
import { type CommandFrame, OPAQUE, type SimpleCommand } from "./shell-state.ts";

/** Whose name nobody knows, and any. */
const UNNAMED = "file:";
const ANY_FILE = "file:*";

const READING =
  /^(?:grep|egrep|rg|cat|ls|test|\[|echo|printf|head|tail|wc|stat|chmod|chown|diff|cmp|file|find|cd|rm|mkdir|source|\.|bash|sh|dash|zsh|python\d*|node|ruby|perl|php|make|jq|less|touch)$/;

/** Operands of the form `name=value`, of which one is the file that is written. */
const OPERANDS = /^(?:if|of)=/;

const WRITING = /^(?:tee|cp|mv|ln|install|dd|curl|wget|sponge)$/;

function fileOf(plain: string): string {
  const last = plain.slice(plain.lastIndexOf("/") + 1);
  return `file:${last.startsWith(OPAQUE) ? last.replace(/\0$/, "") : last}`.replace(/^file:\0$/, UNNAMED);
}

/** `name=file`, by which the file may be called from here on. */
export function noteAlias({ flows }: ShellReader, plain: string, at: number): void {
  const [, name, value] = /^([A-Za-z_]\w*)=([\w./~\0-]+)$/.exec(plain) ?? [];
  if (name === undefined || value === undefined) return;
  const [alias, file] = [fileOf(OPAQUE + name), fileOf(value)];
  if (file === UNNAMED) return;
  flows.flow({ to: alias, from: file, level: "output", at });
  flows.flow({ to: file, from: alias, level: "output", at });
}

/** An argument that may be the name of a file. */
export function noteFile({ flows }: ShellReader, { command }: CommandFrame, plain: string, at: number): void {
  const [, path] = /^(?:-[^=]*=)?([\w./~+\0-]+)$/.exec(command.program === "dd" ? plain.replace(OPERANDS, "") : plain) ?? [];
  const { program, output } = command;
  if (path === undefined || path.startsWith("-") || program === null) return;
  const file = fileOf(path);
  if (file !== UNNAMED) flows.flow({ to: output, from: file, level: "output", at });
  if (WRITING.test(program)) write(flows, file, output, at);
  else if (file !== UNNAMED && /[./\0]/.test(path) && !READING.test(program)) flows.flow({ to: file, from: output, level: "output", at });
}

/** The word of a redirection is complete. */
export function noteRedirection(reader: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  if (frame.hereString) noteHereString(reader, frame, at);
  if (frame.hereString || frame.duplicates || frame.direction === "&" || plain === "") return;
  const command = identify(reader, frame.command, at);
  if (frame.direction === "<" && sharesInput(frame.command)) {
    reader.flows.flow({ to: STANDARD_INPUT, from: fileOf(plain), level: "output", at });
  }
  if (frame.direction === "<") return redirect(reader, command, fileOf(plain), at);
  const written = frame.command.program === null ? printedBy(scopeOf(reader).name) : command;
  if (plain !== "/dev/null") write(reader.flows, fileOf(plain), written, at);
}

function noteHereString(reader: ShellReader, { command, began }: CommandFrame, at: number): void {
  const evaluation = inputReading(command);
  if (evaluation === null) return;
  reader.flows.program(command.output, { language: evaluation.language, source: reader.textOf(began, at), word: true, at: began });
}

function write(flows: ShellReader["flows"], file: string, from: string, at: number): void {
  for (const written of [file, ANY_FILE]) flows.note("written", written);
  for (const to of [file, ANY_FILE]) flows.flow({ to, from, level: "output", at });
}

/** The word names a file that is run. */
export function noteRun(reader: ShellReader, { output, text, shell }: SimpleCommand, plain: string, at: number): void {
  const file = fileOf(plain);
  for (const from of file === UNNAMED ? [ANY_FILE] : [file, UNNAMED]) {
    reader.flows.sink({ kind: "evaluated", from: [from], at });
    // A command that is not written out is told of anyway.
    if (from !== ANY_FILE || shell) noteScript(reader, output, text?.name ?? null, at, { when: `written:${from}` });
  }
}

type Condition = Pick<ProgramText, "when" | "unless">;

/** The command runs a program that stands somewhere in the script, to be written into a file or a pipe first. */
export function noteScript({ flows }: ShellReader, command: string, language: string | null, at: number, only: Condition): void {
  flows.program(command, { language, source: null, word: false, at, ...only });
}
