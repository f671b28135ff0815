/** Where a tool's shell starts: inside the project, whatever its links point at, looked at when the call is made. */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";

/** What this file needs to know of the file system. */
export interface Places {
  /** The path without links; null if nothing is there. @throws {Error} if it cannot be told. */
  realpath(path: string): string | null;
}

export const onDisk: Places = {
  realpath: (path) => {
    try {
      return realpathSync(path);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "ENOENT" || code === "ENOTDIR") return null;
      throw error;
    }
  },
};

export const ESCAPES = "Custom tool cwd escapes the project directory";

export type StartDirectory = { readonly kind: "directory"; readonly path: string } | { readonly kind: "refused"; readonly problem: string };

/**
 * @param cwd expanded; null for the root.
 * @param root absolute, links resolved.
 */
export function resolveDirectory(cwd: string | null, root: string, places: Places): StartDirectory {
  if (cwd === null || cwd === "") return { kind: "directory", path: root };
  const wanted = resolve(root, cwd);
  let real: string | null;
  try {
    real = places.realpath(wanted);
  } catch {
    // Behind a folder we may not enter, or links in a circle: whether it is inside cannot be told, so it is not.
    return { kind: "refused", problem: ESCAPES };
  }
  if (real === null) return { kind: "directory", path: root };
  const inside = real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
  return inside ? { kind: "directory", path: real } : { kind: "refused", problem: ESCAPES };
}
