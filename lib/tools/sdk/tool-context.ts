import type { ToolContext } from "./define.ts";
import type { WireMessage } from "./wire.ts";

/** What `execute` is given beside its input. `call` is asked for its signal when the tool asks. */
export function toToolContext(call: Pick<ToolContext, "signal">, send: (message: WireMessage) => void): ToolContext {
  const emit = (type: string, data: Readonly<Record<string, unknown>>) => send({ type, data, timestamp: new Date().toISOString() });
  return {
    get signal() {
      return call.signal;
    },
    status: (status, message) => emit("agent_status", { status, ...(message === undefined ? {} : { message }) }),
    progress: (task, percent, message) =>
      emit("progress_update", { task_id: task, progress: percent, ...(message === undefined ? {} : { message }) }),
  };
}
