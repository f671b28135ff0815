/** What a runtime that died left behind in a session: processes, child sessions, and the turn itself. */
import { JournalHeld, type Lease, type LogRow, type SessionSummary } from "../journal/journal.ts";
import type { ChildUse, Command } from "../session/command.ts";
import { decide } from "../session/decide.ts";
import { addWorth, noEarlyRuns } from "../session/early-runs.ts";
import { isKnown, type SessionEvent } from "../session/event.ts";
import { fold } from "../session/evolve.ts";
import { addUsage } from "../session/outcome.ts";
import { initialState, type SessionState } from "../session/state.ts";
import { mayHaveStarted } from "../session/unread.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import { now } from "./ids.ts";
import { checkBeginning, readState } from "./log-state.ts";
import type { SessionGround } from "./sessions.ts";
import type { StopReason } from "./turn.ts";

/** The owner before us died: what it had running here must be gone before the session goes on. */
export async function endLeftovers({ supervisor, owner }: SessionGround, { predecessor }: Lease, state: SessionState): Promise<void> {
  if (predecessor === null || predecessor.place !== owner.place) return;
  const { runtime } = predecessor;
  const running = runningCalls(state).map(({ call, process }) => ({ call, runtime, ...processOf({ process }) }));
  const early = state.speculation.open.map((open) => ({ call: open.speculation, runtime, ...processOf(open) }));
  if (running.length + early.length > 0) await supervisor.endLeftovers([...running, ...early]);
}

const PARENT_GONE: StopReason = { reason: "cancelled", detail: "the session that it worked for lost its runtime" };

/**
 * Sessions that worked for a call which nobody runs any more: their open turns are closed, unless a runtime has taken one
 * up. What they have used, by the call; their own children's use is in it, as closing them records that first.
 */
export async function closeChildren(ground: SessionGround, state: SessionState): Promise<ReadonlyMap<string, ChildUse>> {
  const used = new Map<string, ChildUse>();
  const running = runningCalls(state);
  if (running.length === 0) return used;
  const since = running.map((call) => call.since).reduce((first, each) => each < first ? each : first);
  for (const { session, status } of await changedSince(ground, since)) {
    const [first] = await ground.journal.read(session, { limit: 1 });
    const call = first === undefined ? undefined : parentOf(first)?.call;
    if (call === undefined || !running.some((each) => each.call === call)) continue;
    const { state: child } = await readState(ground.journal, session);
    if (child.header?.parent?.session !== state.session) continue;
    if (status === "interrupted") await closeTurn(ground, session, PARENT_GONE);
    const { usage, speculation } = (await readState(ground.journal, session, child)).state;
    const before = used.get(call) ?? NOTHING_USED;
    used.set(call, { usage: addUsage(before.usage, usage), speculation: addWorth(before.speculation, speculation) });
  }
  return used;
}

const NOTHING_USED: ChildUse = { usage: { input_tokens: 0, output_tokens: 0 }, speculation: noEarlyRuns };

/**
 * Closes the open turn of a session that nobody drives: calls that had started end as `unknown`, the others are not
 * started. `known`: what was folded of its log; a later turn than it has open is left alone. `turn`: the one that was closed. Null: a living runtime holds the session.
 * @throws {UnsoundLog} its beginning is lost.
 */
export async function closeTurn(
  ground: SessionGround,
  session: string,
  reason: StopReason,
  known: SessionState = initialState,
): Promise<{ readonly turn: number | null } | null> {
  const lease = await acquireFree(ground, session);
  if (lease === null) return null;
  try {
    const { state } = await readState(ground.journal, session, known);
    if (state.turn.kind === "idle" || (known.turn.kind === "running" && known.turn.turn !== state.turn.turn)) return { turn: null };
    checkBeginning(state, "cancel", session);
    await endLeftovers(ground, lease, state);
    const used = await closeChildren(ground, state);
    const resumed = eventsOf(state, { type: "resume", at: now(), ...takenOver(lease), used });
    const cancelled = eventsOf(fold(resumed, state), { type: "cancel", at: now(), ...reason });
    await ground.journal.append(lease, state.seq, [...resumed, ...cancelled]);
    return { turn: state.turn.turn };
  } finally {
    await lease.release();
  }
}

/** What is known of the runtime that held the session before. */
export function takenOver({ predecessor_held, is_copy }: Lease): Pick<Extract<Command, { type: "resume" }>, "held" | "copied"> {
  return { ...(predecessor_held === null ? {} : { held: predecessor_held }), ...(is_copy ? { copied: true } : {}) };
}

async function acquireFree({ journal, owner }: SessionGround, session: string): Promise<Lease | null> {
  try {
    return await journal.acquire(session, owner);
  } catch (error) {
    if (error instanceof JournalHeld) return null;
    throw error;
  }
}

function eventsOf(state: SessionState, command: Command): readonly SessionEvent[] {
  const decision = decide(state, command);
  if (decision.kind === "accepted") return decision.events;
  throw new Error(`Cannot ${command.type} session "${state.session}": ${decision.refusal.message}`);
}

const PAGE = 50;

/** Sessions with an event at or after this time. */
async function changedSince({ journal }: SessionGround, since: string): Promise<readonly SessionSummary[]> {
  const found: SessionSummary[] = [];
  let before: SessionSummary | undefined;
  for (;;) {
    const page = await journal.list({ limit: PAGE, ...(before === undefined ? {} : { before }) });
    const fresh = page.filter(({ updated_at }) => updated_at >= since);
    found.push(...fresh);
    before = page[page.length - 1];
    if (before === undefined || fresh.length < PAGE) return found;
  }
}

function parentOf(row: LogRow) {
  return row.kind === "event" && isKnown(row.event) && row.event.type === "session_opened" ? row.event.parent : undefined;
}

interface RunningCall {
  readonly call: string;
  readonly since: string;
  readonly process?: ProcessIdentity;
}

/** Those that may have started among them: since the session was opened, for all that is known. */
function runningCalls({ turn, header }: SessionState): readonly RunningCall[] {
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  return calls.filter(mayHaveStarted).map(({ call, status }) =>
    status.kind === "running" ? { call, since: status.since, ...processOf(status) } : { call, since: header?.opened_at ?? "" }
  );
}

function processOf<P>({ process }: { readonly process?: P | undefined }): { readonly process?: P } {
  return process === undefined ? {} : { process };
}
