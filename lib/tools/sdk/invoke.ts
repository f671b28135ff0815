/** One call of a tool that is code: the input is parsed, `execute` runs, and whatever comes of it is a result. */
import { cutMiddle } from "../../session/excerpt.ts";
import { type JsonObject, parseJson } from "../../session/json.ts";
import type { HostReply } from "../../session/launch.ts";
import { RESULT_CAP_BYTES } from "../ending.ts";
import { isValidationError, type Tool, type ToolContext } from "./define.ts";
import { toJsonText } from "./json-text.ts";
import { parseInput } from "./parameters.ts";

/** Never rejects. `report` is told the stack of what the author did not expect. */
export async function invokeTool(tool: Tool, input: JsonObject, context: ToolContext, report: (stack: string) => void): Promise<HostReply> {
  try {
    const parsed = await parseInput(tool.parameters, input);
    if (parsed.kind === "unfit") return failure(parsed.problem);
    const execute: (input: unknown, context: ToolContext) => unknown = (value, given) => tool.execute(value as never, given);
    return toReply(await execute(parsed.value, context));
  } catch (error) {
    if (isValidationError(error)) return failure(error.message);
    report(error instanceof Error ? error.stack ?? String(error) : `Thrown: ${describeThrown(error)}`);
    return failure(describeThrown(error));
  }
}

/** What was thrown, in a line for the model. Its text may itself be broken. */
export function describeThrown(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `The tool threw what is not an error: ${showThrown(error)}`;
    if (error.message === "") return error.name;
    return error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
  } catch {
    // A value whose own conversion to text throws.
    return "The tool threw what has no text";
  }
}

function showThrown(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function toReply(value: unknown): HostReply {
  const json = toJsonText(value);
  if (json.kind === "unholdable") return failure(`The tool returned what JSON cannot hold: ${json.fault}`);
  const excerpt = cutMiddle(json.text, RESULT_CAP_BYTES);
  if (excerpt.cut) return { is_error: false, text: excerpt.text, whole_bytes: excerpt.bytes };
  return { is_error: false, text: json.text, data: parseJson(json.text) };
}

function failure(message: string): HostReply {
  const { text, bytes, cut } = cutMiddle(message.toWellFormed(), RESULT_CAP_BYTES);
  return { is_error: true, text, ...(cut ? { whole_bytes: bytes } : {}) };
}
