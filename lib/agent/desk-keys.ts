/** What the log knows of a prompt that is sent again with its key. */
import type { SessionState } from "../session/state.ts";
import { entriesOf } from "../session/transcript.ts";
import { DeskRefusal } from "./desk-refusal.ts";

/** The turn that it began; null: the log has none with this key. @throws {DeskRefusal} it was another prompt. */
export function recordedTurn(state: SessionState, key: string, text: string): number | null {
  const recorded = entriesOf(state).find((entry) => entry.kind === "prompt" && entry.key === key);
  if (recorded?.kind !== "prompt") return null;
  if (recorded.text !== text) throw keyReused();
  return recorded.turn;
}

export function keyReused(): DeskRefusal {
  return new DeskRefusal("key_reused", "Cannot use this key again for another prompt");
}
