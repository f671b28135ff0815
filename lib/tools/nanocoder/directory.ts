/** Where a tool's shell starts: inside the project, whatever its links point at, looked at when the call is made. */
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";

/** What this file needs to know of the file system. */
export interface Places {
  /** The path without links; null if nothing is there. @throws {Error} if it cannot be told. */
  realpath(path: string): string | null;
  /** Where a link leads; null if it is none. */
  readlink(path: string): string | null;
}

export const onDisk: Places = {
  realpath: (path) => orNull(() => realpathSync(path), "ENOENT"),
  readlink: (path) => orNull(() => readlinkSync(path), "ENOENT", "EINVAL"),
};

function orNull(look: () => string, ...codes: readonly string[]): string | null {
  try {
    return look();
  } catch (error) {
    if (codes.includes(codeOf(error))) return null;
    throw error;
  }
}

export const ESCAPES = "Custom tool cwd escapes the project directory";

export type StartDirectory = { readonly kind: "directory"; readonly path: string } | { readonly kind: "refused"; readonly problem: string };

/**
 * A folder that is not there falls back to the root only if it would be in the project: what is meant to be elsewhere is
 * not run somewhere else.
 * @param cwd expanded; null for the root.
 * @param root absolute, links resolved.
 */
export function resolveDirectory(cwd: string | null, root: string, places: Places): StartDirectory {
  if (cwd === null || cwd === "") return { kind: "directory", path: root };
  const wanted = resolve(root, cwd);
  try {
    const real = places.realpath(wanted);
    if (!isInside(real ?? wouldBe(wanted, places), root)) return { kind: "refused", problem: ESCAPES };
    return { kind: "directory", path: real ?? root };
  } catch (error) {
    return { kind: "refused", problem: isInside(wanted, root) ? describe(cwd, error) : ESCAPES };
  }
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** As many links as the system follows. */
const MOST_LINKS = 40;

/** The path without links of what is not there, as if it were. */
function wouldBe(path: string, places: Places, links = 0): string {
  const real = places.realpath(path);
  if (real !== null || path === dirname(path)) return real ?? path;
  const folder = wouldBe(dirname(path), places, links);
  const target = places.readlink(join(folder, basename(path)));
  if (target === null) return join(folder, basename(path));
  if (links >= MOST_LINKS) throw Object.assign(new Error("too many links"), { code: "ELOOP" });
  return wouldBe(resolve(folder, target), places, links + 1);
}

const REASONS: Readonly<Record<string, string>> = {
  ELOOP: "its links go round in a circle",
  ENAMETOOLONG: "it is longer than a path may be",
  ENOTDIR: "a part of it is a file, not a folder",
  EACCES: "a folder on the way may not be entered",
};

function describe(cwd: string, error: unknown): string {
  const shown = cwd.length > 200 ? `${cwd.slice(0, 200)}…` : cwd;
  const why = REASONS[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
  return `Custom tool failed to start: its cwd ${JSON.stringify(shown)} cannot be used, as ${why}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
