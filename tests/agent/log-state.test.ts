import { expect, test } from "bun:test";
import { readState } from "../../lib/agent/log-state.ts";
import type { LogRow } from "../../lib/journal/journal.ts";
import { createMemoryJournal } from "../../lib/journal/memory.ts";
import { fold } from "../../lib/session/evolve.ts";
import { snapshot } from "../../lib/session/state.ts";
import { newOwner, newSession, notices } from "../fixtures/journal/events.ts";
import { sampleSession } from "../fixtures/journal/sample.ts";

const session = newSession();
const events = sampleSession(session, 1003);

test("a log read in pages leads to the state of the whole, from its beginning and from any state on the way", async () => {
  const journal = createMemoryJournal();
  await journal.append(await journal.acquire(session, newOwner()), 0, events);
  const whole = snapshot(fold(events));
  for (const known of [0, 1, 199, 200, 201, 777, 1003]) {
    const { state, damage } = await readState(journal, session, fold(events.slice(0, known)));
    expect([known, state.seq, damage]).toEqual([known, 1003, []]);
    expect(snapshot(state)).toEqual(whole);
  }
});

test("what cannot be read is named once, is passed over, and counts in the numbers, also at a page's edge", async () => {
  const damaged = (seq: number): LogRow => ({ kind: "damaged", seq, reason: "it is torn", text: "" });
  const rows = events.map((event): LogRow => event.seq === 200 || event.seq === 1003 ? damaged(event.seq) : { kind: "event", event });
  const read = async (_session: string, { after = 0, limit = Infinity } = {}) => rows.slice(after, after + limit);
  const { state, damage, unsaid } = await readState({ read }, session);
  expect(state.seq).toBe(1003);
  expect(damage).toEqual([200, 1003].map((seq) => `Event ${seq} cannot be read and is left out: it is torn`));
  expect(unsaid).toEqual(damage);
  const [said] = notices(session, 1003, 1, damage[0]);
  if (said?.type === "notice") rows.push({ kind: "event", event: { ...said, code: "damaged_event" } });
  expect((await readState({ read }, session)).unsaid).toEqual(damage.slice(1));
});
