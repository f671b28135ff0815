/** Tells the flows of a script (`shell-flow.ts`) what happens where a value, a variable or what a command prints stands. */
import { assignedName, mentionNames, printsArguments, subscriptOf } from "./shell-evaluation.ts";
import { inputReading } from "./shell-input.ts";
import { keysOf, MATCH, namedBy, numberedBy, POSITIONAL, STANDARD_INPUT } from "./shell-flow.ts";
import type { ShellReader } from "./shell-reader.ts";
import type { CommandFrame, HereFrame, ParameterFrame } from "./shell-state.ts";
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
        return reader.flows.sink({ kind: "arithmetic", from: [from], at, ...(frame.phase === "subscript" ? { of: frame.name } : {}) });
      case "arithmetic":
        return reader.flows.sink({ kind: "arithmetic", from: [from], at });
      case "here":
        reader.flows.flow({ to: STANDARD_INPUT, from, level: "value", at });
        if (frame.document.evaluated !== null) reader.flows.sink({ kind: "evaluated", from: [from], at, ...frame.document.evaluated });
        mentionInDocument(reader, frame, from, at);
        return;
      case "command":
        if (!from.startsWith("tag:") && (several || !quoted)) mentionWords(reader, frame, from, at);
        return mentionInCommand(reader, frame, from, at);
    }
  }
}

/** The words of it may be several. */
function mentionWords({ flows }: ShellReader, { position, redirect, command }: CommandFrame, from: string, at: number): void {
  if (position !== "argument" || redirect) return;
  if (command.program === "test" || command.program === "[") flows.sink({ kind: "split", from: [from], at });
}

/** What an expansion `${…}` says of its own variable, once it is complete. */
export function mentionParameter(reader: ShellReader, { name, text, prefixed }: ParameterFrame, at: number): void {
  const source = /^\d+$|^[@*]$/.test(name) ? POSITIONAL : name;
  const subscript = /^\[([^\]]*)\]/.exec(text)?.[1] ?? "";
  mentionNames(reader, subscript, at, "arithmetic", name);
  const rest = subscript === "" && !text.startsWith("[]") ? text : text.slice(subscript.length + 2);
  if (/^:(?![-=?+])/.test(rest)) mentionNames(reader, rest, at);
  if (rest === "@P") reader.flows.sink({ kind: "read_twice", from: [source], at });
  if (prefixed === "!" && /^\[[@*]\]/.test(text)) return mention(reader, keysOf(name), at, text.startsWith("[@]"));
  if (prefixed === "!") {
    reader.flows.sink({ kind: "read_twice", from: [source], at });
    mention(reader, namedBy(source), at);
    mention(reader, numberedBy(source), at);
  }
  if (prefixed !== "#" && source !== "") mention(reader, source, at, name === "@" || text.startsWith("[@]"));
}

function mentionInSubstitution(reader: ShellReader, frame: CommandFrame | undefined, from: string, at: number): void {
  if (frame === undefined || frame.source === "") return;
  const { program } = frame.command;
  reader.flows.flow({ to: frame.source, from, level: printsArguments(program) ? "value" : "output", at });
  // What a function of the script does with its arguments is not followed.
  if (program !== null) reader.flows.flow({ to: frame.source, from, level: "value", at, via: program });
}

/** What reads it prints it, most likely. */
function mentionInDocument({ frames, flows }: ShellReader, frame: HereFrame, from: string, at: number): void {
  const around = frames.slice(0, frames.indexOf(frame)).findLast((each) => each.kind === "command");
  if (around === undefined || around.source === "") return;
  flows.flow({ to: around.source, from, level: frame.document.printed ? "value" : "output", at });
}

function mentionInCommand(reader: ShellReader, frame: CommandFrame, from: string, at: number): void {
  const { flows } = reader;
  if (frame.comment || frame.delimiter !== null) return;
  mentionInSubstitution(reader, frame, from, at);
  if (frame.redirect) {
    if (frame.duplicates) flows.sink({ kind: "read_twice", from: [from], at });
    if (frame.hereString) flows.flow({ to: STANDARD_INPUT, from, level: "value", at });
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
    return flows.sink({ kind: "arithmetic", from: [from], at, ...(of === null || of === undefined ? {} : { of }) });
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
  if (name !== null) flows.flow({ to: name, from, level: "value", at });
  if (name !== null && frame.command.program === null) frame.command.environment.push(from);
}

function mayBeBraced({ position, command, plain }: CommandFrame): boolean {
  if (position === "argument") {
    return ["test", "["].includes(command.program ?? "") || (command.program === "printf" && command.stage === "options");
  }
  return ["command", "assigned"].includes(position) && assignedName(plain) === null;
}
