/** One call of a tool that is code: the input is parsed, `execute` runs, and whatever comes of it is a result. */
import { cutMiddle } from "../../session/excerpt.ts";
import { type JsonObject, parseJson } from "../../session/json.ts";
import type { HostReply } from "../../session/launch.ts";
import { RESULT_CAP_BYTES } from "../ending.ts";
import { isValidationError, type Tool, type ToolContext, type ValidationError } from "./define.ts";
import { toJsonText } from "./json-text.ts";
import { parseInput } from "./parameters.ts";
import { describeThrown, stackOf } from "./thrown.ts";

/** Never rejects. `report` is told the stack of what the author did not expect. */
export async function invokeTool(tool: Tool, input: JsonObject, context: ToolContext, report: (stack: string) => void): Promise<HostReply> {
  try {
    const parsed = await parseInput(tool.parameters, input);
    if (parsed.kind === "unfit") return failure(parsed.problem);
    const execute: (input: unknown, context: ToolContext) => unknown = (value, given) => tool.execute(value as never, given);
    return toReply(await execute(parsed.value, context));
  } catch (error) {
    return toFailure(error, report);
  }
}

/** What a call comes to by what was thrown in it. */
export function toFailure(error: unknown, report: (stack: string) => void): HostReply {
  if (isValidationError(error)) return failure(describeRefusal(error));
  report(stackOf(error));
  return failure(describeThrown(error));
}

/** Its message, without the name; the name if it has none. */
function describeRefusal(error: ValidationError): string {
  return typeof error.message === "string" && error.message !== "" ? error.message : describeThrown(error);
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
