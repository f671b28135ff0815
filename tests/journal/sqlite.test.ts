import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Journal, JournalUnavailable, type LogRow } from "../../lib/journal/journal.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import { openStore, Store } from "../../lib/journal/store.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { journalContract } from "../contracts/journal.ts";
import { createWorkplace, type Workplace } from "../fixtures/journal/directory.ts";
import { newOwner, newSession, notices, opened, prompted } from "../fixtures/journal/events.ts";

journalContract({
  name: "the SQLite journal",
  open: async () => {
    const workplace = createWorkplace();
    return { journal: workplace.open(), again: async () => workplace.open(), dispose: () => workplace.dispose() };
  },
});

describe("the SQLite journal", () => {
  let workplace: Workplace;
  beforeEach(() => {
    workplace = createWorkplace();
  });
  afterEach(() => workplace.dispose());

  async function write(journal: Journal, count: number): Promise<string> {
    const session = newSession();
    const lease = await journal.acquire(session, newOwner());
    await journal.append(lease, 0, notices(session, 0, count));
    await lease.release();
    return session;
  }

  function change(sql: string, ...values: (string | number)[]): void {
    const database = openDatabase(workplace.path, { busy_timeout_ms: 100 });
    database.prepare(sql).run(...values);
    database.close();
  }

  test("makes its directory and its files for the owner only, and leaves one file behind when closed", async () => {
    const path = join(workplace.directory, "data", "orrery", "journal.sqlite");
    const journal = workplace.open({ path });
    await write(journal, 1);
    for (const directory of ["data", "data/orrery"]) expect(modeOf(join(workplace.directory, directory))).toBe(0o700);
    const files = readdirSync(join(workplace.directory, "data/orrery"));
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) expect(modeOf(join(workplace.directory, "data/orrery", file))).toBe(0o600);
    await journal.close();
    expect(readdirSync(join(workplace.directory, "data/orrery"))).toEqual(["journal.sqlite"]);
  });

  test("puts what is appended on the disk before it says so, also after a commit that need not be there", async () => {
    const settings: number[] = [];
    const { transaction } = Store.prototype;
    Store.prototype.transaction = function (durable, work) {
      return transaction.call(this, durable, () => {
        const { synchronous } = this.statement("PRAGMA synchronous").get() as { readonly synchronous: number };
        settings.push(synchronous);
        return work();
      }) as ReturnType<typeof work>;
    };
    try {
      const [FULL, NORMAL] = [2, 1];
      const journal = workplace.open();
      const session = newSession();
      const lease = await journal.acquire(session, newOwner());
      await journal.append(lease, 0, [opened(session)]);
      await journal.acquire(newSession(), newOwner());
      await journal.append(lease, 1, notices(session, 1, 1));
      expect(settings).toEqual([NORMAL, FULL, NORMAL, FULL]);
    } finally {
      Store.prototype.transaction = transaction;
    }
    const fresh = openStore(workplace.path);
    expect(fresh.statement("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
    fresh.close();
  });

  test("writes appends that wait together in one transaction", async () => {
    const journal = workplace.open();
    const session = newSession();
    const lease = await journal.acquire(session, newOwner());
    await journal.append(lease, 0, [opened(session)]);
    const before = statSync(`${workplace.path}-wal`).size;
    await Promise.all(Array.from({ length: 50 }, (_, index) => journal.append(lease, index + 1, notices(session, index + 1, 1))));
    const pages = (statSync(`${workplace.path}-wal`).size - before) / 4096;
    expect(pages).toBeLessThan(25);
    expect(await journal.head(session)).toBe(51);
  });

  test("shows rows that do not decode with their number, and the rows after them", async () => {
    const journal = workplace.open();
    const session = await write(journal, 9);
    const other = newSession();
    const damage: Readonly<Record<number, string>> = {
      2: '{"a":',
      3: JSON.stringify({ ...notices(session, 2, 1)[0], level: "loud" }),
      4: JSON.stringify({ ...notices(session, 3, 1)[0], seq: 44 }),
      5: JSON.stringify(notices(other, 4, 1)[0]),
      6: `"${"\ud83d\ude00".repeat(500)}"`,
    };
    for (const [seq, body] of Object.entries(damage)) change("UPDATE events SET body = ? WHERE seq = ?", body, Number(seq));
    change("UPDATE events SET body = CAST(x'7b2261ff0022' AS TEXT) WHERE seq = 8");
    const rows = await journal.read(session);
    expect(rows.map((row) => row.kind === "event" ? row.event.seq : -row.seq)).toEqual([1, -2, -3, -4, -5, -6, 7, -8, 9]);
    expect(damaged(rows, 2)).toMatchObject({ text: '{"a":' });
    expect(damaged(rows, 3).reason).toContain("level");
    expect(damaged(rows, 4).reason).toContain("44");
    expect(damaged(rows, 5).reason).toContain(other);
    expect(damaged(rows, 6).text.length).toBe(200);
    expect(rows.every((row) => row.kind === "event" || row.text.isWellFormed())).toBe(true);
    const lease = await journal.acquire(session, newOwner());
    await journal.append(lease, 9, notices(session, 9, 1));
  });

  test("reports missing rows once, wherever a reader goes on", async () => {
    const journal = workplace.open();
    const session = await write(journal, 8);
    change("DELETE FROM events WHERE seq IN (1, 4, 5, 6)");
    const rows = await journal.read(session);
    expect(rows.map((row) => row.kind === "event" ? row.event.seq : row.reason)).toEqual([
      "event 1 is missing",
      2,
      3,
      "events 4 to 6 are missing",
      7,
      8,
    ]);
    const pages: LogRow[] = [];
    for (let after = 0; after < 8;) {
      const [row] = await journal.read(session, { after, limit: 1 });
      if (row === undefined) break;
      pages.push(row);
      after = row.kind === "event" ? row.event.seq : row.seq;
    }
    expect(pages).toEqual([...rows]);
  });

  test("repairs a summary that does not match the log with the next event that a list shows", async () => {
    const journal = workplace.open();
    const session = await write(journal, 2);
    change("UPDATE sessions SET seq = 7");
    const lease = await journal.acquire(session, newOwner());
    await journal.append(lease, 2, [prompted(session, 3, "hello")]);
    expect((await journal.list())[0]).toMatchObject({ seq: 3, title: "hello", status: "held" });
  });

  test("does not stop the event loop while it reads a long log", async () => {
    const journal = workplace.open();
    const session = await write(journal, 20_000);
    let [turns, done] = [0, false];
    const count = () => {
      turns++;
      if (!done) setImmediate(count);
    };
    count();
    expect((await journal.read(session)).length).toBe(20_000);
    done = true;
    expect(turns).toBeGreaterThan(10);
  }, 20_000);

  test("takes no event once its file was moved or replaced, and keeps all that it took before", async () => {
    for (const replaced of [false, true]) {
      const path = join(workplace.directory, `moved-${replaced}`, "journal.sqlite");
      const journal = workplace.open({ path });
      const lease = await journal.acquire(newSession(), newOwner());
      await journal.append(lease, 0, [opened(lease.session)]);
      renameSync(dirname(path), `${dirname(path)}-away`);
      if (replaced) await workplace.open({ path }).close();
      const error = await journal.append(lease, 1, notices(lease.session, 1, 1)).catch((refused: unknown) => refused);
      expect(error).toBeInstanceOf(JournalUnavailable);
      expect((error as Error).message).toContain("moved or removed");
      await journal.close();
      const away = workplace.open({ path: join(`${dirname(path)}-away`, "journal.sqlite") });
      expect(await away.head(lease.session)).toBe(1);
    }
  });

  test("refuses a directory, with what and where", () => {
    expect(openingFails(workplace.directory)).toMatchObject({ reason: "broken", path: workplace.directory });
    expect(openingFails(workplace.directory).message).toBe(
      `Cannot use the journal "${workplace.directory}" as it is a directory: name a file`,
    );
  });

  test("refuses a file that is no database, and one of another program, and leaves them as they were", () => {
    const text = "a shopping list\n".repeat(400);
    writeFileSync(workplace.path, text);
    expect(openingFails(workplace.path)).toMatchObject({ reason: "broken" });
    expect(statSync(workplace.path).size).toBe(text.length);
    const foreign = join(workplace.directory, "foreign.sqlite");
    const database = openDatabase(foreign, { busy_timeout_ms: 100 });
    database.exec("CREATE TABLE songs (title TEXT)");
    expect(openingFails(foreign)).toMatchObject({ reason: "broken" });
    expect(openingFails(foreign).message).toContain("another program");
    expect(database.prepare("SELECT name FROM sqlite_schema").all().length).toBe(1);
    database.close();
  });

  test("refuses a journal of a newer format and names both versions", async () => {
    await workplace.open().close();
    change("PRAGMA user_version = 7");
    expect(openingFails(workplace.path)).toMatchObject({ reason: "newer" });
    expect(openingFails(workplace.path).message).toMatch(/its format 7 is newer than 1,/);
  });

  test("says that a journal with destroyed pages is damaged when it comes to them", async () => {
    const journal = workplace.open();
    const session = await write(journal, 200);
    await journal.close();
    const bytes = readFileSync(workplace.path);
    bytes.fill(0x41, 4096);
    writeFileSync(workplace.path, bytes);
    const error = await failure(workplace.open().read(session));
    expect(error).toBeInstanceOf(JournalUnavailable);
    expect(error).toMatchObject({ reason: "broken", path: workplace.path });
  });

  for (const table of ["events", "sessions", "leases"]) {
    for (
      const [what, sql] of [
        ["a table", `DROP TABLE ${table}`],
        ["columns", `ALTER TABLE ${table} RENAME TO other; CREATE TABLE ${table} (session TEXT)`],
      ] as const
    ) {
      test(`says that a journal that lacks ${what} is not whole, which, and what to do: ${table}`, async () => {
        await workplace.open().close();
        const database = openDatabase(workplace.path, { busy_timeout_ms: 100 });
        database.exec(sql);
        database.close();
        const error = await failure(write(workplace.open(), 1));
        expect(error).toMatchObject({ reason: "broken", path: workplace.path });
        expect((error as Error).message).toMatch(/its tables are not those of a journal \(.+\): restore a copy, or move it away/);
        if (what === "a table") expect((error as Error).message).toContain(`no such table: ${table}`);
      });
    }
  }

  test("says so when a part of its path is a file", () => {
    writeFileSync(workplace.path, "");
    const error = openingFails(join(workplace.path, "below", "journal.sqlite"));
    expect(error.reason).toBe("io");
    expect(error.message).toContain(workplace.path);
  });
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function damaged(rows: readonly LogRow[], seq: number): Extract<LogRow, { kind: "damaged" }> {
  const row = rows[seq - 1];
  if (row?.kind !== "damaged") throw new Error(`row ${seq} is readable`);
  return row;
}

function openingFails(path: string): JournalUnavailable {
  try {
    openSqliteJournal({ path });
  } catch (error) {
    if (error instanceof JournalUnavailable) return error;
    throw error;
  }
  throw new Error("it opened");
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
