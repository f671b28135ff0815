/**
 * What tool files said of themselves, kept in the user's data folder: one small file for each path, replaced when the
 * tool file's bytes change. Losing it costs the time to ask again and nothing else.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../../platform/digest.ts";
import type { Description } from "./description.ts";

export interface DescriptionKey {
  /** Of the tool file: the same bytes elsewhere may import something else. */
  readonly path: string;
  /** SHA-256 of its bytes. */
  readonly digest: string;
}

export interface DescriptionCache {
  /** Undefined if nothing is kept for it. Never rejects. */
  read(key: DescriptionKey): Promise<unknown>;
  /** Never rejects. */
  write(key: DescriptionKey, description: Extract<Description, { kind: "described" }>): Promise<void>;
  /** Never rejects. */
  forget(key: DescriptionKey): Promise<void>;
}

/** Part of what is kept: what a version that described differently has written is not taken. */
const REVISION = 3;

export function createDescriptionCache(directory: string): DescriptionCache {
  const fileOf = ({ path }: DescriptionKey) => join(directory, `${sha256(path)}.json`);
  return {
    async read(key) {
      try {
        const kept = JSON.parse(await readFile(fileOf(key), "utf8")) as Partial<Kept> | null;
        return kept?.revision === REVISION && kept.path === key.path && kept.digest === key.digest ? kept.description : undefined;
      } catch {
        // Not there yet, not readable, or not whole: the file is asked again.
        return undefined;
      }
    },
    async write(key, description) {
      const kept: Kept = { revision: REVISION, path: key.path, digest: key.digest, description };
      const fresh = join(directory, `.${crypto.randomUUID()}`);
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await writeFile(fresh, JSON.stringify(kept), { mode: 0o600 });
        await rename(fresh, fileOf(key));
      } catch {
        // A full or read-only disk: the next session asks again.
        await rm(fresh, { force: true }).catch(() => undefined);
      }
    },
    async forget(key) {
      // A read-only disk: the next check asks again.
      await rm(fileOf(key), { force: true }).catch(() => undefined);
    },
  };
}

interface Kept {
  readonly revision: number;
  readonly path: string;
  readonly digest: string;
  readonly description: unknown;
}
