import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, succeeded, textOf } from "./definition.ts";
import { keyProblem, keySchema, MAX_CONTENT_BYTES, MAX_KEYS, MAX_SCRATCH_BYTES, scratchOf } from "./scratch.ts";

export const saveState: BuiltinDefinition = {
  kind: "host",
  description: "Keep a text under a key for the rest of this session, in place of what the key had. The workspace is not touched.",
  input_schema: {
    type: "object",
    properties: { key: keySchema, content: { type: "string", description: "The text, 1 MiB at most." } },
    required: ["key", "content"],
    additionalProperties: false,
  },
  needs: ["scratch"],
  run: save,
};

async function save(input: JsonObject, context: HostContext): Promise<HostReply> {
  const [key, value] = [textOf(input, "key"), textOf(input, "content")];
  const problem = keyProblem(key);
  if (problem !== null) return failed(problem);
  if (!value.isWellFormed()) return failed("Cannot keep the content as it contains half of a surrogate pair, which UTF-8 cannot hold");
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_CONTENT_BYTES) return failed(`The content has ${bytes} bytes; at most ${MAX_CONTENT_BYTES} can be kept under one key.`);
  const after = new Map(scratchOf(context)).set(key, value);
  if (after.size > MAX_KEYS) return failed(`No more than ${MAX_KEYS} keys can be kept. Delete some first.`);
  const all = Buffer.byteLength(JSON.stringify([...after]));
  if (all > MAX_SCRATCH_BYTES) return failed(`No more than ${MAX_SCRATCH_BYTES} bytes can be kept in all. Delete some keys first.`);
  return succeeded(`Saved "${key}" (${bytes} bytes).`, { key, bytes }, [{ type: "state_changed", key, value }]);
}
