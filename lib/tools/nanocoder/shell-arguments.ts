/** Arguments of the builtins that take some of them for names, expressions, options or commands: bash looks into those words again. */
import { assignedName, mentionNames, printsArguments } from "./shell-evaluation.ts";
import { handToProgram } from "./shell-input.ts";
import { argumentOf, isExact, parameterOf, scopeOf } from "./shell-scope.ts";
import { ANYWHERE, assignedBy, ENVIRONMENT, inputOf, type Sink, SPECIAL } from "./shell-source.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, ESCAPE, OPAQUE, UNKNOWN } from "./shell-state.ts";

/** Those that declare variables: `name=value`, after options. */
const DECLARING = new Set(["declare", "typeset", "local", "export", "readonly"]);

/** Every argument may be a name, an option that makes the next one a name, or a command. */
const NAMING = new Set([
  "unset",
  "wait",
  "mapfile",
  "readarray",
  "getopts",
  "compgen",
  "complete",
  "compopt",
  "alias",
  "bind",
  "enable",
  "hash",
  "fc",
]);

const EVALUATING = new Set(["eval", "trap", "source", ".", "jobs"]);

/** Options of `read` that end in one which takes the next word, or the rest of this one. */
const READ_OPTION = /^-[ers]*[dinNptu]/;

export function mentionInArgument(reader: ShellReader, frame: CommandFrame, from: string, at: number): void {
  const { command, plain } = frame;
  const { program, stage } = command;
  const { flows } = reader;
  const sink = (kind: Sink["kind"]) => flows.sink({ kind, from: [from], at });
  const level = printsArguments(program) ? "value" : "output";
  flows.flow({ to: command.output, from, level, at });
  flows.flow({ to: "_", from, level: "value", at });
  if (/^(?:cd|pushd)$/.test(program ?? "")) {
    for (const to of ["PWD", "OLDPWD", "DIRSTACK"]) flows.flow({ to, from, level: "output", at });
  }
  if (DECLARING.has(program ?? "")) return mentionInDeclaration(reader, frame, from, at);
  if (NAMING.has(program ?? "")) return command.ended && program === "wait" ? undefined : sink("read_twice");
  switch (program) {
    case "let":
      return sink("read_twice");
    case "read":
      // Of several words the second would be a name.
      if (frame.several || (stage !== "value" && !(stage === "options" && READ_OPTION.test(plain)))) sink("read_twice");
      return;
    case "printf":
      if (stage === "value" || (stage === "options" && new RegExp(`^(?:$|[-${OPAQUE}])`).test(plain))) sink("read_twice");
      else if (command.target !== "") flows.flow({ to: command.target, from, level: "value", at });
      return;
    case "test":
    case "[":
      frame.wild.push(from);
      if (command.operator === null) return;
      return flows.sink({ kind: "read_twice", from: [...command.operator, from], at });
    case "in":
      if (command.target !== "") flows.flow({ to: command.target, from, level: "value", at });
      return;
    case "set":
      for (const to of argumentOf(scopeOf(reader).name, 0, false)) flows.flow({ to, from, level: "value", at });
      return;
    case UNKNOWN:
      sink("unknown");
  }
  const evaluated = EVALUATING.has(program ?? "") || command.remote || command.runs;
  if (evaluated && (program !== "jobs" || command.flags.includes("x"))) sink("evaluated");
  if (SPECIAL.has(assignedName(plain) ?? "")) sink("evaluated");
  handToProgram(reader, frame, from, at);
  for (const to of argumentOf(program ?? "", command.index, isExact(frame))) flows.flow({ to, from, level: "value", at });
}

function mentionInDeclaration({ flows }: ShellReader, { command, plain }: CommandFrame, from: string, at: number): void {
  const name = assignedName(plain);
  if (name === null || /[aAn]/.test(command.flags)) flows.sink({ kind: "read_twice", from: [from], at });
  if (name === null) return;
  flows.flow({ to: name, from, level: "value", at });
  flows.sink({ kind: "read_twice", from: [from], at, when: `array:${name}` });
}

/** A word of the command is complete. `plain`: without its quotes. */
export function endArgument(reader: ShellReader, frame: CommandFrame, word: string, plain: string, at: number): void {
  const { command } = frame;
  const program = command.program ?? "";
  if (/[*?{]/.test(word)) frame.several = true;
  const watched = DECLARING.has(program) || NAMING.has(program) || ["read", "printf", "test", "[", "let"].includes(program);
  if (!watched) {
    if (["jobs", "set"].includes(program) && /^[-+]/.test(plain)) command.flags += plain;
    if (program === "set" && (/^-[a-z]*a/.test(plain) || plain === "allexport")) reader.flows.note("exporting", "");
    return;
  }
  if (/\{.*(?:,|\.\.).*\}/s.test(word)) return reader.lose(`a brace expansion after \`${program}\``, at);
  if (plain.includes(ESCAPE)) return reader.lose(`an escape such as \\x2d after \`${program}\``, at);
  if (DECLARING.has(program)) return endDeclaration(reader, frame, plain, at);
  switch (program) {
    case "let":
      return mentionNames(reader, plain, at);
    case "read":
    case "mapfile":
    case "readarray":
      return endReading(reader, frame, plain, at);
    case "printf":
      return endFormat(reader, frame, word, plain, at);
    case "test":
    case "[":
      command.operator = mayNameFollow(plain) ? [...frame.wild] : null;
      return;
  }
}

function endDeclaration(reader: ShellReader, { command }: CommandFrame, plain: string, at: number): void {
  if (/^[-+]/.test(plain)) {
    command.flags += plain;
    if (plain.includes(OPAQUE)) reader.lose(`\`${command.program}\` with an option that is not written out`, at);
    return;
  }
  if (command.flags.includes("f")) reader.flows.note("exporting", "functions");
  const declared = /^[A-Za-z_]\w*/.exec(plain)?.[0];
  const exports = command.program === "export" || command.flags.includes("x");
  if (exports && declared !== undefined) reader.flows.flow({ to: ENVIRONMENT, from: declared, level: "value", at });
  if (!/[inaA]/.test(command.flags)) return;
  const name = declared;
  if (name === undefined) return reader.lose(`\`${command.program} ${command.flags}\` of a name that is not written out`, at);
  if (command.flags.includes("i")) {
    reader.flows.note("integer", name);
    const value = /^\w+\+?=([A-Za-z_].*)$/s.exec(plain)?.[1];
    if (value !== undefined) mentionNames(reader, value, at);
  }
  if (/[aA]/.test(command.flags)) reader.flows.note("array", name);
  if (command.flags.includes("A")) reader.flows.note("associative", name);
  if (!command.flags.includes("n")) return;
  reader.flows.flow({ to: assignedBy(name), from: name, level: "value", at });
  const other = /^\w+=([A-Za-z_]\w*)/.exec(plain)?.[1];
  if (other === undefined) return;
  reader.flows.flow({ to: other, from: name, level: "value", at });
  reader.flows.flow({ to: name, from: other, level: "value", at });
}

function endReading(reader: ShellReader, { command }: CommandFrame, plain: string, at: number): void {
  const { flows } = reader;
  const input = inputOf(command.output);
  if (command.stage === "value") command.stage = "options";
  else if (command.stage === "options" && plain === "--") command.stage = "operands";
  else if (command.stage === "options" && plain.startsWith("-")) {
    const valued = command.program === "read" ? new RegExp(`${READ_OPTION.source}$`) : /^-t*[CcdnOsu]$/;
    if (valued.test(plain)) command.stage = "value";
    if (/^-[ers]*a/.test(plain)) command.flags += "a";
    const array = /^-[ers]*a(.+)$/.exec(plain)?.[1];
    if (array !== undefined) flows.note("array", array);
    if (array !== undefined) flows.flow({ to: array, from: input, level: "value", at });
  } else {
    command.stage = "operands";
    const name = /^[A-Za-z_]\w*/.exec(plain)?.[0];
    flows.flow({ to: name ?? assignedThrough(reader, plain, at), from: input, level: "value", at });
    if (name !== undefined && (command.program !== "read" || command.flags.includes("a") || plain.includes("["))) flows.note("array", name);
  }
}

/** `$name` or `${name}`, where a name is taken: the variable of that name; with more around it, any. */
function assignedThrough(reader: ShellReader, plain: string, at: number): string {
  const name = plain.startsWith(OPAQUE) ? /^(\w+)\0?$/.exec(plain.slice(1))?.[1] : undefined;
  if (name === undefined) return plain === "-" ? "" : ANYWHERE;
  const to = assignedBy(/^\d+$/.test(name) ? parameterOf(reader, name, at) : name);
  // The name may come from where none is written out.
  reader.flows.flow({ to: ANYWHERE, from: to, level: "output", at });
  return to;
}

function endFormat(reader: ShellReader, { command }: CommandFrame, word: string, plain: string, at: number): void {
  const { flows } = reader;
  if (command.stage === "value") {
    command.target = /^[A-Za-z_]\w*/.exec(plain)?.[0] ?? assignedThrough(reader, plain, at);
    if (plain.includes("[")) flows.note("array", command.target);
    command.stage = "options";
  } else if (command.stage === "options") {
    if (plain === "-v") command.stage = "value";
    else if (plain.startsWith("-v")) command.target = /^-v([A-Za-z_]\w*)/.exec(plain)?.[1] ?? "";
    // An expansion without quotes may leave no word.
    else if (plain === "--" || word !== OPAQUE) command.stage = "operands";
  }
}

/** Whether a word of `test` is, or may be, an operator before the name of a variable. */
function mayNameFollow(plain: string): boolean {
  if (!plain.includes(OPAQUE)) return plain === "-v" || plain === "-R";
  const pieces = plain.split(new RegExp(`${OPAQUE}\\w*`)).map((piece) => piece.replaceAll(/[^\w-]/g, "!"));
  return ["-v", "-R"].some((operator) => new RegExp(`^${pieces.join(".*")}$`).test(operator));
}
