/**
 * The only moving part: performs what `next(state)` wants until it wants nothing. [main thread]
 *
 * L1  An effect is under way at most once; its key is the step or the call.
 * L2  The one place of concurrency is the race in `runTurn`.
 * L3  A failed append ends every running call and then the turn, by throwing.
 */
import { type Effect, next } from "../session/next.ts";
import { lastText } from "../session/transcript.ts";
import { askModel } from "./ask-model.ts";
import { CallLine } from "./call-line.ts";
import { now } from "./ids.ts";
import { answerCall, authorizeCall } from "./judge-call.ts";
import { settleLostCall, startCall } from "./perform-call.ts";
import { Slots } from "./slots.ts";
import { Speculator } from "./speculation.ts";
import type { StopReason, Turn, TurnNotes, TurnPorts, TurnSignals } from "./turn.ts";

/** Drives the open turn to its end. @throws what the journal threw, after every call of the turn has been ended. */
export async function runTurn(ports: TurnPorts, signals: TurnSignals, notes: TurnNotes): Promise<void> {
  const flight = new Flight();
  const failed = new AbortController();
  const ending = AbortSignal.any([signals.now, failed.signal]);
  const slots = new Slots(ports.limits.parallel_reads);
  const speculator = new Speculator(ports, { stop: signals.stop, now: ending }, slots);
  const turn: Turn = { ports, notes, speculator, slots, line: new CallLine(), signals: { stop: signals.stop, now: ending } };
  try {
    for (;;) {
      speculator.forgoEnded();
      const stopping = signals.stop.aborted || signals.now.aborted;
      if (!stopping) startAll(next(ports.recorder.state, ports.limits), flight, turn);
      if (flight.size === 0) break;
      await Promise.race([flight.anyDone(), ports.recorder.broken]);
    }
    await speculator.close("cancelled");
    if (ports.recorder.state.turn.kind === "running") stopTurn(ports, signals);
    await ports.recorder.flush();
  } catch (error) {
    failed.abort();
    await flight.allDone();
    await speculator.close("cancelled");
    throw error;
  }
}

/** A step does not end before everything that belongs to it has: a hook may still be told of its last call. */
function startAll(effects: readonly Effect[], flight: Flight, turn: Turn): void {
  for (const effect of effects) {
    const ends = effect.kind === "begin_step" || effect.kind === "interject" || effect.kind === "end_turn";
    if (!ends || flight.size === 0) start(effect, flight, turn);
  }
}

function start(effect: Effect, flight: Flight, turn: Turn): void {
  switch (effect.kind) {
    case "begin_step":
    case "interject":
    case "end_turn":
      return flight.launch("turn", () => goOn(effect, turn));
    case "ask_model":
      return flight.launch("model", () => askModel(effect, turn));
    case "authorize":
      return flight.launch(effect.call.call, () => authorizeCall(effect.call, turn));
    case "ask_person":
      return flight.launch(effect.call.call, () => answerCall(effect.call, turn));
    case "start_call":
      return flight.launch(effect.call.call, () => startCall(effect.call, turn));
    case "await_call":
      return flight.launch(effect.call.call, () => settleLostCall(effect.call, turn));
  }
}

/** From one step to the next, or to the end. What ran early and was not asked for is gone before. */
async function goOn(wanted: StepEnd, turn: Turn): Promise<void> {
  const { ports, speculator } = turn;
  await speculator.close("not_asked");
  const effect = failIfSilent(wanted, ports);
  if (effect.kind === "end_turn" && effect.reason === "completed" && await holdOpen(turn)) return;
  if (effect.kind === "begin_step") {
    ports.tools.renew();
    ports.recorder.mustRecord({ type: "begin_step", at: now() });
  } else if (effect.kind === "interject") {
    ports.recorder.mustRecord({ type: "interject", at: now(), text: effect.text, source: effect.source });
  } else {ports.recorder.mustRecord({
      type: "end_turn",
      at: now(),
      reason: effect.reason,
      ...(effect.detail === undefined ? {} : { detail: effect.detail }),
    });}
}

type StepEnd = Extract<Effect, { kind: "begin_step" | "interject" | "end_turn" }>;

/** A reply without text or calls is none, whatever its model takes it for. Code that stands in for a model may have nothing to say. */
function failIfSilent(effect: StepEnd, { model, recorder }: TurnPorts): StepEnd {
  if (effect.kind !== "end_turn" || effect.reason !== "completed" || model.plain !== undefined) return effect;
  if (lastText(recorder.state).trim() !== "") return effect;
  const finish = effect.detail === undefined ? "" : ` (${effect.detail})`;
  return { ...effect, reason: "failed", detail: `the model's reply was empty, with neither text nor a call${finish}` };
}

/** Whether a stop hook wants the turn to go on. */
async function holdOpen({ ports, notes, signals }: Turn): Promise<boolean> {
  const { recorder } = ports;
  const abort = AbortSignal.any([signals.stop, signals.now]);
  const { text, notices } = await ports.hooks.atStop(lastText(recorder.state), ++notes.consultations, abort);
  for (const notice of notices) recorder.mustRecord({ type: "note", at: now(), level: "warning", ...notice });
  if (abort.aborted) return true;
  if (text !== null) recorder.mustRecord({ type: "interject", at: now(), text, source: "stop_hook" });
  return text !== null;
}

function stopTurn(ports: TurnPorts, signals: TurnSignals): void {
  const { reason, detail } = (signals.now.aborted ? signals.now.reason : signals.stop.reason) as StopReason;
  ports.recorder.mustRecord({ type: "cancel", at: now(), reason, detail });
}

/** Effects under way, by key. */
class Flight {
  readonly #under = new Map<string, Promise<void>>();

  get size(): number {
    return this.#under.size;
  }

  launch(key: string, perform: () => Promise<void>): void {
    if (this.#under.has(key)) return;
    this.#under.set(key, perform().finally(() => this.#under.delete(key)));
  }

  anyDone(): Promise<void> {
    return Promise.race(this.#under.values());
  }

  async allDone(): Promise<void> {
    await Promise.allSettled(this.#under.values());
  }
}
