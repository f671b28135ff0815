/**
 * Paths that may not leave the workspace, whatever links lie on the way.
 *
 * W1  What is opened is inside the workspace at the moment of use: the path is resolved, opened without following a
 *     last link, and resolved again; a swap in between is refused.
 * W2  Nothing but regular files is ever opened: no pipe can hang a host, no device can answer without end.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** A path that a tool was given and may not use; the message is for the model. */
export class PathRefused extends Error {
  override readonly name = "PathRefused";
}

export interface OpenedFile {
  readonly handle: FileHandle;
  /** Relative to the workspace, links resolved. */
  readonly path: string;
}

/** Opens an existing regular file for reading. The caller closes it. */
export async function openInside(workspace: string, given: string): Promise<OpenedFile> {
  const root = await realpath(workspace);
  const real = await resolveExisting(root, given);
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const [opened, again] = [await handle.stat(), await stat(await resolveExisting(root, given))];
    if (opened.dev !== again.dev || opened.ino !== again.ino) {
      throw new PathRefused(`Cannot use "${given}" as it changed while it was opened`);
    }
    if (!opened.isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
    return { handle, path: relative(root, real) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Where a file may be written: absolute, links resolved, its folder made. The file itself need not exist. */
export async function placeInside(workspace: string, given: string): Promise<string> {
  const root = await realpath(workspace);
  const wanted = lexical(root, given);
  const entry = await lstat(wanted).catch(ifMissing);
  if (entry !== null) {
    const real = await resolveExisting(root, given);
    if (!(await stat(real)).isFile()) throw new PathRefused(`Cannot write "${given}" as it is not a regular file`);
    return real;
  }
  const parent = await makeFolder(root, dirname(wanted), given);
  return join(parent, basename(wanted));
}

/** The real folder that holds an entry, and the entry's own name: a last link is the entry itself. */
export async function entryInside(workspace: string, given: string): Promise<{ readonly path: string; readonly shown: string }> {
  const root = await realpath(workspace);
  const wanted = lexical(root, given);
  const parent = await realpath(dirname(wanted)).catch(ifMissing);
  if (parent === null) throw new PathRefused(`There is no file "${given}"`);
  requireInside(root, parent, given);
  const path = join(parent, basename(wanted));
  if (path === root) throw new PathRefused(`"${given}" is the workspace itself`);
  return { path, shown: relative(root, path) };
}

async function resolveExisting(root: string, given: string): Promise<string> {
  const real = await realpath(lexical(root, given)).catch(ifMissing);
  if (real === null) throw new PathRefused(`There is no file "${given}"`);
  requireInside(root, real, given);
  const found = await stat(real);
  if (found.isDirectory()) throw new PathRefused(`"${given}" is a folder, not a file`);
  if (!found.isFile()) throw new PathRefused(`Cannot use "${given}" as it is not a regular file`);
  return real;
}

function lexical(root: string, given: string): string {
  if (given === "" || given.includes("\0")) {
    throw new PathRefused(`Cannot use the path ${JSON.stringify(given)}: give a path inside the workspace`);
  }
  const wanted = isAbsolute(given) ? resolve(given) : resolve(root, given);
  return wanted;
}

/** Makes the missing folders below the deepest one that exists, if that is inside. */
async function makeFolder(root: string, folder: string, given: string): Promise<string> {
  const missing: string[] = [];
  let at = folder;
  while (await lstat(at).catch(ifMissing) === null && dirname(at) !== at) {
    missing.unshift(basename(at));
    at = dirname(at);
  }
  const real = await realpath(at).catch(ifMissing);
  if (real === null) throw new PathRefused(`Cannot write "${given}" as a link on the way leads nowhere`);
  requireInside(root, real, given);
  if (!(await stat(real)).isDirectory()) throw new PathRefused(`Cannot write "${given}" as "${relative(root, real)}" is not a folder`);
  const made = join(real, ...missing);
  await mkdir(made, { recursive: true });
  requireInside(root, await realpath(made), given);
  return made;
}

function requireInside(root: string, real: string, given: string): void {
  if (real === root || real.startsWith(root === sep ? sep : root + sep)) return;
  throw new PathRefused(`Cannot use "${given}" as it is outside the workspace`);
}

/** For `catch`: a path that does not exist is an answer here, every other failure is not. */
function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
  if (error.code === "ELOOP") throw new PathRefused("The path goes through links that lead back to themselves");
  throw error;
}
