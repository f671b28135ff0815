import { type BuiltinDefinition, textOf } from "./definition.ts";
import { changeTask, taskId } from "./task-board.ts";

export const taskComplete: BuiltinDefinition = {
  kind: "host",
  description: "Mark a task of the board that is in progress as completed.",
  input_schema: { type: "object", properties: { id: taskId }, required: ["id"], additionalProperties: false },
  needs: ["tasks"],
  run: async (input, context) => changeTask(context, textOf(input, "id"), ["in_progress"], { status: "completed" }),
};
