/**
 * One call of one tool without a model: a turn of one step whose reply is what the caller asks for. From there on it
 * is a call like any other (gate, hooks, approval, supervisor, one end), in a journal that is gone afterwards.
 */
import { createMemoryJournal } from "../journal/memory.ts";
import type { Model } from "../model/model.ts";
import { type DeniedBy, type EventOf, isKnown } from "../session/event.ts";
import { canonicalValue, type JsonObject } from "../session/json.ts";
import { DEFAULT_LIMITS } from "../session/next.ts";
import type { CallResult, Outcome, ReapedProcess, Truncated, WithheldExport } from "../session/outcome.ts";
import { listingsOf, type Toolbox } from "../tools/toolbox.ts";
import type { FeedEvent } from "./feed.ts";
import { newCallId, now } from "./ids.ts";
import { runTurn } from "./loop.ts";
import type { AgentNotice } from "./options.ts";
import type { TurnOptions } from "./session.ts";
import { beginSession, type SessionGround } from "./sessions.ts";
import type { TurnNotes, TurnPorts } from "./turn.ts";
import type { Workshop } from "./workshop.ts";

export interface ToolRequest {
  readonly name: string;
  /** JSON text of an object. `null` and blank text, which a model may mean as an empty one, are refused from a person. */
  readonly arguments: string;
}

export interface ToolCall {
  readonly tool: string;
  /** What a model would read. */
  readonly result: CallResult;
  readonly outcome: Outcome;
  readonly duration_ms: number;
  readonly truncated?: Truncated;
  /** Processes that it left behind, and that were ended. */
  readonly reaped?: readonly ReapedProcess[];
  /** How many more there were. */
  readonly reaped_omitted?: number;
  /** What a Stella tool found in its environment, by the names of the variables, and what it did not. */
  readonly exports?: { readonly made: readonly string[]; readonly withheld: readonly WithheldExport[] };
  /** Names of variables that its process was not given. */
  readonly env_withheld?: readonly string[];
  /** What a tool in code printed, and the stack of what it threw: for people, and no part of its result. The end of it, if it is long. */
  readonly printed?: string;
  /** Why it was not run, if it was refused. */
  readonly refusal?: { readonly by: DeniedBy | "broken"; readonly reason: string };
  /** What the gate and its hooks had to say besides. */
  readonly notices: readonly AgentNotice[];
}

/** What a call is made in. */
export interface ToolCallPlace {
  readonly ground: SessionGround;
  readonly workshop: Workshop;
  /** For the few tools that have other sessions work. @throws {ConfigError} no model can be chosen. */
  openModel(): Promise<Model>;
}

/** @throws what a session of this workspace would throw when it opens. */
export async function callTool(place: ToolCallPlace, request: ToolRequest, options: TurnOptions): Promise<ToolCall> {
  if (["", "null"].includes(request.arguments.trim()) && place.workshop.toolbox.find(request.name) !== undefined) {
    return refuseNothing(request);
  }
  const workshop = { ...place.workshop, notices: noticesOn(request.name, place.workshop) };
  const ground: SessionGround = { ...place.ground, journal: createMemoryJournal() };
  const mode = workshop.policy.configuration.plain.mode?.value ?? "auto-accept";
  const { session, ports } = DRIVES_SESSIONS.has(request.name)
    ? await beginSession(ground, workshop, await place.openModel(), { system: "", mode })
    : await beginSession(ground, freeOfCharge(workshop), nobody, { system: "", mode });
  const witness = new Witness();
  session.watch((event) => witness.watch(event));
  try {
    requestCall(ports, request);
    await runTurn({ ...ports, limits: { ...DEFAULT_LIMITS, max_steps: 1 } }, toSignals(options), newNotes());
    return toToolCall(request.name, witness, workshop.toolbox, ports);
  } finally {
    await session.close();
  }
}

/** Whether a call can come to a tool of an MCP server: nobody else waits for them. */
export function needsServers(name: string, { toolbox }: Workshop): boolean {
  return DRIVES_SESSIONS.has(name) || (name.startsWith("mcp__") && toolbox.find(name) === undefined);
}

/** Reserved names, so that no other tool has them. */
const DRIVES_SESSIONS: ReadonlySet<string> = new Set(["delegate", "task_assign"]);

/** It is never asked: the step that has the call is the only one. */
const nobody: Model = {
  id: "none",
  stream() {
    throw new Error("Cannot ask a model: a single call has none");
  },
};

function refuseNothing({ name, arguments: text }: ToolRequest): ToolCall {
  const reason = `The arguments must be a JSON object, not ${text.trim() === "" ? "blank" : "null"}. Write {} for none. It was not run.`;
  return {
    tool: name,
    result: { is_error: true, text: reason },
    outcome: { kind: "not_started", reason: "malformed" },
    duration_ms: 0,
    refusal: { by: "malformed", reason },
    notices: [],
  };
}

/** Who calls one tool by hand is told what concerns it, and what is wrong with the settings. */
function noticesOn(name: string, { notices, policy, toolbox }: Workshop): readonly AgentNotice[] {
  const paths = listingsOf(name, toolbox.listings).flatMap(({ origin }) => origin.path ?? []);
  return notices.filter((notice) =>
    policy.notices.includes(notice) ||
    (name.startsWith("mcp__") && isOfServers(notice)) ||
    (notice.level !== "info" && paths.some((path) => notice.text.startsWith(`${path}: `) || notice.text.includes(`(${path})`)))
  );
}

function isOfServers({ level, code }: AgentNotice): boolean {
  return level !== "info" && /^(?:mcp|server)_/.test(code);
}

/** No model means no price, and a limit that nothing could be held against would be an error. */
function freeOfCharge(workshop: Workshop): Workshop {
  const { policy } = workshop;
  const { "limits.spend_usd": _limit, "limits.prices": _prices, ...plain } = policy.configuration.plain;
  return { ...workshop, policy: { ...policy, configuration: { ...policy.configuration, plain } } };
}

function requestCall({ recorder }: TurnPorts, { name, arguments: text }: ToolRequest): void {
  recorder.mustRecord({ type: "prompt", at: now(), text: "", source: "tool_call" });
  recorder.mustRecord({ type: "begin_step", at: now() });
  recorder.mustRecord({ type: "begin_attempt", at: now() });
  const calls = [{ call: newCallId(), name, arguments: text }];
  const usage = { input_tokens: 0, output_tokens: 0 };
  recorder.mustRecord({ type: "commit_reply", at: now(), reply: { text: "", calls, finish: "tool_calls", usage, model: nobody.id } });
}

function toSignals({ stop, now }: TurnOptions): { readonly stop: AbortSignal; readonly now: AbortSignal } {
  const never = new AbortController().signal;
  return { stop: stop ?? never, now: now ?? never };
}

function newNotes(): TurnNotes {
  return { unanswered: false, error: null, answered: false, consultations: 0 };
}

const PRINTED_CHARACTERS = 64 * 1024;

/** What was recorded of the one call. */
class Witness {
  allowed: EventOf<"call_allowed"> | null = null;
  denied: EventOf<"call_denied"> | null = null;
  ended: EventOf<"call_ended"> | null = null;
  started = false;
  readonly notices: AgentNotice[] = [];
  printed = "";

  watch(event: FeedEvent): void {
    if (event.type === "call_output" && "text" in event) this.printed = (this.printed + event.text).slice(-PRINTED_CHARACTERS);
    if (!("seq" in event) || !isKnown(event)) return;
    if (event.type === "call_allowed") this.allowed = event;
    else if (event.type === "call_denied") this.denied = event;
    else if (event.type === "call_started") this.started = true;
    else if (event.type === "call_ended") this.ended = event;
    else if (event.type === "notice") this.notices.push({ level: event.level, code: event.code, text: event.text });
  }
}

function toToolCall(tool: string, witness: Witness, toolbox: Toolbox, ports: TurnPorts): ToolCall {
  const { denied, ended, notices } = witness;
  if (ended === null) throw new Error(`Cannot tell how the call of "${tool}" ended: its end was not recorded`);
  const { result, outcome, duration_ms, truncated, reaped, reaped_omitted, env_withheld } = ended;
  const exports = exportsOf(tool, witness, ports);
  // Of other tools what they print is the result.
  const printed = ports.tools.find(tool)?.origin.system === "sdk" ? witness.printed.toWellFormed() : "";
  return {
    tool,
    result,
    outcome,
    duration_ms,
    ...(truncated === undefined ? {} : { truncated }),
    ...(reaped === undefined ? {} : { reaped }),
    ...(reaped_omitted === undefined ? {} : { reaped_omitted }),
    ...(exports === null ? {} : { exports }),
    ...(env_withheld === undefined ? {} : { env_withheld }),
    ...(printed === "" ? {} : { printed }),
    ...(denied === null ? {} : { refusal: toRefusal(tool, denied, toolbox) }),
    notices,
  };
}

/** A plan depends on nothing but the input and the context, so asking for it again says what the call was given. */
function exportsOf(name: string, { allowed, started, ended }: Witness, ports: TurnPorts): NonNullable<ToolCall["exports"]> | null {
  const tool = ports.tools.find(name);
  if (tool?.origin.system !== "stella" || allowed === null || !started) return null;
  const value = allowed.input as JsonObject;
  const plan = tool.plan({ value, text: allowed.input_text ?? canonicalValue(value) }, ports.planContext(null));
  if (plan.kind !== "launch") return null;
  return { made: (plan.exports_made ?? []).toSorted(), withheld: ended?.exports_withheld ?? [] };
}

/** To a model a tool that is switched off does not exist; whoever asks for one by hand is told more. */
function toRefusal(name: string, { by, reason }: EventOf<"call_denied">, { listings }: Toolbox): NonNullable<ToolCall["refusal"]> {
  if (by !== "unknown_tool") return { by, reason };
  const off = listings.find((listing) => listing.name === name && listing.status === "off");
  if (off !== undefined) return { by: "switch", reason: off.reason ?? reason };
  return { by: listingsOf(name, listings).some(({ status }) => status === "broken") ? "broken" : by, reason };
}
