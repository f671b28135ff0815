/**
 * Paths that may not leave the workspace, whatever links lie on the way and whoever swaps them meanwhile.
 *
 * W1  What is used is inside the workspace at the moment of use. Where the system tells what a descriptor stands for
 *     (Linux), that is asked after opening, and every further step goes through the open folder: a swapped link can
 *     make a call fail, never reach outside. Elsewhere a path is resolved again right after it was opened.
 * W2  Nothing but regular files and folders is ever opened, and nothing with waiting: no pipe can hang a host, no
 *     device can answer without end.
 */
import { Buffer } from "node:buffer";
import { constants, existsSync, readlinkSync, realpathSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import process from "node:process";

/** A path that a tool was given and may not use; the message is for the model. */
export class PathRefused extends Error {
  override readonly name = "PathRefused";
}

export interface OpenedFile extends AsyncDisposable {
  readonly handle: FileHandle;
  /** Relative to the workspace, links resolved. */
  readonly path: string;
  /** The name it was asked for by, relative to the workspace, if a link led to it. */
  readonly via?: string;
}

/** One name in a folder that is held open. */
export interface Place extends AsyncDisposable {
  /** For file operations while the place is held; says nothing to people. */
  readonly path: string;
  /** Relative to the workspace, links of the folder resolved. */
  readonly shown: string;
}

/** A folder that is held open. */
export interface Folder extends AsyncDisposable {
  /** Absolute, links resolved. */
  readonly path: string;
  /** Where file operations find an entry of it, whatever becomes of its path. */
  at(name: string): string;
}

const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;
const DESCRIPTORS = "/proc/self/fd";
const tellsDescriptors = process.platform === "linux" && existsSync(DESCRIPTORS);

/** Opens an existing regular file for reading. */
export async function openInside(workspace: string, given: string): Promise<OpenedFile> {
  const root = await rootOf(workspace);
  const wanted = lexical(root, given);
  const real = await resolveFile(root, given);
  const handle = await open(real, FILE_FLAGS).catch(swapped(given));
  try {
    if (!(await handle.stat()).isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
    await requireUnmoved(root, handle, real, given);
    const via = relative(root, wanted);
    const linked = wanted !== real && isInside(root, wanted);
    return { handle, path: relative(root, real), ...(linked ? { via } : {}), [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The first bytes of a file, as many as it had a moment ago: one that grows while it is read has no end. */
export async function readBytes(handle: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(bytes, length, size - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Where a file may be written, its folder made. The file itself need not exist; what a link names is written, not the link. */
export async function placeInside(workspace: string, given: string): Promise<Place> {
  const root = await rootOf(workspace);
  const wanted = lexical(root, given);
  const real = await lstat(wanted).catch(ifMissing) === null ? wanted : await resolveFile(root, given);
  return toPlace(root, await makeFolder(root, dirname(real), given), basename(real));
}

/** An entry and the folder that holds it: a last link is the entry itself. */
export async function entryInside(workspace: string, given: string): Promise<Place> {
  const root = await rootOf(workspace);
  const wanted = lexical(root, given);
  if (wanted === root) throw new PathRefused(`"${given}" is the workspace itself`);
  const parent = await realpath(dirname(wanted)).catch(ifMissing);
  if (parent === null) throw new PathRefused(`There is no file "${given}"`);
  return toPlace(root, await holdFolder(root, parent, given), basename(wanted));
}

export interface Located {
  /** The workspace; absolute, links resolved. */
  readonly root: string;
  readonly real: string;
  readonly kind: "file" | "folder";
  readonly size: number;
}

/** An existing file or folder of the workspace, links resolved. Nothing is opened. */
export async function locateInside(workspace: string, given: string): Promise<Located> {
  const root = await rootOf(workspace);
  const real = await resolveInside(root, given);
  const found = await stat(real);
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
export async function holdFolder(root: string, real: string, given: string): Promise<Folder> {
  requireInside(root, real, given);
  if (!tellsDescriptors) {
    if (await realpath(real) !== real) throw changed(given);
    if (!(await stat(real)).isDirectory()) throw noFolder(root, real, given);
    return { path: real, at: (name) => join(real, name), [Symbol.asyncDispose]: async () => {} };
  }
  const handle = await open(real, FOLDER_FLAGS).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOTDIR" ? noFolder(root, real, given) : error;
  });
  return await anchor(root, handle, real, given);
}

async function anchor(root: string, handle: FileHandle, real: string, given: string): Promise<Folder> {
  try {
    await requireUnmoved(root, handle, real, given);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return { path: real, at: (name) => join(DESCRIPTORS, String(handle.fd), name), [Symbol.asyncDispose]: () => handle.close() };
}

function toPlace(root: string, folder: Folder, name: string): Place {
  const shown = relative(root, join(folder.path, name));
  return { path: folder.at(name), shown, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/** Makes the missing folders below the deepest one that exists, each in the one that is held. */
async function makeFolder(root: string, folder: string, given: string): Promise<Folder> {
  const missing: string[] = [];
  let at = folder;
  while (await lstat(at).catch(ifMissing) === null && dirname(at) !== at) {
    missing.unshift(basename(at));
    at = dirname(at);
  }
  const real = await realpath(at).catch(ifMissing);
  if (real === null) throw new PathRefused(`Cannot write "${given}" as a link on the way leads nowhere`);
  let held = await holdFolder(root, real, given);
  for (const name of missing) {
    await using above = held;
    await mkdir(above.at(name)).catch(ifPresent);
    held = await holdBelow(root, above, name, given);
  }
  return held;
}

async function holdBelow(root: string, above: Folder, name: string, given: string): Promise<Folder> {
  const real = join(above.path, name);
  if (!tellsDescriptors) return await holdFolder(root, real, given);
  return await anchor(root, await open(above.at(name), FOLDER_FLAGS).catch(swapped(given)), real, given);
}

async function requireUnmoved(root: string, handle: FileHandle, real: string, given: string): Promise<void> {
  if (tellsDescriptors) {
    if (readlinkSync(`${DESCRIPTORS}/${handle.fd}`) !== real) throw changed(given);
    return;
  }
  const [opened, again] = [await handle.stat(), await stat(await resolveInside(root, given))];
  if (opened.dev !== again.dev || opened.ino !== again.ino) throw changed(given);
}

async function resolveFile(root: string, given: string): Promise<string> {
  const real = await resolveInside(root, given);
  const found = await stat(real);
  if (found.isDirectory()) throw new PathRefused(`"${given}" is a folder, not a file`);
  if (!found.isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
  return real;
}

async function resolveInside(root: string, given: string): Promise<string> {
  const real = await realpath(lexical(root, given)).catch(ifMissing);
  if (real === null) throw new PathRefused(`There is no file "${given}"`);
  requireInside(root, real, given);
  return real;
}

async function rootOf(workspace: string): Promise<string> {
  const root = await realpath(workspace).catch(ifMissing);
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

/** For `catch` of an open: what was there a moment ago and is now gone, a link or something else was swapped. */
function swapped(given: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw ["ELOOP", "ENOTDIR", "ENOENT", "ENXIO"].includes(error.code ?? "") ? changed(given) : error;
  };
}

/** For `catch`: a path that does not exist is an answer here, every other failure is not. */
function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
  if (error.code === "ELOOP") throw new PathRefused("The path goes through links that lead back to themselves");
  throw error;
}

/** For `catch`: a folder that is there already is as good as a new one; if it is none, opening it will say so. */
function ifPresent(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
