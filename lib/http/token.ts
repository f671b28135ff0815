/** The file that holds the server's token: readable by its owner alone. */
import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { ConfigError } from "../config/error.ts";
import { withoutByteOrderMark } from "../session/byte-order-mark.ts";
import { Credentials, newToken } from "./auth.ts";

/**
 * The token in this file, without a line break at its end; a new one in a new file if there is none.
 * @throws {ConfigError} the file cannot be used, is open to others, or holds no good token.
 */
export function readOrCreateToken(path: string): string {
  try {
    return readToken(path) ?? createToken(path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`Cannot use the token file "${path}" as ${(error as Error).message}`, { cause: error });
  }
}

/** Null if there is no file. */
function readToken(path: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
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
      throw new ConfigError(`Cannot use the token file "${path}" as others may read it: it must be yours, with mode 600`);
    }
    const token = withoutByteOrderMark(readFileSync(descriptor, "utf8")).replace(/\r?\n$/, "");
    checkToken(token, path);
    return token;
  } finally {
    closeSync(descriptor);
  }
}

function createToken(path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
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
