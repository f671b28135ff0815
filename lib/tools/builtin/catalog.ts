/**
 * [tool host and main thread] The one table of built-in tools. Flags, reserved names, docs and tests derive from it.
 * A row without `run` or `plan` is a name we keep for a tool that is not there yet; it is never offered.
 *
 * Tool hosts import this file, so what it imports must stay light.
 */
import type { JsonInput } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import type { Approval } from "../tool.ts";
import { bash } from "./bash.ts";
import { type BuiltinDefinition, failed } from "./definition.ts";
import { delegate } from "./delegate.ts";
import { deleteFile } from "./delete-file.ts";
import { deleteState } from "./delete-state.ts";
import { editFile } from "./edit-file.ts";
import { getEnvironment } from "./get-environment.ts";
import { getState } from "./get-state.ts";
import { listState } from "./list-state.ts";
import { readFile } from "./read-file.ts";
import { saveState } from "./save-state.ts";
import { search } from "./search.ts";
import { taskAssign } from "./task-assign.ts";
import { taskCancel } from "./task-cancel.ts";
import { taskComplete } from "./task-complete.ts";
import { taskCreate } from "./task-create.ts";
import { taskList } from "./task-list.ts";
import { taskStart } from "./task-start.ts";
import { writeFile } from "./write-file.ts";

export type Group = "shell" | "file" | "search" | "task" | "scratch" | "environment";

export interface CatalogRow {
  readonly name: string;
  readonly group: Group;
  readonly read_only: boolean;
  /** Running it twice costs nobody anything. */
  readonly speculation_safe: boolean;
  readonly approval: Approval;
  /** No tool from a file may have this name. */
  readonly reserved: boolean;
  readonly definition?: BuiltinDefinition;
}

export const CATALOG: readonly CatalogRow[] = [
  row("bash", "shell", "changes", "destructive", bash),
  row("read_file", "file", "reads twice", "never", readFile),
  row("write_file", "file", "changes", "destructive", writeFile),
  row("edit_file", "file", "changes", "destructive", editFile),
  row("delete_file", "file", "changes", "destructive", deleteFile),
  row("search", "search", "reads", "never", search),
  row("task_create", "task", "changes", "never", taskCreate),
  row("task_list", "task", "reads twice", "never", taskList),
  { ...row("task_start", "task", "changes", "never", taskStart), reserved: false },
  { ...row("task_complete", "task", "changes", "never", taskComplete), reserved: false },
  { ...row("task_cancel", "task", "changes", "never", taskCancel), reserved: false },
  row("task_assign", "task", "changes", "never", taskAssign),
  row("delegate", "task", "changes", "never", delegate),
  row("save_state", "scratch", "changes", "never", saveState),
  row("get_state", "scratch", "reads twice", "never", getState),
  row("list_state", "scratch", "reads twice", "never", listState),
  row("delete_state", "scratch", "changes", "never", deleteState),
  row("get_environment", "environment", "reads twice", "never", getEnvironment),
];

/** Words that name groups of tools in switches; a tool of that name would make one key mean two things. */
export const GROUP_WORDS: readonly string[] = ["shell", "file", "search", "task", "scratch", "environment", "question", "mcp", "custom"];
export const RESERVED_NAMES: readonly string[] = CATALOG.filter(({ reserved }) => reserved).map(({ name }) => name);
export const MCP_PREFIX = "mcp__";

/** Runs one built-in here, in this process. Every ending is a reply. */
export async function runBuiltin(tool: string, input: JsonInput, context: HostContext): Promise<HostReply> {
  const definition = CATALOG.find(({ name }) => name === tool)?.definition;
  const run = definition === undefined || definition.kind === "process" ? undefined : definition.run;
  if (run === undefined) return failed(`There is no built-in "${tool}" that a tool host can run`);
  try {
    return await run(input.value, context);
  } catch (error) {
    return failed(`${tool} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function row(
  name: string,
  group: Group,
  effect: "changes" | "reads" | "reads twice",
  approval: Approval,
  definition?: BuiltinDefinition,
): CatalogRow {
  return {
    name,
    group,
    read_only: effect !== "changes",
    speculation_safe: effect === "reads twice",
    approval,
    reserved: true,
    ...(definition === undefined ? {} : { definition }),
  };
}
