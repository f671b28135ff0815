/** The one place that knows `node:sqlite`, which is loaded at first use, and how its errors differ between Bun and Deno. */
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Database = DatabaseSync;
export type Statement = StatementSync;

/** What SQLite could not do, whichever host says so. */
export type SqliteFault = "busy" | "full" | "read_only" | "corrupt" | "not_a_database" | "io" | "constraint" | "schema" | "other";

/** Opens or creates a database. `busy_timeout_ms`: how long one statement may block on somebody else's lock. */
export function openDatabase(path: string, options: { readonly busy_timeout_ms: number }): Database {
  const sqlite = process.getBuiltinModule("node:sqlite");
  return new sqlite.DatabaseSync(path, { timeout: options.busy_timeout_ms });
}

/**
 * Opens a database that this process cannot write. `shared`: its log says so, others may be writing; without one nothing
 * is locked, and what others write from then on may not be seen.
 */
export function openDatabaseForReading(path: string, options: { readonly busy_timeout_ms: number; readonly shared: boolean }): Database {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(path);
  if (!options.shared) url.searchParams.set("immutable", "1");
  return new sqlite.DatabaseSync(url, { timeout: options.busy_timeout_ms, readOnly: true });
}

/** The kind of an error that SQLite threw; null if the error is not from SQLite. */
export function sqliteFault(error: unknown): SqliteFault | null {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") return null;
  const number = "errcode" in error && typeof error.errcode === "number" ? byNumber.get(error.errcode & 0xff) : undefined;
  return number ?? byMessage.find(([pattern]) => pattern.test(error.message))?.[1] ?? "other";
}

/** Primary result codes of SQLite. */
const byNumber: ReadonlyMap<number, SqliteFault> = new Map([
  [5, "busy"],
  [6, "busy"],
  [8, "read_only"],
  [10, "io"],
  [11, "corrupt"],
  [13, "full"],
  [14, "io"],
  [19, "constraint"],
  [26, "not_a_database"],
]);

/** Deno 2.9 leaves `errcode` unset in `exec` and `open`. */
const byMessage: readonly (readonly [RegExp, SqliteFault])[] = [
  [/^database( table| schema)? is locked/, "busy"],
  [/^attempt to write a readonly database/, "read_only"],
  [/^disk I\/O error|^unable to open database/, "io"],
  [/^database disk image is malformed/, "corrupt"],
  [/^database or disk is full/, "full"],
  [/constraint failed/, "constraint"],
  [/is not a database/, "not_a_database"],
  // All that follow have the number of any error in a statement.
  [/^no such (table|column)\b|^table \S+ (has|already exists)|^cannot modify \S+ because it is a view/, "schema"],
];
