/** Signals, as the two ways in which a turn can be stopped: at a safe point, or at once. */
import process from "node:process";
import { ignoredAmong } from "../lib/platform/ignored-signals.ts";
import type { StopReason } from "../mod.ts";
import { CAUSES, HEARD, type Heard } from "./held-signals.ts";
import type { Shell } from "./terminal.ts";

export interface Interruption {
  readonly stop: AbortSignal;
  readonly now: AbortSignal;
  /** What came first, if anything came. */
  readonly cause: "interrupted" | "terminated" | null;
  close(): void;
}

const AT_A_SAFE_POINT = "Stopping at the next safe point; once more to stop at once";

/** How signals are taken where that differs. */
export interface Manner {
  /** What the first signal says. */
  readonly told: string;
  /** Whether the signal of a terminal that went away stops at once: nobody is left to send a second one. */
  readonly hangUpIsFinal: boolean;
}

const OF_A_TURN: Manner = { told: AT_A_SAFE_POINT, hangUpIsFinal: true };

/** The first signal stops at a safe point, the second at once, a third ends the process as if nobody listened. */
export function listenForInterruption({ err, held }: Pick<Shell, "err" | "held">, { told, hangUpIsFinal } = OF_A_TURN): Interruption {
  const stop = new AbortController();
  const now = new AbortController();
  let cause: Interruption["cause"] = null;

  const receive = (signal: Heard) => {
    const reason: StopReason = { reason: "cancelled", detail: `${signal} received` };
    cause ??= CAUSES[signal];
    const isFirst = !stop.signal.aborted;
    const isFinal = !isFirst || (signal === "SIGHUP" && hangUpIsFinal);
    if (!isFinal && told !== "") err.write(`\norrery: ${told}\n`);
    if (isFirst) stop.abort(reason);
    if (!isFinal) return;
    now.abort(reason);
    close();
  };
  // Deno 2.9 takes back what was to be ignored: it must be listened to for that.
  const isDeaf = held === null ? ignoredAmong(["SIGHUP"]).length > 0 : !held.hears("SIGHUP");
  const listeners = HEARD.map((signal) => ({ signal, listen: signal === "SIGHUP" && isDeaf ? () => {} : () => receive(signal) }));
  const close = () => {
    for (const { signal, listen } of listeners) process.off(signal, listen);
  };
  for (const { signal, listen } of listeners) process.on(signal, listen);
  for (const signal of held?.take() ?? []) receive(signal);

  return {
    stop: stop.signal,
    now: now.signal,
    close,
    get cause() {
      return cause;
    },
  };
}
