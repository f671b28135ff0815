import { cutMiddle } from "../../session/excerpt.ts";
import type { Run } from "../../session/launch.ts";
import { readFailure, RESULT_CAP_BYTES, section } from "../ending.ts";
import type { ReadResult } from "../tool.ts";

/** The end of a call that gave no answer. That its process ended well, as programs count, is no success here. */
export function readUnanswered(tool: string, run: Run): ReadResult {
  const { outcome } = run;
  if (outcome.kind !== "exited" || outcome.code !== 0) return readFailure(tool, run);
  const printed = (["stdout", "stderr"] as const).map((name) => section(name, cutMiddle(run[name].text, RESULT_CAP_BYTES).text));
  const lines = [`${tool} ended its process before it returned anything.`, ...printed.filter((text) => text !== "")];
  return { result: { is_error: true, text: lines.join("\n") } };
}
