/** The state that a log leads to. */
import type { Journal, LogRow } from "../journal/journal.ts";
import { isKnown } from "../session/event.ts";
import { evolve } from "../session/evolve.ts";
import { initialState, type SessionHeader, type SessionState } from "../session/state.ts";
import { passOver } from "../session/unread.ts";
import { calledName } from "../platform/called.ts";
import type { AgentNotice } from "./options.ts";

export interface LogState {
  readonly state: SessionState;
  /** What cannot be read and is left out, as texts. */
  readonly damage: readonly string[];
  /** What of that the log does not say itself: a session that goes on tells once of each damaged row. */
  readonly unsaid: readonly string[];
}

/** A log that cannot be given out, taken in or gone on with; the message says where and why. */
export class UnsoundLog extends Error {
  override readonly name = "UnsoundLog";
}

export const DAMAGED = "damaged_event";

const PAGE_ROWS = 200;

/** The state after what was recorded behind `from`. In pages: with a whole long log in memory most of the time would go to the collector. */
export async function readState(journal: Pick<Journal, "read">, session: string, from: SessionState = initialState): Promise<LogState> {
  const damage: string[] = [];
  const said = new Set<string>();
  let state = from;
  for (;;) {
    const rows = await journal.read(session, { after: state.seq, limit: PAGE_ROWS });
    if (rows.length === 0) return { state, damage, unsaid: damage.filter((text) => !said.has(text)) };
    damage.push(...damageOf(rows));
    for (const row of rows) {
      state = follow(state, row);
      if (row.kind === "event" && isKnown(row.event) && row.event.type === "notice" && row.event.code === DAMAGED) said.add(row.event.text);
    }
  }
}

interface Begun extends SessionState {
  readonly header: SessionHeader;
}

/** Without its first event a session has no folder, model or mode to go on with. @throws {UnsoundLog} */
export function checkBeginning(state: SessionState, verb: "open" | "cancel" | "fork", id: string): asserts state is Begun {
  if (state.header !== null) return;
  throw new UnsoundLog(
    `Cannot ${verb} session "${id}" as its first event cannot be read: restore a copy of the journal. What follows can be read with ` +
      `${calledName()} sessions events ${id}`,
  );
}

/** The state that these rows lead to; damaged ones are named, and left out. */
export function stateOf(rows: readonly LogRow[], notify: (notice: AgentNotice) => void): SessionState {
  for (const text of damageOf(rows)) notify({ level: "error", code: DAMAGED, text });
  return rows.reduce(follow, initialState);
}

function follow(state: SessionState, row: LogRow): SessionState {
  return row.kind === "event" ? evolve(state, row.event) : passOver(state, row.seq);
}

function damageOf(rows: readonly LogRow[]): readonly string[] {
  return rows.flatMap((row) => row.kind === "damaged" ? [`Event ${row.seq} cannot be read and is left out: ${row.reason}`] : []);
}
