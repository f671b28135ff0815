/** A line as it was meant, and what is said of one that nothing can be made of: what is wrong, and where it says what is right. */
import { EnumValidationError, text_en, UnexpectedPositionalError } from "@stricli/core";
import { commandTree } from "./command-tree.ts";
import { VERSION_WORDS } from "./version-line.ts";

/**
 * How far a word may be from what there is for "did you mean": letters left out or swapped, or one slip of another kind. Never
 * for the values of an option, which are listed: a mode that allows more is no correction.
 */
export const SLIPS = { threshold: 3, weights: { insertion: 1, deletion: 3, substitution: 3, transposition: 0 } };

/** What people type first, of any program, as the command that does it here. */
export function meant(args: readonly string[]): readonly string[] {
  const [first = "", ...others] = args;
  if (VERSION_WORDS.includes(first)) return ["version", ...others];
  return first === "help" ? [...meant(others), "--help"] : args;
}

export function sayUnknownCommand(input: string, corrections: readonly string[], args: readonly string[]): string {
  return withHelp(text_en.noCommandRegisteredForInput({ input, corrections, ansiColor: false }), commandOf(args));
}

export function sayMisread(error: unknown, args: readonly string[]): string {
  return withHelp(reasonOf(error, args), commandOf(args));
}

function reasonOf(error: unknown, args: readonly string[]): string {
  if (error instanceof EnumValidationError) {
    return `--${error.externalFlagName} cannot be "${error.input}", only ${error.values.join(", ")}`;
  }
  const said = text_en.exceptionWhileParsingArguments(error, false);
  const isPrompt = error instanceof UnexpectedPositionalError && args[0] === "run";
  return isPrompt ? `${said}: a prompt of several words goes in quotes` : said;
}

function withHelp(said: string, command: string): string {
  return `orrery: Cannot read the command line: ${said} (see ${command} --help)`;
}

/** The command that a line names, as far as there is one: `orrery tools create`. */
function commandOf(args: readonly string[]): string {
  const words = ["orrery"];
  let target: ReturnType<typeof commandTree.getRoutingTargetForInput> = commandTree;
  for (const word of args) {
    if (target === undefined || !("getRoutingTargetForInput" in target)) break;
    target = target.getRoutingTargetForInput(word);
    if (target !== undefined) words.push(word);
  }
  return words.join(" ");
}
