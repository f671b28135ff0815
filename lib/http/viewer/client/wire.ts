/** What the server sends, as the page reads it. Types only: it is the product's own vocabulary. */
import type { SessionEvent } from "../../../session/event.ts";
import type { LiveEvent } from "../../../session/live.ts";
import type { SessionStatus } from "../../../session/status.ts";

/** A row of the log that cannot be read. */
export interface DamagedEvent {
  readonly type: "damaged";
  readonly seq: number;
  readonly reason: string;
  readonly text: string;
}
export type RecordedEvent = SessionEvent | DamagedEvent;

export type Frame =
  | RecordedEvent
  | LiveEvent
  | { readonly type: "reset"; readonly reason: "ahead" | "removed"; readonly head: number }
  | { readonly type: "heartbeat" };

export interface SessionRow {
  readonly session: string;
  readonly title: string;
  readonly status: SessionStatus;
  readonly workspace: string;
  readonly model: string;
  readonly seq: number;
  readonly turns: number;
  readonly updated_at: string;
}

export function isRecorded(frame: Frame): frame is RecordedEvent {
  return "seq" in frame;
}
