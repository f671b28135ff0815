/**
 * Paths that may not leave the workspace, whatever links lie on the way and whoever swaps them meanwhile.
 *
 * W1  What is used is inside the workspace at the moment of use. Where the system tells what a descriptor stands for
 *     (Linux), that is asked after opening, and every further step goes through the open folder: a swapped link can
 *     make a call fail, never reach outside. Elsewhere a path is resolved again right after it was opened.
 * W2  Nothing but regular files and folders is ever opened, and nothing with waiting: no pipe can hang a host, no
 *     device can answer without end.
 *
 * Everything here is synchronous: a host serves one call at a time and is ended from outside, and a trip to another
 * thread costs more than the calls themselves.
 */
import { Buffer } from "node:buffer";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { realPath } from "../../platform/real-path.ts";
import { findSecretFiles, isSecretFile } from "./secret-files.ts";

/** A path that a tool was given and may not use; the message is for the model. */
export class PathRefused extends Error {
  override readonly name = "PathRefused";
}

export interface OpenedFile extends Disposable {
  readonly descriptor: number;
  readonly found: Stats;
  /** Relative to the workspace, links resolved. */
  readonly path: string;
  /** The name it was asked for by, relative to the workspace, if a link led to it. */
  readonly via?: string;
}

/** One name in a folder that is held open. */
export interface Place extends Disposable {
  /** For file operations while the place is held; says nothing to people. */
  readonly path: string;
  /** Relative to the workspace, links of the folder resolved. */
  readonly shown: string;
}

/** A folder that is held open. */
export interface Folder extends Disposable {
  /** Absolute, links resolved. */
  readonly path: string;
  /** Where file operations find an entry of it, whatever becomes of its path. */
  at(name: string): string;
}

const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;
const DESCRIPTORS = "/proc/self/fd";
const tellsDescriptors = process.platform === "linux" && existsSync(DESCRIPTORS);

/** Opens an existing regular file for reading. @throws {PathRefused} also for one of the secret files. */
export function openInside(workspace: string, given: string, secret_files?: readonly string[]): OpenedFile {
  const root = rootOf(workspace);
  const wanted = lexical(root, given);
  const real = resolveFile(root, given);
  const descriptor = openUnswapped(real, FILE_FLAGS, given);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
    requireUnmoved(root, descriptor, real, given);
    if (isSecretFile(found, findSecretFiles(secret_files))) {
      throw new PathRefused(`Cannot use "${given}" as it holds a secret of the runtime, which no tool may read`);
    }
    const linked = wanted !== real && isInside(root, wanted);
    const via = linked ? { via: relative(root, wanted) } : {};
    return { descriptor, found, path: relative(root, real), ...via, [Symbol.dispose]: () => closeSync(descriptor) };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** The first bytes of a file, as many as it had a moment ago: one that grows while it is read has no end. */
export function readBytes(file: OpenedFile): Buffer {
  const { size } = file.found;
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const read = readSync(file.descriptor, bytes, length, size - length, null);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}

/** Where a file may be written, its folder made. The file itself need not exist; what a link names is written, not the link. */
export function placeInside(workspace: string, given: string): Place {
  const root = rootOf(workspace);
  const wanted = lexical(root, given);
  const real = unlessMissing(() => lstatSync(wanted)) === null ? wanted : resolveFile(root, given);
  return toPlace(root, makeFolder(root, dirname(real), given), basename(real));
}

/** An entry and the folder that holds it: a last link is the entry itself. */
export function entryInside(workspace: string, given: string): Place {
  const root = rootOf(workspace);
  const wanted = lexical(root, given);
  if (wanted === root) throw new PathRefused(`"${given}" is the workspace itself`);
  const parent = unlessMissing(() => realPath(dirname(wanted)));
  if (parent === null) throw new PathRefused(`There is no file "${given}"`);
  return toPlace(root, holdFolder(root, parent, given), basename(wanted));
}

export interface Located {
  /** The workspace; absolute, links resolved. */
  readonly root: string;
  readonly real: string;
  readonly kind: "file" | "folder";
  readonly size: number;
}

/** An existing file or folder of the workspace, links resolved. Nothing is opened. */
export function locateInside(workspace: string, given: string): Located {
  const root = rootOf(workspace);
  const real = resolveInside(root, given);
  const found = statSync(real);
  if (!found.isDirectory() && !found.isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
  return { root, real, kind: found.isDirectory() ? "folder" : "file", size: found.size };
}

/** What a tool says of a path that it could not use. Rethrows what is no trouble with a path. */
export function pathProblem(error: unknown, given: string): string {
  if (error instanceof PathRefused) return error.message;
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw error;
  return `Cannot use "${given}" as the system refuses it: ${SYSTEM_WORDS[code] ?? code}`;
}

/** Whether an open file is the one at this path. For code that opens files by the thousand; others have `openInside`. */
export function liesAt(real: string, descriptor: number): boolean {
  return (tellsDescriptors ? readlinkSync(`${DESCRIPTORS}/${descriptor}`) : realpathSync(real)) === real;
}

/** Holds a folder open. @throws {PathRefused} it is not inside, or not there under this very path. */
export function holdFolder(root: string, real: string, given: string): Folder {
  requireInside(root, real, given);
  if (!tellsDescriptors) {
    if (realpathSync(real) !== real) throw changed(given);
    if (!statSync(real).isDirectory()) throw noFolder(root, real, given);
    return { path: real, at: (name) => join(real, name), [Symbol.dispose]: () => {} };
  }
  let descriptor: number;
  try {
    descriptor = openSync(real, FOLDER_FLAGS);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ENOTDIR" ? noFolder(root, real, given) : error;
  }
  return anchor(root, descriptor, real, given);
}

function anchor(root: string, descriptor: number, real: string, given: string): Folder {
  try {
    requireUnmoved(root, descriptor, real, given);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  return { path: real, at: (name) => join(DESCRIPTORS, String(descriptor), name), [Symbol.dispose]: () => closeSync(descriptor) };
}

function toPlace(root: string, folder: Folder, name: string): Place {
  const shown = relative(root, join(folder.path, name));
  return { path: folder.at(name), shown, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Makes the missing folders below the deepest one that exists, each in the one that is held. */
function makeFolder(root: string, folder: string, given: string): Folder {
  const missing: string[] = [];
  let at = folder;
  while (unlessMissing(() => lstatSync(at)) === null && dirname(at) !== at) {
    missing.unshift(basename(at));
    at = dirname(at);
  }
  const real = unlessMissing(() => realPath(at));
  if (real === null) throw new PathRefused(`Cannot write "${given}" as a link on the way leads nowhere`);
  let held = holdFolder(root, real, given);
  for (const name of missing) {
    using above = held;
    makeUnlessPresent(above.at(name));
    held = holdBelow(root, above, name, given);
  }
  return held;
}

function holdBelow(root: string, above: Folder, name: string, given: string): Folder {
  const real = join(above.path, name);
  if (!tellsDescriptors) return holdFolder(root, real, given);
  return anchor(root, openUnswapped(above.at(name), FOLDER_FLAGS, given), real, given);
}

function requireUnmoved(root: string, descriptor: number, real: string, given: string): void {
  if (tellsDescriptors) {
    if (readlinkSync(`${DESCRIPTORS}/${descriptor}`) !== real) throw changed(given);
    return;
  }
  const [opened, again] = [fstatSync(descriptor), statSync(resolveInside(root, given))];
  if (opened.dev !== again.dev || opened.ino !== again.ino) throw changed(given);
}

function resolveFile(root: string, given: string): string {
  const real = resolveInside(root, given);
  const found = statSync(real);
  if (found.isDirectory()) throw new PathRefused(`"${given}" is a folder, not a file`);
  if (!found.isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
  return real;
}

function resolveInside(root: string, given: string): string {
  const real = unlessMissing(() => realPath(lexical(root, given)));
  if (real === null) throw new PathRefused(`There is no file "${given}"`);
  requireInside(root, real, given);
  return real;
}

function rootOf(workspace: string): string {
  const root = unlessMissing(() => realPath(workspace));
  if (root === null) throw new PathRefused(`The workspace "${workspace}" is not there any more`);
  return root;
}

function lexical(root: string, given: string): string {
  if (given === "" || given.includes("\0")) {
    throw new PathRefused(`Cannot use the path ${JSON.stringify(given)}: give a path inside the workspace`);
  }
  return isAbsolute(given) ? resolve(given) : resolve(root, given);
}

function requireInside(root: string, real: string, given: string): void {
  if (!isInside(root, real)) throw new PathRefused(`Cannot use "${given}" as it is outside the workspace`);
}

function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root === sep ? sep : root + sep);
}

function noFolder(root: string, real: string, given: string): PathRefused {
  return new PathRefused(`Cannot use "${given}" as "${relative(root, real)}" is not a folder`);
}

function changed(given: string): PathRefused {
  return new PathRefused(`Cannot use "${given}" as it changed while it was opened`);
}

const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  EACCES: "permission denied (EACCES)",
  EPERM: "it is not permitted (EPERM)",
  EROFS: "the file system is read-only (EROFS)",
  ENOSPC: "there is no space left (ENOSPC)",
  ENAMETOOLONG: "the name is too long (ENAMETOOLONG)",
};

/** What was there a moment ago and is now gone, a link or something else was swapped. */
function openUnswapped(path: string, flags: number, given: string): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    throw ["ELOOP", "ENOTDIR", "ENOENT", "ENXIO"].includes((error as NodeJS.ErrnoException).code ?? "") ? changed(given) : error;
  }
}

/** A path that does not exist is an answer here, every other failure is not. */
function unlessMissing<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "ELOOP") throw new PathRefused("The path goes through links that lead back to themselves");
    throw error;
  }
}

/** A folder that is there already is as good as a new one; if it is none, opening it will say so. */
function makeUnlessPresent(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
