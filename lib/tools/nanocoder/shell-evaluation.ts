/** Words that bash looks into once more after their quotes are gone: no quoting helps a value there. */
import type { CommandFrame } from "./shell-state.ts";

/** Inside the brackets of `name[…]` where bash calculates them. */
export function subscriptOf(frame: CommandFrame): boolean {
  if (frame.subscript === 0) return false;
  return frame.position !== "argument" || frame.groups.at(-1)?.kind === "array" || DECLARING.has(frame.command.program ?? "");
}

/** Builtins that take names, subscripts included, as arguments. */
const DECLARING = new Set([
  "declare",
  "typeset",
  "local",
  "export",
  "readonly",
  "unset",
  "read",
  "printf",
  "let",
  "mapfile",
  "readarray",
  "getopts",
  "wait",
  "test",
  "[",
]);

/**
 * Whether bash reads the current word once more after its quotes are gone, and then runs commands that it finds in it:
 * in a subscript, in arithmetic, in the list that a declared array gets, in the target of `>&`.
 */
export function isReadTwice({ redirect, duplicates, position, groups, word, command }: CommandFrame): boolean {
  if (redirect) return duplicates;
  if (groups.at(-1)?.kind === "array" || groups.at(-1)?.kind === "condition") return false;
  if (position !== "argument") return /^(?:RANDOM|OPTIND|PS4|ENV|BASH_ENV)\+?=/.test(word);
  switch (command.program) {
    case "let":
    case "declare":
    case "typeset":
    case "unset":
      return true;
    case "local":
      return !word.includes("=") || /[aA]/.test(command.flags);
    case "export":
    case "readonly":
      return /[aA]/.test(command.flags);
    case "read":
      return !/^-[A-Za-z]*[dinNptu]$/.test(command.previous);
    case "printf":
    case "test":
    case "[":
      return command.previous === "-v";
    default:
      return false;
  }
}
