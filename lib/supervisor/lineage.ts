/**
 * The tag by which a process is known as a call's, wherever it went: `ORRERY_LINEAGE` in its environment, a list of
 * `runtime/call` separated by colons, outermost first. It is only ever extended, so nested runtimes see through each other.
 */
import process from "node:process";

export const LINEAGE = "ORRERY_LINEAGE";

export interface Lineage {
  /** What the child gets. */
  readonly value: string;
  /** The entry that is this call's own. */
  readonly entry: string;
}

/** The lineage of a new call. `inherited`: that of the runtime itself, which what the caller passes cannot drop. */
export function extendLineage(inherited: string, given: string | undefined, runtime: string, call: string): Lineage {
  const entry = lineageEntry(runtime, call);
  const base = given !== undefined && (given === inherited || given.startsWith(`${inherited}:`) || inherited === "") ? given : inherited;
  return { value: base === "" ? entry : `${base}:${entry}`, entry };
}

/** A call's own entry. */
export function lineageEntry(runtime: string, call: string): string {
  return `${runtime}/${call}`;
}

/** The entry of a call whose runtime is not known: it stands for that call of any runtime. */
export function entryOfAnyRuntime(call: string): string {
  return `/${call}`;
}

/** The entry of a runtime whose call is not known: it stands for every call of that runtime. */
export function entryOfAnyCall(runtime: string): string {
  return `${runtime}/`;
}

/** Whether a lineage contains an entry. */
export function carries(lineage: string, entry: string): boolean {
  if (entry.startsWith("/")) return `${lineage}:`.includes(`${entry}:`);
  return entry.endsWith("/") ? `:${lineage}`.includes(`:${entry}`) : `:${lineage}:`.includes(`:${entry}:`);
}

/** Variables that would turn our own binary into something else. */
const HOST_SWITCHES = ["BUN_OPTIONS", "BUN_BE_BUN"];

/** The environment of what our own binary starts as itself: it must obey none of its switches. */
export function withoutHostSwitches(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !HOST_SWITCHES.includes(name)));
}

/** The whole environment of a child. What is inherited has no switches any more; one that is there was set for this child. */
export function tagEnvironment(
  env: Readonly<Record<string, string>>,
  tags: { readonly lineage: string; readonly session?: string; readonly call?: string },
): Record<string, string> {
  const tagged: Record<string, string> = { ...env, [LINEAGE]: tags.lineage };
  if (tags.session !== undefined) tagged["ORRERY_SESSION"] = tags.session;
  if (tags.call !== undefined) tagged["ORRERY_CALL"] = tags.call;
  return tagged;
}

/** The variables without which programs and runtimes do not find themselves. Nothing of the user's, no keys, no tags. */
const BASE_VARIABLES = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "DENO_DIR"];

/** What our own helpers are started with. */
export function baseEnvironment(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of BASE_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
