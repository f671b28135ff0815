/** What a list of sessions shows, kept up to date with every append so that a list never folds a log. */
import { isKnown, type StoredEvent } from "../session/event.ts";
import type { SessionSummary } from "./journal.ts";

/** A summary without what only the leases tell. */
export interface Summary extends Omit<SessionSummary, "session" | "status"> {
  readonly turn_open: boolean;
}

const TITLE_CHARACTERS = 80;

export const emptySummary: Summary = {
  title: "",
  workspace: "",
  model: "",
  mode: "normal",
  opened_at: "",
  updated_at: "",
  seq: 0,
  turns: 0,
  turn_open: false,
};

/** The summary after these events. */
export function summarise(from: Summary, events: readonly StoredEvent[]): Summary {
  let summary = from;
  for (const event of events) summary = { ...summary, ...changes(summary, event), updated_at: event.at, seq: event.seq };
  return summary;
}

/** Whether these events change more of a summary than its number and time. */
export function changeSummary(events: readonly StoredEvent[]): boolean {
  return events.some((event) => changes(emptySummary, event) !== null);
}

export function toSessionSummary(session: string, summary: Summary, held: boolean): SessionSummary {
  const { turn_open, ...shown } = summary;
  return { session, ...shown, status: held ? "held" : turn_open ? "interrupted" : "idle" };
}

function changes(summary: Summary, event: StoredEvent): Partial<Summary> | null {
  if (!isKnown(event)) return null;
  switch (event.type) {
    case "session_opened": {
      const { workspace, model, mode, at } = event;
      return { workspace: printable(workspace), model: printable(model), mode, opened_at: at, title: toTitle(event.title ?? "") };
    }
    case "prompted":
      return { turns: summary.turns + 1, turn_open: true, title: summary.title === "" ? toTitle(event.text) : summary.title };
    case "turn_ended":
      return { turn_open: false };
    case "mode_changed":
      return { mode: event.mode };
    case "model_changed":
      return { model: printable(event.model) };
    default:
      return null;
  }
}

/** The first line that says something, short enough for a list. */
function toTitle(text: string): string {
  const line = text.split(/[\r\n\u2028\u2029]/).map((each) => printable(each).trim()).find((each) => each !== "") ?? "";
  const characters = [...line.slice(0, 2 * TITLE_CHARACTERS)];
  return characters.length <= TITLE_CHARACTERS ? line : `${characters.slice(0, TITLE_CHARACTERS - 1).join("")}…`;
}

/** Control characters would act on a terminal, and SQLite columns end at a NUL on Deno 2.9. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, " ").toWellFormed();
}
