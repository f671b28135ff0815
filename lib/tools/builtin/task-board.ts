/**
 * The task board: a list of what there is to do, a projection of the session's events. Tools read it in `context.state`
 * and propose `task_changed`; ids follow from what is on the board.
 */
import type { Json, JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { failed, succeeded } from "./definition.ts";

export type TaskStatus = "pending" | "in_progress" | "completed" | "cancelled";

export interface Task extends JsonObject {
  readonly id: string;
  readonly subject: string;
  readonly status: string;
}

const MAX_TASKS = 500;
export const MAX_SUBJECT = 200;
export const MAX_TASK_TEXT = 8000;
export const taskId = { type: "string", minLength: 1, maxLength: 64, description: "The task's id, such as t1." };
/** Of the whole board as JSON: it travels with every call that reads it. */
const MAX_BOARD_BYTES = 4 * 1024 * 1024;

/** All tasks in the order of their numbers. */
export function tasksOf(context: HostContext): readonly Task[] {
  const board = context.state?.["tasks"];
  return isObject(board) ? Object.values(board).filter(isTask).sort((left, right) => numberOfTask(left) - numberOfTask(right)) : [];
}

/** The id of the n-th task after those on the board: `t1`, `t2`, … */
export function nextId(tasks: readonly Task[], nth: number): string {
  return `t${Math.max(0, ...tasks.map(numberOfTask)) + nth}`;
}

/** Changes one task, or says why not. `from`: the states in which that makes sense. */
export function changeTask(context: HostContext, id: string, from: readonly TaskStatus[], change: JsonObject): HostReply {
  const tasks = tasksOf(context);
  const task = tasks.find((each) => each.id === id);
  if (task === undefined) return failed(`There is no task "${id}". ${knownIds(tasks)}`);
  if (!from.some((status) => status === task.status)) {
    return failed(`Task "${id}" is ${task.status}; only a task that is ${from.join(" or ")} can be changed so.`);
  }
  const changed = { ...task, ...change };
  return record(tasks.map((each) => each.id === id ? changed : each), [changed], describeTask(changed));
}

/** Proposes the changes, if the board can hold them. */
export function record(board: readonly Task[], changed: readonly Task[], text: string): HostReply {
  if (board.length > MAX_TASKS) return failed(`The board cannot hold more than ${MAX_TASKS} tasks. Nothing was changed.`);
  if (Buffer.byteLength(JSON.stringify(board)) > MAX_BOARD_BYTES) {
    return failed("The board's texts are too large altogether. Nothing was changed.");
  }
  return succeeded(text, { tasks: changed }, changed.map((task) => ({ type: "task_changed", task })));
}

/** One line, and its texts below. */
export function describeTask(task: Task): string {
  const texts = ["description", "definition_of_done", "briefing", "reason"].flatMap((key) => {
    const text = task[key];
    return typeof text === "string" && text !== "" ? [`    ${key}: ${text}`] : [];
  });
  return [headOf(task), ...texts].join("\n");
}

export function headOf(task: Task): string {
  const owner = typeof task["owner"] === "string" ? ` (${task["owner"]})` : "";
  return `${task.id} [${task.status}] ${task.subject}${owner}`;
}

export function isOpen({ status }: Task): boolean {
  return status === "pending" || status === "in_progress";
}

function knownIds(tasks: readonly Task[]): string {
  return tasks.length === 0
    ? "The board is empty."
    : `The board has ${tasks.slice(0, 20).map(({ id }) => id).join(", ")}${tasks.length > 20 ? ", …" : ""}.`;
}

function numberOfTask({ id }: Task): number {
  const digits = /^t(\d{1,9})$/.exec(id)?.[1];
  return digits === undefined ? 0 : Number(digits);
}

function isTask(value: Json): value is Task {
  return isObject(value) && ["id", "subject", "status"].every((key) => typeof value[key] === "string");
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
