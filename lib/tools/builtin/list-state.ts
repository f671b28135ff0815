import { type BuiltinDefinition, succeeded } from "./definition.ts";
import { scratchOf } from "./scratch.ts";

export const listState: BuiltinDefinition = {
  kind: "host",
  description: "List the keys that save_state has kept in this session, with their sizes.",
  input_schema: { type: "object", properties: {}, additionalProperties: false },
  needs: ["scratch"],
  run: async (_input, context) => {
    const keys = [...scratchOf(context)].map(([key, value]) => ({ key, bytes: Buffer.byteLength(value) }))
      .sort((left, right) => left.key < right.key ? -1 : 1);
    const text = keys.length === 0 ? "Nothing is saved." : keys.map(({ key, bytes }) => `${key} (${bytes} bytes)`).join("\n");
    return succeeded(text, { keys });
  },
};
