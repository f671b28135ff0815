import { MAX_TIMEOUT_MS, misspelling, type Tool, toolNamed } from "./define.ts";
import type { ToolDescription } from "./description.ts";
import { toInputSchema } from "./parameters.ts";
import { describeThrown } from "./thrown.ts";

/**
 * What a tool says of itself. What is wrong with it is for the reader of descriptions to find, but for this:
 * @throws {TypeError} if its parameters have no JSON Schema.
 */
export function describeTool(tool: Tool): ToolDescription {
  try {
    if (typeof tool.execute !== "function") throw new TypeError("it has no execute()");
    const fault = misspelling(tool);
    if (fault !== null) throw new TypeError(fault);
    return {
      name: tool.name,
      description: tool.description,
      parameters: { ...toInputSchema(tool.parameters) },
      read_only: tool.read_only,
      speculation_safe: tool.speculation_safe,
      approval: tool.approval,
      timeout_ms: typeof tool.timeoutMs === "number" ? Math.min(tool.timeoutMs, MAX_TIMEOUT_MS) : tool.timeoutMs,
    };
  } catch (error) {
    throw new TypeError(`${toolNamed(tool.name, "The", "A")} is wrong: ${describeThrown(error).replace(/^TypeError: /, "")}`, {
      cause: error,
    });
  }
}
