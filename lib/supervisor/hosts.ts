/**
 * The tool hosts of one worker thread: started ahead or on demand, reused, each serving one call at a time.
 *
 * H1  A host that timed out, was cancelled, crashed or spoke out of turn serves no more and is ended.
 * H2  What a call started in a host is ended when the call is, though the host goes on.
 * H3  A waiting call takes whichever host is free first; another is started only if none is free soon.
 */
import { type HostLaunch, type HostReply, NOTHING_CAPTURED, type ProcessIdentity, type Run } from "../session/launch.ts";
import type { Census, Target } from "./census.ts";
import { firstCause, type Stopped } from "./first-cause.ts";
import { endAll, type Ended } from "./kill.ts";
import { extendLineage } from "./lineage.ts";
import { startToolHost, type ToolHost } from "./tool-host.ts";
import { GRACE_MS, LEFTOVER_GRACE_MS, unstarted } from "./unstarted.ts";
import type { WorkerSetup } from "./wire.ts";

export interface HostWatch {
  onStarted(entry: string, identity: ProcessIdentity): void;
  onEnded(entry: string): void;
}

/** A busy host is waited for this long before another is started: most calls of built-ins take less. */
const PATIENCE_MS = 10;
/** And no call waits for a host longer than this. Less than a worker may be silent beyond a deadline. */
const QUEUE_MS = 30_000;
/** More idle hosts than this are not kept. */
const KEPT_IDLE = 2;
/** A successor is started when a host has this many calls left. */
const SUCCESSION = 8;

type Waiter = (host: ToolHost | Error) => void;

export class HostPool {
  readonly #setup: WorkerSetup;
  readonly #census: Census;
  readonly #watch: HostWatch;
  readonly #hosts = new Set<ToolHost>();
  readonly #idle: ToolHost[] = [];
  readonly #waiting: Waiter[] = [];
  /** How each host that is no longer ours ended, or ends. */
  readonly #endings = new WeakMap<ToolHost, Promise<Ended>>();
  readonly #unfinished = new Set<Promise<Ended>>();
  #starting = 0;
  #made = 0;
  #calls = 0;
  #closed = false;

  constructor(setup: WorkerSetup, census: Census, watch: HostWatch) {
    this.#setup = setup;
    this.#census = census;
    this.#watch = watch;
  }

  /** Sees to it that a host is there or on its way. */
  warm(): void {
    if (!this.#closed && this.#hosts.size === 0) this.#start();
  }

  /** Never rejects, but for a bug. */
  async run(launch: HostLaunch, signal: AbortSignal): Promise<Run> {
    const began = performance.now();
    const host = await this.#acquire(launch.timeout_ms, signal);
    if (host === null) return unstarted("cancelled", began);
    if (host instanceof Error) return unstarted("cannot_start", began, host.message);
    let reply: Promise<HostReply>;
    try {
      const { tool, input, context } = launch;
      reply = host.call({ type: "call", id: ++this.#calls, tool, input, context });
    } catch (error) {
      this.#release(host);
      return unstarted("cannot_start", began, (error as Error).message);
    }
    const answered = reply.then((given): End => ({ kind: "reply", reply: given }));
    const gone = host.gone.then(({ why }): End => ({ kind: "gone", why }));
    const end = await firstCause(Promise.race([answered, gone]), launch.timeout_ms, signal);
    const run = end.kind === "reply" ? await this.#settle(host, end.reply) : await this.#giveUp(host, end);
    return { ...run, stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED, duration_ms: performance.now() - began };
  }

  /** Ends every host. Calls that run are not waited for: their callers cancel them first. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter(new Error("Cannot run a tool host as the supervisor is closing"));
    for (const host of this.#hosts) void this.#discard(host);
    await Promise.all(this.#unfinished);
  }

  /** A host, why there is none, or null for a call that was cancelled while it waited. */
  async #acquire(timeout_ms: number, signal: AbortSignal): Promise<ToolHost | Error | null> {
    const host = signal.aborted ? null : this.#idle.pop() ?? await this.#wait(Math.min(timeout_ms, QUEUE_MS), signal);
    if (host === null || host instanceof Error || !signal.aborted) return host;
    this.#release(host);
    return null;
  }

  async #wait(limit_ms: number, signal: AbortSignal): Promise<ToolHost | Error | null> {
    const { promise, resolve: waiter } = Promise.withResolvers<ToolHost | Error>();
    this.#waiting.push(waiter);
    if (this.#hosts.size === 0) this.#start();
    else setTimeout(() => this.#grow(), PATIENCE_MS);
    const cause = await firstCause(promise, limit_ms, signal);
    if (!("kind" in cause)) return cause;
    const at = this.#waiting.indexOf(waiter);
    if (at >= 0) this.#waiting.splice(at, 1);
    else void promise.then((late) => late instanceof Error || this.#release(late));
    return cause.kind === "cancelled" ? null : new Error(`Cannot run the tool as no tool host was free within ${limit_ms} ms`);
  }

  /** H3. */
  #grow(): void {
    if (this.#waiting.length > this.#starting && this.#hosts.size < this.#setup.hosts.most) this.#start();
  }

  #start(): void {
    const { hosts, lineage, runtime, name } = this.#setup;
    const own = extendLineage(lineage, undefined, runtime, `host-${name}-${++this.#made}`);
    let host: ToolHost;
    try {
      host = startToolHost({ command: hosts.command, tags: { lineage: own.value }, entry: own.entry, start_ms: hosts.start_ms });
    } catch (error) {
      this.#refuse(error as Error);
      return;
    }
    this.#hosts.add(host);
    this.#starting++;
    this.#census.claim(host.identity, host.entry);
    this.#watch.onStarted(host.entry, host.identity);
    void this.#follow(host);
  }

  async #follow(host: ToolHost): Promise<void> {
    try {
      await host.ready.finally(() => this.#starting--);
    } catch {
      // It never became ready; `gone` says why.
      const { why } = await host.gone;
      await this.#discard(host);
      return this.#refuse(new Error(`Cannot start a tool host: ${why}`));
    }
    this.#release(host);
    await host.gone;
    void this.#discard(host);
    this.#replace();
  }

  /** No host can be had for those who wait, unless one is there already. */
  #refuse(error: Error): void {
    if (this.#hosts.size > 0) return;
    for (const waiter of this.#waiting.splice(0)) waiter(error);
  }

  /** The host is free: for the next call, to wait for one, or to go. */
  #release(host: ToolHost): void {
    if (this.#closed || !this.#hosts.has(host)) return;
    const left = this.#setup.hosts.calls - host.served;
    if (left <= SUCCESSION && this.#idle.length === 0 && this.#starting === 0) this.#start();
    const waiter = left > 0 ? this.#waiting.shift() : undefined;
    if (waiter !== undefined) waiter(host);
    else if (left > 0 && this.#idle.length < KEPT_IDLE) this.#idle.push(host);
    else void this.#discard(host);
  }

  /** H1. */
  #discard(host: ToolHost): Promise<Ended> {
    const known = this.#endings.get(host);
    if (known !== undefined) return known;
    this.#hosts.delete(host);
    const at = this.#idle.indexOf(host);
    if (at >= 0) this.#idle.splice(at, 1);
    const ending = endAll({ leader: host.identity, entry: host.entry }, this.#census, GRACE_MS);
    this.#endings.set(host, ending);
    this.#unfinished.add(ending);
    void ending.finally(() => {
      this.#unfinished.delete(ending);
      this.#census.release(host.identity);
      this.#watch.onEnded(host.entry);
    });
    return ending;
  }

  #replace(): void {
    if (!this.#closed && this.#hosts.size === 0 && this.#waiting.length > 0) this.#start();
  }

  /** H2. */
  async #settle(host: ToolHost, reply: HostReply): Promise<Settled> {
    const target: Target = { leader: host.identity, entry: host.entry, spared: host.identity.pid };
    const { found } = await endAll(target, this.#census, LEFTOVER_GRACE_MS);
    this.#release(host);
    return { outcome: { kind: "returned" }, reply, reaped: found };
  }

  async #giveUp(host: ToolHost, end: Exclude<End, { kind: "reply" }>): Promise<Settled> {
    const { found } = await this.#discard(host);
    this.#replace();
    if (end.kind !== "gone") return { outcome: end, reaped: found };
    return { outcome: { kind: "unknown", cause: "host_died" }, problem: `The tool host died during the call: ${end.why}`, reaped: found };
  }
}

type Settled = Pick<Run, "outcome" | "reply" | "problem" | "reaped">;

type End = { readonly kind: "reply"; readonly reply: HostReply } | { readonly kind: "gone"; readonly why: string } | Stopped;
