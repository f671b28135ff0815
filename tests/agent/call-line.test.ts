import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { CallLine } from "../../lib/agent/call-line.ts";

const SETTLED = () => new Promise((resolve) => setTimeout(resolve, 0));

test("calls that are in the line start in the order of their reply, whatever order they get ready in", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 1 }),
      fc.infiniteStream(fc.boolean()),
      async (ready, stays) => {
        const line = new CallLine();
        const log: string[] = [];
        const places = new Map(ready.toSorted((left, right) => left - right).map((order) => [order, line.join(order)]));
        await Promise.all(ready.map(async (order) => {
          const place = places.get(order);
          if (stays.next().value) place?.stayToEnd();
          await place?.first();
          log.push(`${order}`);
          place?.started();
          await Promise.resolve();
          place?.leave();
        }));
        expect(log).toEqual(ready.toSorted((left, right) => left - right).map(String));
      },
    ),
    { seed: 20261130, numRuns: 100 },
  );
});

test("one that stays to its end lets the next one go only then", async () => {
  const line = new CallLine();
  const [first, second] = [line.join(0), line.join(1)];
  const log: string[] = [];
  const next = second.first().then(() => log.push("second"));
  first.stayToEnd();
  await first.first();
  first.started();
  await SETTLED();
  log.push("first ended");
  first.leave();
  await next;
  expect(log).toEqual(["first ended", "second"]);
});

test("one that leaves without a start is not waited for, and neither is one that is not in the line yet", async () => {
  const line = new CallLine();
  const [third, second] = [line.join(2), line.join(1)];
  const log: string[] = [];
  const gone = third.first().then(() => log.push("third"));
  await SETTLED();
  log.push("second is gone");
  second.leave();
  await gone;
  const late = line.join(0);
  await late.first();
  expect(log).toEqual(["second is gone", "third"]);
});
