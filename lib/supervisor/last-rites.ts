/**
 * [child process] What is done when the runtime is no more: everything is ended that carries its tag or was told to the
 * watchdog while it lived. This same program, started with a hidden argument; a shell waits in its place where there is
 * one (`watchdog.ts`), and then the end of the input has come already.
 *
 * Arguments after the hidden one: the runtime's id, then `pid:start_time` of what is known to live.
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import { processStartTime } from "../platform/identity.ts";
import { WATCHDOG_ARGUMENT } from "../platform/self.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import { createCensus } from "./census.ts";
import { endAll } from "./kill.ts";
import { entryOfAnyCall } from "./lineage.ts";

/** Resolves when nothing of the runtime is alive, or the runtime has closed in an orderly way. */
export async function runWatchdog(
  args: readonly string[] = process.argv.slice(process.argv.indexOf(WATCHDOG_ARGUMENT) + 1),
): Promise<void> {
  const [runtime = "", ...living] = args;
  if (runtime === "") throw new TypeError("Cannot watch over a runtime without its id");
  // Whoever ends the runtime's session by a signal does not mean us: we go when it has gone.
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  const records = new Set(living);
  if (await waitForEnd(records) === "orderly") return;
  await endRuntime(runtime, [...records].flatMap(toIdentity).filter(isStillOurs));
}

/** A tool may have files to put away; but two seconds are all there is. */
const GRACE_MS = 300;
/** Looks for what was just being started when the runtime died. */
const LAST_LOOK_MS = 100;

async function endRuntime(runtime: string, living: readonly ProcessIdentity[]): Promise<void> {
  const census = createCensus();
  const tagged = { leader: null, entry: entryOfAnyCall(runtime) };
  await Promise.all([tagged, ...living.map((leader) => ({ leader, entry: null }))].map((target) => endAll(target, census, GRACE_MS)));
  await new Promise((resolve) => setTimeout(resolve, LAST_LOOK_MS));
  await endAll(tagged, census, 0);
}

async function waitForEnd(records: Set<string>): Promise<"orderly" | "sudden"> {
  let rest = "";
  for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
    const lines = (rest + Buffer.from(chunk).toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [word, ...given] = line.split(" ");
      if (word === "bye") return "orderly";
      if (word === "=") records.clear();
      for (const record of given) {
        if (word === "-") records.delete(record);
        else records.add(record);
      }
    }
  }
  return "sudden";
}

function toIdentity(record: string): ProcessIdentity[] {
  const [, pid, start_time] = /^(\d+):(.+)$/.exec(record) ?? [];
  return pid === undefined || Number(pid) <= 1 || start_time === undefined
    ? []
    : [{ pid: Number(pid), pgid: Number(pid), start_time: start_time.replaceAll("_", " ") }];
}

/** One that has ended may have left a group behind, whose number nobody else can have; one that began later is somebody else. */
function isStillOurs({ pid, start_time }: ProcessIdentity): boolean {
  const current = processStartTime(pid);
  return current === null || current === start_time;
}
