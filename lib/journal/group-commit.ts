/**
 * One connection, one writer. Everything that waits to be written in one tick shares one transaction, so one flush
 * to disk serves many appends; and a lock held by another process is waited for between attempts, not in them.
 *
 * G1  Jobs run in the order of `submit`. A job checks before it writes: one that throws an error of ours has written
 *     nothing and fails alone, the others commit.
 * G2  A job settles only after the commit, and may run again if the commit did not happen: its effects are on the file only.
 * G3  A transaction that fails for another reason than a lock is repeated job by job, so that it fails only whose fault it is.
 * G4  A lock that outlasted the patience is not waited for again at such length until it is gone.
 *
 * The place of concurrency is `#drain`: at most one is under way.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import { sqliteFault } from "../platform/sqlite.ts";
import { JournalUnavailable } from "./journal.ts";
import { openStore, openStoreForReading, type Store, toUnavailable } from "./store.ts";

const LONGEST_PAUSE_MS = 40;
/** G4. */
const PATIENCE_LEFT_MS = 500;

interface Job {
  readonly durable: boolean;
  readonly since: number;
  /** Runs inside the transaction; what it returns settles the job once that is committed. */
  readonly run: (store: Store) => () => void;
  readonly fail: (error: unknown) => void;
}

export class GroupCommit {
  readonly #path: string;
  readonly #patience_ms: number;
  #store: Store | null = null;
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closed = false;
  #gaveUp = false;
  #hurried = false;

  /** @throws {JournalUnavailable} unless the file is only locked, and the first use waits for it, or can at least be read. */
  constructor(path: string, patience_ms: number) {
    this.#path = path;
    this.#patience_ms = patience_ms;
    try {
      this.#store = openStore(path);
    } catch (error) {
      if (!isLocked(error) && !(isReadOnly(error) && this.#canBeRead())) throw error;
    }
  }

  /** Runs `work` in the next transaction. `durable` is what only appends need: a lease does not outlive the machine. */
  submit<T>(durable: boolean, work: (store: Store) => T): Promise<T> {
    return new Promise((resolve, fail) => {
      if (this.#closed) throw this.#closedError();
      const run = (store: Store) => {
        const result = work(store);
        return () => resolve(result);
      };
      this.#waiting.push({ durable, since: performance.now(), run, fail });
      this.#draining ??= this.#drain();
    });
  }

  /** Runs `work` outside of a write transaction, at once unless the file is locked. */
  async read<T>(work: (store: Store) => T): Promise<T> {
    const since = performance.now();
    for (let attempt = 0;; attempt++) {
      if (this.#closed) throw this.#closedError();
      try {
        return work(this.#open());
      } catch (error) {
        if (isReadOnly(error)) return this.#readOnce(work);
        if (!isLocked(error)) throw toUnavailable(this.#path, error);
        if (isOverdue(since, this.#patience(false))) throw this.#lockedError();
      }
      await pause(attempt);
    }
  }

  /** No lock is waited for at length from now on. */
  hurry(): void {
    this.#hurried = true;
  }

  /** Writes what waits, `last` as the last of it, then closes the file, unless nothing was ever to be written. @throws what became of `last` */
  async close(last: (store: Store) => void): Promise<void> {
    if (this.#store === null && this.#draining === null) {
      this.#closed = true;
      return;
    }
    const written = this.submit(false, last);
    this.#closed = true;
    try {
      await written;
    } finally {
      await this.#draining;
      this.#store?.close();
      this.#store = null;
    }
  }

  async #drain(): Promise<void> {
    await setImmediate();
    for (let attempt = 0; this.#waiting.length > 0; attempt++) {
      const left = this.#commit(this.#waiting);
      const patience = this.#patience(this.#gaveUp);
      const overdue = left.filter((job) => isOverdue(job.since, patience));
      // Jobs are in the order of their age.
      this.#waiting = left.slice(overdue.length);
      if (overdue.length > 0) this.#gaveUp = true;
      for (const job of overdue) job.fail(this.#lockedError());
      if (this.#waiting.length > 0) await pause(attempt);
    }
    this.#draining = null;
  }

  /** Settles the jobs it can; gives back those that must wait for a lock. */
  #commit(jobs: readonly Job[]): readonly Job[] {
    try {
      const store = this.#open();
      const settle = store.transaction(jobs.some((job) => job.durable), () => jobs.map((job) => runAlone(job, store)));
      this.#gaveUp = false;
      for (const each of settle) each();
      return [];
    } catch (error) {
      if (isLocked(error)) return jobs;
      if (jobs.length > 1) return this.#commitEach(jobs);
      jobs[0]?.fail(toUnavailable(this.#path, error));
      return [];
    }
  }

  #commitEach(jobs: readonly Job[]): readonly Job[] {
    for (const [index, job] of jobs.entries()) if (this.#commit([job]).length > 0) return jobs.slice(index);
    return [];
  }

  #patience(spent: boolean): number {
    return spent || this.#hurried ? Math.min(PATIENCE_LEFT_MS, this.#patience_ms) : this.#patience_ms;
  }

  #open(): Store {
    this.#store ??= openStore(this.#path);
    return this.#store;
  }

  #canBeRead(): boolean {
    try {
      return this.#readOnce(() => true);
    } catch {
      // Then the reason why it cannot be written is the one to tell.
      return false;
    }
  }

  #readOnce<T>(work: (store: Store) => T): T {
    const store = openStoreForReading(this.#path);
    try {
      return work(store);
    } catch (error) {
      throw toUnavailable(this.#path, error);
    } finally {
      store.close();
    }
  }

  #lockedError(): JournalUnavailable {
    const locked = this.#hurried ? "keeps it locked" : `has kept it locked for ${this.#patience_ms / 1000} s`;
    const message = `Cannot use the journal "${this.#path}" as another process ${locked}: wait for that process, or end it`;
    return new JournalUnavailable(this.#path, "locked", message);
  }

  #closedError(): JournalUnavailable {
    return new JournalUnavailable(this.#path, "io", `Cannot use the journal "${this.#path}" as it has been closed`);
  }
}

function isOverdue(since: number, patience_ms: number): boolean {
  return performance.now() - since > patience_ms;
}

/** An error of SQLite ends the transaction, one of ours only this job. */
function runAlone(job: Job, store: Store): () => void {
  try {
    return job.run(store);
  } catch (error) {
    if (sqliteFault(error) !== null) throw error;
    return () => job.fail(error);
  }
}

function isReadOnly(error: unknown): boolean {
  return error instanceof JournalUnavailable && error.reason === "read_only";
}

function isLocked(error: unknown): boolean {
  return error instanceof JournalUnavailable ? error.reason === "locked" : sqliteFault(error) === "busy";
}

/** Longer from attempt to attempt, and uneven, so that two who wait do not meet again. */
async function pause(attempt: number): Promise<void> {
  await setTimeout(1 + Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** Math.min(attempt, 10)));
}
