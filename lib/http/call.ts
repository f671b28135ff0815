/** All that the log says of one call: found by reading it, as the state keeps only what the next request needs. */
import { setImmediate as othersFirst } from "node:timers/promises";
import type { Line } from "../agent/readers.ts";
import { type EventOf, isKnown, parseEvent, type SessionEvent } from "../session/event.ts";
import { evolve } from "../session/evolve.ts";
import { initialState, type SessionState } from "../session/state.ts";
import { entriesOf } from "../session/transcript.ts";
import { callBody } from "./state.ts";

/** Gives the pages of a log one after the other. */
export type ReadPage = (after: number) => Promise<readonly Line[]>;

export async function findCall(readPage: ReadPage, id: string): Promise<Record<string, unknown> | null> {
  const found: SessionEvent[] = [];
  for (let after = 0;;) {
    const lines = await readPage(after);
    await othersFirst();
    const last = lines[lines.length - 1]?.seq;
    if (last === undefined || last === null) break;
    after = last;
    // Only a line with the id in it can be about the call.
    for (const { text } of lines) if (text.includes(id)) found.push(...aboutCall(text, id));
  }
  const reply = found.find((event) => event.type === "reply_committed");
  return reply === undefined ? null : toDetail(id, reply, found);
}

function aboutCall(text: string, id: string): readonly SessionEvent[] {
  const value: unknown = JSON.parse(text);
  if ((value as { readonly type?: unknown }).type === "damaged") return [];
  const event = parseEvent(value);
  if (!isKnown(event)) return [];
  const about = event.type === "reply_committed" ? event.calls.some(({ call }) => call === id) : "call" in event && event.call === id;
  return about ? [event] : [];
}

function toDetail(id: string, reply: EventOf<"reply_committed">, events: readonly SessionEvent[]): Record<string, unknown> {
  const state = fold(reply, events);
  const call = entriesOf(state).flatMap((entry) => entry.kind === "reply" ? entry.calls : []).find((each) => each.call === id);
  const of = <T extends SessionEvent["type"]>(type: T) => events.find((event): event is EventOf<T> => event.type === type);
  const [started, ended, allowed, denied] = [of("call_started"), of("call_ended"), of("call_allowed"), of("call_denied")];
  return {
    ...(call === undefined ? {} : callBody(call)),
    arguments: reply.calls.find((each) => each.call === id)?.arguments ?? "",
    step: reply.step,
    requested_at: reply.at,
    ...(started === undefined ? {} : { started_at: started.at }),
    ...(allowed === undefined ? {} : { allowed_by: allowed.by, input: allowed.input }),
    ...(denied === undefined ? {} : { denied_by: denied.by }),
    ...(ended === undefined ? {} : { ended_at: ended.at, ...endOf(ended) }),
  };
}

function endOf(
  { duration_ms, speculation, truncated, exports_withheld, env_withheld, reaped, reaped_omitted }: EventOf<"call_ended">,
): object {
  return { duration_ms, speculation, truncated, exports_withheld, env_withheld, reaped, reaped_omitted };
}

/** The state of a log that holds nothing but this one call. */
function fold(reply: EventOf<"reply_committed">, events: readonly SessionEvent[]): SessionState {
  const turn = {
    kind: "running",
    turn: 1,
    step: reply.step,
    phase: { kind: "asking", attempt: reply.attempt, status: { kind: "open" } },
  } as const;
  return events.reduce((state: SessionState, event) => evolve(state, event), { ...initialState, turn });
}
