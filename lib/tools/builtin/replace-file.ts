import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { lockFolder } from "../../platform/folder-lock.ts";
import { PathRefused, type Place } from "./workspace-path.ts";

const NEW_FILE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file as results carry it, so that a later change can be noticed. */
export interface FileIdentity {
  readonly size: number;
  readonly mtime_ms: number;
  readonly inode: number;
}

export interface PresentFile extends FileIdentity {
  /** What anybody may do with it, without the bits that lend its owner's rights. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const LOCK_PATIENCE_MS = 5000;

/** From the look at a file to its replacement nobody else who comes by here changes what is in its folder. */
export function lockPlace(place: Place): Disposable {
  const lock = lockFolder(dirname(place.path), LOCK_PATIENCE_MS);
  if (lock === null) throw new PathRefused(`"${place.shown}" is being changed by somebody else. Nothing was written`);
  return lock;
}

/** What is at a place now; null if nothing is. */
export function presentFile(place: Place): PresentFile | null {
  const found = lstatSync(place.path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile()) throw new PathRefused(`Cannot write "${place.shown}" as it is not a regular file`);
  return presentOf(found);
}

export function presentOf(found: Stats): PresentFile {
  return { ...identityOf(found), mode: found.mode & ~LENT_RIGHTS & 0o7777, uid: found.uid, gid: found.gid };
}

/** Set-user-id and set-group-id: new content has not been given the rights that the old had. */
const LENT_RIGHTS = 0o6000;

/**
 * Puts new content in a file's place in one step: whoever reads it sees the old or the new, never a part. `present` is
 * what the caller decided upon; a place that holds something else by now is refused. A new file gets the mode that the
 * process's mask allows.
 */
export function replaceFile(place: Place, content: string | Uint8Array, present: PresentFile | null): FileIdentity {
  const { path } = place;
  const temporary = join(dirname(path), `.${[...basename(path)].slice(0, 40).join("")}.${crypto.randomUUID().slice(-12)}.tmp`);
  const descriptor = openSync(temporary, NEW_FILE_FLAGS, present?.mode ?? 0o666);
  try {
    const written = writeAndClose(descriptor, content, present);
    if (!isSame(presentFile(place), present)) throw new PathRefused(`"${place.shown}" was changed meanwhile. Nothing was written.`);
    renameSync(temporary, path);
    return written;
  } catch (error) {
    removeLeftover(temporary);
    throw error;
  }
}

function writeAndClose(descriptor: number, content: string | Uint8Array, present: PresentFile | null): FileIdentity {
  try {
    writeFileSync(descriptor, content);
    if (present !== null) {
      keepOwner(descriptor, present);
      fchmodSync(descriptor, present.mode);
    }
    return identityOf(fstatSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** Only root can give a file away; whoever else may replace one becomes its owner. */
function keepOwner(descriptor: number, { uid, gid }: PresentFile): void {
  const own = fstatSync(descriptor);
  if (own.uid === uid && own.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

function removeLeftover(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The failure before this one is the one to tell; what cannot be removed either has the same cause.
  }
}

export function identityOf(found: { readonly size: number; readonly mtimeMs: number; readonly ino: number }): FileIdentity {
  return { size: found.size, mtime_ms: found.mtimeMs, inode: found.ino };
}

function isSame(left: FileIdentity | null, right: FileIdentity | null): boolean {
  if (left === null || right === null) return left === right;
  return left.size === right.size && left.mtime_ms === right.mtime_ms && left.inode === right.inode;
}
