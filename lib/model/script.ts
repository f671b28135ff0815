/** The file format of scripted models: one JSON document, described with an example in docs/models.md. */
import * as v from "valibot";
import { faultPosition } from "../session/arguments.ts";
import { withoutByteOrderMark } from "../session/byte-order-mark.ts";
import { type Json, numberToken, parseKeepingNumbers } from "../session/json.ts";
import { Finish, ModelErrorKind, type Usage } from "../session/outcome.ts";
import type { CallFragment } from "./growing-call.ts";

/** Reply n answers a request that holds n assistant messages. */
export interface Script {
  readonly replies: readonly ScriptedReply[];
}

/** What each attempt at the reply plays; the last one plays again if more are made. */
export interface ScriptedReply {
  readonly attempts: readonly (readonly ScriptStep[])[];
}

export interface ScriptStep {
  /** Waits so long first. */
  readonly wait_ms: number;
  readonly action: ScriptAction;
}

export type ScriptAction =
  | { readonly type: "wait" }
  /** May hold `{{result}}` or `{{result NAME}}`. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly fragment: CallFragment }
  | { readonly type: "finish"; readonly finish?: Finish; readonly usage?: Usage }
  /** The connection breaks. */
  | { readonly type: "drop" }
  /** The connection ends properly, in the middle of the reply. */
  | { readonly type: "eof" }
  | { readonly type: "error"; readonly error: ScriptedError };

export interface ScriptedError {
  readonly message: string;
  readonly kind?: ModelErrorKind;
  readonly status?: number;
  readonly retry_after_ms?: number;
}

/** Thrown for a script that cannot be played; the message says where. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
}

/** @throws {ScriptError} */
export function parseScript(source: string): Script {
  const text = withoutByteOrderMark(source);
  let value: unknown;
  try {
    value = parseKeepingNumbers(text);
  } catch (error) {
    throw new ScriptError(`Cannot read script as it is not valid JSON: line ${lineAt(text, faultPosition(text))}`, { cause: error });
  }
  const parsed = v.safeParse(ScriptFile, value);
  if (!parsed.success) throw new ScriptError(`Cannot read script as ${firstFault(parsed.issues)}`);
  return { replies: parsed.output.replies.map(toReply) };
}

/** Numbers are kept as written, so that a call's arguments can hold `3.0`. */
const number = v.pipe(
  v.custom<unknown>((value) => numberToken(value) !== null, "must be a number"),
  v.transform((value) => Number(numberToken(value))),
);
const milliseconds = v.pipe(number, v.minValue(0, "must not be negative"));
const name = v.pipe(v.string("must be a string"), v.nonEmpty("must not be empty"));
const pieces = v.union([v.string(), v.array(v.string())], "must be a string or a list of strings");
const args = v.custom<Json>(
  (value) =>
    typeof value === "string" || (typeof value === "object" && value !== null && !Array.isArray(value) && numberToken(value) === null),
  "must be an object, or a string with the raw text",
);
const usage = v.strictObject({
  input_tokens: v.optional(number),
  output_tokens: v.optional(number),
  cached_input_tokens: v.optional(number),
  cache_write_input_tokens: v.optional(number),
  reasoning_tokens: v.optional(number),
  cost_usd: v.optional(number),
});
const error = v.strictObject({
  message: v.optional(v.string()),
  kind: v.optional(ModelErrorKind),
  status: v.optional(number),
  retry_after: v.optional(number),
});
const truth = v.literal(true, "must be true");

const Step = v.strictObject({
  wait_ms: v.optional(milliseconds),
  text: v.optional(v.string()),
  reasoning: v.optional(v.string()),
  call: v.optional(
    v.strictObject({ index: v.optional(number), id: v.optional(v.string()), name: v.optional(v.string()), arguments: v.optional(args) }),
  ),
  finish: v.optional(Finish),
  usage: v.optional(usage),
  drop: v.optional(truth),
  eof: v.optional(truth),
  error: v.optional(error),
});

const attempt = {
  text: v.optional(pieces),
  reasoning: v.optional(pieces),
  calls: v.optional(v.array(v.strictObject({ id: v.optional(v.string()), name, arguments: v.optional(args) }))),
  delay_ms: v.optional(milliseconds),
  finish: v.optional(Finish),
  usage: v.optional(usage),
  drop: v.optional(truth),
  eof: v.optional(truth),
  error: v.optional(error),
  stream: v.optional(v.array(Step)),
};
const Attempt = v.pipe(
  v.strictObject(attempt),
  v.check((each) => each.stream === undefined || Object.keys(each).length === 1, "`stream` must be the only key of an attempt"),
);
const ReplyEntry = v.pipe(
  v.strictObject({ ...attempt, attempts: v.optional(v.pipe(v.array(Attempt), v.nonEmpty("must not be empty"))) }),
  v.check(
    (each) => (each.attempts === undefined && each.stream === undefined) || Object.keys(each).length === 1,
    "`attempts` or `stream` must be the only key of a reply",
  ),
);
const ScriptFile = v.strictObject({ replies: v.array(ReplyEntry) });

function toReply(entry: v.InferOutput<typeof ReplyEntry>, position: number): ScriptedReply {
  const attempts = entry.attempts ?? [entry];
  return { attempts: attempts.map((each) => each.stream?.map(toStep) ?? toSteps(each, position)) };
}

function toStep({ wait_ms = 0, ...step }: v.InferOutput<typeof Step>): ScriptStep {
  return { wait_ms, action: toAction(step) };
}

function toAction(step: Omit<v.InferOutput<typeof Step>, "wait_ms">): ScriptAction {
  if (step.text !== undefined) return { type: "text", text: step.text };
  if (step.reasoning !== undefined) return { type: "reasoning", text: step.reasoning };
  if (step.call !== undefined) return { type: "call", fragment: toFragment(step.call) };
  if (step.finish !== undefined || step.usage !== undefined) return toFinish(step);
  if (step.error !== undefined) return { type: "error", error: toError(step.error) };
  if (step.drop) return { type: "drop" };
  return { type: step.eof ? "eof" : "wait" };
}

/** The short form: reasoning, text, calls, then the ending, with `delay_ms` between any two pieces. */
function toSteps(entry: v.InferOutput<typeof Attempt>, position: number): readonly ScriptStep[] {
  const actions: ScriptAction[] = [
    ...toPieces(entry.reasoning).map((text): ScriptAction => ({ type: "reasoning", text })),
    ...toPieces(entry.text).map((text): ScriptAction => ({ type: "text", text })),
    ...(entry.calls ?? []).map((call, index): ScriptAction => ({
      type: "call",
      fragment: toFragment({ id: `script_${position}_${index}`, ...call, index }),
    })),
  ];
  if (entry.error !== undefined) actions.push({ type: "error", error: toError(entry.error) });
  else if (entry.drop || entry.eof) actions.push({ type: entry.drop ? "drop" : "eof" });
  else actions.push(toFinish(entry));
  return actions.map((action, index) => ({ wait_ms: index === 0 ? 0 : entry.delay_ms ?? 0, action }));
}

function toPieces(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

type Written = {
  readonly index?: number | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly arguments?: Json | undefined;
};

function toFragment({ index, id, name, arguments: written }: Written): CallFragment {
  return {
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(written === undefined ? {} : { arguments: typeof written === "string" ? written : JSON.stringify(written) }),
  };
}

function toFinish({ finish, usage }: Pick<v.InferOutput<typeof Step>, "finish" | "usage">): ScriptAction {
  const counted = usage === undefined ? {} : { usage: { input_tokens: 0, output_tokens: 0, ...usage } as Usage };
  return { type: "finish", ...(finish === undefined ? {} : { finish }), ...counted };
}

function toError({ message, kind, status, retry_after }: v.InferOutput<typeof error>): ScriptedError {
  return {
    message: message ?? "the script says so",
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
    ...(retry_after === undefined ? {} : { retry_after_ms: retry_after * 1000 }),
  };
}

function lineAt(text: string, position: number): string {
  const before = text.slice(0, position).split("\n");
  return `${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function firstFault(issues: readonly v.BaseIssue<unknown>[]): string {
  const issue = issues[0];
  if (issue === undefined) return "it is not a script";
  const path = v.getDotPath(issue) ?? "the document";
  return issue.expected === "never" ? `${path} is not a known key` : `${path}: ${issue.message}`;
}
