import { type BuiltinDefinition, textOf } from "./definition.ts";

export const delegate: BuiltinDefinition = {
  kind: "child",
  description: "Hand a question to a session of its own that may look at everything here and change nothing. Its report is the result. " +
    "It knows nothing of this conversation: the prompt must say all that it needs.",
  input_schema: {
    type: "object",
    properties: {
      description: { type: "string", minLength: 1, maxLength: 200, description: "What it is about, in a few words." },
      prompt: { type: "string", minLength: 1, maxLength: 100_000, description: "The whole question, and what the report must contain." },
    },
    required: ["description", "prompt"],
    additionalProperties: false,
  },
  brief: (input) => ({ title: textOf(input, "description"), prompt: textOf(input, "prompt"), read_only: true }),
};
