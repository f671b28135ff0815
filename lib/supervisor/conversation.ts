/**
 * [worker thread] A process that stays and is talked with (T1 to T6 in session/launch.ts): started, drained and ended as
 * any other, but with a standard input that stays open and a standard output that is lines.
 *
 * The one race is that of its own end, a wish to end it, and a line that is too long.
 */
import { Buffer } from "node:buffer";
import { identifyChild } from "../platform/proc.ts";
import type { OutputPipe } from "../platform/pipe-ends.ts";
import { OPEN_INPUT, type SpawnedProcess } from "../platform/spawn.ts";
import { type ConversationRequest, NOTHING_CAPTURED, type ProcessIdentity, type Run } from "../session/launch.ts";
import type { Outcome, ReapedProcess } from "../session/outcome.ts";
import type { Census, Target } from "./census.ts";
import { LineReader } from "./frames.ts";
import { endAll } from "./kill.ts";
import { Capture } from "./output.ts";
import { DRAIN_MS, LAST_DRAIN_MS, nameSurvivors, readAll, within } from "./process.ts";
import { startProgram } from "./start.ts";
import { GRACE_MS, LEFTOVER_GRACE_MS, unstarted } from "./unstarted.ts";

export interface ConversationJob extends Pick<ConversationRequest, "launch" | "line_bytes" | "window_bytes" | "stderr_bytes"> {
  /** The whole environment, tags included. */
  readonly env: Readonly<Record<string, string>>;
  readonly entry: string;
}

export interface ConversationWatch {
  onSpawned(identity: ProcessIdentity): void;
  /** `bytes`: what to hand to `took` when they are taken. */
  onLines(lines: readonly string[], bytes: number): void;
}

/** How long a process is given to go by itself when its input has ended. */
const FAREWELL_MS = 500;

export class TalkingProcess {
  /** Never rejects, but for a bug. */
  readonly ended: Promise<Run>;
  readonly #job: ConversationJob;
  readonly #watch: ConversationWatch;
  readonly #census: Census;
  readonly #closing = new AbortController();
  readonly #child = Promise.withResolvers<SpawnedProcess | null>();
  #said: Promise<void> = Promise.resolve();
  #untaken = 0;
  #room = Promise.withResolvers<void>();

  constructor(job: ConversationJob, watch: ConversationWatch, census: Census) {
    this.#job = job;
    this.#watch = watch;
    this.#census = census;
    this.ended = this.#live();
  }

  /** Resolves when the process's pipe has taken the line. */
  say(line: string): Promise<void> {
    const said = this.#said.then(async () => {
      const input = this.#closing.signal.aborted ? null : (await this.#child.promise)?.input ?? null;
      if (input === null) throw new Error("Cannot send as the process has ended, or is about to");
      await input.write(Buffer.from(`${line}\n`));
    });
    this.#said = said.catch(() => {}); // Told to whoever said it.
    return said;
  }

  took(bytes: number): void {
    this.#untaken -= bytes;
    if (this.#untaken <= this.#job.window_bytes) this.#room.resolve();
  }

  close(): void {
    this.#closing.abort();
  }

  async #live(): Promise<Run> {
    const began = performance.now();
    const { launch, env, entry } = this.#job;
    const start = await startProgram({ ...launch, stdin: OPEN_INPUT }, env, this.#closing.signal);
    this.#child.resolve(start.kind === "started" ? start.child : null);
    if (start.kind === "cancelled") return unstarted("cancelled", began);
    if (start.kind === "failed") return unstarted("cannot_start", began, start.problem);
    const { child } = start;
    const leader = identifyChild(child.pid);
    this.#census.claim(leader, entry);
    this.#watch.onSpawned(leader);
    const stderr = new Capture(this.#job.stderr_bytes);
    const lines = this.#readLines(child.stdout);
    const drained = Promise.all([lines, readAll(child.stderr, (chunk) => stderr.push(chunk)).catch(() => {})]);
    const end = await this.#race(child, lines);
    const { outcome, reaped, problems } = await this.#end(end, child, drained, { leader, entry });
    await within(drained, LAST_DRAIN_MS);
    this.#room.resolve();
    await Promise.all([child.stdout.close(), child.stderr.close()]);
    child.input?.end();
    this.#census.release(leader);
    const problem = problems.length === 0 ? {} : { problem: problems.join("; ") };
    return { outcome, stdout: NOTHING_CAPTURED, stderr: stderr.finish(), ...problem, duration_ms: performance.now() - began, reaped };
  }

  /** T3, T4. Resolves with what is wrong with a line; null at the end of all of them. */
  async #readLines(pipe: OutputPipe): Promise<string | null> {
    const reader = new LineReader(this.#job.line_bytes);
    try {
      for (let chunk = await pipe.read(); chunk !== null; chunk = await pipe.read()) {
        const lines = reader.push(chunk);
        if (lines.length > 0) await this.#hand(lines);
      }
      return null;
    } catch (error) {
      return `Its standard output could not be read: ${(error as Error).message}`;
    }
  }

  async #hand(lines: readonly string[]): Promise<void> {
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    this.#untaken += bytes;
    if (this.#untaken > this.#job.window_bytes) this.#room = Promise.withResolvers<void>();
    this.#watch.onLines(lines, bytes);
    if (this.#untaken > this.#job.window_bytes) await this.#room.promise;
  }

  #race(child: SpawnedProcess, lines: Promise<string | null>): Promise<End> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const close = () => resolve({ kind: "closing" });
      signal.addEventListener("abort", close, { once: true });
      if (signal.aborted) close();
      void child.exited.then(resolve);
      void lines.then((problem) => problem === null || resolve({ kind: "unreadable", problem }));
    });
  }

  async #end(
    end: End,
    child: SpawnedProcess,
    drained: Promise<unknown>,
    target: Target,
  ): Promise<{ readonly outcome: Outcome; readonly reaped: readonly ReapedProcess[]; readonly problems: readonly string[] }> {
    this.#closing.abort();
    const wish = end.kind === "closing" ? await this.#bidFarewell(child) : end;
    if (wish.kind === "exited" || wish.kind === "signalled") {
      await within(drained, DRAIN_MS);
      const { found, surviving } = await endAll(target, this.#census, LEFTOVER_GRACE_MS);
      return { outcome: wish, reaped: found, problems: nameSurvivors(surviving) };
    }
    const { insisted, surviving } = await endAll(target, this.#census, GRACE_MS);
    await within(child.exited, LAST_DRAIN_MS);
    const problems = [...(wish.kind === "unreadable" ? [wish.problem] : []), ...nameSurvivors(surviving)];
    return { outcome: { kind: "cancelled" }, reaped: insisted, problems };
  }

  /** T1: the end of its input tells it to go. */
  async #bidFarewell(child: SpawnedProcess): Promise<End> {
    void this.#said.then(() => child.input?.end());
    let end: End = { kind: "closing" };
    await within(child.exited.then((exit) => end = exit), FAREWELL_MS);
    return end;
  }
}

type End = Extract<Outcome, { kind: "exited" | "signalled" }> | { readonly kind: "closing" } | {
  readonly kind: "unreadable";
  readonly problem: string;
};
