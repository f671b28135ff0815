import { parseChanges, type StateChange } from "../session/event.ts";
import type { JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import type { ReadResult, Tool } from "../tools/tool.ts";

export type CheckedResult = Omit<ReadResult, "changes"> & { readonly changes: readonly StateChange[] };

/** P2: a fault in a tool's own reading, or in what its host proposed, must not leave the call without an end. */
export function readRun(tool: Tool, run: Run, input: JsonInput): CheckedResult {
  try {
    const { changes = [], ...read } = tool.read(run, input);
    return { ...read, changes: parseChanges(changes) };
  } catch (error) {
    const text = `The result of "${tool.name}" could not be read: ${error instanceof Error ? error.message : String(error)}`;
    return { result: { is_error: true, text }, changes: [] };
  }
}
