/** The life of one call after the model asked for it: authorize, perhaps ask a person, start, record the end. */
import { inputDigest } from "../gate/authorize.ts";
import type { HookNotice } from "../gate/hook.ts";
import type { Command } from "../session/command.ts";
import type { JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import type { Outcome } from "../session/outcome.ts";
import type { CallState } from "../session/state.ts";
import type { Plan } from "../tools/tool.ts";
import type { Question } from "./approver.ts";
import { now } from "./ids.ts";
import { fingerprint, programDigests } from "./program.ts";
import { type CheckedResult, readRun } from "./read-run.ts";
import type { Turn, TurnPorts, TurnSignals } from "./turn.ts";

export async function authorizeCall(call: CallState, { ports, signals }: Turn): Promise<void> {
  const { recorder, tools, gate } = ports;
  const abort = AbortSignal.any([signals.stop, signals.now]);
  const mode = recorder.state.header?.mode ?? "normal";
  const { verdict, notices } = await gate.authorize({ name: call.name, arguments: call.arguments, mode, tools }, abort);
  recordNotices(notices, ports);
  // A hook that was ended by the stop gave no verdict of its own: the stop settles the call.
  if (abort.aborted) return;
  switch (verdict.kind) {
    case "allowed":
      recorder.mustRecord({ type: "allow_call", at: now(), call: call.call, input: verdict.input, by: verdict.by });
      return;
    case "denied":
      recorder.mustRecord({ type: "deny_call", at: now(), call: call.call, by: verdict.by, reason: verdict.reason });
      return;
    case "ask": {
      const { reason, input, input_digest } = verdict;
      recorder.mustRecord({ type: "request_approval", at: now(), call: call.call, reason, input, input_digest });
      return;
    }
  }
}

/** Asks whoever can be asked; nobody means no, at once. */
export async function answerCall(call: CallState, { ports, signals, notes }: Turn): Promise<void> {
  if (call.status.kind !== "asking") return;
  const { reason, input, input_digest } = call.status;
  const abort = AbortSignal.any([signals.stop, signals.now]);
  const question = { call: call.call, name: call.name, input, reason, ...scriptOf(call, input, ports) };
  const answer = ports.approver === null ? null : await ports.approver(question, abort);
  if (abort.aborted) return;
  if (answer === null) notes.unanswered = true;
  const refusal = answer === null ? `${reason}, and nobody can be asked here. It was not run.` : answer.reason;
  ports.recorder.mustRecord({
    type: "answer_approval",
    at: now(),
    call: call.call,
    decision: answer?.decision ?? "deny",
    by: answer?.by ?? "nobody",
    input_digest,
    ...(refusal === undefined ? {} : { reason: refusal }),
  });
}

/** A process without input whose shell is given its text: planning is pure, so this is what will run. */
function scriptOf({ call, name }: CallState, input: JsonInput, { tools, planContext }: TurnPorts): Pick<Question, "script"> {
  const plan = tools.find(name)?.plan(input, planContext(call));
  if (plan?.kind !== "launch" || plan.launch.kind !== "process" || plan.launch.stdin !== null) return {};
  const { argv: [shell = "", flag, text], cwd } = plan.launch;
  return flag !== "-c" || text === undefined ? {} : { script: { shell, text, cwd } };
}

/** Plans, records the intent, runs, records the end; or takes over what already ran while the model was streaming. */
export async function startCall(call: CallState, { ports, signals, speculator }: Turn): Promise<void> {
  if (call.status.kind !== "allowed") return;
  const { input } = call.status;
  const tool = ports.tools.find(call.name);
  if (tool === undefined) return endUnstarted(call, ports, `"${call.name}" is no longer available. It was not run.`);
  const plan = tool.plan(input, ports.planContext(call.call));
  if (plan.kind === "unable") return endUnstarted(call, ports, plan.problem);
  const digests = await programDigests(plan);
  const early = await speculator.claim(call.call, input, fingerprint(digests));
  // Nothing new begins once the turn is to stop: the call is settled with it.
  if (early === null && (signals.stop.aborted || signals.now.aborted)) return;
  const { durable } = ports.recorder.mustRecord({
    type: "start_call",
    at: now(),
    call: call.call,
    input_digest: inputDigest(input),
    worker: plan.kind === "remote" ? plan.worker : ports.supervisor.workerOf(ports.session),
    ...digests,
  });
  const run = early?.run ?? await runCall(call.call, plan, durable, ports, signals);
  const end = toEnd(call.call, run, readRun(tool, run, input), plan, ports);
  ports.recorder.mustRecord(early === null ? end : { ...end, speculation: early.speculation });
  const { text, is_error } = end.result;
  recordNotices(
    await ports.hooks.afterCall({ name: tool.rule_name ?? tool.name, input, read_only: tool.read_only }, { text, is_error }, signals.now),
    ports,
  );
}

function recordNotices(notices: readonly HookNotice[], { recorder }: TurnPorts): void {
  for (const notice of notices) recorder.mustRecord({ type: "note", at: now(), level: "warning", ...notice });
}

async function runCall(call: string, plan: ReadyPlan, durable: Promise<void>, ports: TurnPorts, signals: TurnSignals): Promise<Run> {
  await durable;
  if (plan.kind === "remote") return await plan.call(signals.now, signals.stop);
  const { session, recorder, feed } = ports;
  return await ports.supervisor.run({
    session,
    call,
    launch: plan.launch,
    signal: signals.now,
    // Rides with the next commit: an unsynced write survives the death of the runtime (design §4.5).
    onSpawned: (identity) => void recorder.record({ type: "record_spawn", at: now(), call, ...identity }),
    onOutput: (stream, text) => feed.tell({ type: "call_output", session, call, stream, text }),
  });
}

/** A call that is recorded as running, while nobody runs it: what it did is not known. */
export async function settleLostCall(call: CallState, { ports }: Turn): Promise<void> {
  const result = { is_error: true, text: `The outcome of this call is unknown: nothing is running it any more. It was not run again.` };
  ports.recorder.record({
    type: "end_call",
    at: now(),
    call: call.call,
    outcome: { kind: "unknown", cause: "runtime_died" },
    result,
    duration_ms: 0,
  });
}

function endUnstarted(call: CallState, ports: TurnPorts, problem: string): void {
  const outcome: Outcome = { kind: "not_started", reason: "cannot_start" };
  ports.recorder.mustRecord({
    type: "end_call",
    at: now(),
    call: call.call,
    outcome,
    result: { is_error: true, text: problem },
    duration_ms: 0,
  });
}

type ReadyPlan = Exclude<Plan, { kind: "unable" }>;

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
    ...(truncated === undefined ? {} : { truncated }),
    ...(changes.length === 0 ? {} : { changes }),
    ...(withheld.length === 0 ? {} : { exports_withheld: [...withheld] }),
    ...(plan.kind === "launch" && plan.launch.kind === "process" && ports.env_withheld.length > 0
      ? { env_withheld: [...ports.env_withheld] }
      : {}),
    ...(run.reaped.length === 0 ? {} : { reaped: [...run.reaped] }),
  };
}
