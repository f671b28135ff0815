/** [main thread] The runs of one worker that have not settled yet, and what is owed to each when it does. */
import type { Json } from "../session/json.ts";
import { NOTHING_CAPTURED, type ProcessIdentity, type Run } from "../session/launch.ts";
import type { ReapedProcess } from "../session/outcome.ts";
import type { Census } from "./census.ts";
import type { Dialogue } from "./dialogue.ts";
import { endAll } from "./kill.ts";
import { lineageEntry } from "./lineage.ts";
import type { Orphans } from "./orphans.ts";
import { GRACE_MS, unstarted } from "./unstarted.ts";
import type { Watchdog } from "./watchdog.ts";

/** What all workers of a supervisor share. */
export interface Ground {
  readonly census: Census;
  readonly watchdog: Watchdog;
  readonly orphans: Orphans;
}

/** What a run does with what is heard of its process. */
export interface Listeners {
  onSpawned?(identity: ProcessIdentity): void;
  onOutput?(stream: "stdout" | "stderr", text: string): void;
  onMessage?(message: Json): void;
  readonly dialogue?: Dialogue;
}

export interface Pending {
  readonly call: string;
  /** What its processes are known by. */
  readonly entry: string;
  readonly listeners: Listeners;
  readonly began: number;
  /** Only the first time means anything. */
  readonly settle: (run: Run) => void;
  leader: ProcessIdentity | null;
  /** The worker has it. */
  sent: boolean;
  silence: ReturnType<typeof setTimeout> | null;
}

export class PendingRuns {
  readonly #runtime: string;
  readonly #ground: Ground;
  readonly #runs = new Map<number, Pending>();

  constructor(runtime: string, ground: Ground) {
    this.#runtime = runtime;
    this.#ground = ground;
  }

  get size(): number {
    return this.#runs.size;
  }

  get(id: number): Pending | undefined {
    return this.#runs.get(id);
  }

  all(): readonly Pending[] {
    return [...this.#runs.values()];
  }

  /** @param resolve told when the run has settled and nothing of it is alive, its orphans included */
  add(id: number, call: string, listeners: Listeners, resolve: (run: Run) => void): void {
    const { orphans, watchdog } = this.#ground;
    const entry = lineageEntry(this.#runtime, call);
    const finish = (run: Run) => {
      watchdog.forget(entry);
      resolve(run);
    };
    const settle = (run: Run) => {
      if (!this.#runs.delete(id)) return;
      if (pending.silence !== null) clearTimeout(pending.silence);
      const orphaned = orphans.end(pending);
      if (orphaned === null) finish(run);
      else void orphaned.then((reaped) => finish({ ...run, reaped: [...run.reaped, ...reaped] }));
    };
    const pending: Pending = { call, entry, listeners, began: performance.now(), settle, leader: null, sent: false, silence: null };
    this.#runs.set(id, pending);
    orphans.begin(pending);
  }

  /** The worker has died: what it left of this run is ended, and then the run is. */
  async fail({ entry, began, leader, sent, settle }: Pending, problem: string): Promise<void> {
    if (!sent) return settle(unstarted("cannot_start", began, problem));
    const { found } = await endAll({ leader, entry }, this.#ground.census, GRACE_MS);
    settle(workerDied(problem, began, found));
  }
}

function workerDied(problem: string, began: number, reaped: readonly ReapedProcess[]): Run {
  return {
    outcome: { kind: "unknown", cause: "worker_died" },
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    problem,
    duration_ms: performance.now() - began,
    reaped,
  };
}
