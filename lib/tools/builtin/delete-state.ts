import { type BuiltinDefinition, succeeded, textOf } from "./definition.ts";
import { keySchema, noSuchKey, scratchOf } from "./scratch.ts";

export const deleteState: BuiltinDefinition = {
  kind: "host",
  description: "Forget what save_state keeps under a key.",
  input_schema: { type: "object", properties: { key: keySchema }, required: ["key"], additionalProperties: false },
  needs: ["scratch"],
  run: async (input, context) => {
    const key = textOf(input, "key");
    const scratch = scratchOf(context);
    return scratch.has(key)
      ? succeeded(`Deleted "${key}".`, { key }, [{ type: "state_changed", key, value: null }])
      : noSuchKey(key, scratch);
  },
};
