import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Puts new content in a file's place in one step: whoever reads it sees the old or the new, never a part. `mode`: null
 * for a new file, which gets what the process's mask allows.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode: number | null): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomBytes(6).toString("hex")}.tmp`);
  const handle = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode ?? 0o666);
  try {
    try {
      await handle.writeFile(content);
      if (mode !== null) await handle.chmod(mode);
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // The first failure is the one to tell; a leftover that cannot be removed either has the same cause.
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

/** Identity of a file as results carry it, so that a later change can be noticed. */
export async function describeFile(path: string, shown: string): Promise<Record<string, string | number | boolean>> {
  const { size, mtimeMs, ino } = await stat(path);
  return { path: shown, size, mtime_ms: mtimeMs, inode: ino, whole: true };
}
