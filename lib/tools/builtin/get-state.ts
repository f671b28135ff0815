import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, numberOf, succeeded, textOf } from "./definition.ts";
import { keySchema, noSuchKey, scratchOf } from "./scratch.ts";

const MAX_SLICE = 30_720;

export const getState: BuiltinDefinition = {
  kind: "host",
  description: "Read what save_state keeps under a key. Give offset and limit to read a long text in parts.",
  input_schema: {
    type: "object",
    properties: {
      key: keySchema,
      offset: { type: "integer", minimum: 0, description: "Characters to pass over." },
      limit: { type: "integer", minimum: 1, maximum: MAX_SLICE, description: `Characters to read, ${MAX_SLICE} at most.` },
    },
    required: ["key"],
    additionalProperties: false,
  },
  needs: ["scratch"],
  run: get,
};

/** Characters are Unicode's, so that no part begins or ends inside one. */
async function get(input: JsonObject, context: HostContext): Promise<HostReply> {
  const key = textOf(input, "key");
  const scratch = scratchOf(context);
  const value = scratch.get(key);
  if (value === undefined) return noSuchKey(key, scratch);
  const [offset, limit] = [numberOf(input, "offset", 0), numberOf(input, "limit", MAX_SLICE)];
  const characters = [...value];
  const total = characters.length;
  if (offset > 0 && offset >= total) return failed(`"${key}" has ${total} characters; offset is past its end.`);
  const part = characters.slice(offset, offset + limit);
  const end = offset + part.length;
  const note = end < total ? [`(characters ${offset} to ${end} of ${total}; continue with offset ${end})`] : [];
  const text = total === 0 ? "(the text is empty)" : [part.join(""), ...note].join("\n");
  return succeeded(text, { key, offset, characters: part.length, total, truncated: end < total });
}
