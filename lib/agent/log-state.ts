/** The state that a log leads to. */
import type { Journal, LogRow } from "../journal/journal.ts";
import { isKnown, type StoredEvent } from "../session/event.ts";
import { fold, initialState, type SessionState } from "../session/state.ts";
import type { AgentNotice } from "./options.ts";

export interface LogState {
  readonly state: SessionState;
  /** What cannot be read and is left out, as texts. */
  readonly damage: readonly string[];
  /** What of that the log does not say itself: a session that goes on tells once of each damaged row. */
  readonly unsaid: readonly string[];
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
    const events = eventsOf(rows);
    for (const event of events) if (isKnown(event) && event.type === "notice" && event.code === DAMAGED) said.add(event.text);
    state = { ...fold(events, state), seq: lastSeq(rows) };
  }
}

/** The state that these rows lead to; damaged ones are named, and left out. */
export function stateOf(rows: readonly LogRow[], notify: (notice: AgentNotice) => void): SessionState {
  for (const text of damageOf(rows)) notify({ level: "error", code: DAMAGED, text });
  return { ...fold(eventsOf(rows)), seq: lastSeq(rows) };
}

function eventsOf(rows: readonly LogRow[]): readonly StoredEvent[] {
  return rows.flatMap((row) => row.kind === "event" ? [row.event] : []);
}

function lastSeq(rows: readonly LogRow[]): number {
  const last = rows[rows.length - 1];
  return last === undefined ? 0 : last.kind === "event" ? last.event.seq : last.seq;
}

function damageOf(rows: readonly LogRow[]): readonly string[] {
  return rows.flatMap((row) => row.kind === "damaged" ? [`Event ${row.seq} cannot be read and is left out: ${row.reason}`] : []);
}
