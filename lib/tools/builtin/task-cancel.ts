import { type BuiltinDefinition, textOf } from "./definition.ts";
import { changeTask, MAX_TASK_TEXT, taskId } from "./task-board.ts";

export const taskCancel: BuiltinDefinition = {
  kind: "host",
  description: "Cancel a task of the board that is not completed.",
  input_schema: {
    type: "object",
    properties: { id: taskId, reason: { type: "string", maxLength: MAX_TASK_TEXT, description: "Why it is not to be done." } },
    required: ["id"],
    additionalProperties: false,
  },
  needs: ["tasks"],
  run: async (input, context) =>
    changeTask(context, textOf(input, "id"), ["pending", "in_progress"], {
      status: "cancelled",
      ...(input["reason"] === undefined ? {} : { reason: textOf(input, "reason") }),
    }),
};
