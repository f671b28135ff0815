import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, textOf } from "./definition.ts";
import { describeTask, MAX_SUBJECT, MAX_TASK_TEXT, nextId, record, type Task, tasksOf } from "./task-board.ts";

const MAX_AT_ONCE = 50;
const task = {
  subject: { type: "string", minLength: 1, maxLength: MAX_SUBJECT, description: "What is to be done, in one line." },
  description: { type: "string", maxLength: MAX_TASK_TEXT, description: "More about it." },
  definition_of_done: { type: "string", maxLength: MAX_TASK_TEXT, description: "How to tell that it is done." },
};

export const taskCreate: BuiltinDefinition = {
  kind: "host",
  description: "Put a task on this session's task board, or several at once with tasks. Answers with their ids.",
  input_schema: {
    type: "object",
    properties: {
      ...task,
      tasks: {
        type: "array",
        minItems: 1,
        maxItems: MAX_AT_ONCE,
        items: { type: "object", properties: task, required: ["subject"], additionalProperties: false },
        description: "Several tasks, in order.",
      },
    },
    additionalProperties: false,
  },
  needs: ["tasks"],
  run: create,
};

/** Some providers refuse alternatives at the root of a schema, so this one is checked here. */
async function create(input: JsonObject, context: HostContext): Promise<HostReply> {
  const several = input["tasks"] as readonly JsonObject[] | undefined;
  const alone = Object.keys(input).length === 1;
  if (several === undefined ? input["subject"] === undefined : !alone) {
    return failed("Give either subject with its texts, or tasks, each with its own.");
  }
  const board = tasksOf(context);
  const wanted = several ?? [input];
  if (wanted.some((each) => textOf(each, "subject").trim() === "")) return failed("A subject must not be blank. Nothing was created.");
  const created = wanted.map((each, index): Task => ({
    id: nextId(board, index + 1),
    subject: textOf(each, "subject"),
    status: "pending",
    ...textsOf(each),
  }));
  return record([...board, ...created], created, created.map(describeTask).join("\n"));
}

function textsOf(input: JsonObject): JsonObject {
  return Object.fromEntries(
    ["description", "definition_of_done"].flatMap((key) => input[key] === undefined ? [] : [[key, textOf(input, key)]]),
  );
}
