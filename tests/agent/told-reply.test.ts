import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { ToldReply } from "../../lib/agent/told-reply.ts";
import type { LiveEvent } from "../../lib/session/live.ts";

type Written = Parameters<ToldReply["take"]>[0];

const RESTARTED: Written = { type: "restarted" };
const text = (said: string): Written => ({ type: "text", text: said });
const thought = (said: string): Written => ({ type: "reasoning", text: said });
const call = (name: string): Written => ({ type: "call_announced", position: 0, name });

function told(written: readonly Written[]): readonly LiveEvent[] {
  const events: LiveEvent[] = [];
  const reply = new ToldReply({ session: "s", step: 1, attempt: 1 }, (event) => events.push(event));
  for (const each of written) reply.take(each);
  reply.end();
  return events;
}

/** What a reader has who takes live events as they are meant. */
function seen(events: readonly LiveEvent[]) {
  let draft = { text: "", reasoning: "", calls: [] as string[] };
  for (const { type, text = "", whole = false, ...event } of events) {
    if (type === "text_delta") draft.text = whole ? text : draft.text + text;
    else if (type === "reasoning_delta") draft.reasoning = whole ? text : draft.reasoning + text;
    else if ("status" in event && event.status === "call_announced") draft.calls = whole ? [text] : [...draft.calls, text];
    else draft = { text: "", reasoning: "", calls: [] };
  }
  return draft;
}

const brief = (events: readonly LiveEvent[]) => events.map((event) => "status" in event ? event.status : `${event.text}`);

test("a reply that begins anew and says something else is taken back, and told from its beginning", () => {
  const events = told([thought("hm"), text("The answer is 41. "), call("look"), RESTARTED, thought("hm"), text("It is 42.")]);
  expect(brief(events)).toEqual(["hm", "The answer is 41. ", "call_announced", "superseded", "hm", "It is 42."]);
  expect(events.slice(4).map(({ whole }) => whole)).toEqual([true, true]);
});

test("one that says the same is told on from where it broke off, and nothing of it twice", () => {
  expect(brief(told([thought("hm"), text("Hel"), RESTARTED, thought("hm"), text("He"), text("llo!")]))).toEqual(["hm", "Hel", "lo!"]);
  const events = told([text("Hel"), text("lo"), call("look"), RESTARTED, text("He"), text("llo"), call("look"), call("add")]);
  expect(brief(events)).toEqual(["Hel", "lo", "call_announced", "call_announced"]);
});

test("one that ends before it has said again what was told is taken back at its end", () => {
  expect(brief(told([text("Hello!"), RESTARTED, text("Hello")]))).toEqual(["Hello!", "superseded", "Hello"]);
  expect(brief(told([call("look"), call("add"), RESTARTED, call("look")]))).toEqual([
    "call_announced",
    "call_announced",
    "superseded",
    "call_announced",
  ]);
  expect(brief(told([call("add"), RESTARTED, text("No call.")]))).toEqual(["call_announced", "superseded", "No call."]);
});

test("however often a reply begins anew, a reader has at its end what it says then", () => {
  const piece = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "b", "😀", "😃"), maxLength: 3 }).map(text),
    fc.constantFrom("x", "xx").map(thought),
    fc.constantFrom("look", "loo", "add").map(call),
  );
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 6 }), { minLength: 1, maxLength: 4 }), (attempts) => {
      const events = told(attempts.flatMap((pieces, index) => index === 0 ? pieces : [RESTARTED, ...pieces]));
      const last = attempts.at(-1) ?? [];
      const wanted = { text: "", reasoning: "", calls: [] as string[] };
      for (const each of last) {
        if (each.type === "text") wanted.text += each.text;
        if (each.type === "reasoning") wanted.reasoning += each.text;
        if (each.type === "call_announced") wanted.calls.push(each.name);
      }
      expect(seen(events)).toEqual(wanted);
    }),
    { seed: 20261130, numRuns: 500 },
  );
});
