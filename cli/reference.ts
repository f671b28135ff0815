/** The command tree as plain data: what manual pages and completions are made of. */
import type { Command, RouteMap } from "@stricli/core";
import type { CommandScope } from "./command-body.ts";
import { commandTree } from "./command-tree.ts";
import { COMPLETIONS_SHELLS } from "./flags.ts";

/** A command, or a group of commands. */
export interface Reference {
  /** As it is typed: `orrery tools call`. */
  readonly path: string;
  readonly brief: string;
  /** Paragraphs, and sections under headings in capitals. */
  readonly description: string;
  readonly options: readonly Option[];
  readonly operands: readonly Operand[];
  /** Of a group. */
  readonly commands: readonly Reference[];
  /** The command of a group that runs when none is named. */
  readonly fallback?: Reference;
}

export interface Option {
  /** `--base-url`; for a switch that can be turned off, `--no-speculation` is an option of its own. */
  readonly name: string;
  /** `-m`. */
  readonly letter?: string;
  readonly brief: string;
  /** What it takes; a switch takes nothing. */
  readonly value?: Value;
  readonly isRepeatable: boolean;
}

export interface Operand {
  readonly value: Value;
  readonly brief: string;
  readonly isOptional: boolean;
}

export interface Value {
  readonly placeholder: string;
  readonly kind: "folder" | "file" | "session" | "tool" | "text" | Choice;
}

export interface Choice {
  readonly words: readonly string[];
}

/** @param name of the program. */
export function readReference(name = "orrery"): Reference {
  return ofTarget(name, commandTree);
}

/** A command and everything below it, in order. */
export function everyCommand(reference: Reference): readonly Reference[] {
  return [reference, ...reference.commands.flatMap(everyCommand)];
}

type Target = Command<CommandScope> | RouteMap<CommandScope>;

function ofTarget(path: string, target: Target): Reference {
  const { brief, fullDescription: description = "" } = target;
  if ("parameters" in target) {
    return { path, brief, description, commands: [], options: optionsOf(path, target), operands: operandsOf(path, target) };
  }
  const entries = target.getAllEntries().filter(({ hidden }) => !hidden).map(({ name, target }) =>
    [ofTarget(`${path} ${name["convert-camel-to-kebab"]}`, target), target] as const
  );
  const fallback = entries.find(([, command]) => command === target.getDefaultCommand())?.[0];
  const commands = entries.map(([reference]) => reference);
  const { options = [], operands = [] } = fallback ?? {};
  return { path, brief, description, options, operands, commands, ...(fallback === undefined ? {} : { fallback }) };
}

function optionsOf(path: string, { parameters: { flags = {}, aliases = {} } }: Command<CommandScope>): readonly Option[] {
  const letters = new Map(Object.entries(aliases).map(([letter, name]) => [name, `-${letter}`]));
  return Object.entries(flags).filter(([, flag]) => !("hidden" in flag && flag.hidden === true)).flatMap(
    ([key, flag]): readonly Option[] => {
      const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const letter = letters.get(key);
      const option = { name: `--${name}`, brief: flag.brief, ...(letter === undefined ? {} : { letter }) };
      if (flag.kind !== "boolean") {
        const kind = flag.kind === "enum" ? { words: flag.values } : kindOf(path, flag.placeholder ?? "");
        const placeholder = flag.placeholder ?? (flag.kind === "enum" ? flag.values.join("|") : "value");
        return [{ ...option, value: { placeholder, kind }, isRepeatable: "variadic" in flag && flag.variadic !== false }];
      }
      const negated = { name: `--no-${name}`, brief: `Not that: ${lowerFirst(flag.brief)}`, isRepeatable: false };
      const hasNegated = flag.default !== false && !("withNegated" in flag && flag.withNegated === false);
      return [{ ...option, isRepeatable: false }, ...(hasNegated ? [negated] : [])];
    },
  );
}

function operandsOf(path: string, { parameters: { positional } }: Command<CommandScope>): readonly Operand[] {
  const all = positional === undefined ? [] : positional.kind === "tuple" ? positional.parameters : [positional.parameter];
  return all.map(({ placeholder = "arg", brief, optional }) => ({
    value: { placeholder, kind: kindOf(path, placeholder) },
    brief,
    isOptional: optional === true,
  }));
}

function kindOf(path: string, placeholder: string): Value["kind"] {
  const command = path.slice(path.indexOf(" ") + 1);
  if (command === "tools call" && placeholder === "name") return "tool";
  if (command === "completions" && placeholder === "shell") return { words: COMPLETIONS_SHELLS };
  if (command === "man" && placeholder === "page") return { words: pageNames(commandTree) };
  const kinds: Readonly<Record<string, Value["kind"]>> = { dir: "folder", file: "file", id: "session" };
  return kinds[placeholder] ?? "text";
}

/** `run`, `tools-call` and so on. */
function pageNames(group: RouteMap<CommandScope>, before = ""): readonly string[] {
  return group.getAllEntries().filter(({ hidden }) => !hidden).flatMap(({ name, target }) => {
    const page = `${before}${name["convert-camel-to-kebab"]}`;
    return "parameters" in target ? [page] : [page, ...pageNames(target, `${page}-`)];
  });
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
