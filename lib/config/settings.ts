/** The settings files: which there are, and what they say. A file with a fault stops the start, with every fault named. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { ConfigError, SettingsError } from "./error.ts";
import type { Layer } from "./layer.ts";
import { parseNanocoderSettings } from "./nanocoder-settings.ts";
import type { Environment, Paths } from "./paths.ts";
import { type NearestName, type ParsedSettings, parseSettings } from "./settings-file.ts";
import type { SettingsDiagnostic, SettingsOrigin } from "./settings-report.ts";

/** Where the organisation's settings are on every machine. */
export const SYSTEM_SETTINGS = "/etc/orrery/settings.json";

/** Nobody writes more by hand. */
const MAX_BYTES = 1024 * 1024;

export interface SettingsPlaces {
  readonly paths: Pick<Paths, "config" | "home">;
  readonly env: Environment;
  /** Absolute. */
  readonly workspace: string;
  readonly platform: string;
}

interface SettingsPlace {
  readonly path: string;
  readonly scope: SettingsOrigin["scope"];
  readonly dialect: SettingsOrigin["dialect"] | "nanocoder";
  /** Somebody named this very file, so it must be there. */
  readonly required?: boolean;
}

export interface ReadLayers {
  readonly layers: readonly Layer[];
  /** Warnings and hints. */
  readonly diagnostics: readonly SettingsDiagnostic[];
}

/** Which files count. `sound`: those without a fault, to look at what is there; the organisation's must be sound all the same. */
export type SettingsChoice = "all" | "sound";

/** @throws {SettingsError} that names every fault of every file. @throws {ConfigError} a variable names no file. */
export function readSettings(places: SettingsPlaces, nearest: NearestName, choice: SettingsChoice = "all"): ReadLayers {
  const read = settingsPlaces(places).map((place) => ({ place, ...readPlace(place, nearest) }));
  const counting = read.filter(({ place, faults }) => faults.length === 0 || choice !== "sound" || place.scope === "organisation");
  const faults = counting.flatMap((each) => each.faults);
  if (faults.length > 0) throw new SettingsError(faults);
  const parsed = counting.flatMap(({ parsed }) => parsed ?? []);
  return { layers: parsed.map(({ layer }) => layer), diagnostics: parsed.flatMap(({ diagnostics }) => diagnostics) };
}

/** `/path/settings.json:3:12: what is wrong` */
export function describeSettingsDiagnostic({ path, line, column, message }: SettingsDiagnostic): string {
  return `${path}:${line}:${column}: ${message}`;
}

/** Every place that settings are read from, the more specific of one scope first. */
export function settingsPlaces({ paths, env, workspace, platform }: SettingsPlaces): readonly SettingsPlace[] {
  const managed = env["ORRERY_MANAGED_SETTINGS"] ?? "";
  if (managed !== "" && !isAbsolute(managed)) {
    throw new ConfigError(`Cannot use ORRERY_MANAGED_SETTINGS=${JSON.stringify(managed)}: it must be an absolute path`);
  }
  const personal = nanocoderDirectory(env, paths.home, platform);
  return [
    { path: SYSTEM_SETTINGS, scope: "organisation", dialect: "orrery" },
    ...(managed === "" || managed === SYSTEM_SETTINGS
      ? []
      : [{ path: managed, scope: "organisation", dialect: "orrery", required: true } as const]),
    { path: join(paths.config, "settings.json"), scope: "user", dialect: "orrery" },
    ...(personal === null ? [] : [{ path: join(personal, "agents.config.json"), scope: "user", dialect: "nanocoder" } as const]),
    { path: join(workspace, ".orrery/settings.json"), scope: "project", dialect: "orrery" },
    { path: join(workspace, ".stella/settings.json"), scope: "project", dialect: "stella" },
    { path: join(workspace, "agents.config.json"), scope: "project", dialect: "nanocoder" },
  ];
}

/** Nanocoder's own directory of one person. */
function nanocoderDirectory(env: Environment, home: string | null, platform: string): string | null {
  const given = env["NANOCODER_CONFIG_DIR"] ?? "";
  if (given !== "") return given;
  const xdg = env["XDG_CONFIG_HOME"] ?? "";
  if (platform === "darwin") return home === null ? null : join(home, "Library/Preferences/nanocoder");
  if (xdg !== "") return join(xdg, "nanocoder");
  return home === null ? null : join(home, ".config/nanocoder");
}

/** `parsed` is null if there is no such file, or none that can be read. */
function readPlace(
  place: SettingsPlace,
  nearest: NearestName,
): { readonly parsed: ParsedSettings | null; readonly faults: readonly string[] } {
  try {
    const text = readText(place);
    const parsed = text === null ? null : parsePlace(text, place, nearest);
    const errors = parsed?.diagnostics.filter(({ severity }) => severity === "error") ?? [];
    return { parsed, faults: errors.map(describeSettingsDiagnostic) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { parsed: null, faults: [error.message] };
  }
}

function parsePlace(text: string, { path, scope, dialect }: SettingsPlace, nearest: NearestName): ParsedSettings {
  if (dialect === "nanocoder") return parseNanocoderSettings(text, { path, scope: scope === "user" ? "user" : "project" });
  return parseSettings(text, { path, scope, dialect }, nearest);
}

/** Null if there is no such file. Never waits: what is not a regular file (a FIFO in a cloned repository) is refused. */
function readText({ path, required }: SettingsPlace): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (required !== true && (code === "ENOENT" || code === "ENOTDIR")) return null;
    throw new ConfigError(`Cannot read settings "${path}": ${message}`, { cause: error });
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new ConfigError(`Cannot read settings "${path}" as it is not a regular file`);
    if (stat.size > MAX_BYTES) throw new ConfigError(`Cannot read settings "${path}" as it is larger than ${MAX_BYTES} bytes`);
    return decode(readFileSync(file), path);
  } finally {
    closeSync(file);
  }
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new ConfigError(`Cannot read settings "${path}" as it is not UTF-8`, { cause: error });
  }
}
