/** How the gate looks at a workspace: reads, and nothing else. A port, so that what cannot be read can be tested. */
import { constants, statSync } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";

export interface WorkspaceFiles {
  /** The path without symlinks; null if there is nothing. @throws if that cannot be told (a loop, no permission). */
  real(path: string): Promise<string | null>;
  /** Names in a directory, with what they are after following symlinks. @throws if it cannot be read. */
  list(directory: string): Promise<readonly { readonly name: string; readonly kind: "file" | "directory" | "other" }[]>;
  /** Null if there is nothing. @throws if it cannot be read, is no regular file, or is larger than `limit` bytes. */
  read(path: string, limit: number): Promise<Uint8Array | null>;
}

/** What is absent, which is most, is told without the detour over another thread: a run asks this before its first request. */
export const workspaceFiles: WorkspaceFiles = {
  async real(path) {
    if (isMissing(path)) return null;
    try {
      return await realpath(path);
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  },

  async list(directory) {
    const entries = await readdir(directory, { withFileTypes: true });
    return await Promise.all(entries.map(async (entry) => {
      if (entry.isFile()) return { name: entry.name, kind: "file" as const };
      if (entry.isDirectory()) return { name: entry.name, kind: "directory" as const };
      return { name: entry.name, kind: entry.isSymbolicLink() ? await kindBehind(`${directory}/${entry.name}`) : "other" as const };
    }));
  },

  async read(path, limit) {
    if (isMissing(path)) return null;
    let file;
    try {
      // Opening a FIFO would wait for a writer otherwise.
      file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
    try {
      const status = await file.stat();
      if (!status.isFile()) throw new Error("it is not a regular file");
      if (status.size > limit) throw new Error(`it is larger than ${limit} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  },
};

/** A link that leads nowhere or round in a circle is a file that cannot be read: reading it will say so. */
async function kindBehind(path: string): Promise<"file" | "directory" | "other"> {
  try {
    return (await stat(path)).isDirectory() ? "directory" : "file";
  } catch {
    // Broken, looping or forbidden: see above.
    return "file";
  }
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    // It cannot be told like this (no permission, a loop): whoever opens it learns why.
    return false;
  }
}
