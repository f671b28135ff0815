/**
 * [main thread] What the rest may ask of the supervisor, and the threads behind it. The implementation spans the main
 * thread (this file, worker-link.ts), worker threads (`worker.ts`) and tool hosts (`child.ts`); only plain data crosses.
 *
 * V1  `run` settles exactly once, whatever happens to the process, its descendants, the host or the worker.
 * V2  When it settles, nothing that the call started is alive.
 * V3  `onSpawned` comes before `run` settles, and not at all if no process was started for the call.
 * V4  No thread is started before the first `run` or `warm`.
 * V5  If the runtime exits without `close`, what it started is killed first. If it is killed, the watchdog does that
 *     (watchdog.ts): within two seconds, on a machine that is not overloaded.
 *
 * On macOS the group is all that is promised: there is no list of processes to find others in.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { missingPermissions } from "../platform/host.ts";
import { processStartTime } from "../platform/identity.ts";
import { hasProc, readEnviron } from "../platform/proc.ts";
import { isOwnProgram, ownCommand, TOOL_HOST_ARGUMENT, WATCHDOG_ARGUMENT } from "../platform/self.ts";
import type { Json } from "../session/json.ts";
import type { Conversation, ConversationRequest, Launch, ProcessIdentity, Run } from "../session/launch.ts";
import type { ReapedProcess } from "../session/outcome.ts";
import { type Census, createCensus } from "./census.ts";
import { endAll } from "./kill.ts";
import { carries, entryOfAnyCall, entryOfAnyRuntime, LINEAGE } from "./lineage.ts";
import { Orphans } from "./orphans.ts";
import { LEFTOVER_GRACE_MS, unstarted } from "./unstarted.ts";
import { Watchdog } from "./watchdog.ts";
import { WorkerLink } from "./worker-link.ts";

export interface Supervisor {
  /** Never rejects: every ending is a `Run`. */
  run(request: RunRequest): Promise<Run>;
  /** Starts a process that is talked with. Never throws: it ends as `not_started` then. */
  open(request: ConversationRequest): Conversation;
  /** Name of the worker that calls of this session go to, for the log. */
  workerOf(session: string): string;
  /** Starts a tool host ahead of need. */
  warm(): void;
  /** The same for a call of a user's module that this session is about to make. */
  warmModule(session: string): void;
  /** Processes that are alive on behalf of calls now. */
  live(): readonly LiveProcess[];
  /**
   * Ends what a runtime that died left of these calls; resolves with what there was beside the recorded processes. Only for a runtime of this boot and this
   * pid namespace: elsewhere a pid and a start time are somebody else's.
   */
  endLeftovers(calls: readonly Leftover[]): Promise<readonly ReapedProcess[]>;
  /** What is not promised here and why, for people: what of it is known, now that some processes may have been started. */
  unpromised(): readonly string[];
  /** Ends every call as cancelled, then every host and worker. */
  close(): Promise<void>;
}

/** A call that was running, and its process if one was recorded. */
export interface Leftover {
  readonly call: string;
  /** The one that it ran in. */
  readonly runtime: string;
  readonly process?: ProcessIdentity;
}

export interface RunRequest {
  readonly session: string;
  readonly call: string;
  readonly launch: Launch;
  /** Aborting ends the call as `cancelled`; with the reason UNWANTED, without any grace. */
  readonly signal: AbortSignal;
  onSpawned?(identity: ProcessIdentity): void;
  /** Live output, coalesced and capped. */
  onOutput?(stream: "stdout" | "stderr", text: string): void;
  /** What the tool says to those who watch: a module's messages, and those of a process that speaks in frames. In order, bounded per time. */
  onMessage?(message: Json): void;
}

export interface LiveProcess extends ProcessIdentity {
  readonly call: string;
  readonly worker: string;
}

export interface SupervisorOptions {
  /** Id of this runtime: with the call's id it is what processes are known by. */
  readonly runtime: string;
  /** The lineage this runtime was started with; by default that of its environment. */
  readonly lineage?: string;
  /** Worker threads; each is started when it is first needed. */
  readonly workers?: number;
  readonly hosts?: {
    /** Program and arguments of a tool host; by default this same program. */
    readonly command?: readonly string[];
    /** At most this many at a time, per worker. */
    readonly most?: number;
    /** Calls that one host serves. */
    readonly calls?: number;
    readonly start_ms?: number;
  };
  /** Program and arguments of the watchdog; the runtime's id is added. By default this same program. */
  readonly watchdog?: readonly string[];
  /** Whether nothing but this supervisor starts processes in this process (O2 in orphans.ts). By default if the program is our own. */
  readonly sole?: boolean;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const missing = missingPermissions();
  if (missing.length > 0) return refuseAll(`Cannot start processes as Deno was not allowed to ${missing.join(", ")}: start it with -A`);
  const census = createCensus();
  const watchdog = new Watchdog([...options.watchdog ?? ownCommand(WATCHDOG_ARGUMENT), options.runtime]);
  const orphans = new Orphans(options.runtime, options.sole ?? isOwnProgram(), census, watchdog);
  const ground = { census, watchdog, orphans };
  const count = options.workers ?? (availableParallelism() < 4 ? 1 : 2);
  const links = Array.from({ length: Math.max(1, count) }, (_, index) => new WorkerLink(toSetup(options, `w${index + 1}`), ground));
  const seats = new Seats(links);
  const abandon = () => links.forEach((link) => link.abandon());
  process.once("exit", abandon);
  let closing: Promise<void> | null = null;
  return {
    run: (request) => {
      if (closing !== null) return Promise.resolve(unstarted("cancelled", performance.now(), "The supervisor is closed"));
      return seats.of(request.session).run(request);
    },
    open: (request) => {
      if (closing !== null) return silence(unstarted("cancelled", performance.now(), "The supervisor is closed"));
      return seats.of(request.call).open(request);
    },
    workerOf: (session) => seats.of(session).name,
    warm: () => {
      if (closing === null) links[0]?.warm(false);
    },
    warmModule: (session) => {
      if (closing === null) seats.of(session).warm(true);
    },
    live: () => links.flatMap((link) => link.live()),
    endLeftovers: async (calls) => (await Promise.all(calls.map((left) => endLeftover(left, census)))).flat(),
    unpromised: () => [
      ...(hasProc() ? [] : ["Only the process group of a call is ended with it: there is no list of processes to find others in"]),
      ...orphans.unpromised,
      ...(watchdog.problem === null
        ? []
        : [`What runs would outlive a kill of the runtime, as the watchdog is not there: ${watchdog.problem}`]),
      ...new Set(links.flatMap((link) => link.unpromised)),
    ],
    close: () => closing ??= closeAll(),
  };

  async function closeAll(): Promise<void> {
    await Promise.all(links.map((link) => link.close()));
    await orphans.close();
    await watchdog.close();
    process.off("exit", abandon);
  }
}

/** A conversation that never was. */
function silence(run: Run): Conversation {
  return {
    send: () => Promise.reject(new Error("Cannot send as the process was not started")),
    close: () => {},
    ended: Promise.resolve(run),
  };
}

/** A supervisor that can do nothing but say why. */
function refuseAll(problem: string): Supervisor {
  return {
    run: () => Promise.resolve(unstarted("cannot_start", performance.now(), problem)),
    open: () => silence(unstarted("cannot_start", performance.now(), problem)),
    unpromised: () => [problem],
    workerOf: () => "none",
    warm: () => {},
    warmModule: () => {},
    live: () => [],
    endLeftovers: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
}

/** A group or session is taken for the call's only while the process that was recorded still leads it; else the tag tells. */
async function endLeftover({ call, runtime, process: recorded }: Leftover, census: Census): Promise<readonly ReapedProcess[]> {
  const entry = entryOfAnyRuntime(call);
  // A host that was started ahead of its call has the tag of its runtime alone.
  const leader = recorded !== undefined && await isStillOurs(recorded, [entry, entryOfAnyCall(runtime)]) ? recorded : null;
  const { found } = await endAll({ leader, entry }, census, LEFTOVER_GRACE_MS);
  return found;
}

/** A log may come from anywhere: its word for a pid counts only where the process carries our tag too, if tags can be read here. */
async function isStillOurs({ pid, start_time }: ProcessIdentity, entries: readonly string[]): Promise<boolean> {
  if (processStartTime(pid) !== start_time) return false;
  if (!hasProc()) return true;
  const until = performance.now() + STARTING_MS;
  let tag = readEnviron(pid, LINEAGE);
  while (tag.kind === "pending" && performance.now() < until) {
    await sleep(1);
    tag = readEnviron(pid, LINEAGE);
  }
  const lineage = tag.kind === "read" ? tag.value ?? "" : "";
  return entries.some((entry) => carries(lineage, entry));
}

/** The longest that a process is waited for which has no environment yet. */
const STARTING_MS = 1000;

function toSetup(options: SupervisorOptions, name: string) {
  const { command = ownCommand(TOOL_HOST_ARGUMENT), most = 8, calls = 256, start_ms = 15_000 } = options.hosts ?? {};
  const lineage = options.lineage ?? process.env[LINEAGE] ?? "";
  return { name, runtime: options.runtime, lineage, hosts: { command: [...command], most, calls, start_ms } };
}

/** Beyond this many sessions, those that are idle lose their place. */
const MAX_SEATS = 1024;

/** Which worker a session's calls go to. It stays the same while the session is known. */
class Seats {
  readonly #links: readonly WorkerLink[];
  readonly #taken = new Map<string, WorkerLink>();

  constructor(links: readonly WorkerLink[]) {
    this.#links = links;
  }

  of(session: string): WorkerLink {
    const seat = this.#taken.get(session) ?? this.#choose();
    this.#taken.delete(session);
    this.#taken.set(session, seat);
    for (const [oldest, link] of this.#taken) {
      if (this.#taken.size <= MAX_SEATS) break;
      if (link.busy === 0) this.#taken.delete(oldest);
      else break;
    }
    return seat;
  }

  #choose(): WorkerLink {
    const [first, ...rest] = this.#links;
    if (first === undefined) throw new RangeError("Cannot run calls without a worker");
    return rest.reduce((least, link) => link.busy < least.busy ? link : least, first);
  }
}
