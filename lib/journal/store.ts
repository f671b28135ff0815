/** The journal's file: where it is, how it is opened and made, and what is wrong when it cannot be used. */
import { closeSync, mkdirSync, mkdtempSync, openSync, rmdirSync, statfsSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Database, openDatabase, openDatabaseForReading, sqliteFault, type Statement } from "../platform/sqlite.ts";
import { JournalUnavailable } from "./journal.ts";

export const SCHEMA_VERSION = 1;
/** "ORRY": tells a journal from any other SQLite file. */
const APPLICATION_ID = 0x4f525259;
/** The longest that one statement may block the main thread on somebody else's lock. */
const BUSY_TIMEOUT_MS = 5;

const LEASE = `
    session TEXT NOT NULL PRIMARY KEY,
    token TEXT NOT NULL,
    runtime TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start_time TEXT NOT NULL,
    place TEXT NOT NULL,
    expires_at INTEGER NOT NULL
`;

const SCHEMA = `
  CREATE TABLE events (
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sessions (
    session TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    workspace TEXT NOT NULL,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    turn_open INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (
    ${LEASE}
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * What may be missing in a file that an earlier program made, and that one need not know: no new version. A row of
 * `predecessors` is the lease of a holder that died, as it was, or that of nobody known, for a log taken in with its turn open.
 */
const ADDITIONS = `
  CREATE TABLE IF NOT EXISTS requests (
    id TEXT NOT NULL PRIMARY KEY,
    session TEXT NOT NULL,
    type TEXT NOT NULL,
    turn INTEGER NOT NULL,
    grace_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS predecessors (
    ${LEASE}
  ) STRICT, WITHOUT ROWID;
`;

/** An open journal file, its prepared statements and its transactions. */
export class Store {
  readonly #database: Database;
  readonly #path: string;
  /** The file that was opened, whatever is found under its name later. */
  readonly #file: string | null;
  readonly #statements = new Map<string, Statement>();
  #synced = true;

  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
    this.#file = identify(path);
  }

  statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /**
   * Runs `work` in one write transaction. `durable`: on disk, not only in the file, when this returns.
   * @throws {JournalUnavailable} the file was moved or removed: SQLite would go on writing to what nobody finds again.
   */
  transaction<T>(durable: boolean, work: () => T): T {
    this.#checkInPlace();
    if (durable !== this.#synced) this.#database.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#synced = durable;
    return inTransaction(this.#database, work);
  }

  /** Runs `work`, which writes to temporary tables only, as one. */
  beside(work: () => void): void {
    inTransaction(this.#database, work, "DEFERRED");
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #checkInPlace(): void {
    if (identify(this.#path) === this.#file) return;
    const message =
      `Cannot use the journal "${this.#path}" as its file was moved or removed while it was in use: put it back and start again`;
    throw new JournalUnavailable(this.#path, "io", message);
  }
}

/**
 * Opens the journal, making it if there is none: its directory for the owner only, its file too.
 * @throws {JournalUnavailable}
 */
export function openStore(path: string): Store {
  let database: Database | undefined;
  try {
    createPrivately(path);
    database = openDatabase(path, { busy_timeout_ms: BUSY_TIMEOUT_MS });
    const { complete } = checkApplication(database, path);
    useWriteAheadLog(database, path);
    if (complete === 0) createSchema(database);
    return new Store(database, path);
  } catch (error) {
    database?.close();
    throw toUnavailable(path, error);
  }
}

/**
 * Opens a journal that cannot be written, as it is now: for one read.
 * @throws {JournalUnavailable}
 */
export function openStoreForReading(path: string): Store {
  let database: Database | undefined;
  try {
    const shared = look(`${path}-wal`) !== null;
    database = openDatabaseForReading(path, { busy_timeout_ms: BUSY_TIMEOUT_MS, shared });
    checkApplication(database, path);
    return new Store(database, path);
  } catch (error) {
    database?.close();
    throw toUnavailable(path, error);
  }
}

/** An error of the file system or of SQLite as the caller may read it; any other error as it is. */
export function toUnavailable(path: string, error: unknown): unknown {
  const fault = sqliteFault(error);
  const code = fault === null && error instanceof Error && "code" in error ? String(error.code) : "";
  if (fault === null && !/^E[A-Z]+$/.test(code)) return error;
  const { reason, why } = explain(path, fault, code, error as Error);
  return new JournalUnavailable(path, reason, `Cannot use the journal "${path}" as ${why}`, { cause: error });
}

type Reason = JournalUnavailable["reason"];

function explain(path: string, fault: string | null, code: string, error: Error): { readonly reason: Reason; readonly why: string } {
  const { message } = error;
  if (fault === "busy") return { reason: "locked", why: "another process keeps it locked: wait for that process, or end it" };
  if (fault === "full" || code === "ENOSPC" || code === "EDQUOT") return { reason: "full", why: "its disk is full: free some space there" };
  if (fault === "corrupt" || fault === "constraint") {
    return { reason: "broken", why: `it is damaged (${message}): restore a copy, or move it away` };
  }
  if (fault === "schema") {
    return { reason: "broken", why: `its tables are not those of a journal (${message}): restore a copy, or move it away for a new one` };
  }
  if (fault === "not_a_database") return { reason: "broken", why: "it is not a SQLite database: move that file away" };
  if (isDirectory(path)) return { reason: "broken", why: "it is a directory: name a file" };
  if (fault === "read_only" || isRefusal(code) || !isWritable(dirname(path))) {
    return {
      reason: "read_only",
      why: `it cannot be written (${message}): the file and its directory must be writable, or ORRERY_HOME name a folder that is`,
    };
  }
  if (fault === "io" && isDiskFull(path)) return { reason: "full", why: "its disk is full: free some space there" };
  return { reason: "io", why: `its file or directory cannot be used (${message}): ORRERY_HOME names another folder` };
}

/** Only a file that is not there is opened here: closing a file that SQLite has open would drop its locks. */
function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function checkApplication(database: Database, path: string): Header {
  const header = readHeader(database);
  const { version, application, used } = header;
  if (application === 0 && version === 0 && used === 0) return header;
  if (application !== APPLICATION_ID) {
    const message = `Cannot use the journal "${path}" as it is a database of another program: move that file away`;
    throw new JournalUnavailable(path, "broken", message);
  }
  if (version <= SCHEMA_VERSION) return header;
  throw new JournalUnavailable(
    path,
    "newer",
    `Cannot use the journal "${path}" as its format ${version} is newer than ${SCHEMA_VERSION}, the newest this program knows: use the newer program`,
  );
}

function useWriteAheadLog(database: Database, path: string): void {
  const { journal_mode } = database.prepare("PRAGMA journal_mode = WAL").get() as { readonly journal_mode: string };
  if (journal_mode !== "wal") {
    const message = `Cannot use the journal "${path}" as its file system has no write-ahead log: use a local disk`;
    throw new JournalUnavailable(path, "io", message);
  }
  database.exec("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; PRAGMA trusted_schema = OFF");
}

/** Several processes may find the same new file: who gets the lock first makes the tables. */
function createSchema(database: Database): void {
  inTransaction(database, () => {
    if (readHeader(database).version === 0) database.exec(SCHEMA);
    database.exec(ADDITIONS);
  });
}

function inTransaction<T>(database: Database, work: () => T, mode: "IMMEDIATE" | "DEFERRED" = "IMMEDIATE"): T {
  database.exec(`BEGIN ${mode}`);
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    // After some errors SQLite has rolled back by itself.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

interface Header {
  readonly version: number;
  readonly application: number;
  /** 0: the file has no tables. */
  readonly used: number;
  /** 0: a table is missing. */
  readonly complete: number;
}

/** In one statement, so that a file that is just being made is seen before or after. */
function readHeader(database: Database): Header {
  return database.prepare(`
    SELECT user_version AS version, application_id AS application, EXISTS (SELECT 1 FROM sqlite_schema) AS used,
      (SELECT count(*) FROM sqlite_schema WHERE name IN ('requests', 'predecessors')) = 2 AS complete
    FROM pragma_user_version, pragma_application_id
  `).get() as unknown as Header;
}

/** Null: nothing is there. */
function identify(path: string): string | null {
  const file = look(path);
  return file === null ? null : `${file.dev}:${file.ino}`;
}

function isDirectory(path: string): boolean {
  return look(path)?.isDirectory() ?? false;
}

/** Tried rather than asked: on Deno 2.9 `accessSync` does not know of read-only file systems. */
function isWritable(directory: string): boolean {
  try {
    rmdirSync(mkdtempSync(join(directory, ".orrery-")));
    return true;
  } catch (error) {
    // Refused is an answer; a full disk, say, is another problem.
    return !isRefusal((error as NodeJS.ErrnoException).code);
  }
}

function isRefusal(code: string | undefined): boolean {
  return code === "EACCES" || code === "EPERM" || code === "EROFS";
}

function look(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    // Nothing there, or no way to it: the error that is being explained says which.
    return null;
  }
}

/** A full disk shows as an I/O error where SQLite grows its shared memory. */
function isDiskFull(path: string): boolean {
  try {
    return statfsSync(dirname(path)).bavail === 0;
  } catch {
    // The directory cannot be asked: then the I/O error stands.
    return false;
  }
}
