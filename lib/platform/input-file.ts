/**
 * Standard input as a file without a name: nothing to block on, nobody to get EPIPE, nothing left behind, readable by
 * us alone. In memory where the system has such files (Linux), so that no folder need be writable; else in a folder.
 */
import { Buffer } from "node:buffer";
import { closeSync, fchmodSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { bindLibrary } from "./libc.ts";

/** @throws {Error} with `code` EROFS, if there is no place for it. */
export function openInput(text: string, folders: readonly string[] = [tmpdir(), "/dev/shm"]): number {
  return openInMemory(text) ?? openInFolder(text, folders);
}

/** Null: not here (macOS, an old C library, a sandbox that forbids it), or not enough memory. */
function openInMemory(text: string): number | null {
  create ??= bind();
  const descriptor = create();
  if (descriptor < 0) return null;
  try {
    fchmodSync(descriptor, 0o600);
    const bytes = Buffer.from(text);
    // Each at its place: the offset is shared with whoever reads, and stays at the start.
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at, bytes.length - at, at);
    return descriptor;
  } catch {
    closeSync(descriptor);
    return null;
  }
}

let create: (() => number) | undefined;

const MFD_CLOEXEC = 1;
/** What shows in /proc; the function wants bytes that end with NUL, and our views are of whole numbers. */
const NAME = new Int32Array(Uint8Array.from(Buffer.from("orrery\0\0")).buffer);

function bind(): () => number {
  if (process.platform !== "linux") return () => -1;
  const library = bindLibrary({ memfd_create: ["pointer", "i32"] });
  if (library.kind === "unbound") return () => -1;
  const { memfd_create } = library.calls;
  return () => memfd_create(NAME, MFD_CLOEXEC);
}

/** The first folder that takes it. */
export function openInFolder(text: string, folders: readonly string[]): number {
  const refusals: unknown[] = [];
  for (const folder of new Set(folders)) {
    const path = join(folder, `orrery-${crypto.randomUUID()}`);
    try {
      writeFileSync(path, text, { mode: 0o600, flag: "wx" });
      return openSync(path, "r");
    } catch (error) {
      refusals.push(error);
    } finally {
      removeQuietly(path);
    }
  }
  const reasons = refusals.map((each) => each instanceof Error ? each.message : String(each)).join("; ");
  const message = `there is no place for its standard input (${reasons}): set TMPDIR to a folder that this user can write to`;
  // Not a code of theirs: ENOENT of a folder would be taken for that of a program.
  throw Object.assign(new Error(message, { cause: refusals[0] }), { code: "EROFS" });
}

/** Where nothing could be made, some systems refuse this too (EROFS, ENOTDIR), and what matters is told already. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing is there.
  }
}
