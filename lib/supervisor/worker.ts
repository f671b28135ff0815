/**
 * [worker thread] Carries out launches for the main thread: spawns, drains, times, kills. Loaded by
 * `startSupervisorThread` and by nothing else.
 *
 * W1  Every `run` and `converse` is answered by exactly one `settled`; `spawned` comes before it, if a process was started.
 * W2  After `closed` no process that this thread started is alive.
 */
import { isMainThread, type MessagePort, parentPort, workerData } from "node:worker_threads";
import * as v from "valibot";
import { adoptOrphans } from "../platform/reaper.ts";
import { limitThreadMemory } from "../platform/thread-memory.ts";
import type { Launch, ProcessIdentity, Run } from "../session/launch.ts";
import { createCensus } from "./census.ts";
import { TalkingProcess } from "./conversation.ts";
import { HostPool, type HostWatch } from "./hosts.ts";
import { extendLineage, LINEAGE, tagEnvironment } from "./lineage.ts";
import { FIRST_PAUSE_MS, Lookout } from "./lookout.ts";
import { runModuleCall } from "./module-call.ts";
import { type ProcessWatch, runProcess } from "./process.ts";
import { Spares } from "./spares.ts";
import { unstarted } from "./unstarted.ts";
import { type FromWorker, ToWorker, WorkerSetup } from "./wire.ts";

type Message<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

const port = ownPort();
const setup = v.parse(WorkerSetup, workerData);
const census = createCensus();
const lookout = new Lookout(census, ({ strays, gone }) => post({ type: "strayed", strays: [...strays], gone: [...gone] }));
const hostWatch: HostWatch = {
  onStarted: (entry, identity) => post({ type: "host_started", entry, identity }),
  onEnded: (entry) => post({ type: "host_ended", entry }),
};
const pool = new HostPool(setup, census, hostWatch);
const spares = new Spares(setup, census, hostWatch);
const running = new Map<number, { stop(reason: string | null): void; readonly settled: Promise<void> }>();
const talking = new Map<number, TalkingProcess>();

const unadopted = adoptOrphans();
limitThreadMemory();
port.on("message", (message: unknown) => {
  const parsed = v.safeParse(ToWorker, message);
  if (parsed.success) receive(parsed.output);
  else refuse(message, v.summarize(parsed.issues));
});
post({
  type: "ready",
  unpromised: unadopted === null ? [] : [`A process that drops its tag and leaves its session can outlive its call: ${unadopted}`],
});

function ownPort(): MessagePort {
  if (isMainThread || parentPort === null) throw new Error("Cannot run the supervisor's worker on the main thread as it would block it");
  return parentPort;
}

function receive(message: ToWorker): void {
  switch (message.type) {
    case "run":
      return begin(message);
    case "converse":
      return converse(message);
    case "say":
      return void say(message);
    case "took":
      return talking.get(message.id)?.took(message.bytes);
    case "cancel":
      return running.get(message.id)?.stop(message.reason);
    case "warm":
      return message.modules ? spares.prepare() : pool.warm();
    case "close":
      return void close();
  }
}

function begin(message: Message<"run">): void {
  const stop = new AbortController();
  running.set(message.id, {
    stop: (reason) => stop.abort(reason),
    settled: settle(message.id, perform(message, stop.signal), firstLook(message.launch)),
  });
}

/** A built-in hides nothing, and most have answered before a look would end. */
function firstLook(launch: Launch): number {
  return launch.kind === "host" && launch.module === undefined ? FIRST_PAUSE_MS : 0;
}

async function settle(id: number, ending: Promise<Run>, first_look_ms: number): Promise<void> {
  lookout.enter(first_look_ms);
  const run = await ending;
  lookout.leave();
  running.delete(id);
  talking.delete(id);
  post({ type: "settled", id, run });
}

function perform({ id, launch, session, call, live }: Message<"run">, signal: AbortSignal): Promise<Run> {
  if (launch.kind === "host" && launch.module === undefined) return pool.run(launch, signal);
  const env = launch.kind === "process" ? launch.env : launch.context.env;
  const lineage = extendLineage(setup.lineage, env[LINEAGE], setup.runtime, call);
  const tags = { lineage: lineage.value, session, call };
  const watch: ProcessWatch = {
    onSpawned: announce(id),
    ...(live.output ? { onOutput: (stream, text) => post({ type: "output", id, stream, text }) } : {}),
    ...(live.messages ? { onMessages: (messages) => post({ type: "messages", id, messages: [...messages] }) } : {}),
  };
  if (launch.kind === "process") return runProcess({ launch, env: tagEnvironment(env, tags), entry: lineage.entry }, watch, census, signal);
  const { command, start_ms } = setup.hosts;
  const job = { launch, host: { command, tags, entry: lineage.entry, start_ms }, takeSpare: () => spares.take() };
  return runModuleCall(job, watch, census, signal);
}

function converse({ id, call, launch, line_bytes, window_bytes, stderr_bytes }: Message<"converse">): void {
  const lineage = extendLineage(setup.lineage, launch.env[LINEAGE], setup.runtime, call);
  const env = tagEnvironment(launch.env, { lineage: lineage.value, call });
  const job = { launch, env, entry: lineage.entry, line_bytes, window_bytes, stderr_bytes };
  const watch = {
    onSpawned: announce(id),
    onLines: (lines: readonly string[], bytes: number) => post({ type: "heard", id, lines: [...lines], bytes }),
  };
  const talk = new TalkingProcess(job, watch, census);
  talking.set(id, talk);
  running.set(id, { stop: () => talk.close(), settled: settle(id, talk.ended, 0) });
}

async function say({ id, number, line }: Message<"say">): Promise<void> {
  try {
    await (talking.get(id) ?? ended()).say(line);
    post({ type: "said", id, number, problem: null });
  } catch (error) {
    post({ type: "said", id, number, problem: (error as Error).message });
  }
}

function ended(): never {
  throw new Error("Cannot send as the process has ended");
}

function announce(id: number): (identity: ProcessIdentity) => void {
  return (identity) => post({ type: "spawned", id, identity });
}

/** A launch that is none is that call's failure, not ours. */
function refuse(message: unknown, problem: string): void {
  const id = typeof message === "object" && message !== null && "id" in message ? message.id : undefined;
  if (typeof id !== "number") throw new TypeError(`Cannot understand a message of the main thread: ${problem}`);
  post({ type: "settled", id, run: unstarted("cannot_start", performance.now(), `Cannot start as the launch is malformed: ${problem}`) });
}

async function close(): Promise<void> {
  for (const run of running.values()) run.stop(null);
  await Promise.all([...running.values()].map(({ settled }) => settled));
  await Promise.all([pool.close(), spares.close()]);
  post({ type: "closed" });
}

function post(message: FromWorker): void {
  port.postMessage(message);
}
