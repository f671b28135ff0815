import { parseChanges, type StateChange } from "../session/event.ts";
import { cutMiddle } from "../session/excerpt.ts";
import { isTooDeep, type JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import type { CallResult } from "../session/outcome.ts";
import { toWellFormedJson } from "../session/well-formed.ts";
import type { ReadResult, Tool } from "../tools/tool.ts";

/** More than any tool of ours gives: each cuts its text itself, but some text comes from a process that could forge the cut one. */
const MAX_TEXT_BYTES = 256 * 1024;

export type CheckedResult = Omit<ReadResult, "changes"> & { readonly changes: readonly StateChange[] };

/** P2: a fault in a tool's own reading, or in what its host proposed, must not leave the call without an end. */
export function readRun(tool: Tool, run: Run, input: JsonInput): CheckedResult {
  try {
    const { changes = [], ...read } = tool.read(run, input);
    return { ...read, result: bounded(read.result), changes: parseChanges(changes) };
  } catch (error) {
    const text = `The result of "${tool.name}" could not be read: ${error instanceof Error ? error.message : String(error)}`;
    return { result: { is_error: true, text }, changes: [] };
  }
}

/** P5, P9, whoever wrote it: what the log, the next request and every client can hold. Data that they could not is in the text. */
function bounded({ text, data, ...result }: CallResult): CallResult {
  const shown = cutMiddle(text.toWellFormed(), MAX_TEXT_BYTES).text;
  return { ...result, text: shown, ...(data === undefined || isTooDeep(data) ? {} : { data: toWellFormedJson(data) }) };
}
