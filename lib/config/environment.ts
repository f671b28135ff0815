/** What a child may inherit of the environment. */
import { matchesWildcard } from "../session/wildcard.ts";
import { isCredentialName } from "./credential-names.ts";
import type { EnvironmentRules } from "./merge.ts";
import type { Environment } from "./paths.ts";

/** Variables that the server reads its token from; nothing re-admits them. */
export const SERVER_TOKENS: readonly string[] = ["ORRERY_TOKEN", "ORRERY_SERVER_TOKEN"];
/** They would turn this very program into something else in a child that runs Bun. */
const HOST_SWITCHES = ["BUN_OPTIONS", "BUN_BE_BUN"];
/** A script would take the inputs of a call around it for its own. */
const FOREIGN_INPUT = "STELLA_INPUT_";

export interface InheritedEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Names that are set and that a child does not get, sorted. */
  readonly withheld: readonly string[];
}

/** The user's environment without the runtime's own secrets, and without what the settings withhold. */
export function inheritedEnvironment(env: Environment, providerKeys: readonly string[], rules: EnvironmentRules): InheritedEnvironment {
  const mayPass = passing(providerKeys, rules);
  const set = Object.entries(env).filter((entry): entry is [string, string] =>
    entry[1] !== undefined && !entry[0].startsWith(FOREIGN_INPUT)
  );
  return {
    env: Object.fromEntries(set.filter(([name]) => mayPass(name))),
    withheld: set.map(([name]) => name).filter((name) => !mayPass(name)).sort(),
  };
}

/** As `inheritedEnvironment` without any settings. */
export function childEnvironment(env: Environment, providerKeys: readonly string[]): Readonly<Record<string, string>> {
  const none = { withhold: [], allow: [] };
  return inheritedEnvironment(env, providerKeys, { organisation: none, user: none }).env;
}

function passing(providerKeys: readonly string[], { organisation, user }: EnvironmentRules): (name: string) => boolean {
  const fixed = new Set([...SERVER_TOKENS, ...HOST_SWITCHES]);
  const keys = new Set(providerKeys);
  const lists = (entries: readonly { readonly value: string }[]) => entries.map(({ value }) => value);
  const [ceiling, lifted] = [lists(organisation.withhold), new Set(lists(organisation.allow))];
  const [own, allowed] = [lists(user.withhold), new Set(lists(user.allow))];
  return (name) => {
    if (fixed.has(name)) return false;
    if (lifted.has(name)) return true;
    if (ceiling.some((pattern) => withholds(pattern, name))) return false;
    return allowed.has(name) || !(keys.has(name) || own.some((pattern) => withholds(pattern, name)));
  };
}

function withholds(pattern: string, name: string): boolean {
  return pattern === "credentials" ? isCredentialName(name) : matchesWildcard(pattern, name);
}

/** Strict: only these words turn a switch on. */
export function isOn(value: string | undefined): boolean {
  return value !== undefined && ["1", "true", "yes", "on"].includes(value);
}
