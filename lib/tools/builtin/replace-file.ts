import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PathRefused, type Place } from "./workspace-path.ts";

/** A file as results carry it, so that a later change can be noticed. */
export interface FileIdentity {
  readonly size: number;
  readonly mtime_ms: number;
  readonly inode: number;
}

export interface PresentFile extends FileIdentity {
  readonly mode: number;
}

/** What is at a place now; null if nothing is. */
export async function presentFile(place: Place): Promise<PresentFile | null> {
  const found = await lstat(place.path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return null;
  });
  if (found === null) return null;
  if (!found.isFile()) throw new PathRefused(`Cannot write "${place.shown}" as it is not a regular file`);
  return { ...identityOf(found), mode: found.mode & 0o7777 };
}

/**
 * Puts new content in a file's place in one step: whoever reads it sees the old or the new, never a part. `present` is
 * what the caller decided upon; a place that holds something else by now is refused. A new file gets the mode that the
 * process's mask allows.
 */
export async function replaceFile(place: Place, content: string | Uint8Array, present: PresentFile | null): Promise<FileIdentity> {
  const { path } = place;
  const temporary = join(dirname(path), `.${[...basename(path)].slice(0, 40).join("")}.${randomBytes(6).toString("hex")}.tmp`);
  const handle = await open(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    present?.mode ?? 0o666,
  );
  try {
    const written = await (async () => {
      try {
        await handle.writeFile(content);
        if (present !== null) await handle.chmod(present.mode);
        return identityOf(await handle.stat());
      } finally {
        await handle.close();
      }
    })();
    if (!isSame(await presentFile(place), present)) throw new PathRefused(`"${place.shown}" was changed meanwhile. Nothing was written.`);
    await rename(temporary, path);
    return written;
  } catch (error) {
    // The first failure is the one to tell; a leftover that cannot be removed either has the same cause.
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

export function identityOf(found: { readonly size: number; readonly mtimeMs: number; readonly ino: number }): FileIdentity {
  return { size: found.size, mtime_ms: found.mtimeMs, inode: found.ino };
}

function isSame(left: FileIdentity | null, right: FileIdentity | null): boolean {
  if (left === null || right === null) return left === right;
  return left.size === right.size && left.mtime_ms === right.mtime_ms && left.inode === right.inode;
}
