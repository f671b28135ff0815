/** The run of one call that may run: start, record the end. */
import { inputDigest } from "../gate/authorize.ts";
import type { Command } from "../session/command.ts";
import { toChildSpeculation } from "../session/early-runs.ts";
import type { Run } from "../session/launch.ts";
import type { Outcome, ReapedProcess } from "../session/outcome.ts";
import type { CallState } from "../session/state.ts";
import type { Place } from "./call-line.ts";
import { now } from "./ids.ts";
import { recordNotices, refuseInherited } from "./judge-call.ts";
import { isAsPlanned, programDigests, programFingerprint } from "./program.ts";
import { type CheckedResult, readRun } from "./read-run.ts";
import { type Performed, type PlannedCall, type ReadyPlan, runCall, takeOver } from "./run-call.ts";
import type { Reserved } from "./speculation.ts";
import type { Turn, TurnPorts } from "./turn.ts";

/** Plans, records the intent, runs, records the end; or takes over what already ran while the model was streaming. */
export async function startCall(call: CallState, turn: Turn): Promise<void> {
  if (call.status.kind !== "allowed") return;
  const early = turn.speculator.reserve(call.call);
  try {
    await startAllowed(call, call.status, early, turn);
  } finally {
    // However it ended: what was kept for it has nobody else to want it.
    early?.forgo();
  }
}

async function startAllowed(
  call: CallState,
  status: Extract<CallState["status"], { kind: "allowed" }>,
  early: Reserved | null,
  turn: Turn,
): Promise<void> {
  if (await refuseInherited(call, status, turn)) return;
  const { ports, speculator } = turn;
  const { input } = status;
  const tool = ports.tools.find(call.name);
  if (tool === undefined) return endUnstarted(call, ports, `"${call.name}" is no longer available. It was not run.`);
  // N1: what ran early and is thrown away is gone before anything changes.
  if (!tool.read_only) await speculator.discarded();
  const plan = tool.plan(input, ports.planContext(call.call, ports.approver));
  if (plan.kind === "unable") return endUnstarted(call, ports, plan.problem);
  const place = turn.line.join(orderOf(call, ports));
  try {
    await startInPlace({ call: call.call, tool, input, plan }, early, place, turn);
  } finally {
    place.leave();
  }
}

/** Gets ready at once, and starts when the calls before it have. */
async function startInPlace(
  call: Omit<PlannedCall, "digests" | "program">,
  early: Reserved | null,
  place: Place,
  turn: Turn,
): Promise<void> {
  const [digests, program] = await Promise.all([programDigests(call.plan), programFingerprint(call.plan)]);
  const isChanged = !isAsPlanned(call.plan, digests);
  if (isChanged) early?.forgo({ reason: "stale" });
  const claimed = isChanged ? null : await early?.claim(call.input, program) ?? null;
  await place.first();
  if (isChanged) return endUnstarted(call, turn.ports, changedProgram(call.tool.name));
  const planned = { ...call, digests, program };
  if (claimed !== null) {
    if (claimed.ended) place.stayToEnd();
    return await recordCall(planned, place, turn, (durable) => takeOver(claimed, planned, durable, turn, () => place.leave()));
  }
  // Nothing new begins once the turn is to stop: the call is settled with it.
  if (!await turn.slots.take(AbortSignal.any([turn.signals.stop, turn.signals.now]))) return;
  try {
    await recordCall(planned, place, turn, (durable) => runCall(planned, durable, turn));
  } finally {
    turn.slots.release();
  }
}

function orderOf({ call }: CallState, { recorder: { state: { turn } } }: TurnPorts): number {
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  return calls.findIndex((each) => each.call === call);
}

/** The intent, then the run, then its end, then whoever is told of it. */
async function recordCall(
  { call, tool, input, plan, digests }: PlannedCall,
  place: Place,
  { ports, signals, notes }: Turn,
  perform: (durable: Promise<void>) => Promise<Performed>,
): Promise<void> {
  const { durable } = ports.recorder.mustRecord({
    type: "start_call",
    at: now(),
    call,
    input_digest: inputDigest(input),
    worker: plan.kind === "remote" ? plan.worker : ports.supervisor.workerOf(ports.session),
    ...digests,
  });
  place.started();
  const { run, speculation } = await perform(durable);
  notes.unanswered ||= run.child?.unanswered === true;
  const end = toEnd(call, run, readRun(tool, run, input), plan, ports);
  ports.recorder.mustRecord(speculation === undefined ? end : { ...end, speculation });
  place.leave();
  const { text, is_error } = end.result;
  if (run.outcome.kind === "not_started") return;
  recordNotices(
    await ports.hooks.afterCall({ name: tool.rule_name ?? tool.name, input, read_only: tool.read_only }, { text, is_error }, signals.now),
    ports,
  );
}

function changedProgram(name: string): string {
  return `"${name}" was not run, as its file has changed since this session read it. A session that is opened from now on has it as it is now.`;
}

/** A call that is recorded as running, while nobody runs it: what it did is not known. */
export async function settleLostCall(call: CallState, { ports }: Turn): Promise<void> {
  const result = { is_error: true, text: `The outcome of this call is unknown: nothing is running it any more. It was not run again.` };
  ports.recorder.record({
    type: "end_call",
    at: now(),
    call: call.call,
    outcome: { kind: "unknown", cause: "not_recorded" },
    result,
    duration_ms: 0,
  });
}

function endUnstarted({ call }: Pick<CallState, "call">, ports: TurnPorts, problem: string): void {
  const outcome: Outcome = { kind: "not_started", reason: "cannot_start" };
  ports.recorder.mustRecord({
    type: "end_call",
    at: now(),
    call,
    outcome,
    result: { is_error: true, text: problem },
    duration_ms: 0,
  });
}

function toEnd(
  call: string,
  run: Run,
  { result, truncated, changes }: CheckedResult,
  plan: ReadyPlan,
  ports: TurnPorts,
): Extract<Command, { type: "end_call" }> {
  const withheld = plan.kind === "launch" ? plan.exports_withheld ?? [] : [];
  return {
    type: "end_call",
    at: now(),
    call,
    outcome: run.outcome,
    result,
    duration_ms: Math.round(run.duration_ms * 10) / 10,
    ...(run.child === undefined ? {} : { usage: run.child.usage, ...toChildSpeculation(run.child.speculation) }),
    ...(truncated === undefined ? {} : { truncated }),
    ...(changes.length === 0 ? {} : { changes }),
    ...(withheld.length === 0 ? {} : { exports_withheld: [...withheld] }),
    ...(plan.kind === "launch" && plan.launch.kind === "process" && ports.env_withheld.length > 0
      ? { env_withheld: [...ports.env_withheld] }
      : {}),
    ...toReaped(run.reaped),
  };
}

/** So many are named; of a flood the others are counted. */
const REAPED_NAMED = 20;

function toReaped(all: Run["reaped"]): { readonly reaped?: ReapedProcess[]; readonly reaped_omitted?: number } {
  if (all.length === 0) return {};
  const reaped_omitted = all.length - REAPED_NAMED;
  return { reaped: all.slice(0, REAPED_NAMED), ...(reaped_omitted > 0 ? { reaped_omitted } : {}) };
}
