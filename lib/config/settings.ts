/** The settings files. Unknown keys are kept out and named; a file that does not parse stops the start. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { ConfigError } from "./error.ts";

const Settings = v.looseObject({
  model: v.optional(v.string()),
  base_url: v.optional(v.string()),
});
export type Settings = v.InferOutput<typeof Settings>;

/** `<config>/settings.json`; empty if there is none. */
export function readUserSettings(configDirectory: string): Settings {
  return readSettings(join(configDirectory, "settings.json"));
}

function readSettings(path: string): Settings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || (error as NodeJS.ErrnoException).code === "ENOTDIR") return {};
    throw new ConfigError(`Cannot read settings "${path}": ${(error as Error).message}`, { cause: error });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`Cannot use settings "${path}" as they are not JSON: ${(error as Error).message}`, { cause: error });
  }
  const parsed = v.safeParse(Settings, value);
  if (!parsed.success) {
    const issue = parsed.issues[0];
    throw new ConfigError(`Cannot use settings "${path}": ${v.getDotPath(issue) ?? "the file"}: ${issue.message}`);
  }
  return parsed.output;
}
