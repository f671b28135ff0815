import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, succeeded } from "./definition.ts";
import { describeTask, headOf, isOpen, type Task, tasksOf } from "./task-board.ts";

const MAX_TEXT_BYTES = 64 * 1024;

export const taskList: BuiltinDefinition = {
  kind: "host",
  description: "Show this session's task board: every task with its id, state, owner and texts.",
  input_schema: { type: "object", properties: {}, additionalProperties: false },
  needs: ["tasks"],
  run: async (_input, context) => list(context),
};

function list(context: HostContext): HostReply {
  const tasks = tasksOf(context);
  const heads = tasks.map(({ id, subject, status, owner }) => ({ id, subject, status, ...(owner === undefined ? {} : { owner }) }));
  const full = tasks.map(describeTask).join("\n");
  if (tasks.length === 0) return succeeded("The board is empty.", { tasks: heads, truncated: false });
  if (fits(full)) return succeeded(full, { tasks: heads, truncated: false });
  return succeeded(shorter(tasks), { tasks: heads, truncated: true });
}

/** Without the texts; then without what is finished. */
function shorter(tasks: readonly Task[]): string {
  const all = tasks.map(headOf).join("\n");
  if (fits(all)) return `${all}\n(the tasks' texts are too long to be shown)`;
  const open = tasks.filter(isOpen).map(headOf);
  while (!fits(open.join("\n"))) open.pop();
  return `${open.join("\n")}\n(${open.length} of ${tasks.length} tasks are shown, without their texts: there is no room for more)`;
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_TEXT_BYTES;
}
