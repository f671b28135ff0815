/** What lies in a folder for tools, and what is wrong with the folder itself. */
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";

export interface Listed {
  readonly names: readonly string[];
  /** Why it cannot be listed, if it is there. */
  readonly problem: string | null;
}

/** Most projects lack most of the folders that are looked at; what is there and cannot be listed is a problem. */
export async function listFolder(folder: string): Promise<Listed> {
  // Asked without the detour over another thread: a run looks at all of them before its first request.
  if (!existsSync(folder)) return { names: [], problem: whyNotThere(folder) };
  try {
    return { names: await readdir(folder), problem: null };
  } catch (error) {
    return { names: [], problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether there is a folder, or something in its place that somebody should hear of. */
export function isWorthALook(folder: string): boolean {
  return existsSync(folder) || whyNotThere(folder) !== null;
}

/** Null if nothing is there, not even a link. */
function whyNotThere(folder: string): string | null {
  try {
    if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return null;
  } catch (error) {
    // What lies behind a folder that we may not enter is not for us, and no fault.
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ELOOP" ? message : null;
  }
  // It may be a folder around it that is a link.
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() === true && !existsSync(path)) return `${path} is a link to ${readlinkSync(path)}, which is not there`;
    if (found !== undefined) return null;
  }
  return null;
}

/** One of several under which a folder is looked for. */
interface Place {
  readonly path: string;
  readonly scope: "workspace" | "user";
}

/**
 * One of all that are the same folder, under whatever paths: that which it truly lies in decides whether it is the
 * workspace's, so that a link in a workspace takes nothing from its user, nor a link of the user's makes it trusted.
 */
export function distinctFolders<Folder extends Place>(folders: readonly Folder[], workspace: string): readonly Folder[] {
  const same = Map.groupBy(folders, ({ path }) => identityOf(path));
  const chosen = new Set([...same.values()].map((group) => group.length === 1 ? group[0] : ownerOf(group, workspace)));
  return folders.filter((folder) => chosen.has(folder));
}

function ownerOf<Folder extends Place>(group: readonly Folder[], workspace: string): Folder | undefined {
  const path = group[0]?.path ?? "";
  const real = existsSync(path) ? realpathSync(path) : path;
  const scope = real === workspace || real.startsWith(`${workspace}/`) ? "workspace" : "user";
  return group.find((folder) => folder.scope === scope) ?? group[0];
}

function identityOf(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? path : `${found.dev}:${found.ino}`;
  } catch {
    // It cannot be looked at, so only its name tells it apart; reading it says why.
    return path;
  }
}
