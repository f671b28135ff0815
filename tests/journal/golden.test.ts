/** Pins: a journal that version 1 wrote must load for ever, and mean what it meant. The fixtures are never changed. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Journal } from "../../lib/journal/journal.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { type StoredEvent, toPlainEvent } from "../../lib/session/event.ts";
import { evolve, fold } from "../../lib/session/evolve.ts";
import { snapshot } from "../../lib/session/state.ts";
import { createWorkplace, type Workplace } from "../fixtures/journal/directory.ts";
import { newOwner, prompted } from "../fixtures/journal/events.ts";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../fixtures/journal");
const lines = readFileSync(join(fixtures, "v1.jsonl"), "utf8").split("\n").filter((line) => line !== "");
const SESSION = "ses_01a10000-0000-7000-8000-000000000001";
const FORK = "ses_01a10000-0000-7000-8000-000000000002";

describe("the golden journal of version 1", () => {
  let workplace: Workplace;
  let journal: Journal;
  beforeEach(() => {
    workplace = createWorkplace();
    copyFileSync(join(fixtures, "v1.sqlite"), workplace.path);
    journal = workplace.open();
  });
  afterEach(() => workplace.dispose());

  async function read(session: string): Promise<readonly StoredEvent[]> {
    return (await journal.read(session)).map((row) => {
      if (row.kind === "damaged") throw new Error(`event ${row.seq}: ${row.reason}`);
      return row.event;
    });
  }

  test("has every event type of version 1, and one that it did not know", () => {
    const types = new Set(lines.map((line) => (JSON.parse(line) as { type: string }).type));
    expect([...types].sort()).toEqual([
      "approval_answered",
      "approval_requested",
      "attempt_failed",
      "attempt_started",
      "call_allowed",
      "call_denied",
      "call_ended",
      "call_spawned",
      "call_started",
      "mode_changed",
      "model_changed",
      "notice",
      "planet_seen",
      "prompted",
      "reply_committed",
      "session_forked",
      "session_opened",
      "session_resumed",
      "speculation_discarded",
      "speculation_ended",
      "speculation_spawned",
      "speculation_started",
      "state_changed",
      "step_started",
      "task_changed",
      "tools_changed",
      "turn_ended",
    ]);
  });

  test("loads event by event as it was written", async () => {
    const events = [...await read(SESSION), ...await read(FORK)];
    expect(events.map(toPlainEvent)).toEqual(lines.map((line) => JSON.parse(line)));
  });

  test("keeps each event as its JSON text, byte for byte", () => {
    const database = openDatabase(workplace.path, { busy_timeout_ms: 1000 });
    const bodies = database.prepare("SELECT body FROM events ORDER BY session, seq").all().map((row) => row["body"]);
    database.close();
    expect(bodies).toEqual(lines);
  });

  test("lists its sessions", async () => {
    expect(await journal.list()).toEqual([
      {
        session: SESSION,
        title: "Count the words",
        workspace: "/home/ada/project",
        model: "local/large",
        mode: "plan",
        opened_at: "2026-11-01T12:00:01.007Z",
        updated_at: "2026-11-01T12:00:48.007Z",
        seq: 48,
        status: "idle",
        turns: 2,
      },
      {
        session: FORK,
        title: "Count the words",
        workspace: "/home/ada/project",
        model: "local/small",
        mode: "normal",
        opened_at: "2026-11-01T12:00:01.007Z",
        updated_at: "2026-11-01T12:00:05.007Z",
        seq: 5,
        status: "interrupted",
        turns: 1,
      },
    ]);
  });

  test("folds to what happened, from any prefix and the rest too", async () => {
    const events = await read(SESSION);
    const state = fold(events);
    expect(state).toMatchObject({
      session: SESSION,
      seq: 48,
      turn: { kind: "idle", last: { turn: 2, reason: "stopped" } },
      counts: { turns: 2, steps: 3, calls: 5 },
      usage: { input_tokens: 1713, output_tokens: 46 },
      tasks: { t1: { id: "t1", subject: "Count", status: "done", owner: "ada", priority: 2 } },
      scratch: {},
    });
    for (let cut = 0; cut <= events.length; cut++) {
      const prefix = fold(events.slice(0, cut));
      expect(snapshot(events.slice(cut).reduce(evolve, prefix))).toEqual(snapshot(state));
    }
  });

  test("is given the tables for requests and for holders that died, which it did not have, and stays of its version", async () => {
    const lease = await journal.acquire(FORK, newOwner());
    const heard = Promise.withResolvers<number>();
    lease.listen(({ turn }) => heard.resolve(turn));
    await journal.ask({ id: "r", type: "cancel", session: FORK, turn: 7, grace_ms: 0 });
    expect(await heard.promise).toBe(7);
    const database = openDatabase(workplace.path, { busy_timeout_ms: 1000 });
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
    expect(database.prepare("SELECT count(*) AS rows FROM predecessors").get()).toEqual({ rows: 0 });
    database.close();
  });

  test("is given the one of them that it lacks", async () => {
    await journal.close();
    const database = openDatabase(workplace.path, { busy_timeout_ms: 1000 });
    database.exec("DROP TABLE predecessors");
    database.close();
    const lease = await workplace.open().acquire(FORK, newOwner());
    expect(lease.predecessor).toBe(null);
  });

  test("can be gone on with", async () => {
    const lease = await journal.acquire(SESSION, newOwner());
    expect(lease.predecessor).toBe(null);
    await journal.append(lease, 48, [prompted(SESSION, 49, "Once more.", 3)]);
    expect((await read(SESSION)).length).toBe(49);
  });
});
