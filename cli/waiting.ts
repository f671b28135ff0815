/**
 * A sign of life on a terminal for what takes longer than a second: what is waited for, and for how long. Where a line
 * cannot be written over it is said once; where nobody looks, not at all.
 */
import { clearInterval, setInterval } from "node:timers";
import { oneLine, type Out } from "./terminal.ts";

export interface Waiting {
  start(): void;
  stop(): void;
}

/** Who has a line on the screen that is to go before anything else is written. */
let shown: Out | null = null;

export function createWaiting(err: Out, words: string): Waiting {
  let timer: ReturnType<typeof setInterval> | null = null;
  let seconds = 0;
  const show = () => {
    seconds++;
    if (err.canRewrite) {
      clearWaiting();
      err.write(err.colors.dim(oneLine(`  ${words}: ${seconds} s`, err.columns - 1)));
      shown = err;
    } else if (seconds === 1) err.write(`${words} ...\n`);
  };
  return {
    start: () => void (timer ??= err.isTerminal ? setInterval(show, 1000) : null),
    stop() {
      if (timer !== null) clearInterval(timer);
      timer = null;
      clearWaiting();
    },
  };
}

export async function whileWaiting<T>(err: Out, words: string, work: Promise<T>): Promise<T> {
  const waiting = createWaiting(err, words);
  waiting.start();
  try {
    return await work;
  } finally {
    waiting.stop();
  }
}

/** Before something else is written to standard error. */
export function clearWaiting(): void {
  shown?.write("\r\x1b[K");
  shown = null;
}

/** What a session waits for before its first step. */
export const OPENING = "opening the session (tool files, servers, hooks)";
