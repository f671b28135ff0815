/** Cancelling a turn from outside of the runtime that drives it, be that alive, busy, stopped or dead. */
import { uuidv7 } from "uuidv7";
import type { LeaseRequest } from "../journal/journal.ts";
import type { SessionState } from "../session/state.ts";
import { closeTurn } from "./leftovers.ts";
import { readState } from "./log-state.ts";
import { CANCELLED_ELSEWHERE } from "./session.ts";
import { checkExists, type SessionGround } from "./sessions.ts";

export interface CancelOptions {
  /** How long calls that run may go on before they are ended; 0 if it is not said. */
  readonly grace_ms?: number;
  /** How long the runtime that holds the session has for it, beyond that. */
  readonly patience_ms?: number;
}

export interface Cancellation {
  readonly session: string;
  /** The turn that was open and is closed now; null if none was open. */
  readonly turn: number | null;
  /** Who closed it: the runtime that holds the session, or this one, as nobody held it. */
  readonly by: "holder" | "us" | null;
}

/** The runtime that holds the session did not close its turn in time. */
export class CancelUnanswered extends Error {
  override readonly name = "CancelUnanswered";
  constructor(readonly session: string, readonly turn: number, waited_ms: number) {
    super(
      `Cannot cancel turn ${turn} of session "${session}" as the orrery that has it open did not close it within ${waited_ms / 1000} s: ` +
        "end that process, then cancel again",
    );
  }
}

const PATIENCE_MS = 30_000;
const LOOK_MS = 50;
/** To find out whether the holder still lives costs a write. */
const LOOKS_PER_ATTEMPT = 10;

/** @throws {UsageError} there is no such session. @throws {CancelUnanswered} */
export async function cancelTurn(ground: SessionGround, id: string, options: CancelOptions = {}): Promise<Cancellation> {
  const { grace_ms = 0, patience_ms = PATIENCE_MS } = options;
  await checkExists(ground.journal, id);
  const { state } = await readState(ground.journal, id);
  if (state.turn.kind === "idle") return { session: id, turn: null, by: null };
  const { turn } = state.turn;
  if ((await closeTurn(ground, id, CANCELLED_ELSEWHERE, state))?.turn === turn) return { session: id, turn, by: "us" };
  const request: LeaseRequest = { id: uuidv7(), type: "cancel", session: id, turn, grace_ms };
  try {
    return { session: id, turn, by: await untilClosed(ground, state, request, grace_ms + patience_ms) };
  } finally {
    await ground.journal.withdraw(request);
  }
}

/** The holder may die before it has heard: then the turn is ours to close, or somebody else's who must be asked. */
async function untilClosed(
  ground: SessionGround,
  from: SessionState,
  request: LeaseRequest,
  limit_ms: number,
): Promise<"holder" | "us"> {
  const { session, turn } = request;
  const deadline = performance.now() + limit_ms;
  let state = from;
  for (let looks = 0;; looks++) {
    if (looks % LOOKS_PER_ATTEMPT === 0) {
      if (looks > 0 && (await closeTurn(ground, session, CANCELLED_ELSEWHERE, state))?.turn === turn) return "us";
      await ground.journal.ask(request);
    }
    ({ state } = await readState(ground.journal, session, state));
    if (state.turn.kind === "idle" || state.turn.turn !== turn) return "holder";
    if (performance.now() > deadline) throw new CancelUnanswered(session, turn, limit_ms);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
