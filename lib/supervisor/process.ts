/**
 * One process's life: started, drained, timed, ended, and everything it left behind ended too.
 *
 * R1  There is one race, in first-cause.ts: exit, deadline, cancel. The first wins and is written once; nothing that
 *     happens later (an exit code after SIGTERM) changes it. A failed start is no race: there is no process.
 * R2  Both pipes are drained from the start to the end, whatever else happens.
 * R3  Output ends at end of file, or a bounded time after the process: who holds a pipe never holds the call.
 * R4  The promise resolves when nothing of the call is alive (see kill.ts for what can be known).
 */
import { identifyChild } from "../platform/proc.ts";
import type { OutputPipe } from "../platform/pipe-ends.ts";
import type { SpawnedProcess } from "../platform/spawn.ts";
import type { ProcessIdentity, ProcessLaunch, Run } from "../session/launch.ts";
import type { Outcome, ReapedProcess } from "../session/outcome.ts";
import type { Census, Target } from "./census.ts";
import { firstCause, UNWANTED } from "./first-cause.ts";
import { LineReader } from "./frames.ts";
import { endAll, type Ended } from "./kill.ts";
import { LiveOutput } from "./live-output.ts";
import { MESSAGE_LINE_BYTES, MessageRelay, type MessageSink, readMessageLine } from "./messages.ts";
import { Capture, type OutputSink, type StreamName } from "./output.ts";
import { startProgram } from "./start.ts";
import { GRACE_MS, LEFTOVER_GRACE_MS, unstarted } from "./unstarted.ts";

export interface ProcessJob {
  readonly launch: ProcessLaunch;
  /** The whole environment, tags included. */
  readonly env: Readonly<Record<string, string>>;
  /** The entry in it that is this call's own. */
  readonly entry: string;
}

export interface ProcessWatch {
  onSpawned(identity: ProcessIdentity): void;
  readonly onOutput?: OutputSink;
  readonly onMessages?: MessageSink;
}

export function graceFor(signal: AbortSignal): number {
  return signal.reason === UNWANTED ? 0 : GRACE_MS;
}

/** Standard error is for people and models: nothing reads more of it, however much of standard output is wanted. */
const STDERR_CAP_BYTES = 64 * 1024;

/** How long output is waited for after the end, while somebody of the call may still write. */
export const DRAIN_MS = 150;
/** And when nobody of the call is left: end of file comes at once, unless a process that hides holds the pipe. */
export const LAST_DRAIN_MS = 1000;

/** Never rejects, but for a bug. */
export async function runProcess(job: ProcessJob, watch: ProcessWatch, census: Census, signal: AbortSignal): Promise<Run> {
  const began = performance.now();
  const start = await startProgram(job.launch, job.env, signal);
  if (start.kind === "cancelled") return unstarted("cancelled", began);
  if (start.kind === "failed") return unstarted("cannot_start", began, start.problem);
  const { child } = start;
  const identity = identifyChild(child.pid);
  census.claim(identity, job.entry);
  watch.onSpawned(identity);
  const output = drain(child, job.launch, watch);
  const outcome = await firstCause(child.exited, job.launch.timeout_ms, signal);
  const { reaped, surviving } = await endCall(outcome, child, { leader: identity, entry: job.entry }, census, output, graceFor(signal));
  const captured = await output.finish();
  child.releaseInput();
  census.release(identity);
  const problems = [...nameSurvivors(surviving), ...output.problems];
  return {
    outcome,
    ...captured,
    ...(problems.length === 0 ? {} : { problem: problems.join("; ") }),
    duration_ms: performance.now() - began,
    reaped,
  };
}

async function endCall(
  outcome: Outcome,
  child: SpawnedProcess,
  target: Target,
  census: Census,
  output: Drain,
  grace_ms: number,
): Promise<{ readonly reaped: readonly ReapedProcess[]; readonly surviving: Ended["surviving"] }> {
  if (outcome.kind === "exited" || outcome.kind === "signalled") {
    await within(output.ended, DRAIN_MS);
    const { found, surviving } = await endAll(target, census, LEFTOVER_GRACE_MS);
    return { reaped: found, surviving };
  }
  const { insisted, surviving } = await endAll(target, census, grace_ms);
  await within(child.exited, LAST_DRAIN_MS);
  return { reaped: insisted, surviving };
}

interface Drain {
  /** Both streams have ended. */
  readonly ended: Promise<unknown>;
  /** What went wrong while reading. */
  readonly problems: readonly string[];
  /** Waits for the end, but not for ever (R3), and gives what there was. */
  finish(): Promise<Pick<Run, "stdout" | "stderr" | "messages_dropped">>;
}

/** R2. */
function drain(child: SpawnedProcess, { cap_bytes, whole_bytes, speaks }: ProcessLaunch, { onOutput, onMessages }: ProcessWatch): Drain {
  const live = onOutput === undefined ? null : new LiveOutput(onOutput);
  const relay = speaks === undefined || onMessages === undefined ? null : new MessageRelay(onMessages);
  const frames = new LineReader(MESSAGE_LINE_BYTES, "skip");
  const show = (stream: StreamName, chunk: Uint8Array) => {
    if (speaks === undefined || stream === "stderr") return live?.push(stream, chunk);
    if (relay !== null) { for (const line of frames.push(chunk)) relayLine(line, relay); }
  };
  const captures = { stdout: new Capture(cap_bytes, whole_bytes), stderr: new Capture(Math.min(cap_bytes, STDERR_CAP_BYTES)) };
  const problems: string[] = [];
  const read = (stream: StreamName) =>
    readAll(child[stream], (chunk) => {
      captures[stream].push(chunk);
      show(stream, chunk);
    }).catch((error: unknown) => void problems.push(`${stream} could not be read: ${String(error)}`));
  const ended = Promise.all([read("stdout"), read("stderr")]);
  return {
    ended,
    problems,
    finish: async () => {
      await within(ended, LAST_DRAIN_MS);
      await Promise.all([child.stdout.close(), child.stderr.close()]);
      live?.close();
      relay?.close();
      const dropped = relay === null || relay.dropped === 0 ? {} : { messages_dropped: relay.dropped };
      return { stdout: captures.stdout.finish(), stderr: captures.stderr.finish(), ...dropped };
    },
  };
}

function relayLine(line: string, relay: MessageRelay): void {
  const message = readMessageLine(line);
  if (message !== null) relay.push(message, line.length);
}

export async function readAll(pipe: OutputPipe, take: (chunk: Uint8Array) => void): Promise<void> {
  for (let chunk = await pipe.read(); chunk !== null; chunk = await pipe.read()) take(chunk);
}

/** Waits for a promise that never rejects, but no longer than that. */
export async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

export function nameSurvivors(surviving: readonly ReapedProcess[]): readonly string[] {
  if (surviving.length === 0) return [];
  return [`These processes could not be ended: ${surviving.map(({ pid, command }) => `${command} (${pid})`).join(", ")}`];
}
