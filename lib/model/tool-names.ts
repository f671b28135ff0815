/**
 * Tool names as a provider allows them, and back. A name that fits stays; another gets an alias that ends in a digest
 * of the whole name, so two names never share one and the alias is the same in every run.
 */
import { sha256 } from "../platform/digest.ts";
import type { ModelRequest } from "./model.ts";

const ALLOWED = /^[a-zA-Z0-9_-]{1,64}$/;
const KEPT = 55;

export interface ToolNames {
  toWire(name: string): string;
  fromWire(name: string): string;
  /** True for a name that the request mentions, as it goes over the wire. */
  has(wire: string): boolean;
  /** True for the beginning of such a name, and for the name itself. */
  begins(text: string): boolean;
}

/** Where it is not known what there is: every name may be one. */
export const ANY_NAME: ToolNames = { toWire: (name) => name, fromWire: (name) => name, has: () => true, begins: () => true };

/** The names that a request mentions: a tool of an earlier step may no longer be offered. */
export function namesIn(request: ModelRequest): ToolNames {
  const said = request.messages.flatMap((message) => message.role === "assistant" ? message.calls.map((call) => call.name) : []);
  return createToolNames([...request.tools.map((tool) => tool.name), ...said]);
}

/** `names`: all that a request mentions, in any order. */
export function createToolNames(names: Iterable<string>): ToolNames {
  const distinct = [...new Set(names)].sort();
  const aliases = new Map<string, string>();
  const originals = new Map(distinct.filter((name) => ALLOWED.test(name)).map((name) => [name, name]));
  for (const name of distinct) {
    if (ALLOWED.test(name)) continue;
    const alias = aliasOf(name, originals);
    aliases.set(name, alias);
    originals.set(alias, name);
  }
  return {
    toWire: (name) => aliases.get(name) ?? name,
    fromWire: (name) => originals.get(name) ?? name,
    has: (wire) => originals.has(wire),
    begins: (text) => originals.keys().some((wire) => wire.startsWith(text)),
  };
}

function aliasOf(name: string, taken: ReadonlyMap<string, string>): string {
  const stem = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, KEPT) || "tool";
  for (let round = 0;; round++) {
    const digest = sha256(round === 0 ? name : `${name}\0${round}`).slice(0, 8);
    const alias = `${stem}_${digest}`;
    if (!taken.has(alias)) return alias;
  }
}
