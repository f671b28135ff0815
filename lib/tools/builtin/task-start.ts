import { type BuiltinDefinition, textOf } from "./definition.ts";
import { changeTask, taskId } from "./task-board.ts";

export const taskStart: BuiltinDefinition = {
  kind: "host",
  description: "Mark a pending task of the board as in progress.",
  input_schema: { type: "object", properties: { id: taskId }, required: ["id"], additionalProperties: false },
  needs: ["tasks"],
  run: async (input, context) => changeTask(context, textOf(input, "id"), ["pending"], { status: "in_progress" }),
};
