/** How a process ended, in words that a model can act on. Every dialect that reports in prose uses these. */
import { cutMiddle } from "../session/excerpt.ts";
import type { Captured, Run } from "../session/launch.ts";
import type { ReadResult } from "./tool.ts";

/** Bytes of each stream that a model gets. */
export const RESULT_CAP_BYTES = 64 * 1024;

/** The result of a run that is not a success. */
export function readFailure(tool: string, run: Run): ReadResult {
  const { stdout, stderr } = { stdout: capped(run.stdout), stderr: capped(run.stderr) };
  const streams = run.outcome.kind === "timed_out" || run.outcome.kind === "cancelled"
    ? [section("stdout", stdout), section("stderr", stderr)]
    // The reason is nearly always on stderr; stdout speaks only when that is silent.
    : [stderr.trim() === "" ? section("stdout", stdout) : section("stderr", stderr)];
  const printed = streams.filter((text) => text !== "").join("\n");
  const quiet = run.outcome.kind === "not_started" || run.outcome.kind === "unknown" ? "" : " It printed nothing.";
  return {
    result: { is_error: true, text: printed === "" ? `${tool} ${sentenceOf(run)}${quiet}` : `${tool} ${sentenceOf(run)}\n${printed}` },
    ...truncation(run),
  };
}

/** `truncated` of a result, present only if some of the output is missing. */
export function truncation(run: Run): Pick<ReadResult, "truncated"> {
  const { stdout, stderr } = run;
  const cut = [stdout, stderr].some((stream) => stream.cut || Buffer.byteLength(stream.text) > RESULT_CAP_BYTES);
  return cut ? { truncated: { stdout_bytes: stdout.bytes, stderr_bytes: stderr.bytes } } : {};
}

/** The text as a model gets it. What the supervisor has cut to the cap already has its marker and stays as it is. */
export function capped({ text, cut }: Captured): string {
  if (text.length <= RESULT_CAP_BYTES / 3) return text;
  const isDone = cut && Buffer.byteLength(text) <= RESULT_CAP_BYTES + MARKER_ROOM;
  return isDone ? text : cutMiddle(text, RESULT_CAP_BYTES).text;
}

/** The marker stands beside the cap, not inside it. */
const MARKER_ROOM = 128;

export function section(name: "stdout" | "stderr", text: string): string {
  return text.trim() === "" ? "" : `[${name}]\n${text.replace(/\n$/, "")}`;
}

function sentenceOf({ outcome, problem }: Run): string {
  const because = problem === undefined ? "" : `: ${problem}`;
  switch (outcome.kind) {
    case "exited":
      return `failed with exit code ${outcome.code}.`;
    case "signalled":
      return `was ended by signal ${outcome.signal}.`;
    case "timed_out":
      return `timed out after ${outcome.after_ms} ms and was ended, with everything it had started.`;
    case "cancelled":
      return "was cancelled and ended, with everything it had started.";
    case "not_started":
      return `could not start${because === "" ? ` (${outcome.reason})` : because}`;
    case "unknown":
      return `has an unknown outcome (${outcome.cause})${because}. It may or may not have taken effect.`;
    case "returned":
      return `gave an answer that cannot be read${because}`;
  }
}
