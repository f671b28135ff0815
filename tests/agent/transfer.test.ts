import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UnsoundLog } from "../../lib/agent/log-state.ts";
import { exportLog, importLog } from "../../lib/agent/transfer.ts";
import { createMemoryJournal } from "../../lib/journal/memory.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { newSession, notices, opened, prompted } from "../fixtures/journal/events.ts";
import { sampleSession } from "../fixtures/journal/sample.ts";

const session = newSession();
const lines = (events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");

async function* inChunks(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let [from, index] = [0, 0]; from < bytes.length; index++) {
    const size = sizes.length === 0 ? bytes.length : sizes[index % sizes.length] ?? 1;
    yield bytes.slice(from, from + size);
    from += size;
  }
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** What is given out after it was taken in. */
async function roundTrip(text: string, sizes: readonly number[] = []): Promise<string> {
  const journal = createMemoryJournal();
  const imported = await importLog(journal, inChunks(toBytes(text), sizes));
  let out = "";
  for await (const page of exportLog(journal, imported.session)) out += page;
  return out;
}

async function refusal(bytes: Uint8Array | string): Promise<string> {
  const journal = createMemoryJournal();
  const problem = await importLog(journal, inChunks(typeof bytes === "string" ? toBytes(bytes) : bytes, [])).then(
    () => "taken in",
    (error: unknown) => error instanceof UnsoundLog ? error.message : `not foreseen: ${String(error)}`,
  );
  expect(await journal.list()).toEqual([]);
  return problem;
}

describe("a log that is taken in", () => {
  test("goes out again byte for byte, however it comes in pieces", async () => {
    const text = lines([...sampleSession(session, 120), ...notices(session, 120, 2, "äöü 你 \u2028 \u0000 \ud800 😀")]);
    const sizes = fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sizes, async (each) => expect(await roundTrip(text, each)).toBe(text)),
      { seed: 7, numRuns: 40 },
    );
  });

  test("keeps what this version does not know, and the bytes of what it does", async () => {
    const head = { v: 1, session, at: "2026-11-01T00:00:00.000Z" };
    const future = `{"v":7,"session":"${session}","seq":2,"at":"${head.at}","type":"planet_seen","mass":1234567890123456789.50,"a":1.0}\n`;
    const spaced =
      `{ "type": "notice", "v": 1, "session": "${session}", "seq": 3, "at": "${head.at}", "level": "info",\t"code": "c", "text": "\\u00e4", "later": {"x": 1e400} }\t\n`;
    const text = lines([opened(session)]) + future + spaced;
    expect(await roundTrip(text)).toBe(text);
  });

  test("is refused with the line and the reason if it is not sound, and then nothing of it is there", async () => {
    const [first, second] = [opened(session), prompted(session, 2, "hello")];
    const other = newSession();
    const cases: readonly (readonly [Uint8Array | string, string])[] = [
      ["", "nothing to read"],
      ["\n", "line 1"],
      [lines([second]), 'line 1: it is of type "prompted"'],
      [`${lines([first])}\n${lines([second])}`, "line 2"],
      [`${lines([first])}not json\n`, "line 2"],
      [`${lines([first])}{"v":1}\n`, "line 2: Cannot read event as its envelope is wrong"],
      [lines([first, { ...second, turn: 0 }]), "line 2: Cannot read event 2 (prompted) as its body is wrong: turn"],
      [lines([first, { ...second, v: 2 }]), "line 2: Cannot read event 2 (prompted) as its version 2 is newer"],
      [lines([first, { ...second, seq: 3 }]), "line 2: its event is numbered 3, and 2 must follow"],
      [lines([first, second, second]), "line 3: its event is numbered 2, and 3 must follow"],
      [lines([first, { ...second, session: other }]), `line 2: its event is of session "${other}"`],
      [lines([first, { ...first, seq: 2 }]), "line 2: the session is opened a second time"],
      [lines([first, second]).slice(0, -1), "line 2: it does not end with a line break"],
      [lines([first, second]).slice(0, -9), "line 2: it does not end with a line break"],
      [new Uint8Array([...toBytes(lines([first])), 0x7b, 0xff, 0x7d, 10]), "line 2: it is not valid UTF-8"],
      [`\ufeff${lines([first])}`, "line 1"],
      [lines([...sampleSession(session, 500), { v: 1 }]), "line 501"],
    ];
    for (const [text, reason] of cases) expect(await refusal(text)).toContain(reason);
  });

  test("is refused with the line and the reason if no session can have written it", async () => {
    const sample = sampleSession(session, 13);
    const at = (type: string) => sample.findIndex((event) => event.type === type);
    const renumbered = (events: readonly object[]) => lines(events.map((event, index) => ({ ...event, seq: index + 1 })));
    const twice = (type: string) => renumbered(sample.flatMap((event, index) => index === at(type) ? [event, event] : [event]));
    const moved = (type: string, to: number) =>
      renumbered(sample.toSpliced(at(type), 1).toSpliced(to - 1, 0, sample[at(type)] as SessionEvent));
    const without = (type: string) => renumbered(sample.toSpliced(at(type), 1));
    expect(await roundTrip(lines(sample))).toBe(lines(sample));
    const cases: readonly (readonly [string, string])[] = [
      [twice("call_started"), 'line 8: it is of type "call_started", and call_'],
      [twice("call_ended"), 'line 10: it is of type "call_ended", and call_'],
      [twice("reply_committed"), 'line 6: it is of type "reply_committed", and no step waits for a reply'],
      [twice("turn_ended"), 'line 14: it is of type "turn_ended", and no turn is open'],
      [moved("turn_ended", 3), 'line 4: it is of type "step_started", and no turn is open'],
      [moved("turn_ended", 5), 'line 6: it is of type "reply_committed", and no turn is open'],
      [moved("turn_ended", 8), "line 8: the turn cannot end while call_"],
      [without("prompted"), 'line 2: it is of type "step_started", and no turn is open'],
      [without("reply_committed"), 'line 5: it is of type "call_allowed", and call_'],
      [without("call_allowed"), "is requested"],
      [without("call_ended"), "line 9: a step cannot begin while call_"],
      [renumbered([...sample, prompted(session, 14, "again")]), "line 14: it begins turn 1, and turn 1 was there before"],
      [lines(sample).replaceAll("\n", "\r\n"), "line 1: it ends with a carriage return"],
      [`\ufeff${lines(sample)}`, "line 1: it begins with a byte order mark"],
    ];
    for (const [text, reason] of cases) expect(await refusal(text)).toContain(reason);
    const future = { v: 1, session, seq: 0, at: "2026-11-01T00:00:00.000Z", type: "planet_seen" };
    const unclear = renumbered([...sample, future, prompted(session, 15, "again")]);
    expect(await roundTrip(unclear)).toBe(unclear);
  });

  test("does not replace a session that is there", async () => {
    const journal = createMemoryJournal();
    await importLog(journal, inChunks(toBytes(lines([opened(session, { title: "first" })])), []));
    const again = importLog(journal, inChunks(toBytes(lines([opened(session, { title: "second" })])), []));
    expect(await again.catch((error: Error) => error.name)).toBe("JournalOccupied");
    expect(await journal.list()).toMatchObject([{ title: "first" }]);
  });
});
