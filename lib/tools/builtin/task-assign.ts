import { type BuiltinDefinition, failed, textOf } from "./definition.ts";
import { changeTask, MAX_SUBJECT, MAX_TASK_TEXT, taskId } from "./task-board.ts";

export const taskAssign: BuiltinDefinition = {
  kind: "host",
  description: "Give a task of the board that is not finished an owner, a briefing, or both.",
  input_schema: {
    type: "object",
    properties: {
      id: taskId,
      briefing: { type: "string", minLength: 1, maxLength: MAX_TASK_TEXT, description: "What its owner must know." },
      owner: { type: "string", minLength: 1, maxLength: MAX_SUBJECT, description: "Who is to do it." },
    },
    required: ["id"],
    additionalProperties: false,
  },
  needs: ["tasks"],
  run: async (input, context) => {
    const given = Object.fromEntries(["owner", "briefing"].flatMap((key) => input[key] === undefined ? [] : [[key, textOf(input, key)]]));
    if (Object.keys(given).length === 0) return failed("Give an owner, a briefing, or both.");
    return changeTask(context, textOf(input, "id"), ["pending", "in_progress"], given);
  },
};
