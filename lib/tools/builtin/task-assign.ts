import type { Json, JsonObject } from "../../session/json.ts";
import { type BuiltinDefinition, failed, textOf } from "./definition.ts";
import { changeTask, describeTask, isOpen, MAX_SUBJECT, MAX_TASK_TEXT, type Task, taskId } from "./task-board.ts";

export const taskAssign: BuiltinDefinition = {
  kind: "child",
  description: "Give a task of the board that is not finished an owner. With owner, the task and its briefing are only noted. " +
    "With a briefing and no owner, a session of its own takes the task now, with the same tools; its report is the result.",
  input_schema: {
    type: "object",
    properties: {
      id: taskId,
      briefing: { type: "string", minLength: 1, maxLength: MAX_TASK_TEXT, description: "What its owner must know." },
      owner: { type: "string", minLength: 1, maxLength: MAX_SUBJECT, description: "Who is to do it, if not a session of its own." },
    },
    required: ["id"],
    additionalProperties: false,
  },
  needs: ["tasks"],
  brief(input, context) {
    const task = taskOf(context.state.tasks, input);
    if (input["owner"] !== undefined || input["briefing"] === undefined || task === null || !isOpen(task)) return null;
    const prompt = `Do this task, and end with a report of what you did and what is left.\n\n${describeTask(task)}\n\n${
      textOf(input, "briefing")
    }`;
    return { title: task.subject, prompt, read_only: false };
  },
  conclude(input, context, session) {
    const task = taskOf(context.state.tasks, input);
    return task === null ? [] : [{ type: "task_changed", task: { ...task, owner: session, briefing: textOf(input, "briefing") } }];
  },
  run: async (input, context) => {
    const given = Object.fromEntries(["owner", "briefing"].flatMap((key) => input[key] === undefined ? [] : [[key, textOf(input, key)]]));
    if (Object.keys(given).length === 0) return failed("Give an owner, a briefing, or both.");
    return changeTask(context, textOf(input, "id"), ["pending", "in_progress"], given);
  },
};

function taskOf(tasks: JsonObject, input: JsonObject): Task | null {
  const id = textOf(input, "id");
  const task: Json | undefined = Object.hasOwn(tasks, id) ? tasks[id] : undefined;
  if (typeof task !== "object" || task === null || !("subject" in task) || typeof task.subject !== "string") return null;
  return task as Task;
}
