import { AsyncLocalStorage } from "node:async_hooks";
import type { WireMessage } from "./wire.ts";

export interface Speaker {
  /** The agent whose code runs; absent: a tool's, in which any agent speaks for the call. */
  readonly agent?: object;
  say(message: WireMessage): void;
}

/** Where messages go of the code that runs: those who watch the session, and the call, that it runs for. */
export const speaker: AsyncLocalStorage<Speaker> = new AsyncLocalStorage();
