import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, openDatabase, sqliteFault } from "../../lib/platform/sqlite.ts";

describe("sqliteFault() names alike on every host", () => {
  let directory: string;
  let database: Database;
  const opened: Database[] = [];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "orrery-sqlite-"));
    database = open("a.sqlite");
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE songs (title TEXT PRIMARY KEY) STRICT");
  });
  afterEach(() => {
    for (const each of opened.splice(0)) each.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function open(name: string): Database {
    const database = openDatabase(join(directory, name), { busy_timeout_ms: 5 });
    opened.push(database);
    return database;
  }

  test("a lock, in `exec` and in a statement", () => {
    const other = open("a.sqlite");
    database.exec("BEGIN IMMEDIATE");
    expect(fault(() => other.exec("BEGIN IMMEDIATE"))).toBe("busy");
    expect(fault(() => other.prepare("INSERT INTO songs VALUES ('x')").run())).toBe("busy");
  });

  test("a full database, in `exec` and in a statement", () => {
    database.exec("PRAGMA max_page_count = 4");
    const title = "x".repeat(100_000);
    expect(fault(() => database.prepare("INSERT INTO songs VALUES (?)").run(title))).toBe("full");
    expect(fault(() => database.exec(`INSERT INTO songs VALUES ('${title}')`))).toBe("full");
  });

  test("a constraint, in `exec` and in a statement", () => {
    database.exec("INSERT INTO songs VALUES ('x')");
    expect(fault(() => database.exec("INSERT INTO songs VALUES ('x')"))).toBe("constraint");
    expect(fault(() => database.prepare("INSERT INTO songs VALUES (?)").run("x"))).toBe("constraint");
  });

  test("a database that must not be written", () => {
    database.exec("PRAGMA query_only = ON");
    expect(fault(() => database.exec("INSERT INTO songs VALUES ('x')"))).toBe("read_only");
    expect(fault(() => database.prepare("INSERT INTO songs VALUES ('x')").run())).toBe("read_only");
  });

  test("a file that is no database, a damaged one, and one that cannot be opened", () => {
    writeFileSync(join(directory, "list.txt"), "a shopping list\n".repeat(400));
    expect(fault(() => open("list.txt").exec("SELECT * FROM songs"))).toBe("not_a_database");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = readFileSync(join(directory, "a.sqlite"));
    writeFileSync(join(directory, "b.sqlite"), bytes.fill(0x41, 4096));
    expect(fault(() => open("b.sqlite").exec("SELECT * FROM songs"))).toBe("corrupt");
    expect(fault(() => open("b.sqlite").prepare("SELECT * FROM songs").all())).toBe("corrupt");
    expect(fault(() => open("missing/c.sqlite").exec("SELECT 1"))).toBe("io");
  });

  test("anything else of SQLite as other, and an error of ours as none", () => {
    expect(fault(() => database.exec("SELEKT 1"))).toBe("other");
    expect(sqliteFault(new Error("database is locked"))).toBe(null);
    expect(sqliteFault("database is locked")).toBe(null);
  });
});

function fault(work: () => unknown): ReturnType<typeof sqliteFault> {
  try {
    work();
  } catch (error) {
    return sqliteFault(error);
  }
  throw new Error("it did not fail");
}
