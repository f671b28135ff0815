/** Whether a call may run: by the gate, by a person, and once more if it was another runtime that let it. */
import type { Denied, Verdict } from "../gate/authorize.ts";
import type { HookNotice } from "../gate/hook.ts";
import type { JsonInput } from "../session/json.ts";
import type { Mode } from "../session/outcome.ts";
import type { CallState } from "../session/state.ts";
import { mayHaveStarted } from "../session/unread.ts";
import type { Answer, Question } from "./approver.ts";
import { now } from "./ids.ts";
import type { Turn, TurnPorts, TurnSignals } from "./turn.ts";

export async function authorizeCall(call: CallState, { ports, signals }: Turn): Promise<void> {
  const { verdict, notices } = await weigh(call, ports, signals);
  recordNotices(notices, ports);
  if (verdict === null || (verdict.kind === "ask" && isAsked(call, ports))) return;
  recordVerdict(call, verdict, ports);
  if (verdict.kind === "ask" && ports.approver?.takes_many === true) askAhead(call, ports);
}

/** Whoever is asked about a call is asked about those behind it too. What a hook has a say in is asked about in its place. */
function askAhead({ call: first }: CallState, ports: TurnPorts): void {
  const calls = openCalls(ports);
  const mode = modeOf(ports);
  for (const call of calls.slice(calls.findIndex((each) => each.call === first) + 1)) {
    if (call.status.kind !== "requested" || mayHaveStarted(call)) continue;
    const question = ports.gate.question({ name: call.name, arguments: call.arguments, mode, tools: ports.tools });
    if (question !== null) recordVerdict(call, question, ports);
  }
}

/** The call before it was asked about while this one was being weighed. */
function isAsked({ call }: CallState, ports: TurnPorts): boolean {
  return openCalls(ports).some((each) => each.call === call && each.status.kind === "asking");
}

function openCalls({ recorder: { state: { turn } } }: TurnPorts): readonly CallState[] {
  return turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
}

function recordVerdict(call: CallState, verdict: Verdict, { recorder }: TurnPorts): void {
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

/**
 * What the gate says of the call now, by the mode that counts when it has spoken. Null if the turn was stopped meanwhile:
 * then a hook gave no verdict of its own, and the stop settles the call.
 */
async function weigh(
  call: CallState,
  ports: TurnPorts,
  signals: TurnSignals,
): Promise<{ readonly verdict: Verdict | null; readonly notices: readonly HookNotice[] }> {
  const abort = AbortSignal.any([signals.stop, signals.now]);
  const mode = modeOf(ports);
  const { verdict, notices } = await ports.gate.authorize({ name: call.name, arguments: call.arguments, mode, tools: ports.tools }, abort);
  if (abort.aborted) return { verdict: null, notices };
  if (mode === modeOf(ports)) return { verdict, notices };
  const anew = await weigh(call, ports, signals);
  return { verdict: anew.verdict, notices: [...notices, ...anew.notices] };
}

/** Asks whoever can be asked; nobody means no, at once. A change of mode takes the question back: the new mode decides. */
export async function answerCall(call: CallState, turn: Turn): Promise<void> {
  if (call.status.kind !== "asking" || await refuseInherited(call, call.status, turn)) return;
  const { ports, signals, notes } = turn;
  const { reason, input, input_digest } = call.status;
  const abort = AbortSignal.any([signals.stop, signals.now]);
  const question = { call: call.call, name: call.name, input, reason, ...scriptOf(call, input, ports) };
  const answer = await askPerson(question, ports, abort);
  if (abort.aborted) return;
  if (answer === "withdrawn") return await judgeAnew(call, input, reason, turn);
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

/** "withdrawn": the mode changed before there was an answer, or before what was allowed could count. */
async function askPerson(question: Question, ports: TurnPorts, stop: AbortSignal): Promise<Answer | null | "withdrawn"> {
  if (ports.approver === null) return null;
  const mode = modeOf(ports);
  const changed = new AbortController();
  const withdrawn = Promise.withResolvers<"withdrawn">();
  const unwatch = ports.feed.watch(({ type }) => {
    if (type !== "mode_changed" || mode === modeOf(ports)) return;
    withdrawn.resolve("withdrawn");
    changed.abort();
  });
  try {
    const answer = await Promise.race([withdrawn.promise, ports.approver(question, AbortSignal.any([stop, changed.signal]))]);
    return answer !== "withdrawn" && answer.decision === "allow" && mode !== modeOf(ports) ? "withdrawn" : answer;
  } finally {
    unwatch();
  }
}

/** Where a person is still needed, the question is put again; with the same words and input, the log has it already. */
async function judgeAnew(call: CallState, input: JsonInput, reason: string, { ports, signals }: Turn): Promise<void> {
  const { verdict, notices } = await weigh(call, ports, signals);
  recordNotices(notices, ports);
  if (verdict === null) return;
  if (verdict.kind !== "ask") return recordVerdict(call, verdict, ports);
  if (verdict.input.text !== input.text) {
    return recordVerdict(call, { kind: "denied", by: "hook", reason: otherInput(call.name, "asked about") }, ports);
  }
  if (verdict.reason !== reason) recordVerdict(call, verdict, ports);
}

function modeOf({ recorder }: TurnPorts): Mode {
  return recorder.state.header?.mode ?? "normal";
}

/** A process without input whose shell is given its text: planning is pure, so this is what will run. */
function scriptOf({ call, name }: CallState, input: JsonInput, { tools, planContext }: TurnPorts): Pick<Question, "script"> {
  const plan = tools.find(name)?.plan(input, planContext(call));
  if (plan?.kind !== "launch" || plan.launch.kind !== "process" || plan.launch.stdin !== null) return {};
  const { argv: [shell = "", flag, text], cwd } = plan.launch;
  return flag !== "-c" || text === undefined ? {} : { script: { shell, text, cwd } };
}

/**
 * What another runtime allowed, or asked about, was weighed by the rules of its time: here it counts only if the gate
 * would still say so of the same tool and input. Whether the call is settled.
 */
export async function refuseInherited(
  call: CallState,
  status: Extract<CallState["status"], { kind: "asking" | "allowed" }>,
  { ports, signals }: Turn,
): Promise<boolean> {
  if (!ports.inherited.has(call.call)) return false;
  const { verdict } = await weigh(call, ports, signals);
  if (verdict === null) return true;
  const refusal = whyNotAgain(call, status, verdict, ports.tools.find(call.name)?.digest === ports.inherited.get(call.call));
  if (refusal !== null) ports.recorder.mustRecord({ type: "deny_call", at: now(), call: call.call, ...refusal });
  return refusal !== null;
}

function whyNotAgain(
  { name }: CallState,
  status: Extract<CallState["status"], { kind: "asking" | "allowed" }>,
  verdict: Verdict,
  isSameTool: boolean,
): Pick<Denied, "by" | "reason"> | null {
  if (verdict.kind === "denied") return { by: verdict.by, reason: verdict.reason };
  const earlier = status.kind === "asking" ? "asked about" : "allowed";
  if (!isSameTool) {
    return { by: "approval", reason: `"${name}" is another tool than it was when this call was ${earlier}. It was not run.` };
  }
  if (verdict.input.text !== status.input.text) {
    return { by: "hook", reason: otherInput(name, earlier) };
  }
  if (status.kind === "asking" || verdict.kind === "allowed" || status.by === "approval") return null;
  return { by: "approval", reason: `${verdict.reason}; when this call was allowed it did not. It was not run: ask for it again.` };
}

function otherInput(name: string, earlier: string): string {
  return `This call of "${name}" would now have another input than the one that was ${earlier}. It was not run.`;
}

export function recordNotices(notices: readonly HookNotice[], { recorder }: TurnPorts): void {
  for (const notice of notices) recorder.mustRecord({ type: "note", at: now(), level: "warning", ...notice });
}
