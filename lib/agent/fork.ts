/** A new session that begins with the events of another: same numbers, another id, and nothing left running. */
import { UsageError } from "../config/error.ts";
import type { LogRow } from "../journal/journal.ts";
import { decide } from "../session/decide.ts";
import { isKnown, type StoredEvent } from "../session/event.ts";
import { fold } from "../session/evolve.ts";
import { initialState } from "../session/state.ts";
import { newSessionId, now } from "./ids.ts";
import { checkBeginning } from "./log-state.ts";
import { checkExists, type SessionGround } from "./sessions.ts";

export interface Fork {
  readonly session: string;
  readonly from: string;
  /** The last event that was copied. */
  readonly from_seq: number;
}

/**
 * @throws {UsageError} there is no such session or event, or a part that would be copied is damaged.
 * @throws {UnsoundLog} its beginning is lost.
 */
export async function forkSession({ journal, owner }: SessionGround, from: string, at?: number): Promise<Fork> {
  await checkExists(journal, from);
  const rows = await journal.read(from);
  const from_seq = at ?? rows.length;
  if (from_seq < 1 || from_seq > rows.length) {
    throw new UsageError(`Cannot fork session "${from}" at event ${from_seq} as its events are numbered 1 to ${rows.length}`);
  }
  const session = newSessionId();
  if (rows[0]?.kind === "damaged") checkBeginning(initialState, "fork", from);
  const copies = rows.slice(0, from_seq).map((row) => copyEvent(row, from, session));
  const decision = decide(fold(copies), { type: "fork", at: now(), from });
  if (decision.kind === "refused") throw new UsageError(`Cannot fork session "${from}" as ${decision.refusal.message}`);
  const lease = await journal.acquire(session, owner);
  try {
    await journal.append(lease, 0, [...copies, ...decision.events]);
  } finally {
    await lease.release();
  }
  return { session, from, from_seq };
}

function copyEvent(row: LogRow, from: string, session: string): StoredEvent {
  if (row.kind === "damaged") {
    throw new UsageError(`Cannot fork session "${from}" as its event ${row.seq} is damaged: fork it before that event`);
  }
  const { event } = row;
  return isKnown(event) ? { ...event, session } : { ...event, session, foreign: { ...event.foreign, session } };
}
