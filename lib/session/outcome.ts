import * as v from "valibot";

const milliseconds = v.pipe(v.number(), v.minValue(0));
const bytes = v.pipe(v.number(), v.integer(), v.minValue(0));

/** How a call's execution ended. Recorded once per call; nothing is inferred from output text. */
export const Outcome = v.variant("kind", [
  v.object({ kind: v.literal("exited"), code: v.pipe(v.number(), v.integer()) }),
  v.object({ kind: v.literal("signalled"), signal: v.string() }),
  v.object({ kind: v.literal("timed_out"), after_ms: milliseconds }),
  v.object({ kind: v.literal("cancelled") }),
  /** Answered by something that goes on living: a tool host, an MCP server, a child session. */
  v.object({ kind: v.literal("returned") }),
  /**
   * `reason`: `denied`, `cancelled`, `forked`, `imported` or `cannot_start`. In the report of a turn that its journal left open also
   * `pending`: it is never recorded, as whoever resumes the turn goes on with the call.
   */
  v.object({ kind: v.literal("not_started"), reason: v.string() }),
  /**
   * `cause`: `worker_died`, `host_died`, `server_lost`, `child_failed`, or, where there is no record of the call's end,
   * `runtime_died` (its owner is known to have gone without giving the session back, then or later) and `not_recorded`
   * (nothing more is known); the effects of the call are not known.
   */
  v.object({ kind: v.literal("unknown"), cause: v.string() }),
]);
export type Outcome = v.InferOutput<typeof Outcome>;

/** What the model reads. `empty`: the tool succeeded and printed nothing. */
export const CallResult = v.object({
  is_error: v.boolean(),
  text: v.string(),
  data: v.optional(v.unknown()),
  empty: v.optional(v.boolean()),
});
export type CallResult = v.InferOutput<typeof CallResult>;

/** True size in bytes of each stream of a call whose output was cut. */
export const Truncated = v.object({ stdout_bytes: bytes, stderr_bytes: bytes });
export type Truncated = v.InferOutput<typeof Truncated>;

/** A top-level input that was not exported to the environment, and why. `name` is the variable's name. */
export const WithheldExport = v.object({ name: v.string(), reason: v.string() });
export type WithheldExport = v.InferOutput<typeof WithheldExport>;

/**
 * A process of a call that had to be killed after the call's own process had ended. `uncertain`: it may be another call's
 * that ran at the same time.
 */
export const ReapedProcess = v.object({ pid: v.number(), command: v.string(), uncertain: v.optional(v.literal(true)) });
export type ReapedProcess = v.InferOutput<typeof ReapedProcess>;

/**
 * Tokens as the provider counts them; `cost_usd` only if the provider reports it. `input_tokens` counts all of the
 * input, what was read from a cache (`cached_…`) and written to one (`cache_write_…`) included. What was not reported
 * counts as 0: `unreported_replies` says of how many replies the endpoint left out what their cost needs.
 */
export const Usage = v.object({
  input_tokens: v.number(),
  output_tokens: v.number(),
  cached_input_tokens: v.optional(v.number()),
  cache_write_input_tokens: v.optional(v.number()),
  reasoning_tokens: v.optional(v.number()),
  cost_usd: v.optional(v.number()),
  unreported_replies: v.optional(v.number()),
});
export type Usage = v.InferOutput<typeof Usage>;

/** Why an attempt at a reply failed. Only the first four may be tried again. */
export const ModelErrorKind = v.picklist([
  "transport",
  "idle_timeout",
  "overloaded",
  "rate_limited",
  "unreachable",
  "auth",
  "unknown_model",
  "context_overflow",
  "malformed",
  "rejected",
]);
export type ModelErrorKind = v.InferOutput<typeof ModelErrorKind>;

/** Why a reply ended, in our words. */
export const Finish = v.picklist(["stop", "tool_calls", "length", "content_filter", "unknown"]);
export type Finish = v.InferOutput<typeof Finish>;

/** Approval modes of a session (`orrery --mode`). */
export const Mode = v.picklist(["normal", "auto-accept", "architect", "yolo", "plan", "headless"]);
export type Mode = v.InferOutput<typeof Mode>;

/** Why a turn ended. */
export const TurnEnd = v.picklist(["completed", "stopped", "failed", "cancelled"]);
export type TurnEnd = v.InferOutput<typeof TurnEnd>;

/** Adds two usages. */
export function addUsage(left: Usage, right: Usage): Usage {
  const optional = (key: Exclude<keyof Usage, "input_tokens" | "output_tokens">) =>
    left[key] === undefined && right[key] === undefined ? {} : { [key]: (left[key] ?? 0) + (right[key] ?? 0) };
  return {
    input_tokens: left.input_tokens + right.input_tokens,
    output_tokens: left.output_tokens + right.output_tokens,
    ...optional("cached_input_tokens"),
    ...optional("cache_write_input_tokens"),
    ...optional("reasoning_tokens"),
    ...optional("cost_usd"),
    ...optional("unreported_replies"),
  };
}
