/**
 * The only moving part: performs what `next(state)` wants until it wants nothing. [main thread]
 *
 * L1  An effect is under way at most once; its key is the step or the call.
 * L2  The one place of concurrency is the race in `runTurn`.
 * L3  A failed append ends every running call and then the turn, by throwing.
 */
import { next, type Effect } from "../session/next.ts";
import { askModel } from "./ask-model.ts";
import { answerCall, authorizeCall, settleLostCall, startCall } from "./perform-call.ts";
import { now } from "./ids.ts";
import type { StopReason, TurnNotes, TurnPorts, TurnSignals } from "./turn.ts";

/** Drives the open turn to its end. @throws what the journal threw, after every call of the turn has been ended. */
export async function runTurn(ports: TurnPorts, signals: TurnSignals, notes: TurnNotes): Promise<void> {
  const flight = new Flight();
  const failed = new AbortController();
  const ending = AbortSignal.any([signals.now, failed.signal]);
  try {
    for (;;) {
      if (signals.stop.aborted || signals.now.aborted) {
        if (flight.size === 0) return stopTurn(ports, signals);
      } else {
        start(next(ports.recorder.state, ports.limits), flight, ports, { stop: signals.stop, now: ending }, notes);
        if (flight.size === 0) {
          if (ports.recorder.state.turn.kind === "idle") break;
          continue;
        }
      }
      await Promise.race([flight.anyDone(), ports.recorder.broken]);
    }
    await ports.recorder.flush();
  } catch (error) {
    failed.abort();
    await flight.allDone();
    throw error;
  }
}

function start(effects: readonly Effect[], flight: Flight, ports: TurnPorts, signals: TurnSignals, notes: TurnNotes): void {
  for (const effect of effects) {
    switch (effect.kind) {
      case "begin_step":
        ports.recorder.mustRecord({ type: "begin_step", at: now() });
        break;
      case "end_turn":
        ports.recorder.mustRecord({ type: "end_turn", at: now(), reason: effect.reason, ...(effect.detail === undefined ? {} : { detail: effect.detail }) });
        break;
      case "ask_model":
        flight.launch("model", () => askModel(effect, ports, signals, notes));
        break;
      case "authorize":
        flight.launch(effect.call.call, () => authorizeCall(effect.call, ports));
        break;
      case "ask_person":
        flight.launch(effect.call.call, () => answerCall(effect.call, ports, signals, notes));
        break;
      case "start_call":
        flight.launch(effect.call.call, () => startCall(effect.call, ports, signals));
        break;
      case "await_call":
        flight.launch(effect.call.call, () => settleLostCall(effect.call, ports));
        break;
    }
  }
}

async function stopTurn(ports: TurnPorts, signals: TurnSignals): Promise<void> {
  const { reason, detail } = (signals.now.aborted ? signals.now.reason : signals.stop.reason) as StopReason;
  ports.recorder.record({ type: "cancel", at: now(), reason, detail });
  await ports.recorder.flush();
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
