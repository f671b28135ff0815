/** What a session has seen of files: the projection that decides whether one may be overwritten. */
import type { Json, JsonObject } from "../session/json.ts";
import type { CallState, SessionState } from "../session/state.ts";
import { entriesOf } from "../session/transcript.ts";

const FILE_TOOLS = new Set(["read_file", "write_file", "edit_file"]);

/** By path relative to the workspace, what the newest result of a file tool said of it. */
export function knownFiles(state: SessionState): JsonObject {
  const files: Record<string, Json> = Object.create(null) as Record<string, Json>;
  for (const entry of entriesOf(state)) {
    if (entry.kind !== "reply") continue;
    for (const call of entry.calls) for (const seen of seenBy(call)) files[seen.path] = seen.file;
  }
  return files;
}

function seenBy(call: CallState): readonly { readonly path: string; readonly file: Json }[] {
  if (!FILE_TOOLS.has(call.name) || call.status.kind !== "ended" || call.status.result.is_error) return [];
  const data = call.status.result.data as Json | undefined;
  const files = Array.isArray(data) ? data : data === undefined ? [] : [data];
  return files.flatMap((file: Json) => isObject(file) && typeof file["path"] === "string" ? [{ path: file["path"], file }] : []);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
