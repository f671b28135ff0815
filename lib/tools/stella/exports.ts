/**
 * Which inputs a script finds in its environment.
 *
 * X1  Every exported name starts with `STELLA_INPUT_` and has only A–Z, 0–9 and `_` after it.
 * X2  The result depends on the set of members, not on their order.
 * X3  What is not exported is on standard input all the same, and is listed with its reason.
 */
import { numberToken, parseKeepingNumbers } from "../../session/json.ts";
import type { WithheldExport } from "../../session/outcome.ts";

export const EXPORT_PREFIX = "STELLA_INPUT_";
/** Bytes of one `NAME=value`: half of what the kernel takes, as scripts pass their environment on with additions. */
export const MAX_VARIABLE_BYTES = 64 * 1024;
/** Bytes of all exports together. */
export const MAX_EXPORTED_BYTES = 256 * 1024;
/** What the kernel keeps per variable besides its text. */
const VARIABLE_OVERHEAD = 9;
/** Above this nothing is exported: an environment of so many names is of no use, and naming them takes its time. */
const MAX_KEYS = 10_000;
const MAX_LISTED = 64;
const SHOWN_NAME = 128;

export interface Exports {
  readonly made: Readonly<Record<string, string>>;
  readonly withheld: readonly WithheldExport[];
}

/** `text` is the call's input as JSON; names in `taken` belong to the manifest's `[env]` and are never replaced. */
export function exportInputs(text: string, taken: ReadonlySet<string> = new Set()): Exports {
  const members = new Map(Object.entries(parseKeepingNumbers(text) as Record<string, unknown>));
  if (members.size > MAX_KEYS) {
    return {
      made: {},
      withheld: [{ name: `${EXPORT_PREFIX}*`, reason: `the input has ${members.size} keys, and ${MAX_KEYS} may be exported` }],
    };
  }
  const made: Record<string, string> = {};
  const withheld: WithheldExport[] = [];
  let left = MAX_EXPORTED_BYTES;
  for (const { name, key, alias, rivals } of nameExports([...members.keys()])) {
    const problem = rivals.length > 0
      ? `${rivals.length + 1} keys give this name: ${listKeys([key, ...rivals])}`
      : nameProblem(name, taken);
    const value = problem === null ? toVariable(members.get(key)) : { problem };
    const size = "text" in value ? sizeOf(name, value.text) : 0;
    if (!("text" in value)) withheld.push({ name: shorten(name), reason: value.problem });
    else if (size > MAX_VARIABLE_BYTES) {
      withheld.push({ name: shorten(name), reason: `${size} bytes, and a variable may have ${MAX_VARIABLE_BYTES}` });
    } else if (size + VARIABLE_OVERHEAD > left) {
      withheld.push({ name: shorten(name), reason: `all exports together may have ${MAX_EXPORTED_BYTES} bytes` });
    } else {
      made[name] = value.text;
      left -= size + VARIABLE_OVERHEAD;
      const aliasSize = alias === null || taken.has(alias) ? Infinity : sizeOf(alias, value.text) + VARIABLE_OVERHEAD;
      if (alias !== null && aliasSize <= left) {
        made[alias] = value.text;
        left -= aliasSize;
      }
    }
  }
  return { made, withheld: capped(withheld) };
}

export interface NamedExport {
  readonly name: string;
  readonly key: string;
  /** Other keys that give the same name. */
  readonly rivals: readonly string[];
  /** A second name with the words of a camelCase key apart, if nothing else lays claim to it. */
  readonly alias: string | null;
}

/** The names that keys give, sorted by name; rivals appear once, under the first of them. */
export function nameExports(keys: readonly string[]): readonly NamedExport[] {
  const byName = Map.groupBy([...keys].sort(), primaryName);
  const aliasClaims = Map.groupBy(keys, aliasName);
  return [...byName.entries()].sort(([left], [right]) => (left < right ? -1 : 1)).map(([name, [key = "", ...rivals]]) => {
    const alias = aliasName(key);
    const free = alias !== name && !byName.has(alias) && aliasClaims.get(alias)?.length === 1;
    return { name, key, rivals, alias: free ? alias : null };
  });
}

function primaryName(key: string): string {
  return EXPORT_PREFIX + [...key].map((character) => /[A-Za-z0-9]/.test(character) ? character.toUpperCase() : "_").join("");
}

function aliasName(key: string): string {
  return primaryName(key.replaceAll(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$2_"));
}

function nameProblem(name: string, taken: ReadonlySet<string>): string | null {
  if (name === EXPORT_PREFIX) return "its key gives no name";
  return taken.has(name) ? "the manifest's [env] sets this name" : null;
}

function toVariable(value: unknown): { readonly text: string } | { readonly problem: string } {
  const token = numberToken(value);
  if (token !== null) return { text: token };
  if (typeof value === "boolean") return { text: String(value) };
  if (value === null) return { problem: "null has no text" };
  if (typeof value !== "string") {
    return { problem: `${Array.isArray(value) ? "an array" : "an object"} is delivered on standard input only` };
  }
  if (value.includes("\0")) return { problem: "it contains a NUL character" };
  return value.isWellFormed() ? { text: value } : { problem: "it contains half of a surrogate pair" };
}

export function sizeOf(name: string, value: string): number {
  return Buffer.byteLength(name) + 1 + Buffer.byteLength(value);
}

function capped(withheld: readonly WithheldExport[]): readonly WithheldExport[] {
  if (withheld.length <= MAX_LISTED) return withheld;
  return [...withheld.slice(0, MAX_LISTED), { name: `${EXPORT_PREFIX}*`, reason: `and ${withheld.length - MAX_LISTED} more` }];
}

function listKeys(keys: readonly string[]): string {
  return keys.slice(0, 4).map((key) => JSON.stringify(shorten(key).toWellFormed())).join(", ");
}

function shorten(name: string): string {
  return name.length > SHOWN_NAME ? `${name.slice(0, SHOWN_NAME)}…` : name;
}
