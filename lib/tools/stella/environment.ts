import { EXPORT_PREFIX, exportInputs, type Exports } from "./exports.ts";

export interface ScriptEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly exports: Exports;
}

/** They would turn a child that runs Bun into something else. */
const HOST_SWITCHES = new Set(["BUN_OPTIONS", "BUN_BE_BUN"]);

/** The whole environment of a script: what is inherited, then the manifest's `[env]`, then the inputs. */
export function composeEnvironment(
  inherited: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
  input: string,
): ScriptEnvironment {
  const kept = Object.entries(inherited).filter(([name]) => !HOST_SWITCHES.has(name) && !name.startsWith(EXPORT_PREFIX));
  const exports = exportInputs(input, new Set(Object.keys(own)));
  return { env: { ...Object.fromEntries(kept), ...own, ...exports.made }, exports };
}
