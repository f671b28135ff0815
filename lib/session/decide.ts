/**
 * The one place where events come from. Pure: the same state and command give the same events.
 *
 * D1  `seq` is gapless: events are numbered from `state.seq + 1`.
 * D2  A call gets exactly one `call_ended`; whoever asks for a second one is refused.
 * D3  A call starts only after it was allowed, and once.
 * D4  A speculation is adopted or discarded within its step: whatever is left is discarded when the step is over.
 */
import type { Command, Decision, Refusal } from "./command.ts";
import { type OpenSpeculation, toChildSpeculation } from "./early-runs.ts";
import { EVENT_VERSION, type EventBody, type EventType, type SessionEvent } from "./event.ts";
import { canonicalValue, type JsonInput } from "./json.ts";
import type { CallResult, Outcome } from "./outcome.ts";
import type { CallState, SessionState, TurnState } from "./state.ts";
import { mayHaveStarted } from "./unread.ts";

type Body = { [T in EventType]: { readonly type: T } & EventBody<T> }[EventType];
type Running = Extract<TurnState, { kind: "running" }>;
type CallCommand = Extract<Command, { readonly call: string }>;

/** The events that a command leads to, or why it is refused. */
export function decide(state: SessionState, command: Command): Decision<SessionEvent> {
  const bodies = toBodies(state, command);
  if (!Array.isArray(bodies)) return { kind: "refused", refusal: bodies as Refusal };
  const session = command.type === "open" ? command.session : state.session ?? "";
  const events = (bodies as readonly Body[]).map((body, index) => ({
    v: EVENT_VERSION,
    session,
    seq: state.seq + 1 + index,
    at: command.at,
    ...body,
  } as SessionEvent));
  return { kind: "accepted", events };
}

function toBodies(state: SessionState, command: Command): readonly Body[] | Refusal {
  if (command.type === "open") return open(state, command);
  if (state.header === null) return refuse("not_open", "the session has not been opened");
  switch (command.type) {
    case "prompt":
      return prompt(state, command);
    case "change_mode":
      return [{ type: "mode_changed", mode: command.mode, by: command.by }];
    case "change_model":
      return [{ type: "model_changed", model: command.model, by: command.by, ...optional("base_url", command.base_url) }];
    case "change_tools":
      return [{ type: "tools_changed", tools: command.tools, ...optional("system", command.system) }];
    case "note":
      return [{ type: "notice", level: command.level, code: command.code, text: command.text }];
    case "resume":
      return resume(state, command);
    case "fork":
      return fork(state, command.from);
    default:
      return state.turn.kind === "running" ? withinTurn(state, state.turn, command) : refuse("no_turn", "no turn is running");
  }
}

type TurnCommand = Exclude<
  Command,
  { readonly type: "open" | "prompt" | "change_mode" | "change_model" | "change_tools" | "note" | "resume" | "fork" }
>;

function withinTurn(state: SessionState, turn: Running, command: TurnCommand): readonly Body[] | Refusal {
  switch (command.type) {
    case "begin_step":
      return turn.phase.kind === "ready"
        ? [...discardOpen(state, "not_asked"), { type: "step_started", turn: turn.turn, step: turn.step + 1 }]
        : refuse("not_now", `a step cannot begin while the turn is ${turn.phase.kind}`);
    case "begin_attempt":
      return beginAttempt(state, turn);
    case "fail_attempt":
      return openAttempt(turn, (attempt) => [{
        type: "attempt_failed",
        step: turn.step,
        attempt,
        error: command.error,
        retry_in_ms: command.retry_in_ms,
        ...optional("request_bytes", command.request_bytes),
      }]);
    case "commit_reply":
      return openAttempt(turn, (attempt) => [{ type: "reply_committed", step: turn.step, attempt, ...copyReply(command.reply) }]);
    case "interject":
      return turn.phase.kind === "answered" || turn.phase.kind === "ready"
        ? [{ type: "prompted", turn: turn.turn, text: command.text, source: command.source }]
        : refuse("not_now", `nothing can be said to the model while the turn is ${turn.phase.kind}`);
    case "end_turn":
      return endTurn(state, turn, command);
    case "cancel":
      return cancel(state, turn, command);
    case "start_speculation":
      return openAttempt(turn, (attempt) => [startSpeculation(turn.step, attempt, command)]);
    case "record_speculation_spawn":
    case "end_speculation":
    case "discard_speculation":
      return onSpeculation(state, command);
    default:
      return onCall(turn, command);
  }
}

function open(state: SessionState, command: Extract<Command, { type: "open" }>): readonly Body[] | Refusal {
  if (state.header !== null) return refuse("already_open", "the session is already open");
  const { at: _at, session: _session, type: _type, ...body } = command;
  return [{ type: "session_opened", ...body }];
}

function prompt(state: SessionState, command: Extract<Command, { type: "prompt" }>): readonly Body[] | Refusal {
  if (state.turn.kind === "running") return refuse("busy", `turn ${state.turn.turn} is still running`);
  const { text, source, key } = command;
  return [{ type: "prompted", turn: state.counts.turns + 1, text, source, ...(key === undefined ? {} : { key }) }];
}

function beginAttempt(state: SessionState, turn: Running): readonly Body[] | Refusal {
  if (turn.phase.kind !== "asking") return refuse("not_now", `the model cannot be asked while the turn is ${turn.phase.kind}`);
  const { attempt, status } = turn.phase;
  if (status.kind === "open") return refuse("not_now", `attempt ${attempt} is still open`);
  return [{ type: "attempt_started", step: turn.step, attempt: attempt + 1, model: state.header?.model ?? "" }];
}

function openAttempt(turn: Running, bodies: (attempt: number) => readonly Body[]): readonly Body[] | Refusal {
  if (turn.phase.kind !== "asking" || turn.phase.status.kind !== "open") return refuse("not_now", "no attempt is open");
  return bodies(turn.phase.attempt);
}

function copyReply(reply: Extract<Command, { type: "commit_reply" }>["reply"]) {
  const { text, calls, finish, usage, model, provider_blocks } = reply;
  return {
    text,
    calls: [...calls],
    finish,
    usage,
    model,
    ...(provider_blocks === undefined ? {} : { provider_blocks: [...provider_blocks] }),
  };
}

function endTurn(state: SessionState, turn: Running, command: Extract<Command, { type: "end_turn" }>): readonly Body[] | Refusal {
  if (openCalls(turn).length > 0) return refuse("not_now", "the turn has open calls");
  return [...discardOpen(state, "not_asked"), {
    type: "turn_ended",
    turn: turn.turn,
    reason: command.reason,
    ...optional("detail", command.detail),
  }];
}

function cancel(state: SessionState, turn: Running, command: Extract<Command, { type: "cancel" }>): readonly Body[] | Refusal {
  const open = openCalls(turn);
  if (open.some((call) => call.status.kind === "running")) return refuse("not_now", "a call is still running");
  const ends = open.map((call) => notStarted(call.call, "cancelled", "This call was not run: the turn was cancelled."));
  return [...ends, ...discardOpen(state, "cancelled"), {
    type: "turn_ended",
    turn: turn.turn,
    reason: command.reason,
    ...optional("detail", command.detail),
  }];
}

function startSpeculation(step: number, attempt: number, command: Extract<Command, { type: "start_speculation" }>): Body {
  const { speculation, name, input } = command;
  return { type: "speculation_started", speculation, step, attempt, name, ...recordInput(input) };
}

type SpeculationCommand = Extract<Command, { readonly type: "record_speculation_spawn" | "end_speculation" | "discard_speculation" }>;

function onSpeculation(state: SessionState, command: SpeculationCommand): readonly Body[] | Refusal {
  const open = state.speculation.open.find((each) => each.speculation === command.speculation);
  if (open === undefined) return refuse("unknown_speculation", `${command.speculation} is not open`);
  switch (command.type) {
    case "record_speculation_spawn": {
      const { speculation, pid, pgid, start_time } = command;
      return [{ type: "speculation_spawned", speculation, pid, pgid, start_time }];
    }
    case "end_speculation": {
      const { speculation, outcome, duration_ms } = command;
      return open.duration_ms === null
        ? [{ type: "speculation_ended", speculation, outcome, duration_ms }]
        : refuse("settled", `${speculation} has already ended`);
    }
    case "discard_speculation":
      return [{
        type: "speculation_discarded",
        speculation: command.speculation,
        reason: command.reason,
        ...optional("cause", command.cause),
      }];
  }
}

/** An early run that is not ours any more: nobody here will adopt it. */
function endOpen({ speculation, duration_ms }: OpenSpeculation, outcome: Outcome, ran: number): readonly Body[] {
  return duration_ms === null ? [{ type: "speculation_ended", speculation, outcome, duration_ms: ran }] : [];
}

function discardOpen(state: SessionState, reason: EventBody<"speculation_discarded">["reason"]): readonly Body[] {
  return state.speculation.open.map(({ speculation }) => ({ type: "speculation_discarded", speculation, reason }));
}

function onCall(turn: Running, command: Extract<TurnCommand, CallCommand>): readonly Body[] | Refusal {
  const call = turn.phase.kind === "calling" ? turn.phase.calls.find((each) => each.call === command.call) : undefined;
  if (call === undefined) return refuse("unknown_call", `${command.call} is not a call of this step`);
  if (call.status.kind === "ended") return refuse("settled", `${command.call} has already ended`);
  switch (command.type) {
    case "allow_call":
      return undecided(call, () => [allowed(call.call, command.input, command.by)]);
    case "deny_call":
      return call.status.kind === "running" || call.status.kind === "denied"
        ? refuse("not_now", `${call.call} is ${call.status.kind}, so it can no longer be refused`)
        : denied(call.call, command.by, command.reason);
    case "request_approval":
      return undecided(call, () => [{
        type: "approval_requested",
        call: call.call,
        reason: command.reason,
        input_digest: command.input_digest,
        ...recordInput(command.input),
      }]);
    case "answer_approval":
      return answer(call, command);
    case "start_call":
      if (mayHaveStarted(call)) return refuse("not_now", `${call.call} may have been started: a row behind its permission cannot be read`);
      return inStatus(call, "allowed", () => {
        const { at: _at, type: _type, ...body } = command;
        return [{ type: "call_started", ...body, name: call.name }];
      });
    case "record_spawn":
      return inStatus(call, "running", () => {
        const { call: id, pid, pgid, start_time } = command;
        return [{ type: "call_spawned", call: id, pid, pgid, start_time }];
      });
    case "end_call": {
      const { at: _at, type: _type, changes = [], ...body } = command;
      return [...changes, { type: "call_ended", ...body }];
    }
  }
}

function answer(call: CallState, command: Extract<Command, { type: "answer_approval" }>): readonly Body[] | Refusal {
  if (call.status.kind !== "asking") return refuse("settled", `${call.call} does not wait for an answer`);
  if (call.status.input_digest !== command.input_digest) return refuse("altered", `${call.call} was asked for another input`);
  const { decision, by, reason } = command;
  const answered: Body = { type: "approval_answered", call: call.call, decision, by, ...optional("reason", reason) };
  if (decision === "allow") return [answered, allowed(call.call, call.status.input, "approval")];
  return [answered, ...denied(call.call, "approval", reason ?? "A person refused this call.")];
}

type Resume = Extract<Command, { type: "resume" }>;

/** P3: after a crash a call that had started is not started again; its outcome is not known. */
function resume(state: SessionState, command: Resume): readonly Body[] | Refusal {
  if (state.turn.kind !== "running") return refuse("no_turn", "no turn is open");
  const open = openCalls(state.turn);
  const started = open.filter(mayHaveStarted);
  const left = command.copied === true ? open.filter((call) => !mayHaveStarted(call)) : [];
  const interrupted = state.turn.phase.kind === "asking" && state.turn.phase.status.kind === "open"
    ? [interruptedAttempt(state.turn, state.turn.phase.attempt)]
    : [];
  return [
    { type: "session_resumed", calls: started.map((call) => call.call) },
    ...started.map((call) => unknownEnd(call, state, command)),
    ...left.map(({ call }) => notStarted(call, "imported", NOT_IMPORTED)),
    ...state.speculation.open.flatMap((each) =>
      endOpen(
        each,
        { kind: "unknown", cause: "runtime_died" },
        leastTime(each.started_at, lastSign(each.started_at, state, command), command),
      )
    ),
    ...discardOpen(state, "cancelled"),
    ...interrupted,
  ];
}

const NOT_IMPORTED =
  "This call was not run here: the session was imported before it had started. Where the session came from it may have " +
  "been run since. Check before repeating it.";

/** The turn stays open, as it was there; its calls and early runs run in the other session, if at all. */
function fork(state: SessionState, from: string): readonly Body[] {
  const open = state.turn.kind === "running" ? openCalls(state.turn) : [];
  return [
    { type: "session_forked", from, from_seq: state.seq },
    ...open.map((call) =>
      notStarted(call.call, "forked", "This call was not run here: the session was forked before its result was known.")
    ),
    ...state.speculation.open.flatMap((each) => endOpen(each, { kind: "not_started", reason: "forked" }, 0)),
    ...discardOpen(state, "cancelled"),
  ];
}

function interruptedAttempt(turn: Running, attempt: number): Body {
  const error = { kind: "transport" as const, message: "the runtime ended during this attempt" };
  return { type: "attempt_failed", step: turn.step, attempt, error, retry_in_ms: 0 };
}

function unknownEnd(call: CallState, state: SessionState, command: Resume): Body {
  const { status } = call;
  const sign = status.kind === "running" ? lastSign(status.since, state, command) : "";
  const ran = status.kind === "running" ? leastTime(status.since, sign, command) : 0;
  const used = command.used?.get(call.call);
  const text = `The outcome of this call is unknown: ${whyUnknown(call, ran, sign, command)}. ` +
    "It may have done all, part or none of its work, and it was not run again. Check before repeating it.";
  // A log without an owner that went tells of nobody's death.
  const cause = command.held === undefined ? "not_recorded" : "runtime_died";
  return {
    ...end(call.call, { kind: "unknown", cause }, { is_error: true, text }, ran),
    ...(used === undefined ? {} : { usage: used.usage, ...toChildSpeculation(used.speculation) }),
  };
}

/** That there is no end is all the log says of it: a runtime that cannot write lives on for a while. */
function whyUnknown({ name, status }: CallState, ran: number, last: string, { at, held, copied }: Resume): string {
  if (status.kind !== "running") return `an event that cannot be read may have been the start of "${name}"`;
  const process = status.process === undefined
    ? "whether its process had started is not recorded"
    : `its process was ${status.process.pid}`;
  const [sign, found] = held === undefined
    ? ["the last of its turn was recorded", "the session was taken up"]
    : ["its runtime last gave a sign of life", "that was found to be gone"];
  const [gone, doubt] = copied === true
    ? ["went, could not write, or goes on where the session was imported from,", "it may go on there"]
    : ["went, or could not write,", at < last ? "the clock was set back since" : null];
  const most = doubt === null
    ? `at most ${seconds(elapsed(status.since, at))}, when ${found}`
    : `how long at most is not known, as ${doubt}`;
  return `no end of "${name}" is recorded: its runtime ${gone} before it was (started ${status.since}, ${process}; ` +
    `it had run for at least ${seconds(ran)}${at < last ? "" : `, when ${sign}`}, and ${most})`;
}

/** When the runtime that began this is last known to have lived. How long it ran after that, nothing tells. */
function lastSign(since: string, { driven_at }: SessionState, { held }: Resume): string {
  const signs = [driven_at ?? since, held !== undefined && held.from <= since ? held.until : since];
  return signs.reduce((latest, each) => each > latest ? each : latest, since);
}

/** By a clock that was set back since, no more than what it shows now. */
function leastTime(since: string, last: string, { at }: Resume): number {
  return elapsed(since, last < at ? last : at);
}

function elapsed(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** An open question can be taken back by a change of mode: allowed without an answer, or put again for another reason. */
function undecided(call: CallState, bodies: () => readonly Body[]): readonly Body[] | Refusal {
  return call.status.kind === "asking" ? bodies() : inStatus(call, "requested", bodies);
}

function inStatus(call: CallState, kind: CallState["status"]["kind"], bodies: () => readonly Body[]): readonly Body[] | Refusal {
  return call.status.kind === kind ? bodies() : refuse("not_now", `${call.call} is ${call.status.kind}, not ${kind}`);
}

function allowed(call: string, input: JsonInput, by: EventBody<"call_allowed">["by"]): Body {
  return { type: "call_allowed", call, ...recordInput(input), by };
}

/** The text goes along where the plain value would lose a number's digits. */
function recordInput(input: JsonInput): { input: JsonInput["value"]; input_text?: string } {
  const lossless = canonicalValue(input.value) === input.text;
  return { input: input.value, ...(lossless ? {} : { input_text: input.text }) };
}

function denied(call: string, by: EventBody<"call_denied">["by"], reason: string): readonly Body[] {
  return [{ type: "call_denied", call, by, reason }, notStarted(call, "denied", reason)];
}

function notStarted(call: string, reason: string, text: string): Body {
  return end(call, { kind: "not_started", reason }, { is_error: true, text }, 0);
}

function end(call: string, outcome: Outcome, result: CallResult, duration_ms: number): Body {
  return { type: "call_ended", call, outcome, result, duration_ms };
}

function openCalls(turn: Running): readonly CallState[] {
  return turn.phase.kind === "calling" ? turn.phase.calls.filter((call) => call.status.kind !== "ended") : [];
}

function refuse(code: Refusal["code"], message: string): Refusal {
  return { code, message };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : { [key]: value } as { [P in K]?: V };
}
