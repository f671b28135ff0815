import { readFile, stat } from "node:fs/promises";
import { sha256 } from "../session/digest.ts";

/** Larger programs are not read for a digest. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_KNOWN = 1024;
const known = new Map<string, { readonly stamp: string; readonly digest: string }>();

/** SHA-256 of the program's file, remembered while the file keeps its identity; null if it cannot be read. */
export async function programDigest(path: string | undefined): Promise<string | null> {
  if (path === undefined) return null;
  try {
    const file = await stat(path, { bigint: true });
    if (!file.isFile() || file.size > BigInt(MAX_BYTES)) return null;
    const stamp = `${file.dev}:${file.ino}:${file.size}:${file.mtimeNs}:${file.ctimeNs}`;
    const before = known.get(path);
    if (before?.stamp === stamp) return before.digest;
    const digest = sha256(await readFile(path));
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(path, { stamp, digest });
    return digest;
  } catch {
    // It does not exist or may not be read: the start of the process will say so, with its own words.
    return null;
  }
}
