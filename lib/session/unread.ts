/**
 * What a row that cannot be read may have been. A log with damage, or of a newer program, must not make a call start a
 * second time (P3): whatever could have been a call's start is taken for it.
 */
import type { CallState, SessionState } from "./state.ts";

/** The state behind a row of the log that cannot be read. */
export function passOver(state: SessionState, seq: number): SessionState {
  if (state.turn.kind === "idle") return { ...state, seq };
  const turn = { ...state.turn, unread: true as const };
  if (turn.phase.kind !== "calling") return { ...state, seq, turn };
  const calls = turn.phase.calls.map((call) => call.status.kind === "ended" ? call : { ...call, unread: (call.unread ?? 0) + 1 });
  return { ...state, seq, turn: { ...turn, phase: { ...turn.phase, calls } } };
}

/** Whether a process may have received this call. A call starts only behind a row that allows it, so it takes two rows to hide both. */
export function mayHaveStarted({ status, unread = 0 }: CallState): boolean {
  switch (status.kind) {
    case "running":
      return true;
    case "allowed":
      return unread >= 1;
    case "requested":
    case "asking":
      return unread >= 2;
    case "denied":
    case "ended":
      return false;
  }
}
