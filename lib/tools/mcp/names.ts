/**
 * A tool of a server has two names. The rule name `mcp__server__tool` is made of the names as they are: switches, hooks
 * and grants are written for it. The alias is what a model is shown: no provider takes more than 64 letters, digits,
 * `_` and `-`.
 *
 * N1  Two tools never share a rule name: a server's name has no `__` and does not end in `_`, so the first `__` behind
 *     the prefix is where the tool's name begins.
 * N2  An alias depends on the two names alone: it is the same in every run, whatever else there is. A rule name that
 *     fits is its own alias, unless it looks like one that was made.
 * N3  What a model calls by an alias is never taken for another tool: if two have the same alias after all, neither is
 *     offered.
 */
import { sha256 } from "../../platform/digest.ts";

export interface RawName {
  readonly server: string;
  readonly tool: string;
}

export function ruleNameOf({ server, tool }: RawName): string {
  return `mcp__${server}__${tool}`;
}

const FITS = /^[a-zA-Z0-9_-]{1,64}$/;
const MADE = /_[0-9a-f]{12}$/;
/** What is left for the two names beside `mcp__`, `__`, `_` and the digest. */
const ROOM = 64 - 5 - 2 - 1 - 12;
/** The tool's name says more to a model than the server's, so it gets at least this much. */
const TOOL_ROOM = 26;

export function aliasOf(raw: RawName): string {
  const whole = ruleNameOf(raw);
  if (FITS.test(whole) && !MADE.test(whole)) return whole;
  const [server, tool] = [raw.server, raw.tool].map((name) => name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")) as [string, string];
  const shownTool = tool.slice(0, Math.max(TOOL_ROOM, ROOM - server.length));
  const shownServer = server.slice(0, ROOM - shownTool.length);
  // JSON keeps apart what joining could confuse, lone surrogates too.
  const digest = sha256(JSON.stringify([raw.server, raw.tool])).slice(0, 12);
  return `mcp__${shownServer}__${shownTool}_${digest}`;
}

export interface Named<T> {
  readonly kept: readonly T[];
  /** What shares its alias with a tool of another server; all of them (N3). */
  readonly claimed: readonly T[];
  /** What has the name of an earlier tool of the same server. */
  readonly repeated: readonly T[];
}

/** Sorts out who may have its alias. Order counts only among tools of one server. */
export function assignAliases<T>(items: readonly T[], nameOf: (item: T) => RawName, toAlias: (raw: RawName) => string = aliasOf): Named<T> {
  const firsts = new Map<string, T>();
  const repeated: T[] = [];
  for (const item of items) {
    const { server, tool } = nameOf(item);
    const key = JSON.stringify([server, tool]);
    if (firsts.has(key)) repeated.push(item);
    else firsts.set(key, item);
  }
  const owners = Map.groupBy(firsts.values(), (item) => toAlias(nameOf(item)));
  const isAlone = (item: T) => owners.get(toAlias(nameOf(item)))?.length === 1;
  const distinct = [...firsts.values()];
  return { kept: distinct.filter(isAlone), claimed: distinct.filter((item) => !isAlone(item)), repeated };
}

const MAX_NAME = 128;

/** What is wrong with a server's name; null if nothing is. */
export function serverNameProblem(name: string): string | null {
  if (name === "") return "it is empty";
  if (name.length > MAX_NAME) return `it is longer than ${MAX_NAME} characters`;
  if (hasUnprintable(name)) return "it has a control character";
  if (name.includes("__")) return 'it has "__", which separates a server from its tool';
  if (name.startsWith("_") || name.endsWith("_")) return 'it begins or ends with "_"';
  if (name.includes("*")) return 'it has "*", which in rules stands for anything';
  return name.trim() === name ? null : "it begins or ends with a space";
}

/** What is wrong with the name that a server gives its tool; null if nothing is. */
export function toolNameProblem(name: string): string | null {
  if (name.trim() === "") return "its name is empty";
  if (name.length > MAX_NAME) return `its name is longer than ${MAX_NAME} characters`;
  return hasUnprintable(name) ? "its name has a control character" : null;
}

/** Control and format characters, line separators and lone surrogates: two names that look the same should be the same. */
function hasUnprintable(name: string): boolean {
  return /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(name);
}
