/**
 * Reads a line that leaves no question open: options spelled out, each once, with values that their definitions take.
 * Anything else (help, a slip, an escape, letters run together) is left to stricli, which knows what to say: to load it
 * and lay out the tree of all commands costs a start 4 ms. What is read here means what it would mean there.
 */
import type { FlagParametersForType } from "@stricli/core";

/** What a command takes, of which each argument is one word. */
interface Parameters<Flags> {
  readonly flags: FlagParametersForType<Flags>;
  readonly aliases: Readonly<Record<string, string>>;
  readonly positional: { readonly parameters: readonly { parse(word: string): unknown }[] };
}

interface PlainLine<Flags, Args> {
  readonly flags: Flags;
  readonly positional: Args;
}

/** Null: not a plain line. */
export function readPlainLine<Flags, Args>(
  { flags, aliases, positional }: Parameters<Flags>,
  words: readonly string[],
): PlainLine<Flags, Args> | null {
  const definitions = flags as Readonly<Record<string, Flag>>;
  const line = sortWords(definitions, aliases, words);
  if (line === null || line.rest.length > positional.parameters.length) return null;
  try {
    const values = Object.entries(definitions).map(([name, flag]) => [name, valueOf(flag, line.given.get(name))] as const);
    return {
      flags: Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Flags,
      positional: line.rest.map((word, index) => positional.parameters[index]?.parse(word)) as Args,
    };
  } catch {
    // Stricli finds the same fault, and says which.
    return null;
  }
}

/** As much of stricli's definitions as is read here. */
type Flag =
  | { readonly kind: "boolean"; readonly default?: boolean; readonly withNegated?: boolean }
  | { readonly kind: "enum"; readonly default?: string; readonly values: readonly string[] }
  | { readonly kind: "parsed"; readonly default?: string; parse(word: string): unknown };

interface Sorted {
  /** The word of each option; of one without a value whether it is on. */
  readonly given: ReadonlyMap<string, string | boolean>;
  readonly rest: readonly string[];
}

const OPTION = /^--(no-)?([a-z][a-z-]+)(?:=(.+))?$/;

function sortWords(
  flags: Readonly<Record<string, Flag>>,
  aliases: Readonly<Record<string, string>>,
  words: readonly string[],
): Sorted | null {
  const given = new Map<string, string | boolean>();
  const rest: string[] = [];
  const waiting = [...words];
  for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
    if (isValue(word)) {
      rest.push(word);
      continue;
    }
    const [, no, spelled = "", value] = OPTION.exec(word) ?? [];
    const name = aliases[word.slice(1)] ?? spelled.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (flag === undefined || given.has(name)) return null;
    if (flag.kind === "boolean") {
      if (value !== undefined || (no !== undefined && flag.withNegated === false)) return null;
      given.set(name, no === undefined);
      continue;
    }
    const taken = value ?? waiting.shift();
    if (no !== undefined || taken === undefined || !isValue(taken)) return null;
    given.set(name, taken);
  }
  return { given, rest };
}

function isValue(word: string): boolean {
  return !word.startsWith("-") || word === "-";
}

/** @throws {RangeError} */
function valueOf(flag: Flag, given: string | boolean | undefined): unknown {
  const word = given ?? flag.default;
  if (flag.kind === "boolean" || word === undefined || typeof word === "boolean") return word;
  if (flag.kind === "parsed") return flag.parse(word);
  if (!flag.values.includes(word)) throw new RangeError(`must be one of ${flag.values.join(", ")}`);
  return word;
}
