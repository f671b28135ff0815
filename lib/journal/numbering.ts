import type { StoredEvent } from "../session/event.ts";

/**
 * J1, before anything is written: the events are of this session and numbered from `expected + 1` without a gap.
 * @throws {RangeError} the caller is wrong, not the store.
 */
export function checkNumbering(session: string, expected: number, events: readonly StoredEvent[]): void {
  for (const [index, event] of events.entries()) {
    const seq = expected + 1 + index;
    if (event.session === session && event.seq === seq) continue;
    throw new RangeError(
      `Cannot append event ${event.seq} of session "${event.session}" where event ${seq} of session "${session}" must follow`,
    );
  }
}
