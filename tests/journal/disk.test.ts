/** A disk that is full or read-only. A small file system of our own needs the right to mount one. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Journal, JournalUnavailable, type Lease } from "../../lib/journal/journal.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { newOwner, newSession, notices, opened } from "../fixtures/journal/events.ts";

const mountable = withDirectory((directory) => {
  if (!mount("-t", "tmpfs", "-o", "size=1m", "none", directory)) return false;
  return spawnSync("umount", [directory]).status === 0;
});
const onSmallDisk = mountable
  ? "the SQLite journal on a small disk"
  : "the SQLite journal on a small disk (not here: no right to mount a tmpfs)";

(mountable ? describe : describe.skip)(onSmallDisk, () => {
  let directory: string;
  let path: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "orrery-disk-"));
    mount("-t", "tmpfs", "-o", "size=4m", "none", directory);
    path = join(directory, "journal.sqlite");
  });
  afterEach(() => {
    spawnSync("umount", [directory]);
    rmSync(directory, { recursive: true, force: true });
  });

  test("says that the disk is full, keeps all that was acknowledged, and goes on once there is space", async () => {
    const journal = openSqliteJournal({ path });
    const lease = await journal.acquire(newSession(), newOwner());
    await journal.append(lease, 0, [opened(lease.session)]);
    fill(join(directory, "filler"));
    let head = 1;
    let error: unknown;
    while (error === undefined) {
      await journal.append(lease, head, notices(lease.session, head, 1, "x".repeat(50_000))).then(
        () => head++,
        (refused: unknown) => error = refused,
      );
    }
    expect(error).toBeInstanceOf(JournalUnavailable);
    expect(error).toMatchObject({ reason: "full", path });
    expect((error as Error).message).toContain("free some space");
    expect(await journal.head(lease.session)).toBe(head);

    rmSync(join(directory, "filler"));
    await journal.append(lease, head, notices(lease.session, head, 2, "y".repeat(50_000)));
    await journal.close();
    expect(integrity(path)).toBe("ok");
    const again = openSqliteJournal({ path });
    const rows = await again.read(lease.session);
    expect(rows.map((row) => row.kind === "event" ? row.event.seq : row.reason)).toEqual(
      Array.from({ length: head + 2 }, (_, index) => index + 1),
    );
    await again.close();
  }, 20_000);

  test("an append that does not fit does not take a smaller one down that waits with it", async () => {
    const journal = openSqliteJournal({ path });
    const [large, small] = [await journal.acquire(newSession(), newOwner()), await journal.acquire(newSession(), newOwner())];
    const results = await Promise.allSettled([
      journal.append(large, 0, notices(large.session, 0, 1, "x".repeat(8_000_000))),
      journal.append(small, 0, notices(small.session, 0, 1)),
    ]);
    expect(results.map((each) => each.status)).toEqual(["rejected", "fulfilled"]);
    expect(await journal.head(small.session)).toBe(1);
    await journal.close();
  }, 20_000);

  test("cannot be made on a full disk, and can once there is space", async () => {
    fill(join(directory, "filler"));
    expect(openingFails(path)).toMatchObject({ reason: "full" });
    rmSync(join(directory, "filler"));
    const journal = openSqliteJournal({ path });
    expect(await journal.list()).toEqual([]);
    await journal.close();
  });

  test("can be read on a read-only disk, and says what would be right to whoever wants more", async () => {
    const writer = openSqliteJournal({ path });
    const { session } = await writeOne(writer);
    await writer.close();
    mount("-o", "remount,ro", directory);
    const journal = openSqliteJournal({ path, onNotice: ({ text }) => expect(text).toBe("") });
    expect([(await journal.list()).length, (await journal.read(session)).length, await journal.head(session)]).toEqual([1, 1, 1]);
    await expect(journal.acquire(session, newOwner())).rejects.toMatchObject({ reason: "read_only", path });
    await journal.close();
  });

  test("can be read where it cannot be written, while another goes on to write it", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "orrery-disk-"));
    const writer = openSqliteJournal({ path });
    try {
      const { session, lease } = await writeOne(writer);
      mount("--bind", directory, elsewhere);
      mount("-o", "remount,ro,bind", elsewhere);
      const journal = openSqliteJournal({ path: join(elsewhere, "journal.sqlite") });
      expect(await journal.read(session)).toHaveLength(1);
      await writer.append(lease, 1, notices(session, 1, 1));
      expect(await journal.read(session)).toHaveLength(2);
      await journal.close();
    } finally {
      await writer.close();
      spawnSync("umount", [elsewhere]);
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  test("cannot be made on a read-only disk, with what would be right", () => {
    mount("-o", "remount,ro", directory);
    for (const each of [join(directory, "new.sqlite"), join(directory, "below", "new.sqlite")]) {
      const error = openingFails(each);
      expect(error).toMatchObject({ reason: "read_only", path: each });
      expect(error.message).toContain("must be writable");
    }
  });
});

async function writeOne(journal: Journal): Promise<{ readonly session: string; readonly lease: Lease }> {
  const session = newSession();
  const lease = await journal.acquire(session, newOwner());
  await journal.append(lease, 0, [opened(session)]);
  return { session, lease };
}

function mount(...args: string[]): boolean {
  return spawnSync("mount", args).status === 0;
}

function withDirectory(use: (directory: string) => boolean): boolean {
  const directory = mkdtempSync(join(tmpdir(), "orrery-disk-"));
  try {
    return use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function fill(path: string): void {
  try {
    writeFileSync(path, new Uint8Array(16_000_000));
  } catch {
    // ENOSPC: it is full now, and what fitted is kept.
  }
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

function integrity(path: string): unknown {
  const database = openDatabase(path, { busy_timeout_ms: 1000 });
  const row = database.prepare("PRAGMA integrity_check").get();
  database.close();
  return row?.["integrity_check"];
}
