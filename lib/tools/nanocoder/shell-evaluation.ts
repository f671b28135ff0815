/** Facts of the shell that several readers need: where it calculates, and which word of a command is what. */
import type { Sink } from "./shell-source.ts";
import type { ShellReader } from "./shell-reader.ts";
import type { CommandFrame } from "./shell-state.ts";

/** Inside the brackets of `name[…]` where bash calculates them. */
export function subscriptOf(frame: CommandFrame): boolean {
  if (frame.subscript === 0) return false;
  return frame.position !== "argument" || frame.groups.at(-1)?.kind === "array" || SUBSCRIPTED.has(frame.command.program ?? "");
}

/** Builtins that take names, subscripts included, as arguments. */
const SUBSCRIPTED = new Set([
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

/** The variable that a word assigns to, so far as it was read; null if it is no assignment. */
export function assignedName(plain: string): string | null {
  return /^([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=/.exec(plain)?.[1] ?? null;
}

/** Whether what a command prints is what it was given. */
export function printsArguments(program: string | null): boolean {
  return /^(?:echo|printf|basename|dirname|realpath)$/.test(program ?? "");
}

/** Whether what a command prints is what it reads, or parts of it; one that comes later may. */
export function printsInput(program: string | null): boolean {
  return program === null ||
    /^(?:cat|tee|head|tail|tac|sort|uniq|xargs|tr|cut|rev|fold|fmt|expand|unexpand|paste|column|iconv|nl|[ef]?grep|g?sed|[gmn]?awk)$/.test(
      program,
    );
}

/** Names in text that the shell calculates. */
export function mentionNames(reader: ShellReader, text: string, at: number, kind: Sink["kind"] = "arithmetic", of?: string): void {
  for (const [name] of text.matchAll(/(?<!\w)[A-Za-z_]\w*/g)) reader.flows.sink({ kind, from: [name], at, ...subscriptFor(of) });
}

/** The subscript of an associative array is no arithmetic. */
export function subscriptFor(array: string | null | undefined): Pick<Sink, "unless"> {
  return array === null || array === undefined ? {} : { unless: `associative:${array}` };
}
