/** Whether a file may be replaced: only if the session has seen all of what it holds now. */
import type { Json, JsonObject } from "../../session/json.ts";
import type { FileIdentity } from "./replace-file.ts";

/** What a session knows of a file, from `data` of `read_file`, `write_file` and `edit_file`. Keyed by real path. */
export interface KnownFile {
  readonly whole: boolean;
  readonly mtime_ms: number;
  readonly size: number;
  /** Of its content; in logs of earlier versions only after a read. */
  readonly digest?: string;
}

/**
 * Null, or why not. `state` is the projection with `reads: {[path]: KnownFile}`; `path` is relative to the workspace.
 * `digest` of what the file holds now is asked for only where size and time fit: two contents can share both.
 */
export function overwriteProblem(
  state: JsonObject | undefined,
  path: string,
  present: Pick<FileIdentity, "mtime_ms" | "size">,
  digest: () => string,
): string | null {
  const known = knownFile(state, path);
  if (known === null) return `"${path}" exists and was not read in this session. Read it first, or use edit_file.`;
  if (!known.whole) return `"${path}" was read only in part. Read the whole file first, or use edit_file.`;
  const fits = known.mtime_ms === present.mtime_ms && known.size === present.size;
  if (fits && (known.digest === undefined || known.digest === digest())) return null;
  return `"${path}" has changed since it was read. Read it again first.`;
}

function knownFile(state: JsonObject | undefined, path: string): KnownFile | null {
  const reads = state?.["reads"];
  if (!isObject(reads) || !Object.hasOwn(reads, path)) return null;
  const entry = reads[path];
  if (!isObject(entry)) return null;
  const { whole, mtime_ms, size, digest } = entry;
  if (typeof whole !== "boolean" || typeof mtime_ms !== "number" || typeof size !== "number") return null;
  return { whole, mtime_ms, size, ...(typeof digest === "string" ? { digest } : {}) };
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
