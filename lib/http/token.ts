/** The file that holds the server's token: readable by its owner alone. */
import { closeSync, constants, existsSync, fstatSync, lstatSync, mkdirSync, openSync, readFileSync, type Stats, writeSync } from "node:fs";
import { dirname, sep } from "node:path";
import process from "node:process";
import { ConfigError } from "../config/error.ts";
import { withoutByteOrderMark } from "../session/byte-order-mark.ts";
import { Credentials, newToken } from "./auth.ts";

/**
 * The token in this file, or in the one that it leads to, without a line break at its end; a new one in a new file if
 * there is none. `home`: a folder that is made where it is missing, as those below it are; no other one is.
 * @throws {ConfigError} the file cannot be used, is open to others, or holds no good token.
 */
export function readOrCreateToken(path: string, home: string | null = null): string {
  try {
    return readToken(path) ?? createToken(path, home);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`Cannot use the token file "${path}" as ${(error as Error).message}`, { cause: error });
  }
}

/** Null if there is no file. */
function readToken(path: string): string | null {
  let descriptor: number;
  try {
    // What is opened is what counts, wherever a link leads: secrets are mounted as links.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new ConfigError(`Cannot use the token file "${path}" as it is not a regular file`);
    const { mode, uid } = status;
    const owner = process.getuid?.();
    if ((mode & 0o077) !== 0 || (owner !== undefined && uid !== owner && uid !== 0)) {
      throw new ConfigError(
        `Cannot use the token file "${path}" as ${whoElse(status, owner)}: it must be yours or root's, with mode 600 or 400`,
      );
    }
    const token = withoutByteOrderMark(readFileSync(descriptor, "utf8")).replace(/\r?\n$/, "");
    checkToken(token, path);
    return token;
  } finally {
    closeSync(descriptor);
  }
}

function whoElse({ mode, uid }: Stats, owner: number | undefined): string {
  if ((mode & 0o077) !== 0) return `others may read it or write to it (mode ${(mode & 0o777).toString(8)})`;
  return `it belongs to user ${uid} and not to ${owner}, whom the server runs as`;
}

function createToken(path: string, home: string | null): string {
  const folder = dirname(path);
  if (home !== null && `${folder}${sep}`.startsWith(`${home}${sep}`)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  else if (!existsSync(folder)) {
    throw new ConfigError(`Cannot make the token file "${path}" as its folder is not there: make it, or name a file in another one`);
  }
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
    throw new ConfigError(
      `Cannot use the token file "${path}" as it is a link to something that is not there: make that, or name another file`,
    );
  }
  const token = newToken();
  const descriptor = openSync(path, "wx", 0o600);
  try {
    writeSync(descriptor, `${token}\n`);
  } finally {
    closeSync(descriptor);
  }
  return token;
}

function checkToken(token: string, path: string): void {
  try {
    new Credentials(token);
  } catch (error) {
    throw new ConfigError(`Cannot use the token in "${path}": ${(error as Error).message}`, { cause: error });
  }
}
