/**
 * [worker thread] One call of a tool that is a user's module: a host of its own, started for it or ahead of it, tagged as
 * the call's process and ended with it. A host that has loaded a user's file never serves another call.
 */
import type { HostLaunch, HostReply, Run } from "../session/launch.ts";
import type { Census } from "./census.ts";
import { firstCause, type Stopped } from "./first-cause.ts";
import { endAll } from "./kill.ts";
import { tagEnvironment, withoutHostSwitches } from "./lineage.ts";
import { LiveOutput } from "./live-output.ts";
import { MessageRelay } from "./messages.ts";
import { Capture } from "./output.ts";
import { graceFor, nameSurvivors, type ProcessWatch } from "./process.ts";
import type { Spare } from "./spares.ts";
import { type HostEnd, type HostListener, type HostStart, startToolHost, type ToolHost } from "./tool-host.ts";
import { LEFTOVER_GRACE_MS, unstarted } from "./unstarted.ts";
import { MAX_MODULE_FRAME_BYTES } from "./wire.ts";

export interface ModuleJob {
  readonly launch: HostLaunch;
  readonly host: Pick<HostStart, "command" | "tags" | "entry" | "start_ms">;
  /** Takes one that was started ahead, if there is one. */
  takeSpare(): Spare | null;
}

const CAP_BYTES = 64 * 1024;

type End =
  | { readonly kind: "reply"; readonly reply: HostReply }
  | ({ readonly kind: "gone" } & HostEnd)
  | { readonly kind: "unready"; readonly why: string }
  | { readonly kind: "unfit"; readonly why: string }
  | Stopped;

/** Never rejects, but for a bug. */
export async function runModuleCall(job: ModuleJob, watch: ProcessWatch, census: Census, signal: AbortSignal): Promise<Run> {
  const began = performance.now();
  if (signal.aborted) return unstarted("cancelled", began);
  const printed = { stdout: new Capture(CAP_BYTES), stderr: new Capture(CAP_BYTES) };
  const live = watch.onOutput === undefined ? null : new LiveOutput(watch.onOutput);
  const relay = watch.onMessages === undefined ? null : new MessageRelay(watch.onMessages);
  const listener: HostListener = {
    onPrinted: (stream, chunk) => {
      printed[stream].push(chunk);
      live?.push(stream, chunk);
    },
    onMessage: (message, bytes) => relay?.push(message, bytes),
    onWithheld: () => relay?.withhold(),
  };
  const spare = job.takeSpare();
  let host: ToolHost;
  try {
    host = spare?.host ?? startToolHost({ ...job.host, ...listener, frame_bytes: MAX_MODULE_FRAME_BYTES });
  } catch (error) {
    return unstarted("cannot_start", began, (error as Error).message);
  }
  spare?.listen(listener);
  census.claim(host.identity, host.entry);
  watch.onSpawned(host.identity);
  const end = await firstCause(serve(host, spare === null ? job.launch : tagged(job, spare)), job.launch.timeout_ms, signal);
  const grace = end.kind === "timed_out" || end.kind === "cancelled" ? graceFor(signal) : LEFTOVER_GRACE_MS;
  const { found, insisted, surviving } = await endAll({ leader: host.identity, entry: host.entry }, census, grace);
  await host.gone;
  census.release(host.identity);
  spare?.done();
  live?.close();
  relay?.close();
  const told = tell(end, nameSurvivors(surviving));
  return {
    ...told,
    stdout: printed.stdout.finish(),
    stderr: printed.stderr.finish(),
    duration_ms: performance.now() - began,
    reaped: end.kind === "timed_out" || end.kind === "cancelled" ? insisted : found,
    ...(relay === null || relay.dropped === 0 ? {} : { messages_dropped: relay.dropped }),
  };
}

/** What a host that was started ahead starts in the call carries the call's tags too (S2 in spares.ts). */
function tagged({ launch, host: { tags, entry } }: ModuleJob, spare: Spare): HostLaunch {
  const env = tagEnvironment(withoutHostSwitches(launch.context.env), { ...tags, lineage: `${spare.lineage}:${entry}` });
  return { ...launch, context: { ...launch.context, env } };
}

async function serve(host: ToolHost, { tool, module, input, context }: HostLaunch): Promise<End> {
  try {
    await host.ready;
  } catch (error) {
    return { kind: "unready", why: (error as Error).message };
  }
  try {
    const reply = host.call({ type: "call", id: 1, tool, input, context, ...(module === undefined ? {} : { module }) });
    const gone = host.gone.then((ended): End => ({ kind: "gone", ...ended }));
    return await Promise.race([reply.then((given): End => ({ kind: "reply", reply: given })), gone]);
  } catch (error) {
    return { kind: "unfit", why: (error as Error).message };
  }
}

function tell(end: End, problems: readonly string[]): Pick<Run, "outcome" | "reply" | "problem"> {
  const say = (...more: readonly string[]) => {
    const all = [...more, ...problems];
    return all.length === 0 ? {} : { problem: all.join("; ") };
  };
  switch (end.kind) {
    case "reply":
      return { outcome: { kind: "returned" }, reply: end.reply, ...say() };
    case "gone":
      if (end.status !== null) return { outcome: end.status, ...say() };
      return { outcome: { kind: "unknown", cause: "host_died" }, ...say(`The tool's process cannot be heard any more: ${end.why}`) };
    case "unready":
      return { outcome: { kind: "not_started", reason: "cannot_start" }, ...say(`Cannot start a tool host: ${end.why}`) };
    case "unfit":
      return { outcome: { kind: "not_started", reason: "cannot_start" }, ...say(end.why) };
    case "timed_out":
    case "cancelled":
      return { outcome: end, ...say() };
  }
}
