/**
 * Sessions that work for a call of another: `delegate` and `task_assign`. A child is a session like any other, linked in
 * its first event; it shares the model, the gate and the supervisor of its parent, and ends with the parent's call.
 */
import { worthOf } from "../session/early-runs.ts";
import { NOTHING_CAPTURED, type Run } from "../session/launch.ts";
import type { ChildBrief, Children, ChildRun } from "../tools/tool.ts";
import type { Approver } from "./approver.ts";
import type { Session } from "./session.ts";
import type { TurnResult } from "./turn.ts";

/** Levels of sessions below the one that a person prompts. */
export const MAX_DEPTH = 2;
/** Steps of a child's one turn, if its parent may make more. */
export const CHILD_STEPS = 50;

/** Opens a child for one brief. */
export type OpenChild = (brief: ChildBrief) => Promise<Session>;

/** `approver`: whom the turn of the parent asks, and so whom its children ask. */
export function createChildren(open: OpenChild, approver: Approver | null): Children {
  return { run: (brief, now, stop) => runChild(open, approver, brief, { now, stop }) };
}

async function runChild(
  open: OpenChild,
  approver: Approver | null,
  brief: ChildBrief,
  { now, stop }: { readonly now: AbortSignal; readonly stop: AbortSignal },
): Promise<ChildRun> {
  const began = performance.now();
  let child: Session | null = null;
  try {
    child = await open(brief);
    const asking = approver === null ? {} : { approver: onBehalfOf(child.id, approver) };
    const result = await child.prompt(brief.prompt, { source: "parent", now, stop, ...asking });
    return { session: child.id, run: toRun(result, performance.now() - began, now) };
  } catch (error) {
    const problem = `The child session could not go on: ${error instanceof Error ? error.message : String(error)}`;
    const outcome = child === null
      ? { kind: "not_started", reason: "cannot_start" } as const
      : { kind: "unknown", cause: "child_failed" } as const;
    return { session: child?.id ?? null, run: { ...emptyRun(performance.now() - began), outcome, problem, ...usedBy(child) } };
  } finally {
    // What the journal has against it was the child's own failure, and is told above.
    await child?.close().catch(() => undefined);
  }
}

/** As much of its use as is recorded, of a child that could not go on. */
function usedBy(child: Session | null): Pick<Run, "child"> {
  return child === null
    ? {}
    : { child: { usage: child.recorded().usage, speculation: worthOf(child.recorded().speculation), unanswered: false } };
}

/** A question of the child's child has its session already. */
function onBehalfOf(session: string, approver: Approver): Approver {
  const ask: Approver = (question, signal) => approver({ session, ...question }, signal);
  return Object.assign(ask, approver.takes_many === undefined ? {} : { takes_many: approver.takes_many });
}

function emptyRun(duration_ms: number): Omit<Run, "outcome"> {
  return { stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED, duration_ms, reaped: [] };
}

function toRun(result: TurnResult, duration_ms: number, now: AbortSignal): Run {
  const run = { ...emptyRun(duration_ms), child: { usage: result.usage, speculation: result.speculation, unanswered: result.unanswered } };
  if (now.aborted) return { ...run, outcome: { kind: "cancelled" } };
  return { ...run, outcome: { kind: "returned" }, reply: toReply(result) };
}

/**
 * An empty report is not a success: whoever asked would take silence for an answer. The child's id is in the data and
 * not in the words: two failures that are the same should read the same.
 */
function toReply(result: TurnResult): { readonly is_error: boolean; readonly text: string } {
  if (result.reason === "completed" && result.text.trim() !== "") return { is_error: false, text: result.text };
  const why = result.reason === "completed"
    ? "gave an empty report"
    : `${result.reason}${result.detail === undefined ? "" : ` (${result.detail})`}`;
  const last = result.text.trim() === "" ? "" : ` Its last words: ${result.text}`;
  return { is_error: true, text: `The child session did not finish: ${why}.${last}` };
}
