/** Where Orrery keeps its things, and which folder is the workspace. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ConfigError, UsageError } from "./error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Paths {
  /** User settings and tools. */
  readonly config: string;
  /** The journal and other files that must last. */
  readonly data: string;
  readonly journal: string;
  /** The user's home directory; null if there is none (some containers). */
  readonly home: string | null;
}

/**
 * Directories by `ORRERY_HOME`, else by the XDG rules, else under the home directory.
 * @throws {ConfigError} if none of them is known.
 */
export function resolvePaths(env: Environment): Paths {
  const home = homeOf(env);
  const root = nonEmpty(env["ORRERY_HOME"]);
  const config = root !== null ? join(resolve(root), "config") : under(env["XDG_CONFIG_HOME"], home, ".config");
  const data = root !== null ? join(resolve(root), "data") : under(env["XDG_DATA_HOME"], home, ".local/share");
  return { config, data, journal: join(data, "journal.sqlite"), home };
}

function under(base: string | undefined, home: string | null, fallback: string): string {
  const given = nonEmpty(base);
  if (given !== null && given.startsWith("/")) return join(given, "orrery");
  if (home === null) {
    throw new ConfigError("Cannot tell where to keep sessions as there is no home directory: set ORRERY_HOME to a writable directory");
  }
  return join(home, fallback, "orrery");
}

function homeOf(env: Environment): string | null {
  const given = nonEmpty(env["HOME"]);
  if (given !== null) return given;
  try {
    const home = homedir();
    return home === "" || home === "/" ? null : home;
  } catch {
    // A user without a passwd entry has no home directory; that is one of the cases asked about.
    return null;
  }
}

function nonEmpty(value: string | undefined): string | null {
  return value === undefined || value === "" ? null : value;
}

const MARKERS = [".orrery", ".stella", ".nanocoder", ".git"];

/**
 * The workspace, as an absolute path without symlinks: the given folder, else the nearest ancestor of `cwd` that has
 * `.orrery`, `.stella`, `.nanocoder` or `.git`, else `cwd`. A home directory is not a workspace for what lies below
 * it, since the user's own `.stella` and `.orrery` live there.
 * @throws {UsageError} if the given folder is not one.
 */
export function findWorkspace(given: string | undefined, cwd: string, home: string | null): string {
  if (given === "") throw new UsageError('Cannot use workspace "" as it names no folder: leave it out for the project around this folder');
  if (given !== undefined) return checkedFolder(resolve(cwd, given));
  const start = realpathSync(cwd);
  const realHome = home !== null && existsSync(home) ? realpathSync(home) : home;
  for (let folder = start;; folder = dirname(folder)) {
    const isForeignHome = folder === realHome && folder !== start;
    if (!isForeignHome && MARKERS.some((marker) => existsSync(join(folder, marker)))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

function checkedFolder(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new UsageError(`Cannot use workspace "${path}" as it does not exist: give --workspace an existing folder`);
  if (!stat.isDirectory()) throw new UsageError(`Cannot use workspace "${path}" as it is not a folder: give --workspace a folder`);
  return realpathSync(path);
}
