/**
 * Python tool files: how `python3` is started on one, and what its answer means. Nothing of ours is on the disk: the
 * SDK and its runner travel in the environment of the process, which takes them out before the author's code runs.
 * Standard output carries frames, one JSON document a line, the answer last; whatever the author prints is on
 * standard error (see `runner.py`).
 */
import * as v from "valibot";
import { cutBytes } from "../../session/excerpt.ts";
import { type Json, numberToken, parseJson, parseKeepingNumbers } from "../../session/json.ts";
import { NOTHING_CAPTURED, type ProcessLaunch, type Run } from "../../session/launch.ts";
import { describeDiagnostic, type Diagnostic } from "../diagnostic.ts";
import { RESULT_CAP_BYTES } from "../ending.ts";
import type { ReadResult } from "../tool.ts";
import { broken, CORRECT_TOOL, type Description, parseDescription, remedyFor } from "./description.ts";
import type { Language, Place } from "./language.ts";
import { readUnanswered } from "./unanswered.ts";
import BOOT from "./python/boot.py" with { type: "text" };
import JSON_TEXT from "./python/json_text.py" with { type: "text" };
import RUNNER from "./python/runner.py" with { type: "text" };
import SDK from "./python/stella_sdk.py" with { type: "text" };
import TOOL_FILE from "./python/tool_file.py" with { type: "text" };

export const python: Language = {
  name: "python",
  extensions: [".py"],
  sdk: "stella_sdk",
  program: "python3",
  describe: (file, place, timeout_ms) => launch(["describe", file], place, null, timeout_ms),
  readDescription,
  call: (file, tool, input, place) => launch(["call", file, tool.name], place, input.text, tool.timeout_ms),
  read,
};

/**
 * The answer is the last line, and the end of a stream is kept: this leaves it several times the room it can need
 * (two ends of a cut result, escaped), however much was said before it.
 */
const CAP_BYTES = 32 * RESULT_CAP_BYTES;

/** Read by `boot.py`. */
const SOURCES = { ORRERY_JSON_TEXT: JSON_TEXT, ORRERY_STELLA_SDK: SDK, ORRERY_TOOL_FILE: TOOL_FILE, ORRERY_RUNNER: RUNNER };

function launch(request: readonly string[], { workspace, env }: Place, stdin: string | null, timeout_ms: number): ProcessLaunch {
  return {
    kind: "process",
    argv: ["python3", "-c", BOOT, ...request],
    cwd: workspace,
    env: { ...env, ...SOURCES },
    stdin,
    timeout_ms,
    cap_bytes: CAP_BYTES,
    speaks: "frames",
  };
}

const whole = v.object({ type: v.literal("result"), is_error: v.boolean(), text: v.string() });
/** `head` and `tail` are at least the cap each; `bytes` is the size of the whole. */
const cut = v.object({ type: v.literal("result"), is_error: v.boolean(), head: v.string(), tail: v.string(), bytes: v.number() });
const failed = v.object({
  type: v.literal("failed"),
  code: v.string(),
  message: v.string(),
  line: v.exactOptional(v.number()),
  column: v.exactOptional(v.number()),
});
const notice = v.object({ code: v.string(), message: v.string(), remedy: v.string(), line: v.exactOptional(v.number()) });
const described = v.object({ type: v.literal("described"), tools: v.unknown(), notices: v.array(notice) });
const Frame = v.union([whole, cut, failed, described]);
type Frame = v.InferOutput<typeof Frame>;

function readDescription(run: Run): Description {
  const frame = answerOf(run);
  if (frame?.type === "failed") return { kind: "broken", names: [], diagnostics: [toDiagnostic(frame)] };
  if (frame?.type === "described") {
    return parseDescription(frame.tools, {}, frame.notices.map((each) => ({ severity: "warning", ...each })));
  }
  return broken("describe_failed", `The file's tools could not be read: ${readEnd("python3", run).result.text}`, remedyOf(run.outcome));
}

function read(tool: string, run: Run): ReadResult {
  const frame = answerOf(run);
  if (frame?.type === "failed") return { result: { is_error: true, text: describeDiagnostic(toDiagnostic(frame)) } };
  if (frame?.type !== "result") return readEnd(tool, run);
  const { is_error } = frame;
  if ("text" in frame) {
    const text = frame.text.toWellFormed();
    return { result: { is_error, text, ...(is_error ? {} : toData(text)) } };
  }
  const [head, tail] = [new TextEncoder().encode(frame.head), new TextEncoder().encode(frame.tail)];
  const { text } = cutBytes(head, tail, frame.bytes, RESULT_CAP_BYTES);
  return { result: { is_error, text }, truncated: { stdout_bytes: frame.bytes, stderr_bytes: run.stderr.bytes } };
}

/** Python has numbers that ours are not: a value with one of those has only its text. */
function toData(text: string): { readonly data?: Json } {
  return keepsNumbers(parseKeepingNumbers(text)) ? { data: parseJson(text) } : {};
}

function keepsNumbers(value: unknown): boolean {
  const token = numberToken(value);
  if (token === null) return typeof value !== "object" || value === null || Object.values(value).every(keepsNumbers);
  const number = Number(token);
  return Number.isSafeInteger(number) || (Number.isFinite(number) && /[.eE]/.test(token));
}

/** The last frame of a process that ended by itself: how an exit handler ended it afterwards takes no answer back. */
function answerOf({ outcome, stdout }: Run): Frame | null {
  if (outcome.kind !== "exited" && outcome.kind !== "signalled") return null;
  return toFrame(stdout.text.trimEnd().split("\n").at(-1) ?? "");
}

function toFrame(line: string): Frame | null {
  try {
    return v.parse(Frame, JSON.parse(line));
  } catch {
    // Something else than the runner wrote to standard output before the runner took it: a wrapper around python3.
    return null;
  }
}

function toDiagnostic({ code, message, line, column }: v.InferOutput<typeof failed>): Diagnostic {
  const place = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
  return { severity: "error", code, message, ...place, remedy: REMEDIES[code] ?? CORRECT_TOOL };
}

const REMEDIES: Readonly<Record<string, string>> = {
  python_old: "Put a newer python3 first on PATH.",
  python_syntax: "Correct the file.",
  python_load: "Correct the file, or install what it imports for the python3 on PATH.",
  python_exit: "Remove that: every call loads the file.",
  no_such_tool: "Start a new session, which reads the file again.",
};

function remedyOf(outcome: Run["outcome"]): string {
  return outcome.kind === "not_started" ? "Install python3, version 3.9 or newer, or put it on PATH." : remedyFor(outcome);
}

/** Standard output has nothing to say then but half a conversation with us. */
function readEnd(tool: string, run: Run): ReadResult {
  const { outcome, problem } = run;
  const missing = outcome.kind === "not_started" && outcome.reason === "cannot_start";
  const explained = missing ? { problem: `${problem ?? "it cannot run"}. A .py tool needs python3, version 3.9 or newer` } : {};
  return readUnanswered(tool, { ...run, ...explained, stdout: NOTHING_CAPTURED });
}
