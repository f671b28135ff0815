/** What a command reads as a program: one of its words, or its input. `program-text.ts` knows the languages but the shell's. */
import { beginProgram, inheritsProgram, isOptionAlone, isProgramFile, isProgramText, nextWord, readsProgram } from "./program-text.ts";
import { beginWrapper, isCommandText, isPassed, nextWrapped } from "./wrappers.ts";
import { assignedName, printsArguments } from "./shell-evaluation.ts";
import { argumentOf, isExact, scopeOf } from "./shell-scope.ts";
import { givenTo, inheritedBy, inputOf, PRINTED, printedBy, RUNNING, STANDARD_INPUT } from "./shell-source.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, type Evaluation, OPAQUE, type SimpleCommand } from "./shell-state.ts";

const SHELLS = new Set([
  ...["sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash", "su", "runuser", "sg", "flock", "script"],
  ...["SHELL", "BASH"].flatMap((name) => [`${OPAQUE}${name}`, `${OPAQUE}${name}${OPAQUE}`]),
]);

/** Their operands are no scripts. */
const SWITCHING = new Set(["su", "runuser", "sg", "flock", "script"]);

/** Null: what it reads from its input is no program. Words to come may still say so. */
export function inputReading({ program, previous, remote, shell, scripted, text, output }: SimpleCommand): Evaluation | null {
  if (remote) return { language: null };
  if ((program === "source" || program === ".") && /^\/dev\/(?:stdin|fd\/0)$/.test(previous)) return { language: null };
  if (shell && !scripted && program !== "flock") return { unless: `scripted:${output}`, language: null };
  if (text === null || !readsProgram(text)) return null;
  return { unless: `scripted:${output}`, language: text.name };
}

/** Gives the command its name, under which flows know what it reads and prints. */
export function identify(reader: ShellReader, command: SimpleCommand, at: number): string {
  if (command.output !== "") return command.output;
  const output = command.output = `|${at}`;
  const { flows } = reader;
  for (const to of [PRINTED, printedBy(scopeOf(reader).name)]) {
    flows.flow({ to, from: output, level: "value", at, unless: `numeric:${output}` });
  }
  if (command.input !== "") redirect(reader, output, command.input, at);
  flows.flow({ to: inputOf(output), from: inheritedBy(output), level: "value", at });
  flows.flow({ to: inheritedBy(output), from: STANDARD_INPUT, level: "value", at, unless: `redirected:${output}` });
  return output;
}

/** Whether a redirection is that of several commands, or of all to come. */
export function sharesInput({ program }: SimpleCommand): boolean {
  return program === null || program === "exec";
}

/** What comes out of a pipe is read by several commands. */
export function shareInput({ flows }: ShellReader, { command: { input } }: CommandFrame, at: number): void {
  if (input !== "") flows.flow({ to: STANDARD_INPUT, from: input, level: "value", at, unless: `numeric:${input}` });
}

/** The command has an input of its own. */
export function redirect({ flows }: ShellReader, command: string, from: string, at: number): void {
  flows.note("redirected", command);
  if (from !== "") flows.flow({ to: inheritedBy(command), from, level: "value", at, unless: `numeric:${from}` });
}

/** A word of the command is complete. */
export function noteProgram(reader: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  const { command } = frame;
  if (printsArguments(command.program)) return;
  const name = withoutFolder(plain);
  noteReplaced(reader, command, plain, at);
  if (command.text !== null) {
    if (isProgramText(command.text, plain) && !isOptionAlone(command.text, plain)) noteText(reader, frame, command.text.name, at);
    nextWord(command.text, plain);
    const { given, expects, skip, stdin } = command.text;
    if (given && !expects && skip === 0 && !stdin) reader.flows.note("scripted", command.output);
  } else if (!command.shell) {
    command.text = beginProgram(name, withoutFolder(command.program ?? ""));
    noteInherited(reader, frame, at);
  }
  if (command.shell) noteShellWord(reader, frame, plain, at);
  else command.shell = !command.scripted && SHELLS.has(name);
  command.remote ||= REMOTE.test(name);
  noteWrapped(command, name, plain);
}

/** They hand their words to a shell elsewhere. */
const REMOTE = /^(?:ssh|autossh|pdsh|mosh|clush)$/;

/** The command that one runs may run another in turn. */
function noteWrapped(command: SimpleCommand, name: string, plain: string): void {
  const { wrapper, previous } = command;
  if (previous === "") command.wrapper = beginWrapper(name);
  else if (wrapper !== null) command.wrapper = isPassed(wrapper, plain) ? beginWrapper(name) : nextWrapped(wrapper, plain);
}

function withoutFolder(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A command that takes its environment for part of its program needs none besides. */
function noteInherited(reader: ShellReader, { command: { text, output }, began }: CommandFrame, at: number): void {
  if (text === null || !inheritsProgram(text.name)) return;
  reader.flows.program(output, { language: text.name, source: "", word: false, at: began < 0 ? at : began });
}

/** The word that ends here is a program. */
function noteText(reader: ShellReader, { command, began }: CommandFrame, language: string | null, at: number): void {
  const before = language === null ? "" : `${command.previous} `;
  if (language === null || !inheritsProgram(language)) {
    reader.flows.program(command.output, { language, source: before + reader.textOf(began, at), word: true, at: began });
  }
  noteHanded(reader, command, inputOf(command.output), at, STANDARD_INPUT);
}

/** Whether a word is none of the arguments that a shell gives to its script. */
export function isShellOption({ shell, scripted, ended }: SimpleCommand, plain: string): boolean {
  return shell && !scripted && (plain === "--" || (!ended && /^[-+]/.test(plain)));
}

/** The word belongs to an option of a shell before it. */
function isOptionValue({ shell, previous }: SimpleCommand): boolean {
  return shell && /^[-+][A-Za-z]*[oO]$|^--(?:rcfile|init-file)$/.test(previous);
}

function noteShellWord(reader: ShellReader, frame: CommandFrame, plain: string, at: number): void {
  const { command } = frame;
  const isOption = plain.startsWith("-") || plain.startsWith("+");
  const ran = command.runs;
  command.runs = isOption && (ran || (!command.scripted && /^-[A-Za-z]*c[A-Za-z]*$/.test(plain)));
  if (!command.scripted && /^-[A-Za-z]*s/.test(plain)) {
    command.flags = "-s";
    command.given = 1;
  }
  const isOther = !ran && (isOptionValue(command) || command.flags === "-s" || SWITCHING.has(command.program ?? ""));
  if (isOption || isOther) return;
  command.scripted = true;
  reader.flows.note("scripted", command.output);
  command.given = ran ? 0 : 1;
  if (!ran) return;
  noteText(reader, frame, null, at);
  if (/^(?:xargs|parallel)$/.test(command.program ?? "")) {
    noteHanded(reader, command, inputOf(command.output), at, ...argumentOf("", 0, false));
  }
}

/** Whether a word that begins like this names the command that this one runs. */
function isNamed({ program, wrapper, previous, runs }: SimpleCommand, plain: string): boolean {
  if (program === "find") return /^-(?:exec|execdir|ok|okdir)$/.test(previous);
  return wrapper !== null && !runs && !isCommandText(wrapper, plain, previous) && isPassed(wrapper, plain);
}

/** Whether a word that begins like this names a file that is run. */
export function runsFile(command: SimpleCommand, plain: string): boolean {
  const { program, text, shell, scripted, runs, flags } = command;
  if (program === "source" || program === ".") return true;
  if (shell && (command.wrapper === null || scripted || text !== null)) {
    return !scripted && !runs && !SWITCHING.has(program ?? "") && flags !== "-s" && !/^[-+]/.test(plain) && !isOptionValue(command);
  }
  return text === null ? isNamed(command, plain) : isProgramFile(text, plain);
}

/** Something of a value is in an argument of a command that may be, or run, a program with a program. */
export function handToProgram(reader: ShellReader, frame: CommandFrame, from: string, at: number): void {
  const { command, plain } = frame;
  const { output, text, given } = command;
  const { flows } = reader;
  const name = assignedName(plain);
  if (name !== null && text === null) {
    for (const each of ["", name]) {
      flows.flow({ to: givenTo(output, each), from, level: "value", at });
    }
  }
  if (given !== -1) noteHanded(reader, command, from, at, ...argumentOf("", given, isExact(frame)));
  if (text !== null) noteHanded(reader, command, from, at);
  if (text !== null && isProgramText(text, plain)) flows.sink({ kind: "evaluated", from: [from], at, language: text.name });
  if (command.wrapper !== null && isCommandText(command.wrapper, plain, command.previous)) {
    flows.sink({ kind: "evaluated", from: [from], at });
  }
  if (command.wrapper !== null && RUNNING.test(name ?? "")) flows.sink({ kind: "named", from: [from], at });
  // Of several words some may be `-exec touch x ;`.
  if (command.program === "find" && frame.several) flows.sink({ kind: "named", from: [from], at });
  if (command.program !== "source" && command.program !== "." && runsFile(command, plain)) flows.sink({ kind: "named", from: [from], at });
}

/** Something is an argument of the program that the command was given, or its input. */
export function noteHanded(reader: ShellReader, { output, text }: SimpleCommand, from: string, at: number, ...as: readonly string[]): void {
  reader.flows.sink({ kind: "evaluated", from: [from], at, language: text?.name ?? null, through: { command: output, as } });
}

/** `find` and `xargs` put what they find into a word that is a program. */
function noteReplaced(reader: ShellReader, command: SimpleCommand, plain: string, at: number): void {
  const { program, output, text } = command;
  const isProgram = command.runs || (text !== null && isProgramText(text, plain));
  if (program === "xargs") {
    const [, mark] = /^(?:-I|-i|--replace=)(.+)$/.exec(plain) ?? [];
    if (command.previous === "-I") command.target = plain;
    else if (mark !== undefined || plain === "-i" || plain === "--replace") command.target = mark ?? "{}";
  }
  const mark = program === "find" ? "{}" : program === "xargs" ? command.target : "";
  if (!isProgram || mark === "" || !plain.includes(mark)) return;
  reader.flows.sink({ kind: "evaluated", from: [program === "find" ? output : inputOf(output)], at, language: text?.name ?? null });
}
