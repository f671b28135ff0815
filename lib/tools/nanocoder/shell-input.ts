/** What a command reads as a program: one of its words, or its input. `program-text.ts` knows the languages but the shell's. */
import { beginProgram, isProgramText, nextWord, readsProgram } from "./program-text.ts";
import { printsArguments } from "./shell-evaluation.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type Evaluation, OPAQUE, type SimpleCommand } from "./shell-state.ts";

const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "su", "flock", "script", `${OPAQUE}SHELL`, `${OPAQUE}BASH`]);

/** Their operands are no scripts. */
const SWITCHING = new Set(["su", "flock", "script"]);

/** What in a script may read its arguments a second time. */
const CALCULATING = /\(\(|\$\[|\$\{!|@P\}|\b(?:let|eval|declare|typeset|trap|source)\b|-(?:eq|ne|lt|le|gt|ge)\b/;

/** Null: what it reads from its input is no program. Words to come may still say so. */
export function inputReading({ program, previous, remote, shell, scripted, text, output }: SimpleCommand): Evaluation | null {
  if (remote) return { unless: "", language: null };
  if ((program === "source" || program === ".") && /^\/dev\/(?:stdin|fd\/0)$/.test(previous)) return { unless: "", language: null };
  if (shell && !scripted && program !== "flock") return { unless: output, language: null };
  if (text === null || !readsProgram(text) || (text.given && !text.expects)) return null;
  return { unless: output, language: text.name };
}

/** A word of the command is complete. */
export function noteProgram(reader: ShellReader, command: SimpleCommand, plain: string, at: number): void {
  if (printsArguments(command.program)) return;
  const name = withoutFolder(plain);
  noteReplaced(reader, command, plain, at);
  if (command.text !== null) {
    nextWord(command.text, plain);
    if (command.text.given && !command.text.expects) reader.flows.note("scripted", command.output);
  } else if (!command.shell) command.text = beginProgram(name, withoutFolder(command.program ?? ""));
  if (command.shell) noteShellWord(reader, command, plain, at);
  else command.shell = !command.scripted && SHELLS.has(name);
  command.remote ||= name === "ssh";
}

function withoutFolder(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function noteShellWord(reader: ShellReader, command: SimpleCommand, plain: string, at: number): void {
  const isOption = plain.startsWith("-") || plain.startsWith("+");
  const ran = command.runs;
  command.runs = isOption && (ran || (!command.scripted && /^-[A-Za-z]*c[A-Za-z]*$/.test(plain)));
  if (!command.scripted && /^-[A-Za-z]*s/.test(plain)) command.flags = "-s";
  const isValue = /^[-+][A-Za-z]*[oO]$|^--(?:rcfile|init-file)$/.test(command.previous);
  const isOther = !ran && (isValue || command.flags === "-s" || SWITCHING.has(command.program ?? ""));
  if (isOption || isOther) return;
  command.scripted = true;
  reader.flows.note("scripted", command.output);
  if (!ran || !CALCULATING.test(plain)) return;
  command.calculates = true;
  for (const source of command.environment) reader.flows.sink({ kind: "evaluated", from: [source], at });
}

/** `find` and `xargs` put what they find into a word that is a program. */
function noteReplaced(reader: ShellReader, command: SimpleCommand, plain: string, at: number): void {
  const { program, input, output, text } = command;
  const isProgram = command.runs || (text !== null && isProgramText(text, plain));
  if (program === "xargs") {
    const [, mark] = /^(?:-I|-i|--replace=)(.+)$/.exec(plain) ?? [];
    if (command.previous === "-I") command.target = plain;
    else if (mark !== undefined || plain === "-i" || plain === "--replace") command.target = mark ?? "{}";
  }
  const mark = program === "find" ? "{}" : program === "xargs" ? command.target : "";
  if (!isProgram || mark === "" || !plain.includes(mark)) return;
  const from = program === "find" ? output : input;
  if (from !== "") reader.flows.sink({ kind: "evaluated", from: [from], at, language: text?.name ?? null });
}
