/**
 * [main thread] What PID 1 is sent before the program beneath it is there. The kernel drops a signal that PID 1 does
 * not listen for, so this is asked for before anything else is loaded.
 */
import process from "node:process";

/** Keys of a terminal mean the whole group that stands before it. */
export const KEYS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
const SIGNALS: readonly NodeJS.Signals[] = [...KEYS, "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];

export interface HeldSignals {
  /** From now on they are delivered as they come. @returns those that came before. */
  release(deliver: (signal: NodeJS.Signals) => void): readonly NodeJS.Signals[];
}

export function holdSignals(): HeldSignals {
  const held: NodeJS.Signals[] = [];
  let take = (signal: NodeJS.Signals): void => void held.push(signal);
  for (const signal of SIGNALS) process.on(signal, () => take(signal));
  return {
    release(deliver) {
      take = deliver;
      return held;
    },
  };
}
