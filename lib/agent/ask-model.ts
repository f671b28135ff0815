/** One attempt at a reply: asks, tells watchers what arrives, records the reply or why there is none. */
import { ModelError, type ModelReply, type ModelRequest } from "../model/model.ts";
import { retryDelay } from "../model/retry.ts";
import type { Effect } from "../session/next.ts";
import type { SessionState } from "../session/state.ts";
import { levelFor, MOST_SHORTENED, shorten } from "../session/shorten.ts";
import { entriesOf, transcript } from "../session/transcript.ts";
import { toLiveEvent } from "../tools/sdk/wire.ts";
import type { Tool } from "../tools/tool.ts";
import { newCallId, now } from "./ids.ts";
import { withCost } from "./prices.ts";
import type { Turn } from "./turn.ts";

type AskModel = Extract<Effect, { kind: "ask_model" }>;

/** Returns without a reply only if a signal asked to stop. */
export async function askModel(effect: AskModel, turn: Turn): Promise<void> {
  const { ports, signals, speculator } = turn;
  const abort = AbortSignal.any([signals.stop, signals.now]);
  if (!await pause(effect.wait_ms, abort)) return;
  const { durable } = ports.recorder.mustRecord({ type: "begin_attempt", at: now() });
  const request = toRequest(ports.recorder.state, ports.request_bytes);
  await durable;
  const progress = { firstByteSeen: hasReply(ports.recorder.state) };
  try {
    speculator.beginAttempt();
    // Once the request is out: nothing may stand between a prompt and the first request.
    setTimeout(() => ports.supervisor.warm(), 0);
    const reply = await readReply(turn, request, effect, abort, progress);
    if (abort.aborted) return supersede(turn, effect);
    const calls = reply.calls.map((call) => ({ call: newCallId(), ...call }));
    ports.recorder.mustRecord({ type: "commit_reply", at: now(), reply: { ...reply, calls, usage: withCost(reply.usage, ports.price) } });
    speculator.commit(calls);
  } catch (error) {
    speculator.endAttempt();
    if (abort.aborted) return supersede(turn, effect);
    failAttempt(turn, effect, toModelError(error), progress);
  }
}

async function readReply(
  { ports, speculator }: Turn,
  request: ModelRequest,
  effect: AskModel,
  abort: AbortSignal,
  progress: { firstByteSeen: boolean },
): Promise<ModelReply> {
  const where = { session: ports.session, step: effect.step, attempt: effect.attempt };
  for await (const event of ports.model.stream(request, abort)) {
    progress.firstByteSeen = true;
    switch (event.type) {
      case "text":
        ports.feed.tell({ type: "text_delta", ...where, text: event.text });
        break;
      case "reasoning":
        ports.feed.tell({ type: "reasoning_delta", ...where, text: event.text });
        break;
      case "call_announced":
        speculator.announce(event.position, event.name);
        if (isModule(ports.tools.find(event.name))) ports.supervisor.warmModule(ports.session);
        ports.feed.tell({ type: "status", ...where, status: "call_announced", text: event.name });
        break;
      case "call_ready":
        speculator.offer(event.position, event.name, event.arguments);
        break;
      case "said":
        ports.feed.tell(toLiveEvent(ports.session, event.message));
        break;
      case "finished":
        return event.reply;
    }
  }
  throw new ModelError("transport", "The model's stream ended before the reply was finished");
}

/** Whether its calls need a host that loads the tool's file. */
function isModule(tool: Tool | undefined): boolean {
  return tool?.origin.system === "sdk" && tool.origin.path !== undefined && !tool.origin.path.endsWith(".py");
}

/** Watchers are told that what they saw of this attempt does not count; then the log says why. */
function failAttempt(turn: Turn, effect: AskModel, error: ModelError, progress: { firstByteSeen: boolean }): void {
  const { ports, notes } = turn;
  const delay = mayShorten(error, ports.recorder.state) ? 0 : retryDelay(error, effect.attempt, Math.random(), progress);
  if (delay === null) notes.error = { kind: error.kind, message: error.message };
  supersede(turn, effect);
  ports.recorder.mustRecord({
    type: "fail_attempt",
    at: now(),
    error: { kind: error.kind, message: error.message },
    retry_in_ms: delay === null ? null : Math.round(delay),
  });
}

function supersede({ ports }: Turn, { step, attempt }: AskModel): void {
  ports.feed.tell({ type: "status", session: ports.session, step, attempt, status: "superseded" });
}

/** A request that was too long is followed by a shorter one, not by the same. */
function mayShorten(error: ModelError, { shortening }: SessionState): boolean {
  return error.kind === "context_overflow" && shortening < MOST_SHORTENED;
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
  const level = request_bytes === null ? 0 : levelFor(messages, request_bytes - new TextEncoder().encode(JSON.stringify(tools)).length);
  const number = state.counts.turns;
  const prompt = entriesOf(state).find((entry) => entry.kind === "prompt" && entry.turn === number);
  const turn = prompt?.kind === "prompt" ? { turn: { number, prompt: prompt.text } } : {};
  return { messages: shorten(messages, Math.max(level, state.shortening)), tools, ...turn };
}

function hasReply(state: SessionState): boolean {
  return state.usage.input_tokens + state.usage.output_tokens > 0 || state.counts.steps > 1;
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
