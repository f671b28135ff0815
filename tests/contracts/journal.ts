/** What every journal must do, whatever it keeps its events in. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Journal,
  JournalConflict,
  JournalHeld,
  JournalOccupied,
  JournalUnavailable,
  type Lease,
  LeaseLost,
  type LeaseRequest,
  type LogRow,
} from "../../lib/journal/journal.ts";
import type { StoredEvent } from "../../lib/session/event.ts";
import { deadOwner, newOwner, newSession, notices, opened, prompted, resumed, turnEnded } from "../fixtures/journal/events.ts";

export interface JournalSubject {
  readonly name: string;
  /** An empty journal. */
  open(): Promise<OpenedJournal>;
  /** What this journal cannot do, by the title of the claim, with the reason. */
  readonly cannot?: Readonly<Record<string, string>>;
}

export interface OpenedJournal {
  readonly journal: Journal;
  /** A second journal on the same store, as another runtime would open it. */
  again(): Promise<Journal>;
  dispose(): Promise<void>;
}

export function journalContract(subject: JournalSubject): void {
  describe(`${subject.name} keeps the journal contract:`, () => {
    let store: OpenedJournal;
    let journal: Journal;

    beforeEach(async () => {
      store = await subject.open();
      journal = store.journal;
    });
    afterEach(() => store.dispose());

    function claim(title: string, body: () => Promise<void>, timeout = 20_000): void {
      const reason = subject.cannot?.[title];
      if (reason === undefined) test(title, body, timeout);
      else test.skip(`${title} (not here: ${reason})`, body, timeout);
    }

    async function hold(session = newSession()): Promise<Lease> {
      return await journal.acquire(session, newOwner());
    }

    claim("an unknown session has no events and ends at 0", async () => {
      const session = newSession();
      expect(await journal.head(session)).toBe(0);
      expect(await journal.read(session)).toEqual([]);
      expect(await journal.list()).toEqual([]);
    });

    claim("what was appended is read back in order", async () => {
      const lease = await hold();
      const events = [opened(lease.session), prompted(lease.session, 2, "hello")];
      await journal.append(lease, 0, events);
      await journal.append(lease, 2, notices(lease.session, 2, 3));
      expect(readable(await journal.read(lease.session))).toEqual([...events, ...notices(lease.session, 2, 3)]);
      expect(await journal.head(lease.session)).toBe(5);
    });

    claim("read() starts behind `after` and stops at `limit`", async () => {
      const lease = await hold();
      await journal.append(lease, 0, notices(lease.session, 0, 1200));
      expect(seqs(await journal.read(lease.session, { after: 3, limit: 2 }))).toEqual([4, 5]);
      expect(seqs(await journal.read(lease.session, { after: 1198 }))).toEqual([1199, 1200]);
      expect(seqs(await journal.read(lease.session, { after: 1200 }))).toEqual([]);
      expect(seqs(await journal.read(lease.session, { limit: 0 }))).toEqual([]);
      expect((await journal.read(lease.session)).length).toBe(1200);
    });

    claim("a reader cannot change what is stored, nor can the writer afterwards", async () => {
      const lease = await hold();
      const event = opened(lease.session) as StoredEvent & { model: string };
      await journal.append(lease, 0, [event]);
      event.model = "changed/later";
      const [first] = readable(await journal.read(lease.session)) as (StoredEvent & { model: string })[];
      expect(first?.model).toBe("local/small");
      if (first !== undefined) first.model = "changed/by-reader";
      expect(readable(await journal.read(lease.session))).toEqual([opened(lease.session)]);
    });

    claim("an append that expects another head is refused with both numbers and changes nothing", async () => {
      const lease = await hold();
      await journal.append(lease, 0, notices(lease.session, 0, 2));
      for (const expected of [0, 1, 3]) {
        const error = await failure(journal.append(lease, expected, notices(lease.session, expected, 1)));
        expect(error).toBeInstanceOf(JournalConflict);
        expect(error).toMatchObject({ session: lease.session, expected, actual: 2 });
      }
      expect(seqs(await journal.read(lease.session))).toEqual([1, 2]);
    });

    claim("events that are numbered wrongly or of another session are refused as a fault of the caller", async () => {
      const lease = await hold();
      const gap = [...notices(lease.session, 0, 1), ...notices(lease.session, 2, 1)];
      for (const events of [gap, notices(lease.session, 1, 1), notices(newSession(), 0, 1)]) {
        expect(await failure(journal.append(lease, 0, events))).toBeInstanceOf(RangeError);
      }
      expect(await journal.head(lease.session)).toBe(0);
    });

    claim("an append of nothing checks the head and the lease and writes nothing", async () => {
      const lease = await hold();
      await journal.append(lease, 0, []);
      expect(await failure(journal.append(lease, 1, []))).toBeInstanceOf(JournalConflict);
      expect(await journal.list()).toEqual([]);
    });

    claim("appends to one session that wait together succeed in their order", async () => {
      const lease = await hold();
      const sizes = [1, 3, 2];
      let head = 0;
      const waiting = sizes.map((size) => {
        const appended = journal.append(lease, head, notices(lease.session, head, size));
        head += size;
        return appended;
      });
      await Promise.all(waiting);
      expect(seqs(await journal.read(lease.session))).toEqual([1, 2, 3, 4, 5, 6]);
    });

    claim("one refused append does not take those that wait with it", async () => {
      const [left, wrong, right] = [await hold(), await hold(), await hold()];
      const results = await Promise.allSettled([
        journal.append(left, 0, notices(left.session, 0, 2)),
        journal.append(wrong, 7, notices(wrong.session, 7, 1)),
        journal.append(right, 0, notices(right.session, 0, 1)),
        journal.append(left, 2, notices(left.session, 2, 1)),
      ]);
      expect(results.map((each) => each.status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
      expect([await journal.head(left.session), await journal.head(wrong.session), await journal.head(right.session)]).toEqual([3, 0, 1]);
    });

    claim("text with line separators, NUL and lone surrogates comes back as it was", async () => {
      const lease = await hold();
      const text = 'a\u2028b\u2029c\u0000d\ud800e\udc00f"\\\n\r\t\u007f😀';
      await journal.append(lease, 0, notices(lease.session, 0, 1, text));
      expect(readable(await journal.read(lease.session))).toEqual(notices(lease.session, 0, 1, text));
    });

    claim("an event of a type nobody knows yet is kept whole", async () => {
      const lease = await hold();
      const body = { v: 3, session: lease.session, seq: 1, at: "2027-01-01T00:00:00.000Z", type: "planet_seen", rings: { count: 7 } };
      const { v, session, seq, at, type } = body;
      const foreign: StoredEvent = { v, session, seq, at, type, foreign: body };
      await journal.append(lease, 0, [foreign]);
      expect(await journal.read(lease.session)).toEqual([{ kind: "event", event: foreign }]);
    });

    claim("a session that is held is refused to a second owner, who is told the holder's pid", async () => {
      const owner = newOwner();
      const lease = await journal.acquire(newSession(), owner);
      expect(lease).toMatchObject({ owner, predecessor: null });
      for (const next of [newOwner(), owner]) {
        const error = await failure(journal.acquire(lease.session, next));
        expect(error).toBeInstanceOf(JournalHeld);
        expect((error as JournalHeld).holder).toEqual(owner);
        expect((error as JournalHeld).message).toContain(String(owner.pid));
      }
      expect(lease.lost.aborted).toBe(false);
    });

    claim("a new session's lease is there at once, and written with what is appended in the same moment", async () => {
      const owner = newOwner();
      const lease = journal.begin(newSession(), owner);
      const appended = journal.append(lease, 0, notices(lease.session, 0, 2));
      await appended;
      expect(await journal.head(lease.session)).toBe(2);
      expect(await failure(journal.acquire(lease.session, newOwner()))).toMatchObject({ name: "JournalHeld", holder: owner });
      await lease.release();
      await journal.append(await hold(lease.session), 2, notices(lease.session, 2, 1));
    });

    claim("a new session that is given back before anything was appended is free, and not in the list", async () => {
      const lease = journal.begin(newSession(), newOwner());
      await lease.release();
      expect(await failure(journal.append(lease, 0, notices(lease.session, 0, 1)))).toBeInstanceOf(LeaseLost);
      expect(await journal.list()).toEqual([]);
      expect((await hold(lease.session)).predecessor).toBe(null);
    });

    claim("two that ask for one session at once: exactly one gets it", async () => {
      const session = newSession();
      const results = await Promise.allSettled([journal.acquire(session, newOwner()), journal.acquire(session, newOwner())]);
      expect(results.map((each) => each.status).sort()).toEqual(["fulfilled", "rejected"]);
    });

    claim("a released session is free, and nobody's predecessor", async () => {
      const lease = await hold();
      await journal.append(lease, 0, notices(lease.session, 0, 1));
      await lease.release();
      await lease.release();
      expect(await failure(journal.append(lease, 1, notices(lease.session, 1, 1)))).toBeInstanceOf(LeaseLost);
      const next = await journal.acquire(lease.session, newOwner());
      expect(next.predecessor).toBe(null);
      await journal.append(next, 1, notices(lease.session, 1, 1));
    });

    claim("a dead holder's session is taken over at once; its lease is lost and cannot append", async () => {
      const dead = deadOwner();
      const old = await journal.acquire(newSession(), dead);
      await journal.append(old, 0, notices(old.session, 0, 1));
      const lease = await journal.acquire(old.session, newOwner());
      expect(lease.predecessor).toEqual(dead);
      expect(await failure(journal.append(old, 1, notices(old.session, 1, 1)))).toBeInstanceOf(LeaseLost);
      expect(old.lost.aborted).toBe(true);
      await old.release();
      await journal.append(lease, 1, notices(old.session, 1, 1));
      expect(lease.lost.aborted).toBe(false);
    });

    claim("who died with a session is known to each that opens it, until its turn is resumed", async () => {
      const dead = deadOwner();
      const old = await journal.acquire(newSession(), dead);
      const { session } = old;
      await journal.append(old, 0, [opened(session), prompted(session, 2, "go")]);
      const looked = await journal.acquire(session, newOwner());
      await journal.append(looked, 2, notices(session, 2, 1));
      await looked.release();
      // This one dies as well, before it has done anything with the session.
      expect((await journal.acquire(session, deadOwner())).predecessor).toEqual(dead);
      const lease = await hold(session);
      expect(lease).toMatchObject({ predecessor: dead, predecessor_held: looked.predecessor_held });
      await journal.append(lease, 3, [resumed(session, 4)]);
      await lease.release();
      expect(await hold(session)).toMatchObject({ predecessor: null, predecessor_held: null });
    });

    claim("who died with a session whose turns were all over is forgotten when the next one begins", async () => {
      const old = await journal.acquire(newSession(), deadOwner());
      const { session } = old;
      await journal.append(old, 0, [opened(session)]);
      const lease = await hold(session);
      await journal.append(lease, 1, [prompted(session, 2, "go")]);
      await lease.release();
      expect((await hold(session)).predecessor).toBe(null);
    });

    claim("a session that is removed takes along who died with it", async () => {
      const old = await journal.acquire(newSession(), deadOwner());
      await journal.append(old, 0, [opened(old.session)]);
      await journal.remove(await hold(old.session));
      expect((await hold(old.session)).predecessor).toBe(null);
    });

    claim("list() shows what a session is about, newest first", async () => {
      const [older, newer] = [await hold(), await hold()];
      await journal.append(newer, 0, [opened(newer.session, { at: "2026-11-03T00:00:00.000Z", title: "Given" })]);
      await journal.append(older, 0, [opened(older.session, { at: "2026-10-01T00:00:00.000Z" })]);
      const shown = { workspace: "/home/ada/project", model: "local/small", mode: "normal", seq: 1, status: "held", turns: 0 };
      expect(await journal.list()).toEqual([
        { ...shown, session: newer.session, title: "Given", opened_at: "2026-11-03T00:00:00.000Z", updated_at: "2026-11-03T00:00:00.000Z" },
        { ...shown, session: older.session, title: "", opened_at: "2026-10-01T00:00:00.000Z", updated_at: "2026-10-01T00:00:00.000Z" },
      ] as Awaited<ReturnType<Journal["list"]>>);
      expect((await journal.list({ limit: 1 })).map((each) => each.session)).toEqual([newer.session]);
    });

    claim("list() takes the first prompt's first line as a title, capped and without control characters", async () => {
      const lease = await hold();
      const text = `\n  \u001b[31mcount\u0000 ${"😀".repeat(100)}\nsecond line`;
      await journal.append(lease, 0, [opened(lease.session), prompted(lease.session, 2, text), prompted(lease.session, 3, "later", 2)]);
      const [shown] = await journal.list();
      expect(shown?.title).toMatch(/^\[31mcount {2}(😀)+…$/u);
      expect([...(shown?.title ?? "")].length).toBe(80);
      expect(shown?.turns).toBe(2);
    });

    claim("list() tells held, interrupted and idle apart, and follows changes of mode and model", async () => {
      const lease = await hold();
      const { session } = lease;
      const at = "2026-11-01T00:00:00.000Z";
      await journal.append(lease, 0, [opened(session), prompted(session, 2, "hello")]);
      expect((await journal.list())[0]?.status).toBe("held");
      await lease.release();
      expect((await journal.list())[0]?.status).toBe("interrupted");
      const next = await journal.acquire(session, deadOwner());
      await journal.append(next, 2, [
        turnEnded(session, 3),
        { v: 1, session, seq: 4, at, type: "mode_changed", mode: "plan", by: "cli" },
        { v: 1, session, seq: 5, at, type: "model_changed", model: "local/large", by: "cli" },
      ]);
      expect((await journal.list())[0]).toMatchObject({ status: "idle", mode: "plan", model: "local/large", seq: 5, turns: 1 });
    });

    claim("standing() tells a session's head, and whether somebody holds it", async () => {
      const [lease, other] = [await hold(), await hold()];
      await journal.append(other, 0, [opened(other.session)]);
      expect(await journal.standing(lease.session)).toEqual({ head: 0, held: true });
      await journal.append(lease, 0, [opened(lease.session), prompted(lease.session, 2, "hello")]);
      expect(await journal.standing(lease.session)).toEqual({ head: 2, held: true });
      await lease.release();
      expect(await journal.standing(lease.session)).toEqual({ head: 2, held: false });
      await journal.acquire(lease.session, deadOwner());
      expect(await journal.standing(lease.session)).toEqual({ head: 2, held: false });
      expect(await journal.standing(newSession())).toEqual({ head: 0, held: false });
    });

    claim("list() goes on behind a row, also among rows of one moment, and never shows one twice", async () => {
      const leases = await Promise.all(Array.from({ length: 5 }, () => hold()));
      for (const [index, lease] of leases.entries()) {
        await journal.append(lease, 0, [opened(lease.session, { at: `2026-11-0${1 + Math.floor(index / 3)}T00:00:00.000Z` })]);
      }
      const whole = (await journal.list()).map((each) => each.session);
      const paged: string[] = [];
      for (let page = await journal.list({ limit: 2 }); page.length > 0;) {
        paged.push(...page.map((each) => each.session));
        const last = page[page.length - 1];
        page = last === undefined ? [] : await journal.list({ limit: 2, before: last });
      }
      expect(whole).toHaveLength(5);
      expect(paged).toEqual(whole);
    });

    claim("remove() takes the log and the lease away, and nothing of another session", async () => {
      const [lease, other] = [await hold(), await hold()];
      await journal.append(lease, 0, [opened(lease.session)]);
      await journal.append(other, 0, [opened(other.session)]);
      await journal.remove(lease);
      expect(await journal.read(lease.session)).toEqual([]);
      expect((await journal.list()).map((each) => each.session)).toEqual([other.session]);
      expect(await journal.append(lease, 1, notices(lease.session, 1, 1)).catch((error: Error) => error.name)).toBe("LeaseLost");
      expect(await journal.remove(lease).catch((error: Error) => error.name)).toBe("LeaseLost");
      await journal.append(other, 1, notices(other.session, 1, 1));
    });

    claim("readStored() gives the text that an event is stored as, in the places that read() gives", async () => {
      const lease = await hold();
      const events = [opened(lease.session), ...notices(lease.session, 1, 3, "\u2028\u0000\ud800")];
      await journal.append(lease, 0, events);
      const rows = await journal.readStored(lease.session, { after: 1, limit: 2 });
      expect(rows.map(({ text }) => text)).toEqual(events.slice(1, 3).map((event) => JSON.stringify(event)));
      expect(rows.map(({ row }) => row)).toEqual([...await journal.read(lease.session, { after: 1, limit: 2 })]);
    });

    claim("an intake is not there before it is committed, and then is a session like any other", async () => {
      const session = newSession();
      const events = [opened(session), prompted(session, 2, "hello"), ...notices(session, 2, 3)];
      const texts = events.map((event) => JSON.stringify(event, null, 1));
      const intake = journal.openIntake(session);
      await intake.add(events.slice(0, 2), texts.slice(0, 2));
      await intake.add(events.slice(2), texts.slice(2));
      expect([await journal.head(session), await journal.list(), await journal.read(session)]).toEqual([0, [], []]);
      await intake.commit();
      await intake.discard();
      expect((await journal.readStored(session)).map(({ text }) => text)).toEqual(texts);
      expect(readable(await journal.read(session))).toEqual(events);
      expect(await journal.list()).toMatchObject([{ session, title: "hello", seq: 5, turns: 1, status: "interrupted" }]);
      const lease = await hold(session);
      await journal.append(lease, 5, [turnEnded(session, 6)]);
    });

    claim("an intake with an open turn is a copy until that is resumed, whoever looks at it before", async () => {
      const session = newSession();
      const events = [opened(session), prompted(session, 2, "hello")];
      const intake = journal.openIntake(session);
      await intake.add(events, events.map((event) => JSON.stringify(event)));
      await intake.commit();
      await (await hold(session)).release();
      await journal.acquire(session, deadOwner());
      const lease = await hold(session);
      expect(lease).toMatchObject({ is_copy: true, predecessor_held: null });
      await journal.append(lease, 2, [resumed(session, 3)]);
      await lease.release();
      expect(await hold(session)).toMatchObject({ is_copy: false, predecessor: null });
    });

    claim("an intake between turns is no copy that may go on elsewhere", async () => {
      const session = newSession();
      const events = [opened(session), prompted(session, 2, "hello"), turnEnded(session, 3)];
      const intake = journal.openIntake(session);
      await intake.add(events, events.map((event) => JSON.stringify(event)));
      await intake.commit();
      expect(await hold(session)).toMatchObject({ is_copy: false, predecessor: null });
    });

    claim("an intake that is discarded leaves nothing, and can be made again", async () => {
      const session = newSession();
      for (const ends of ["discard", "commit"] as const) {
        const intake = journal.openIntake(session);
        await intake.add([opened(session)], [JSON.stringify(opened(session))]);
        await intake[ends]();
      }
      expect(await journal.head(session)).toBe(1);
    });

    claim("an intake is refused where the session has events or a holder, and one with a gap is a fault of the caller", async () => {
      const lease = await hold();
      const { session } = lease;
      const intake = async () => {
        const own = journal.openIntake(session);
        await own.add([opened(session)], [JSON.stringify(opened(session))]);
        return own;
      };
      expect(await failure((await intake()).commit())).toBeInstanceOf(JournalHeld);
      await journal.append(lease, 0, [opened(session, { title: "first" })]);
      await lease.release();
      const late = journal.openIntake(session);
      expect(await failure(late.add(notices(session, 1, 1), ["{}"]))).toBeInstanceOf(RangeError);
      await late.discard();
      expect(await journal.list()).toMatchObject([{ session, title: "first", seq: 1 }]);
    });

    claim("an intake of a session that is there is refused and changes nothing", async () => {
      const lease = await hold();
      const { session } = lease;
      await journal.append(lease, 0, [opened(session, { title: "first" })]);
      await lease.release();
      const intake = journal.openIntake(session);
      await intake.add([opened(session), ...notices(session, 1, 1)], ["{}", "{}"]);
      expect(await failure(intake.commit())).toBeInstanceOf(JournalOccupied);
      await intake.discard();
      expect(await journal.list()).toMatchObject([{ session, title: "first", seq: 1 }]);
      expect(readable(await journal.read(session))).toEqual([opened(session, { title: "first" })]);
    });

    claim("a holder that listens hears each request for its session once, and not when it has left", async () => {
      const [lease, other] = [await hold(), await hold()];
      const heard: string[] = [];
      const first = Promise.withResolvers<void>();
      const leave = lease.listen(({ id }) => {
        heard.push(id);
        first.resolve();
      });
      const ask = (id: string, session: string): LeaseRequest => ({ id, type: "cancel", session, turn: 1, grace_ms: 0 });
      await journal.ask(ask("for-other", other.session));
      await journal.ask(ask("for-us", lease.session));
      await first.promise;
      await journal.withdraw(ask("for-us", lease.session));
      leave();
      await journal.ask(ask("late", lease.session));
      const second = Promise.withResolvers<string>();
      other.listen(({ id }) => second.resolve(id));
      await journal.ask(ask("again", other.session));
      await second.promise;
      expect(heard).toEqual(["for-us"]);
    });

    claim("close() writes what waits, and a closed journal says that it is closed", async () => {
      const lease = await hold();
      const waiting = journal.append(lease, 0, notices(lease.session, 0, 1));
      const closed = journal.close();
      await Promise.all([waiting, closed, journal.close()]);
      for (
        const use of [journal.read(lease.session), journal.head(lease.session), journal.list(), journal.acquire(newSession(), newOwner())]
      ) {
        expect(await failure(use)).toBeInstanceOf(JournalUnavailable);
      }
      expect(await failure(journal.append(lease, 1, notices(lease.session, 1, 1)))).toBeInstanceOf(Error);
    });

    claim("close() releases what it holds, and what was appended is there afterwards", async () => {
      const lease = await hold();
      await journal.append(lease, 0, [opened(lease.session)]);
      const asked = journal.acquire(newSession(), newOwner());
      await journal.close();
      const late = await asked;
      const next = await store.again();
      expect(readable(await next.read(lease.session))).toEqual([opened(lease.session)]);
      for (const session of [lease.session, late.session]) expect((await next.acquire(session, newOwner())).predecessor).toBe(null);
    });

    claim("a holder in another journal on the same store is respected", async () => {
      const lease = await hold();
      const other = await store.again();
      expect(await failure(other.acquire(lease.session, newOwner()))).toBeInstanceOf(JournalHeld);
      await lease.release();
      const taken = await other.acquire(lease.session, newOwner());
      await other.append(taken, 0, notices(lease.session, 0, 1));
      expect(await failure(journal.append(taken, 1, notices(lease.session, 1, 1)))).toBeInstanceOf(LeaseLost);
    });

    claim("any appends over several sessions are read back equal and without a gap", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(appendArbitrary, { maxLength: 30 }), async (appends) => {
          const leases = [await hold(), await hold(), await hold()];
          const written = leases.map((): StoredEvent[] => []);
          const waiting: Promise<void>[] = [];
          for (const { slot, texts, settle } of appends) {
            const [lease, log] = [leases[slot], written[slot]];
            if (lease === undefined || log === undefined) continue;
            const events = texts.flatMap((text, index) => notices(lease.session, log.length + index, 1, text));
            waiting.push(journal.append(lease, log.length, events));
            log.push(...events);
            if (settle) await Promise.all(waiting.splice(0));
          }
          await Promise.all(waiting);
          for (const [slot, lease] of leases.entries()) {
            expect(readable(await journal.read(lease.session))).toEqual(written[slot] ?? []);
            expect(await journal.head(lease.session)).toBe(written[slot]?.length ?? 0);
          }
        }),
        { numRuns: 40, seed: 46 },
      );
    }, 60_000);
  });
}

const appendArbitrary = fc.record({
  slot: fc.nat({ max: 2 }),
  texts: fc.array(fc.string({ unit: "binary" }), { maxLength: 4 }),
  settle: fc.boolean(),
});

function readable(rows: readonly LogRow[]): readonly StoredEvent[] {
  return rows.map((row) => {
    if (row.kind === "damaged") throw new Error(`event ${row.seq} is damaged: ${row.reason}`);
    return row.event;
  });
}

function seqs(rows: readonly LogRow[]): readonly number[] {
  return rows.map((row) => row.kind === "event" ? row.event.seq : row.seq);
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
