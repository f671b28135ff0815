/** What if another process locks, fills, races for or dies over the same file? Real processes throughout. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Journal, JournalHeld, JournalUnavailable, type Lease, LeaseLost, type LogRow } from "../../lib/journal/journal.ts";
import { RENEW_MS } from "../../lib/journal/lease.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { createWorkplace, type Workplace } from "../fixtures/journal/directory.ts";
import { newOwner, newSession, notices } from "../fixtures/journal/events.ts";

describe("the SQLite journal, with other processes on its file,", () => {
  let workplace: Workplace;
  beforeEach(() => {
    workplace = createWorkplace();
  });
  afterEach(() => workplace.dispose());

  test("waits for a lock that is held for 3 s without stopping the event loop, and then appends", async () => {
    const journal = workplace.open();
    const lease = await journal.acquire(newSession(), newOwner());
    const locker = workplace.start("lock", workplace.path, "write");
    await locker.until("locked");
    let [beats, settled] = [0, false];
    const pulse = setInterval(() => beats++, 10);
    const appended = Promise.all([0, 1, 2].map((head) => journal.append(lease, head, notices(lease.session, head, 1)))).then(() =>
      settled = true
    );
    await sleep(3000);
    // A loop that stands still has no beats.
    while (beats < 50) await sleep(10);
    clearInterval(pulse);
    expect(settled).toBe(false);
    await locker.finish();
    await appended;
    expect(await journal.head(lease.session)).toBe(3);
    expect(lease.lost.aborted).toBe(false);
  }, 20_000);

  test("gives up on a lock after its limit, says that the file is locked, and can be used again afterwards", async () => {
    const journal = workplace.open({ patience_ms: 300 });
    const lease = await journal.acquire(newSession(), newOwner());
    const locker = workplace.start("lock", workplace.path, "write");
    await locker.until("locked");
    const error = await failure(journal.append(lease, 0, notices(lease.session, 0, 1)));
    expect(error).toBeInstanceOf(JournalUnavailable);
    expect(error).toMatchObject({ reason: "locked", path: workplace.path });
    expect((error as Error).message).toContain("0.3 s");
    await locker.finish();
    await journal.append(lease, 0, notices(lease.session, 0, 1));
  }, 20_000);

  test("opens beside a process that locks the whole file, and waits for it at first use", async () => {
    await workplace.open().close();
    const locker = workplace.start("lock", workplace.path, "exclusive");
    await locker.until("locked");
    expect(await failure(workplace.open({ patience_ms: 100 }).list())).toMatchObject({ reason: "locked" });
    const journal = workplace.open();
    const listed = journal.list();
    const acquired = journal.acquire(newSession(), newOwner());
    await sleep(200);
    await locker.finish();
    expect(await listed).toEqual([]);
    await journal.append(await acquired, 0, []);
  }, 20_000);

  test("a lease that could not be renewed because of a lock is not lost", async () => {
    const journal = workplace.open({ patience_ms: 50 });
    const lease = await journal.acquire(newSession(), newOwner());
    const locker = workplace.start("lock", workplace.path, "write");
    await locker.until("locked");
    await sleep(RENEW_MS + 500);
    await locker.finish();
    await journal.append(lease, 0, notices(lease.session, 0, 1));
    expect(lease.lost.aborted).toBe(false);
  }, 20_000);

  const users: Readonly<Record<string, (journal: Journal) => Promise<() => Promise<unknown>>>> = {
    "whoever appends": async (journal) => {
      const lease = await journal.acquire(newSession(), newOwner());
      return () => failure(journal.append(lease, 0, notices(lease.session, 0, 1)));
    },
    "whoever appends to a session that has just begun": (journal) =>
      Promise.resolve(() => {
        const lease = journal.begin(newSession(), newOwner());
        return failure(journal.append(lease, 0, notices(lease.session, 0, 1)));
      }),
    "whoever asks for a session": (journal) => Promise.resolve(() => failure(journal.acquire(newSession(), newOwner()))),
    "nobody but at the end": async (journal) => {
      await journal.acquire(newSession(), newOwner());
      return () => Promise.resolve(null);
    },
  };
  for (const [who, prepare] of Object.entries(users)) {
    test(`a lock that outlasts a runtime is told once: to ${who}`, async () => {
      const told: string[] = [];
      const journal = workplace.open({ patience_ms: 50, onNotice: ({ text }) => void told.push(text) });
      const use = await prepare(journal);
      const locker = workplace.start("lock", workplace.path, "write");
      await locker.until("locked");
      const error = await use();
      if (error instanceof Error) told.push(error.message);
      await sleep(RENEW_MS + 500);
      await journal.close();
      await locker.finish();
      expect(told).toEqual([expect.stringMatching(/^Cannot use the journal .* locked for 0.05 s: wait for that process, or end it$/)]);
    }, 20_000);
  }

  test("kill -9 among 200 appends of a megabyte leaves a sound file, no gap, and all that was acknowledged", async () => {
    const session = newSession();
    let acknowledged = 0;
    for (const after of [1, 20, 47, 60, 72]) {
      const writer = workplace.start("append", workplace.path, session, "200", "1000000");
      for (let count = 0; count < after; count++) acknowledged = Number(await writer.line());
      await writer.kill();
      expect(integrity(workplace.path)).toBe("ok");
      const journal = workplace.open();
      const head = await journal.head(session);
      expect(head).toBeGreaterThanOrEqual(acknowledged);
      const rows = await journal.read(session);
      expect(rows.map(seqOf)).toEqual(Array.from({ length: head }, (_, index) => index + 1));
      await journal.close();
    }
    expect(acknowledged).toBeGreaterThanOrEqual(200);
  }, 120_000);

  test("eight processes append to their own sessions at once and all succeed", async () => {
    const sessions = Array.from({ length: 8 }, newSession);
    const writers = sessions.map((session) => workplace.start("append", workplace.path, session, "20", "1000"));
    await Promise.all(writers.map((writer) => writer.until("closed")));
    const journal = workplace.open();
    for (const session of sessions) {
      expect((await journal.read(session)).map(seqOf)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    }
    expect((await journal.list()).map((each) => [each.seq, each.status])).toEqual(sessions.map(() => [20, "idle"]));
  }, 60_000);

  test("two processes that ask for a session at the same moment: one gets it, the other is told who has it", async () => {
    const racers = [workplace.start("race", workplace.path), workplace.start("race", workplace.path)];
    for (const racer of racers) await racer.until("ready");
    for (let round = 0; round < 50; round++) {
      const session = newSession();
      for (const racer of round % 2 === 0 ? racers : racers.toReversed()) racer.send(session);
      const answers = await Promise.all(racers.map((racer) => racer.line()));
      const winner = racers[answers.indexOf("won")];
      expect(answers.toSorted()).toEqual([`refused ${winner?.pid}`, "won"]);
    }
    for (const racer of racers) await racer.finish();
  }, 60_000);

  test("the session of a holder that was killed is taken over at once, and its events go on without a gap", async () => {
    const before = new Date().toISOString();
    const session = newSession();
    const writer = workplace.start("append", workplace.path, session, "100000", "10");
    await writer.until("5");
    const journal = workplace.open();
    expect(await failure(journal.acquire(session, newOwner()))).toMatchObject({ name: "JournalHeld", holder: { pid: writer.pid } });
    await writer.kill();
    const lease = await journal.acquire(session, newOwner());
    expect(lease.predecessor?.pid).toBe(writer.pid);
    const held = lease.predecessor_held ?? { from: "", until: "" };
    const now = new Date().toISOString();
    expect([held, held.from >= before && held.from <= held.until && held.until <= now]).toEqual([held, true]);
    const head = await journal.head(session);
    await journal.append(lease, head, notices(session, head, 1));
    expect((await journal.read(session)).map(seqOf)).toEqual(Array.from({ length: head + 1 }, (_, index) => index + 1));
  }, 20_000);

  test("the session of a holder that was killed out of our sight is taken over in less than 5 s", async () => {
    const session = newSession();
    const holder = workplace.start("hold", workplace.path, session, "another machine");
    await holder.until("held");
    const journal = workplace.open();
    await holder.kill();
    expect(expiry(workplace.path) - Date.now()).toBeLessThan(5000);
    const lease = await acquireWhenFree(journal, session);
    expect(lease.predecessor).toMatchObject({ pid: holder.pid, place: "another machine" });
  }, 20_000);

  test("a holder that is only stopped keeps its session, however late its renewal is", async () => {
    const session = newSession();
    const holder = workplace.start("hold", workplace.path, session);
    await holder.until("held");
    const journal = workplace.open();
    holder.signal("SIGSTOP");
    expire(workplace.path);
    expect(await failure(journal.acquire(session, newOwner()))).toBeInstanceOf(JournalHeld);
    expect(await journal.list()).toEqual([]);
    holder.signal("SIGCONT");
  }, 20_000);

  test("a holder out of our sight that comes back after a takeover learns that its lease is lost", async () => {
    const session = newSession();
    const holder = workplace.start("hold", workplace.path, session, "another machine");
    await holder.until("held");
    const journal = workplace.open();
    holder.signal("SIGSTOP");
    expire(workplace.path);
    const lease = await journal.acquire(session, newOwner());
    holder.signal("SIGCONT");
    await holder.until("lost");
    await journal.append(lease, 0, notices(session, 0, 1));
  }, 20_000);

  test("an append under a lease that another process took over fails and writes nothing", async () => {
    const journal = workplace.open();
    const session = newSession();
    const lease = await journal.acquire(session, { ...newOwner(), place: "another machine" });
    expire(workplace.path);
    const taker = workplace.start("hold", workplace.path, session);
    await taker.until("held");
    expect(await failure(journal.append(lease, 0, notices(session, 0, 1)))).toBeInstanceOf(LeaseLost);
    expect(lease.lost.aborted).toBe(true);
    expect(await journal.head(session)).toBe(0);
  }, 20_000);

  test("a lease that was given at once and cannot be had is told by its reason to whoever appends, and is lost", async () => {
    const journal = workplace.open();
    await journal.list();
    const database = openDatabase(workplace.path, { busy_timeout_ms: 1000 });
    database.exec("ALTER TABLE predecessors RENAME COLUMN session TO sess");
    database.close();
    const session = newSession();
    const lease = journal.begin(session, newOwner());
    expect(await failure(journal.append(lease, 0, notices(session, 0, 1)))).toMatchObject({ name: "JournalUnavailable", reason: "broken" });
    expect(lease.lost.aborted).toBe(true);
    expect(await failure(journal.append(lease, 0, notices(session, 0, 1)))).toMatchObject({ name: "JournalUnavailable", reason: "broken" });
  });
});

async function acquireWhenFree(journal: Journal, session: string): Promise<Lease> {
  for (;;) {
    try {
      return await journal.acquire(session, newOwner());
    } catch (error) {
      if (!(error instanceof JournalHeld)) throw error;
      await sleep(50);
    }
  }
}

/** When the one lease there is ends if it is not renewed. */
function expiry(path: string): number {
  const database = openDatabase(path, { busy_timeout_ms: 1000 });
  const row = database.prepare("SELECT expires_at FROM leases").get();
  database.close();
  return Number(row?.["expires_at"]);
}

/** As if every lease had not been renewed for long. */
function expire(path: string): void {
  const database = openDatabase(path, { busy_timeout_ms: 1000 });
  database.exec("UPDATE leases SET expires_at = 0");
  database.close();
}

function integrity(path: string): unknown {
  const database = openDatabase(path, { busy_timeout_ms: 1000 });
  const row = database.prepare("PRAGMA integrity_check").get();
  database.close();
  return row?.["integrity_check"];
}

function seqOf(row: LogRow): number | string {
  return row.kind === "event" ? row.event.seq : row.reason;
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
