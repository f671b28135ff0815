/**
 * What the journal costs: appends beside a bare `node:sqlite` with the same pragmas in the same run, and opening a
 * long session. Run: `bun tests/bench/journal.bench.ts` or `deno run -A tests/bench/journal.bench.ts`.
 *
 * Not measured: several processes on one file, events over a few hundred bytes, a cold disk cache, other disks than this one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readState } from "../../lib/agent/log-state.ts";
import type { Journal, Lease } from "../../lib/journal/journal.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import { type Database, openDatabase } from "../../lib/platform/sqlite.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { newOwner, newSession } from "../fixtures/journal/events.ts";
import { sampleSession } from "../fixtures/journal/sample.ts";

const ROUNDS = 2000;
const BATCH = 50;
const BATCH_ROUNDS = 200;

const directory = mkdtempSync(join(tmpdir(), "orrery-bench-"));

/** Ours and the bare one take turns, so that a slow moment of the disk hits both. */
async function compareAppends(): Promise<void> {
  const journal = openSqliteJournal({ path: join(directory, "ours.sqlite") });
  const bare = new BareLog(join(directory, "bare.sqlite"));
  const writers = await Promise.all(Array.from({ length: BATCH }, () => openWriter(journal)));
  const session = newSession();
  let seq = 0;
  const single = { ours: [] as number[], bare: [] as number[] };
  for (let round = -100; round < ROUNDS; round++) {
    const event = sampleCall(session, ++seq);
    const bareTime = await timed(() => bare.append([event]));
    const oursTime = await timed(() => writers[0]?.append());
    if (round >= 0) single.bare.push(bareTime), single.ours.push(oursTime);
  }
  report("one append at a time", single.ours, single.bare);

  const sessions = Array.from({ length: BATCH }, newSession);
  const together = { ours: [] as number[], bare: [] as number[] };
  for (let round = -10; round < BATCH_ROUNDS; round++) {
    const events = sessions.map((each) => sampleCall(each, ++seq));
    const bareTime = await timed(() => bare.append(events));
    const oursTime = await timed(() => Promise.all(writers.map((writer) => writer.append())));
    if (round >= 0) together.bare.push(bareTime), together.ours.push(oursTime);
  }
  report(`${BATCH} appends at once to ${BATCH} sessions (bare: all in one transaction)`, together.ours, together.bare);
  await journal.close();
  bare.close();
}

async function measureOpening(count: number): Promise<void> {
  const path = join(directory, `long-${count}.sqlite`);
  const session = newSession();
  const writer = openSqliteJournal({ path });
  const lease = await writer.acquire(session, newOwner());
  const events = sampleSession(session, count);
  for (let from = 0; from < events.length; from += 1000) await writer.append(lease, from, events.slice(from, from + 1000));
  await writer.close();
  const times: number[] = [];
  for (let round = 0; round < 9; round++) times.push(await timed(() => openAndFold(path, session, count)));
  console.log(`open + read + fold ${count} events: median ${show(quantile(times, 0.5))}, p95 ${show(quantile(times, 0.95))}`);
}

async function openAndFold(path: string, session: string, count: number): Promise<void> {
  const journal = openSqliteJournal({ path });
  const { state, damage } = await readState(journal, session);
  if (damage.length > 0 || state.seq !== count) throw new Error(`${state.seq} of ${count} events`);
  await journal.close();
}

interface Writer {
  append(): Promise<void>;
}

async function openWriter(journal: Journal): Promise<Writer> {
  const lease: Lease = await journal.acquire(newSession(), newOwner());
  let seq = 0;
  return {
    append: async () => {
      const expected = seq++;
      await journal.append(lease, expected, [sampleCall(lease.session, seq)]);
    },
  };
}

/** The least that keeps events: one table, one prepared statement. */
class BareLog {
  readonly #database: Database;
  readonly #insert: ReturnType<Database["prepare"]>;

  constructor(path: string) {
    this.#database = openDatabase(path, { busy_timeout_ms: 5 });
    this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    this.#database.exec("CREATE TABLE events (session TEXT, seq INTEGER, body TEXT, PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID");
    this.#insert = this.#database.prepare("INSERT INTO events VALUES (?, ?, ?)");
  }

  append(events: readonly SessionEvent[]): void {
    this.#database.exec("BEGIN IMMEDIATE");
    for (const event of events) this.#insert.run(event.session, event.seq, JSON.stringify(event));
    this.#database.exec("COMMIT");
  }

  close(): void {
    this.#database.close();
  }
}

function sampleCall(session: string, seq: number): SessionEvent {
  return {
    v: 1,
    session,
    seq,
    at: "2026-11-01T00:00:00.000Z",
    type: "call_ended",
    call: `call_${session.slice(4)}`,
    outcome: { kind: "exited", code: 0 },
    result: { is_error: false, text: "a line of output\n".repeat(12) },
    duration_ms: 4,
  };
}

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function report(title: string, ours: readonly number[], bare: readonly number[]): void {
  const [our, their] = [quantile(ours, 0.5), quantile(bare, 0.5)];
  console.log(`${title}:`);
  console.log(
    `  ours median ${show(our)}, p95 ${show(quantile(ours, 0.95))}; bare median ${show(their)}, p95 ${show(quantile(bare, 0.95))}`,
  );
  console.log(
    `  ours is at ${(their / our * 100).toFixed(0)} % of bare by the median, ${
      (total(bare) / total(ours) * 100).toFixed(0)
    } % by the total time`,
  );
}

function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

function total(times: readonly number[]): number {
  return times.reduce((sum, time) => sum + time, 0);
}

function show(milliseconds: number): string {
  return `${milliseconds.toFixed(3)} ms`;
}

try {
  await compareAppends();
  await measureOpening(10_000);
  await measureOpening(100_000);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
