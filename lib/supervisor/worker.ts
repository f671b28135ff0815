/**
 * [worker thread] Carries out launches for the main thread: spawns, drains, times, kills. Loaded by
 * `startSupervisorThread` and by nothing else.
 *
 * W1  Every `run` is answered by exactly one `settled`; `spawned` comes before it, if a process was started.
 * W2  After `closed` no process that this thread started is alive.
 */
import { isMainThread, type MessagePort, parentPort, workerData } from "node:worker_threads";
import * as v from "valibot";
import type { Run } from "../session/launch.ts";
import { createCensus } from "./census.ts";
import { HostPool } from "./hosts.ts";
import { extendLineage, LINEAGE, tagEnvironment } from "./lineage.ts";
import { runProcess, unstarted } from "./process.ts";
import { type FromWorker, ToWorker, WorkerSetup } from "./wire.ts";

type RunMessage = Extract<ToWorker, { type: "run" }>;

const port = ownPort();
const setup = v.parse(WorkerSetup, workerData);
const census = createCensus();
const pool = new HostPool(setup, census, {
  onStarted: (entry, identity) => post({ type: "host_started", entry, identity }),
  onEnded: (entry) => post({ type: "host_ended", entry }),
});
const running = new Map<number, { readonly stop: AbortController; readonly settled: Promise<void> }>();

port.on("message", (message: unknown) => {
  const parsed = v.safeParse(ToWorker, message);
  if (parsed.success) receive(parsed.output);
  else refuse(message, v.summarize(parsed.issues));
});
post({ type: "ready" });

function ownPort(): MessagePort {
  if (isMainThread || parentPort === null) throw new Error("Cannot run the supervisor's worker on the main thread as it would block it");
  return parentPort;
}

function receive(message: ToWorker): void {
  switch (message.type) {
    case "run":
      return begin(message);
    case "cancel":
      return running.get(message.id)?.stop.abort();
    case "warm":
      return pool.warm();
    case "close":
      return void close();
  }
}

function begin(message: RunMessage): void {
  const { id } = message;
  const stop = new AbortController();
  const settled = perform(message, stop.signal).then((run) => {
    running.delete(id);
    post({ type: "settled", id, run });
  });
  running.set(id, { stop, settled });
}

function perform(message: RunMessage, signal: AbortSignal): Promise<Run> {
  const { id, launch, session, call, live } = message;
  if (launch.kind === "host") return pool.run(launch, signal);
  const lineage = extendLineage(setup.lineage, launch.env[LINEAGE], setup.runtime, call);
  const env = tagEnvironment(launch.env, { lineage: lineage.value, session, call });
  const watch = {
    onSpawned: (identity: { pid: number; pgid: number; start_time: string }) => post({ type: "spawned", id, identity }),
    ...(live ? { onOutput: (stream: "stdout" | "stderr", text: string) => post({ type: "output", id, stream, text }) } : {}),
  };
  return runProcess({ launch, env, entry: lineage.entry }, watch, census, signal);
}

/** A launch that is none is that call's failure, not ours. */
function refuse(message: unknown, problem: string): void {
  const id = typeof message === "object" && message !== null && "id" in message ? message.id : undefined;
  if (typeof id !== "number") throw new TypeError(`Cannot understand a message of the main thread: ${problem}`);
  post({ type: "settled", id, run: unstarted("cannot_start", performance.now(), `Cannot start as the launch is malformed: ${problem}`) });
}

async function close(): Promise<void> {
  for (const { stop } of running.values()) stop.abort();
  await Promise.all([...running.values()].map(({ settled }) => settled));
  await pool.close();
  post({ type: "closed" });
}

function post(message: FromWorker): void {
  port.postMessage(message);
}
