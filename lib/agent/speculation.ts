/**
 * Read-only calls that run while the model still streams. Promises P3, P6, P7: what is started early is safe to
 * repeat, was allowed by the one gate, and changes nothing but when its result is there.
 *
 * E1  A run is known by (name, canonical input, n-th occurrence), never by a provider's id.
 * E2  A retried attempt of the same step takes over what an earlier one started; nothing is started twice.
 * E3  A call that is announced after one that is not read-only does not start in that attempt.
 * E4  Every run ends as adopted by one call or as discarded with its reason.
 */
import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { EventBody, RequestedCall } from "../session/event.ts";
import { parseArguments } from "../session/arguments.ts";
import type { JsonInput } from "../session/json.ts";
import { NOTHING_CAPTURED, type Run } from "../session/launch.ts";
import { UNWANTED } from "../supervisor/first-cause.ts";
import type { Tool } from "../tools/tool.ts";
import { newSpeculationId, now } from "./ids.ts";
import { fingerprint, isAsPlanned, programDigests } from "./program.ts";
import { readRun } from "./read-run.ts";
import type { Slots } from "./slots.ts";
import type { TurnPorts, TurnSignals } from "./turn.ts";

type DiscardReason = EventBody<"speculation_discarded">["reason"];

interface EarlyRun {
  readonly key: string;
  /** The key without the count. */
  readonly identity: string;
  readonly speculation: string;
  /** What its program was when it started. */
  readonly program: Promise<string>;
  readonly tool: Tool;
  readonly input: JsonInput;
  readonly stop: AbortController;
  readonly finished: Promise<Run>;
}

interface Wanted {
  readonly key: string;
  readonly tool: Tool;
  readonly input: JsonInput;
}

/** The early runs of one step. */
export class Speculator {
  readonly #ports: TurnPorts;
  readonly #signals: TurnSignals;
  readonly #slots: Slots;
  readonly #runs = new Map<string, EarlyRun>();
  readonly #queue: Wanted[] = [];
  readonly #claims = new Map<string, EarlyRun>();
  readonly #settling = new Set<Promise<void>>();
  #seen = new Occurrences();
  /** Where the calls announced in this attempt stand, by their order. */
  readonly #announced = new Map<number, number>();
  #fence = Infinity;
  #open = false;

  constructor(ports: TurnPorts, signals: TurnSignals, slots: Slots) {
    this.#ports = ports;
    this.#signals = signals;
    this.#slots = slots;
    slots.onFree(() => this.#startQueued());
    // What a committed call waits for is let finish, like a call; the rest has nobody left to want it.
    for (const signal of [signals.stop, signals.now]) signal.addEventListener("abort", () => this.#abandon(), { once: true });
  }

  /** A new attempt at the step's reply. */
  beginAttempt(): void {
    this.#seen = new Occurrences();
    this.#queue.length = 0;
    this.#announced.clear();
    this.#fence = Infinity;
    this.#open = this.#ports.speculate;
  }

  /** The model has begun to write a call of this name. */
  announce(position: number, name: string): void {
    const order = this.#announced.size;
    this.#announced.set(position, order);
    if (this.#ports.tools.find(name)?.read_only !== true) this.#fence = Math.min(this.#fence, order);
  }

  /** A call's arguments are complete. */
  offer(position: number, name: string, text: string): void {
    const order = this.#announced.get(position) ?? Infinity;
    if (!this.#open || order >= this.#fence) return;
    const tool = this.#ports.tools.find(name);
    const parsed = parseArguments(text);
    if (tool === undefined || parsed.kind !== "input") return;
    const key = this.#seen.key(name, parsed.input);
    if (this.#runs.has(key)) return;
    const input = this.#allowedEarly(tool, text);
    if (input === null) return;
    this.#queue.push({ key, tool, input });
    this.#startQueued();
  }

  /** The attempt has ended without a reply: nothing more starts until the next one. */
  endAttempt(): void {
    this.#open = false;
    this.#queue.length = 0;
  }

  /** The reply is recorded: runs that it asks for are kept for their calls, the others end. */
  commit(calls: readonly RequestedCall[]): void {
    this.endAttempt();
    const seen = new Occurrences();
    const asked = new Set<string>();
    const inputs = new Set<string>();
    let fenced = false;
    for (const call of calls) {
      asked.add(call.name);
      const parsed = parseArguments(call.arguments);
      if (parsed.kind === "input") inputs.add(identityOf(call.name, parsed.input));
      const run = parsed.kind === "input" ? this.#runs.get(seen.key(call.name, parsed.input)) : undefined;
      fenced ||= this.#ports.tools.find(call.name)?.read_only !== true;
      if (run === undefined) continue;
      this.#runs.delete(run.key);
      if (fenced) this.#discard(run, "fenced");
      else this.#claims.set(call.call, run);
    }
    // Asked for less often than it was begun is not asked for with something else.
    this.#discardAll((run) => asked.has(run.tool.name) && !inputs.has(run.identity) ? "input_changed" : "not_asked");
  }

  /**
   * The early run that this call adopts; null if the call must run itself. One that was ended together with the turn is
   * adopted as it ended: the call would have ended so too.
   */
  async claim(
    call: string,
    input: JsonInput,
    program: string,
  ): Promise<{ readonly run: Run; readonly speculation: string } | null> {
    const early = this.#claims.get(call);
    if (early === undefined) return null;
    const run = await early.finished;
    this.#claims.delete(call);
    const reason = await this.#whyUnfit(early, run, input, program);
    if (reason === null) return { run, speculation: early.speculation };
    this.#record(early, reason);
    return null;
  }

  async #whyUnfit(early: EarlyRun, run: Run, input: JsonInput, program: string): Promise<DiscardReason | null> {
    if (input.text !== early.input.text) return "input_changed";
    if (run.outcome.kind === "cancelled" && this.#signals.now.aborted) return null;
    if (await early.program !== program) return "stale";
    return await whyUnfit(early, run, this.#ports.planContext(null).workspace);
  }

  /** Ends what nobody has adopted. */
  async close(reason: DiscardReason): Promise<void> {
    this.endAttempt();
    for (const run of this.#claims.values()) this.#runs.set(run.speculation, run);
    this.#claims.clear();
    this.#discardAll(() => reason);
    await Promise.all(this.#settling);
  }

  /** What would run, if the gate allows it without asking anybody; null if it must wait. */
  #allowedEarly(tool: Tool, text: string): JsonInput | null {
    if (!tool.read_only || !tool.speculation_safe) return null;
    const mode = this.#ports.recorder.state.header?.mode ?? "normal";
    return this.#ports.gate.allowsUnasked({ name: tool.name, arguments: text, mode, tools: this.#ports.tools });
  }

  #startQueued(): void {
    while (this.#open && this.#queue.length > 0 && this.#slots.tryTake()) {
      const wanted = this.#queue.shift();
      if (wanted === undefined || !this.#start(wanted)) this.#slots.release();
    }
  }

  /** False if there is nothing to start. */
  #start({ key, tool, input }: Wanted): boolean {
    const plan = tool.plan(input, this.#ports.planContext(null));
    if (plan.kind !== "launch" || this.#runs.has(key)) return false;
    const speculation = newSpeculationId();
    const stop = new AbortController();
    const { recorder, supervisor, session } = this.#ports;
    const { durable } = recorder.mustRecord({ type: "start_speculation", at: now(), speculation, name: tool.name, input });
    const program = programDigests(plan);
    const finished = durable.then(async () => {
      if (!isAsPlanned(plan, await program)) return UNRUN;
      return await supervisor.run({
        session,
        call: speculation,
        launch: plan.launch,
        signal: AbortSignal.any([stop.signal, this.#signals.now]),
        onSpawned: (identity) => void recorder.record({ type: "record_speculation_spawn", at: now(), speculation, ...identity }),
      });
    }).then((run) => {
      recorder.record({
        type: "end_speculation",
        at: now(),
        speculation,
        outcome: run.outcome,
        duration_ms: Math.round(run.duration_ms * 10) / 10,
      });
      return run;
    }).finally(() => this.#slots.release());
    // A failed append ends the turn through the recorder.
    finished.catch(() => undefined);
    const identity = identityOf(tool.name, input);
    this.#runs.set(key, { key, identity, speculation, tool, input, stop, finished, program: program.then(fingerprint) });
    return true;
  }

  #abandon(): void {
    this.endAttempt();
    this.#discardAll(() => "cancelled");
  }

  #discardAll(reason: (run: EarlyRun) => DiscardReason): void {
    for (const run of this.#runs.values()) this.#discard(run, reason(run));
    this.#runs.clear();
  }

  #discard(run: EarlyRun, reason: DiscardReason): void {
    run.stop.abort(UNWANTED);
    // A failed append ends the turn through the recorder.
    const settled = run.finished.then(() => this.#record(run, reason)).catch(() => undefined).finally(() => this.#settling.delete(settled));
    this.#settling.add(settled);
  }

  #record(run: EarlyRun, reason: DiscardReason): void {
    this.#ports.recorder.record({ type: "discard_speculation", at: now(), speculation: run.speculation, reason });
  }
}

/** Of a program that has changed: the call itself will say so. */
const UNRUN: Run = {
  outcome: { kind: "not_started", reason: "cannot_start" },
  stdout: NOTHING_CAPTURED,
  stderr: NOTHING_CAPTURED,
  duration_ms: 0,
  reaped: [],
};

function identityOf(name: string, input: JsonInput): string {
  return JSON.stringify([name, input.text]);
}

/** Counts equal calls, so that the n-th of them has a name of its own. */
class Occurrences {
  readonly #counts = new Map<string, number>();

  key(name: string, input: JsonInput): string {
    const base = identityOf(name, input);
    const count = (this.#counts.get(base) ?? 0) + 1;
    this.#counts.set(base, count);
    return `${count}:${base}`;
  }
}

/** Only a good result is adopted, and one of a file only while that file is what it was. */
async function whyUnfit(early: EarlyRun, run: Run, workspace: string): Promise<DiscardReason | null> {
  const succeeded = run.outcome.kind === "returned" || (run.outcome.kind === "exited" && run.outcome.code === 0);
  if (!succeeded) return run.outcome.kind === "cancelled" ? "cancelled" : "failed";
  const { result } = readRun(early.tool, run, early.input);
  if (result.is_error) return "failed";
  return await isStale(result.data, workspace) ? "stale" : null;
}

/** What a file tool says of a file it read, in the result's `data`; paths are relative to the workspace. */
interface FileIdentity {
  readonly path: string;
  /** The link that led to it: one that leads elsewhere by now makes the result stale too. */
  readonly via?: string;
  readonly size: number;
  readonly mtime_ms: number;
  readonly inode: number;
}

async function isStale(data: unknown, workspace: string): Promise<boolean> {
  const files = (Array.isArray(data) ? data : [data]).filter(isFileIdentity);
  const changed = await Promise.all(files.map(async ({ path, via = path, size, mtime_ms, inode }) => {
    // Through a link to where the file was moved, identity alone would still fit.
    const real = await realpath(resolve(workspace, via)).catch(() => null);
    if (real !== resolve(workspace, path)) return true;
    const present = await stat(real).catch(() => null);
    return present === null || present.size !== size || present.mtimeMs !== mtime_ms || present.ino !== inode;
  }));
  return changed.includes(true);
}

function isFileIdentity(value: unknown): value is FileIdentity {
  if (typeof value !== "object" || value === null) return false;
  const { path, via, size, mtime_ms, inode } = value as Record<string, unknown>;
  return typeof path === "string" && (via === undefined || typeof via === "string") && typeof size === "number" &&
    typeof mtime_ms === "number" && typeof inode === "number";
}
