import type { Environment } from "./paths.ts";

/** Variables that the runtime itself is steered or trusted by, beside the providers' keys. */
const OWN_SECRETS = ["ORRERY_TOKEN", "ORRERY_SERVER_TOKEN"];
/** They would turn this very program into something else in a child that runs Bun. */
const HOST_SWITCHES = ["BUN_OPTIONS", "BUN_BE_BUN"];

/** What a tool may inherit: the user's environment without the runtime's own secrets. */
export function childEnvironment(env: Environment, providerKeys: readonly string[]): Readonly<Record<string, string>> {
  const withheld = new Set([...OWN_SECRETS, ...HOST_SWITCHES, ...providerKeys]);
  const kept = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && !withheld.has(entry[0]));
  return Object.fromEntries(kept);
}

/** Strict: only these words turn a switch on. */
export function isOn(value: string | undefined): boolean {
  return value !== undefined && ["1", "true", "yes", "on"].includes(value);
}
