/** One attempt at a reply: asks, tells watchers what arrives, records the reply or why there is none. */
import { ModelError, type ModelReply, type ModelRequest } from "../model/model.ts";
import { retryDelay } from "../model/retry.ts";
import type { Message } from "../session/message.ts";
import type { Effect } from "../session/next.ts";
import type { SessionState } from "../session/state.ts";
import { learnBudget, shorten, sizeOf } from "../session/shorten.ts";
import { entriesOf, transcript } from "../session/transcript.ts";
import type { Tool } from "../tools/tool.ts";
import { newCallId, now } from "./ids.ts";
import { withCost } from "./prices.ts";
import { ToldReply } from "./told-reply.ts";
import type { Turn } from "./turn.ts";

type AskModel = Extract<Effect, { kind: "ask_model" }>;

/** Returns without a reply only if a signal asked to stop. */
export async function askModel(effect: AskModel, turn: Turn): Promise<void> {
  const { ports, signals, speculator, notes } = turn;
  const abort = AbortSignal.any([signals.stop, signals.now]);
  if (!await pause(effect.wait_ms, abort)) return;
  ports.tools.record();
  const { durable } = ports.recorder.mustRecord({ type: "begin_attempt", at: now() });
  const { state } = ports.recorder;
  // The request is made of that state after the flush, not before: whoever watches is told sooner, and it leaves no later.
  await durable;
  const request = toRequest(state, ports.request_bytes);
  notes.answered ||= hasReply(ports.recorder.state);
  try {
    speculator.beginAttempt();
    // Once the request is out: nothing may stand between a prompt and the first request.
    setTimeout(() => ports.supervisor.warm(), 0);
    const reply = await readReply(turn, request, effect, abort);
    if (abort.aborted) return supersede(turn, effect);
    const calls = reply.calls.map((call) => ({ call: newCallId(), ...call }));
    ports.recorder.mustRecord({ type: "commit_reply", at: now(), reply: { ...reply, calls, usage: withCost(reply.usage, ports.price) } });
    speculator.commit(calls);
  } catch (error) {
    speculator.endAttempt();
    if (abort.aborted) return supersede(turn, effect);
    failAttempt(turn, effect, shorterOrFinal(toModelError(error), request, turn));
  }
}

async function readReply(
  { ports, speculator, notes }: Turn,
  request: ModelRequest,
  effect: AskModel,
  abort: AbortSignal,
): Promise<ModelReply> {
  const told = new ToldReply({ session: ports.session, step: effect.step, attempt: effect.attempt }, (event) => ports.feed.tell(event));
  for await (const event of ports.model.stream(request, abort)) {
    notes.answered = true;
    switch (event.type) {
      case "call_announced":
        speculator.announce(event.position, event.name);
        if (isModule(ports.tools.find(event.name))) ports.supervisor.warmModule(ports.session);
        break;
      case "call_ready":
        speculator.offer(event.position, event.name, event.arguments);
        break;
      case "restarted":
        speculator.beginAttempt();
        break;
      case "finished":
        told.end();
        return event.reply;
    }
    if (event.type !== "call_ready") told.take(event);
  }
  throw new ModelError("transport", "The model's stream ended before the reply was finished");
}

/** Whether its calls need a host that loads the tool's file. */
function isModule(tool: Tool | undefined): boolean {
  return tool?.origin.system === "sdk" && tool.origin.path !== undefined && !tool.origin.path.endsWith(".py");
}

/** Watchers are told that what they saw of this attempt does not count; then the log says why. */
function failAttempt(turn: Turn, effect: AskModel, { error, request_bytes, shorter }: FailedRequest): void {
  const { ports, notes } = turn;
  notes.answered ||= error.kind !== "unreachable" && error.kind !== "idle_timeout";
  const phase = { firstByteSeen: notes.answered };
  const delay = shorter ? 0 : retryDelay(error, effect.attempt, Math.random(), phase);
  if (delay === null) notes.error = { kind: error.kind, message: error.message };
  supersede(turn, effect);
  ports.recorder.mustRecord({
    type: "fail_attempt",
    at: now(),
    error: { kind: error.kind, message: error.message },
    retry_in_ms: delay === null ? null : Math.round(delay),
    ...(request_bytes === undefined ? {} : { request_bytes }),
  });
}

function supersede({ ports }: Turn, { step, attempt }: AskModel): void {
  ports.feed.tell({ type: "status", session: ports.session, step, attempt, status: "superseded" });
}

interface FailedRequest {
  readonly error: ModelError;
  /** Of one that was too long. */
  readonly request_bytes?: number;
  /** Whether the next one will be shorter. */
  readonly shorter: boolean;
}

/** A request that was too long is followed by a shorter one, never by the same; where there is no shorter one, by none. */
function shorterOrFinal(error: ModelError, request: ModelRequest, { ports }: Turn): FailedRequest {
  if (error.kind !== "context_overflow") return { error, shorter: false };
  const { state } = ports.recorder;
  const request_bytes = sizeOf(request.messages) + sizeOf(request.tools);
  const next = toRequest({ ...state, request_budget: learnBudget(state.request_budget, request_bytes) }, ports.request_bytes);
  if (sizeOf(next.messages) + sizeOf(next.tools) < request_bytes) return { error, request_bytes, shorter: true };
  const message = `${error.message} The request has ${request_bytes} bytes, ${
    sizeOf(request.tools)
  } of them for the tools, and cannot be made shorter.`;
  return { error: new ModelError(error.kind, message, { cause: error }), request_bytes, shorter: false };
}

/** A fault of an adapter is a broken promise of ours, but it must not take the session along. */
function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError("malformed", `The model adapter failed: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  });
}

function toRequest(state: SessionState, request_bytes: number | null): ModelRequest {
  const tools = (state.header?.tools ?? []).map(({ name, description, input_schema }) => ({ name, description, input_schema }));
  const messages = transcript(state);
  const budget = Math.min(request_bytes ?? Infinity, state.request_budget ?? Infinity) - sizeOf(tools);
  const number = state.counts.turns;
  const entries = entriesOf(state);
  const prompt = entries.find((entry) => entry.kind === "prompt" && entry.turn === number);
  const fit = (whole: readonly Message[]) => shorten(whole, budget);
  const turn = prompt?.kind === "prompt" ? { turn: { number, prompt: prompt.text, whole: messages, fit, entries } } : {};
  return { messages: fit(messages), tools, ...turn };
}

/** A step that failed has none. */
function hasReply(state: SessionState): boolean {
  return entriesOf(state).some((entry) => entry.kind === "reply");
}

/** Waits; false if the signal came first. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (milliseconds <= 0) return true;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), milliseconds);
  const stop = () => resolve(false);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
