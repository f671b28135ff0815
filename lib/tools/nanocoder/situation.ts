/** What stands around a tag in its command, as far as warnings need it. */
import type { ShellReader } from "./shell-reader.ts";
import { OPAQUE, type SimpleCommand } from "./shell-state.ts";

export interface Situation {
  /** First word of the command; null if the tag is in it or before it. */
  readonly program: string | null;
  /** The word before the tag's own; opaque parts are not shown. */
  readonly previous: string;
  /** The tag begins a word of its own that is an argument. */
  readonly startsArgument: boolean;
  /** It cannot be an option: an operand of `test`, what a script or an option is given. */
  readonly operand: boolean;
  /** `--` came before. */
  readonly optionsEnded: boolean;
  /** The word is what a shell runs: `sh -c {{ x }}`. */
  readonly shellScript: boolean;
  /** A word before is `ssh`. */
  readonly remote: boolean;
  /** The word is `name=` so far. */
  readonly assignment: boolean;
  /** The word already has a `=`: what comes is a value, not a name. */
  readonly valueOfName: boolean;
  /** What the command prints is calculated: `$(( $(…) ))`. */
  readonly calculated: boolean;
}

function isOperand({ program, previous, shell, scripted, text, runs }: SimpleCommand): boolean {
  if (program === "test" || program === "[") return true;
  if (program === "printf") return previous !== "printf" && previous !== "-v";
  if (text !== null && (text.skip > 0 || text.done)) return text.skip > 0 || /^python/.test(text.name);
  return shell && scripted && !runs && previous !== "";
}

export function situationOf(reader: ShellReader): Situation {
  if (reader.inner !== null) return situationOf(reader.inner);
  const frame = reader.command;
  if (frame === null) throw new TypeError("Cannot describe a tag as no command is open");
  const { program, previous, ended, remote } = frame.command;
  const fresh = reader.substitution;
  const plainWord = reader.top === frame && !fresh && frame.groups.at(-1)?.kind !== "condition" && frame.groups.at(-1)?.kind !== "array";
  return {
    program: fresh ? null : program,
    previous: fresh ? "" : previous.replaceAll(OPAQUE, ""),
    startsArgument: plainWord && frame.word === "" && frame.position === "argument" && !frame.redirect,
    operand: isOperand(frame.command),
    optionsEnded: ended,
    shellScript: frame.command.runs,
    remote,
    assignment: plainWord && /^[A-Za-z_]\w*\+?=/.test(frame.word) && (frame.position === "command" || frame.position === "assigned"),
    valueOfName: frame.word.includes("="),
    calculated: reader.frames.some(({ kind }) => kind === "arithmetic"),
  };
}
