/**
 * Files of the runtime that no tool may read, such as the server's token. By what they are and not by their path: a link
 * or a hard link leads to the same file.
 */
import { type Stats, statSync } from "node:fs";

export type SecretFiles = ReadonlySet<string>;

/** As they are now; one that is not there has nothing to tell. */
export function findSecretFiles(paths: readonly string[] = []): SecretFiles {
  return new Set(paths.flatMap((path) => {
    try {
      return [identity(statSync(path))];
    } catch {
      // Not there, or not to be seen by us: then a tool of ours cannot open it either.
      return [];
    }
  }));
}

export function isSecretFile(found: Stats, secrets: SecretFiles): boolean {
  return secrets.has(identity(found));
}

function identity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
