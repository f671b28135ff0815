import type { JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import type { ReadResult, Tool } from "../tools/tool.ts";

/** P2: a fault in a tool's own reading must not leave its call without an end. */
export function readRun(tool: Tool, run: Run, input: JsonInput): ReadResult {
  try {
    return tool.read(run, input);
  } catch (error) {
    return { result: { is_error: true, text: `The result of "${tool.name}" could not be read: ${error instanceof Error ? error.message : String(error)}` } };
  }
}
