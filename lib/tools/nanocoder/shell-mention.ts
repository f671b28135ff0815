/** Tells the flows of a script (`shell-flow.ts`) what happens where a value, a variable or what a command prints stands. */
import { assignedName, mentionNames, printsInput, subscriptFor, subscriptOf } from "./shell-evaluation.ts";
import { identify, inputReading, sharesInput } from "./shell-input.ts";
import { parameterOf } from "./shell-scope.ts";
import { ENVIRONMENT, givenTo, inheritedBy, inputOf, keysOf, MATCH, namedBy, numberedBy, STANDARD_INPUT } from "./shell-source.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, OPAQUE, type ParameterFrame } from "./shell-state.ts";
import { mentionInArgument } from "./shell-arguments.ts";

/** `from`: a tag, a variable, or what a substitution prints. It stands at the end of what was read. */
export function mention(reader: ShellReader, from: string, at: number, several = false): void {
  let quoted = false;
  for (const frame of reader.frames.toReversed()) {
    switch (frame.kind) {
      case "double":
      case "single":
      case "ansi":
        quoted = true;
        continue;
      case "parameter":
        if (frame.phase === "word") {
          if (/^:?=/.test(frame.text)) reader.flows.flow({ to: frame.name, from, level: "value", at });
          continue;
        }
        return reader.flows.sink({
          kind: "arithmetic",
          from: [from],
          at,
          ...subscriptFor(frame.phase === "subscript" ? frame.name : null),
        });
      case "arithmetic":
        return reader.flows.sink({ kind: "arithmetic", from: [from], at });
      case "here":
        mentionInput(reader, frame.document.command, frame.document.shared, from, at);
        if (frame.document.evaluated !== null) reader.flows.sink({ kind: "evaluated", from: [from], at, ...frame.document.evaluated });
        // What reads it prints it, most likely.
        reader.flows.flow({ to: frame.document.command, from, level: frame.document.printed ? "value" : "output", at });
        return;
      case "command":
        if (!from.startsWith("tag:") && (several || !quoted)) mentionWords(reader, frame, from, at);
        frame.several ||= several;
        return mentionInCommand(reader, frame, from, at);
    }
  }
}

function mentionInput({ flows }: ShellReader, command: string, shared: boolean, from: string, at: number): void {
  for (const to of [inputOf(command), ...(shared ? [STANDARD_INPUT] : [])]) flows.flow({ to, from, level: "value", at });
}

/** What stands in a file of that name is not the value. */
function mentionInputFile(reader: ShellReader, { command }: CommandFrame, from: string, at: number): void {
  const read = inheritedBy(identify(reader, command, at));
  for (const to of [read, ...(sharesInput(command) ? [STANDARD_INPUT] : [])]) reader.flows.flow({ to, from, level: "output", at });
}

/** The words of it may be several. */
function mentionWords({ flows }: ShellReader, frame: CommandFrame, from: string, at: number): void {
  const { position, redirect, command } = frame;
  frame.several = true;
  if (position !== "argument" || redirect) return;
  if (command.program === "test" || command.program === "[") flows.sink({ kind: "split", from: [from], at });
}

/** What an expansion `${…}` says of its own variable, once it is complete. */
export function mentionParameter(reader: ShellReader, { name, text, prefixed }: ParameterFrame, at: number): void {
  const source = /^\d+$|^[@*]$/.test(name) ? parameterOf(reader, name, at) : name;
  const subscript = /^\[([^\]]*)\]/.exec(text)?.[1] ?? "";
  mentionNames(reader, subscript, at, "arithmetic", name);
  const rest = subscript === "" && !text.startsWith("[]") ? text : text.slice(subscript.length + 2);
  if (/^:(?![-=?+])/.test(rest)) mentionNames(reader, rest, at);
  if (rest === "@P") reader.flows.sink({ kind: "read_twice", from: [source], at });
  if (prefixed === "!" && name === "" && text.startsWith("#")) return mention(reader, parameterOf(reader, "@", at), at);
  if (prefixed === "!" && /^\[[@*]\]/.test(text)) return mention(reader, keysOf(name), at, text.startsWith("[@]"));
  if (prefixed === "!") {
    reader.flows.sink({ kind: "read_twice", from: [source], at });
    mention(reader, namedBy(source), at);
    mention(reader, numberedBy(source), at);
  }
  if (prefixed !== "#" && source !== "") mention(reader, source, at, name === "@" || text.startsWith("[@]"));
}

/** `$1`, `$@`: as the name of a command, `"$@"` is its first. */
export function mentionParameters(reader: ShellReader, name: string, at: number): void {
  const frame = reader.top.kind === "double" ? reader.frames.at(-2) : reader.top;
  const first = name === "@" && frame?.kind === "command" && frame.position === "command" && frame.plain === OPAQUE;
  mention(reader, parameterOf(reader, first ? "1" : name, at), at, name === "@");
}

function mentionInCommand(reader: ShellReader, frame: CommandFrame, from: string, at: number): void {
  const { flows } = reader;
  if (frame.comment || frame.delimiter !== null) return;
  if (frame.redirect) {
    if (frame.duplicates) flows.sink({ kind: "read_twice", from: [from], at });
    if (frame.hereString) {
      const command = identify(reader, frame.command, at);
      mentionInput(reader, command, sharesInput(frame.command), from, at);
      flows.flow({ to: command, from, level: printsInput(frame.command.program) ? "value" : "output", at });
    } else if (frame.direction === "<") mentionInputFile(reader, frame, from, at);
    const evaluation = frame.hereString ? inputReading(frame.command) : null;
    if (evaluation !== null) flows.sink({ kind: "evaluated", from: [from], at, ...evaluation });
    return;
  }
  // A descriptor in a subscript, or words that the braces make.
  const braced = /^\{[A-Za-z_]\w*\[/.test(frame.plain) || (frame.word.includes("{") && mayBeBraced(frame));
  if (braced) flows.sink({ kind: "read_twice", from: [from], at });
  const group = frame.groups.at(-1);
  if (group?.kind === "array") flows.flow({ to: assignedName(group.plain) ?? "", from, level: "value", at });
  if (subscriptOf(frame)) {
    const of = group?.kind === "array" ? assignedName(group.plain) : /^\w*/.exec(frame.plain)?.[0];
    flows.flow({ to: keysOf(of ?? ""), from, level: "value", at });
    return flows.sink({ kind: "arithmetic", from: [from], at, ...subscriptFor(of) });
  }
  if (group?.kind === "array") return;
  if (group?.kind === "condition") {
    flows.flow({ to: MATCH, from, level: "value", at });
    group.sources.push(from);
    if (group.arithmetic) flows.sink({ kind: "arithmetic", from: [from], at });
    return;
  }
  if (frame.position === "argument") return mentionInArgument(reader, frame, from, at);
  const name = ["command", "assigned"].includes(frame.position) ? assignedName(frame.plain) : null;
  if (name !== null) return mentionInAssignment(reader, frame, name, from, at);
  if (["command", "assigned"].includes(frame.position)) flows.sink({ kind: "named", from: [from], at });
}

/** `name=value`, of the shell itself or of the command that follows. */
function mentionInAssignment(reader: ShellReader, { command }: CommandFrame, name: string, from: string, at: number): void {
  const { flows } = reader;
  flows.flow({ to: name, from, level: "value", at });
  flows.flow({ to: ENVIRONMENT, from: name, level: "value", at, when: "exporting:" });
  if (command.program !== null) return;
  const id = identify(reader, command, at);
  for (const each of ["", name]) flows.flow({ to: givenTo(id, each), from, level: "value", at });
}

function mayBeBraced({ position, command, plain }: CommandFrame): boolean {
  if (position === "argument") {
    return ["test", "["].includes(command.program ?? "") || (command.program === "printf" && command.stage === "options");
  }
  return ["command", "assigned"].includes(position) && assignedName(plain) === null;
}
