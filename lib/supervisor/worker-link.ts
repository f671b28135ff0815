/**
 * [main thread] One worker thread as the main thread sees it: started when it is first needed, its pending runs, its
 * processes, its death.
 *
 * L1  Every run settles once: by the worker, or, if the worker dies or falls silent, here.
 * L2  The main thread knows every process that the worker started, so a dead worker's are ended before its runs settle.
 * L3  A worker that died is replaced at the next run; the link stays.
 */
import type { Worker } from "node:worker_threads";
import * as v from "valibot";
import { startSupervisorThread } from "../platform/self.ts";
import type { Conversation, ConversationRequest, ProcessIdentity, Run } from "../session/launch.ts";
import { Dialogue } from "./dialogue.ts";
import { MAX_TIMER_MS, UNWANTED } from "./first-cause.ts";
import type { Sighting } from "./census.ts";
import { endAll, killNow } from "./kill.ts";
import { carries } from "./lineage.ts";
import { type Ground, PendingRuns } from "./pending.ts";
import type { LiveProcess, RunRequest } from "./supervisor.ts";
import { GRACE_MS, unstarted } from "./unstarted.ts";
import { FromWorker, type ToWorker, type WorkerSetup } from "./wire.ts";

/** Limits of patience, in milliseconds. */
export interface Patience {
  /** A thread that is not ready by then is given up. */
  readonly start: number;
  /** A worker that has not settled a run this long after its deadline or its cancel has lost its wits. */
  readonly silence: number;
  readonly close: number;
}

const PATIENCE: Patience = { start: 15_000, silence: 45_000, close: 10_000 };

type Thread =
  | { readonly kind: "none" }
  | { readonly kind: "starting"; readonly worker: Worker; readonly deadline: ReturnType<typeof setTimeout> }
  | { readonly kind: "ready"; readonly worker: Worker };

export class WorkerLink {
  readonly #setup: WorkerSetup;
  readonly #ground: Ground;
  readonly #startThread: (setup: unknown) => Worker;
  readonly #patience: Patience;
  readonly #pending: PendingRuns;
  /** Hosts by the entry their processes are known by. */
  readonly #hosts = new Map<string, ProcessIdentity>();
  readonly #burials = new Set<Promise<unknown>>();
  readonly #queue: ToWorker[] = [];
  #thread: Thread = { kind: "none" };
  #runs = 0;
  #unpromised: readonly string[] = [];
  #closed: (() => void) | null = null;

  /** `startThread` and `patience` are for tests, which bring threads that die. */
  constructor(setup: WorkerSetup, ground: Ground, startThread: (setup: unknown) => Worker = startSupervisorThread, patience = PATIENCE) {
    this.#setup = setup;
    this.#ground = ground;
    this.#pending = new PendingRuns(setup.runtime, ground);
    this.#startThread = startThread;
    this.#patience = patience;
  }

  get name(): string {
    return this.#setup.name;
  }

  get unpromised(): readonly string[] {
    return this.#unpromised;
  }

  get busy(): number {
    return this.#pending.size;
  }

  live(): readonly LiveProcess[] {
    return this.#pending.all().flatMap(({ leader, call }) => leader === null ? [] : [{ ...leader, call, worker: this.name }]);
  }

  warm(modules: boolean): void {
    this.#send({ type: "warm", modules });
  }

  run(request: RunRequest): Promise<Run> {
    const { signal, session, call, launch } = request;
    if (signal.aborted) return Promise.resolve(unstarted("cancelled", performance.now()));
    const id = ++this.#runs;
    return new Promise((resolve) => {
      const cancel = () => this.#cancel(id, signal.reason === UNWANTED ? UNWANTED : null);
      this.#pending.add(id, call, request, (run) => {
        signal.removeEventListener("abort", cancel);
        resolve(run);
      });
      signal.addEventListener("abort", cancel, { once: true });
      const live = { output: request.onOutput !== undefined, messages: request.onMessage !== undefined };
      this.#send({ type: "run", id, session, call, launch, live });
    });
  }

  open(request: ConversationRequest): Conversation {
    const { call, launch, line_bytes, window_bytes, stderr_bytes } = request;
    const id = ++this.#runs;
    const dialogue = new Dialogue(id, request, { send: (message) => this.#send(message), cancel: () => this.#cancel(id, null) });
    this.#pending.add(id, call, { dialogue }, (run) => dialogue.settle(run));
    const { argv, cwd, env } = launch;
    this.#send({ type: "converse", id, call, launch: { argv, cwd, env }, line_bytes, window_bytes, stderr_bytes });
    return dialogue;
  }

  /** Cancels what runs, ends the hosts and the thread, and resolves when nothing of them is alive. */
  async close(): Promise<void> {
    if (this.#thread.kind === "none") return void await Promise.all(this.#burials);
    const { worker } = this.#thread;
    const closed = new Promise<void>((resolve) => this.#closed = resolve);
    this.#send({ type: "close" });
    const late = setTimeout(() => this.#bury(worker, "it did not close in time"), this.#patience.close);
    await closed;
    clearTimeout(late);
    this.#bury(worker, "the supervisor is closing");
    await Promise.all(this.#burials);
  }

  /** Kills every process of the worker at once, without a word to it: for when the runtime ends. */
  abandon(): void {
    const { census } = this.#ground;
    for (const [entry, leader] of this.#hosts) killNow({ leader, entry }, census);
    for (const { leader, entry } of this.#pending.all()) killNow({ leader, entry }, census);
  }

  #cancel(id: number, reason: typeof UNWANTED | null): void {
    const pending = this.#pending.get(id);
    if (pending?.sent === false) return pending.settle(unstarted("cancelled", pending.began));
    if (this.#thread.kind !== "ready") return; // Its worker is dead, and so is it before long.
    this.#send({ type: "cancel", id, reason });
    this.#expect(id, 0);
  }

  /** Sends, or queues until the worker is there. */
  #send(message: ToWorker): void {
    if (this.#thread.kind === "none") this.#start();
    if (this.#thread.kind === "ready") this.#post(this.#thread.worker, message);
    else this.#queue.push(message);
  }

  #post(worker: Worker, message: ToWorker): void {
    if (message.type !== "run" && message.type !== "converse") return worker.postMessage(message);
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    try {
      worker.postMessage(message);
      pending.sent = true;
      if (message.type === "run") this.#expect(message.id, message.launch.timeout_ms);
    } catch (error) {
      pending.settle(unstarted("cannot_start", pending.began, `Cannot start as the launch is malformed: ${(error as Error).message}`));
    }
  }

  /** L1: a worker that does not settle a run in good time is taken for dead, even if its thread still turns. */
  #expect(id: number, within_ms: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined || this.#thread.kind === "none") return;
    const { worker } = this.#thread;
    if (pending.silence !== null) clearTimeout(pending.silence);
    // A launch without a sound deadline is refused by the worker at once.
    const limit = Number.isFinite(within_ms) ? Math.min(within_ms + this.#patience.silence, MAX_TIMER_MS) : this.#patience.silence;
    pending.silence = setTimeout(() => this.#bury(worker, "it stopped answering"), limit);
  }

  #start(): void {
    let worker: Worker;
    this.#ground.watchdog.ensure();
    try {
      worker = this.#startThread(this.#setup);
    } catch (error) {
      return this.#failAll(`its thread could not be started: ${(error as Error).message}`);
    }
    const deadline = setTimeout(() => this.#bury(worker, `it was not ready after ${this.#patience.start} ms`), this.#patience.start);
    this.#thread = { kind: "starting", worker, deadline };
    worker.on("message", (message: unknown) => {
      const parsed = v.safeParse(FromWorker, message);
      if (parsed.success) this.#receive(worker, parsed.output);
      else this.#bury(worker, `it sent what is no message: ${v.summarize(parsed.issues)}`);
    });
    worker.on("error", (error: unknown) => this.#bury(worker, error instanceof Error ? error.message : String(error)));
    worker.on("exit", (code: number) => this.#bury(worker, `its thread ended with code ${code}`));
  }

  #receive(worker: Worker, message: FromWorker): void {
    if (this.#thread.kind === "none" || this.#thread.worker !== worker) return;
    switch (message.type) {
      case "ready":
        this.#unpromised = message.unpromised;
        return this.#open(worker);
      case "spawned": {
        const pending = this.#pending.get(message.id);
        if (pending === undefined) return;
        pending.leader = message.identity;
        this.#ground.watchdog.tell(pending.entry, message.identity);
        return pending.listeners.onSpawned?.(message.identity);
      }
      case "strayed":
        return this.#follow(message);
      case "output":
        return this.#pending.get(message.id)?.listeners.onOutput?.(message.stream, message.text);
      case "messages": {
        const { onMessage } = this.#pending.get(message.id)?.listeners ?? {};
        return message.messages.forEach((each) => onMessage?.(each));
      }
      case "heard":
        return this.#pending.get(message.id)?.listeners.dialogue?.hear(message.lines, message.bytes);
      case "said":
        return this.#pending.get(message.id)?.listeners.dialogue?.learn(message.number, message.problem);
      case "settled":
        return this.#pending.get(message.id)?.settle(message.run);
      case "host_started":
        this.#ground.watchdog.tell(message.entry, message.identity);
        return void this.#hosts.set(message.entry, message.identity);
      case "host_ended":
        this.#ground.watchdog.forget(message.entry);
        return void this.#hosts.delete(message.entry);
      case "closed":
        return this.#closed?.();
    }
  }

  /** The watchdog has to know by name what it could not find by tag or group. */
  #follow({ strays, gone }: Sighting): void {
    const owners = [...this.#hosts.keys(), ...this.#pending.all().map(({ entry }) => entry)];
    const byOwner = Map.groupBy(strays, ({ lineage }) => owners.find((entry) => carries(lineage, entry)));
    for (const [owner, theirs] of byOwner) {
      if (owner !== undefined) this.#ground.watchdog.follow(owner, theirs.map(({ identity }) => identity));
    }
    this.#ground.watchdog.drop(gone);
  }

  #open(worker: Worker): void {
    if (this.#thread.kind === "starting") clearTimeout(this.#thread.deadline);
    this.#thread = { kind: "ready", worker };
    for (const message of this.#queue.splice(0)) this.#post(worker, message);
  }

  /** The worker is no more: whatever it left is ended, and then its runs are (L1, L2). */
  #bury(worker: Worker, why: string): void {
    if (this.#thread.kind === "none" || this.#thread.worker !== worker) return;
    if (this.#thread.kind === "starting") clearTimeout(this.#thread.deadline);
    this.#thread = { kind: "none" };
    // Not awaited: a thread that is dead already may never confirm it (Bun 1.4.5).
    void worker.terminate();
    this.#failAll(why);
    this.#closed?.();
  }

  #failAll(why: string): void {
    this.#queue.length = 0;
    const problem = `The supervisor's worker ${this.name} died: ${why}`;
    const ends = this.#pending.all().map((pending) => this.#pending.fail(pending, problem));
    const hosts = [...this.#hosts].map(async ([entry, leader]) => {
      await endAll({ leader, entry }, this.#ground.census, GRACE_MS);
      this.#ground.watchdog.forget(entry);
    });
    this.#hosts.clear();
    const burial = Promise.all([...ends, ...hosts]);
    this.#burials.add(burial);
    void burial.finally(() => this.#burials.delete(burial));
  }
}
