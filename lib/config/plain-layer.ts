/** The settings that the environment and the flags of a command give. */
import * as v from "valibot";
import { ConfigError } from "./error.ts";
import { emptyLayer, type Layer, type PlainKey, type PlainSettings } from "./layer.ts";
import type { Environment } from "./paths.ts";
import { SettingsFile } from "./settings-schema.ts";

/** Variables that set something, and what. An empty one counts as unset. */
export const SETTING_VARIABLES = {
  ORRERY_MODEL: "model",
  ORRERY_BASE_URL: "base_url",
  ORRERY_MODE: "mode",
  ORRERY_SPECULATION: "speculation",
} as const satisfies Record<string, PlainKey>;

/** @throws {ConfigError} that names the variable. */
export function environmentLayer(env: Environment): Layer {
  const given = Object.entries(SETTING_VARIABLES).flatMap(([name, key]) => {
    const value = env[name];
    if (value === undefined || value === "") return [];
    const parsed = v.safeParse(SettingsFile.entries[key], value);
    // An address may hold what nobody else should see.
    const shown = key === "base_url" ? name : `${name}=${JSON.stringify(value)}`;
    if (!parsed.success) throw new ConfigError(`Cannot use ${shown}: it ${parsed.issues[0].message}`);
    return [[key, { value: parsed.output, source: { scope: "environment", key: name } }]] as const;
  });
  return { ...emptyLayer("environment"), plain: Object.fromEntries(given) };
}

/** Flags are checked where they are parsed; here they only get their place. */
export function flagLayer(flags: { readonly [K in PlainKey]?: PlainSettings[K] | undefined }): Layer {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return {
    ...emptyLayer("flag"),
    plain: Object.fromEntries(given.map(([key, value]) => [key, { value, source: { scope: "flag", key: flagName(key, value) } }])),
  };
}

/** `limits.max_steps` is `--max-steps`. */
function flagName(key: string, value: unknown): string {
  if (key === "speculation") return value === "off" ? "--no-speculation" : "--speculation";
  const last = key.split(".").at(-1) ?? key;
  return `--${last.replace(/_s$/, "").replaceAll("_", "-")}`;
}
