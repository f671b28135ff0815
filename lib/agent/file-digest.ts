/** What a file is: by its content, and by what the system says of it. */
import { type FileHandle, open, stat } from "node:fs/promises";
import type { BigIntStats } from "node:fs";
import { startSha256 } from "../platform/digest.ts";

const CHUNK_BYTES = 1024 * 1024;
const MAX_KNOWN = 1024;
/** A file that changed so little ago may change again without its times telling: Deno 2.9 has them in whole seconds. */
const SETTLED_MS = 2000;
/** How often one is read that changes meanwhile. */
const TRIES = 3;

interface Known {
  readonly stamp: string;
  readonly digest: Promise<string | null>;
}
const known = new Map<string, Known>();

/** Place, size and times; null if no regular file is there. Two that are equal are one file that nobody has changed. */
export async function fileStamp(path: string): Promise<{ readonly stamp: string; readonly size: number } | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found?.isFile() === true ? { stamp: stampOf(found), size: Number(found.size) } : null;
}

/** SHA-256 of a file of any size, read once while it keeps its identity; null if it cannot be read. */
export async function fileDigest(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  if (found?.isFile() !== true) return null;
  const stamp = stampOf(found);
  const before = known.get(path);
  if (before?.stamp === stamp) return await before.digest;
  const digest = readDigest(path);
  const changed = Math.max(Number(found.mtimeMs), Number(found.ctimeMs));
  if (Date.now() - changed > SETTLED_MS) remember(path, { stamp, digest });
  return await digest;
}

function remember(path: string, { stamp, digest }: Known): void {
  if (known.size >= MAX_KNOWN) known.clear();
  const entry = { stamp, digest };
  known.set(path, entry);
  // What could not be read may be readable next time.
  void digest.then((found) => {
    if (found === null && known.get(path) === entry) known.delete(path);
  });
}

/** In pieces, so that the largest program neither fills the memory nor holds up what else is going on. */
async function readDigest(path: string): Promise<string | null> {
  try {
    const file = await open(path, "r");
    try {
      for (let left = TRIES; left > 0; left--) {
        const before = stampOf(await file.stat({ bigint: true }));
        const digest = await digestOf(file);
        if (stampOf(await file.stat({ bigint: true })) === before) return digest;
      }
      return null;
    } finally {
      await file.close();
    }
  } catch {
    // It is gone or may not be read: the start of the process will say so, with its own words.
    return null;
  }
}

async function digestOf(file: FileHandle): Promise<string> {
  const hash = startSha256();
  const { size } = await file.stat();
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size + 1));
  for (let at = 0;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}
