import { AsyncLocalStorage } from "node:async_hooks";
import type { WireMessage } from "./wire.ts";

/** Where messages go of the code that runs: those who watch the session, and the call, that it runs for. */
export const speaker: AsyncLocalStorage<(message: WireMessage) => void> = new AsyncLocalStorage();
