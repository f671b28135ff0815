import { describe, expect, test } from "bun:test";
import { Slots } from "../../lib/agent/slots.ts";

const never = new AbortController().signal;

describe("slots", () => {
  test("are given out up to their number, then in the order in which they were asked for", async () => {
    const slots = new Slots(2);
    const got: string[] = [];
    expect([slots.tryTake(), await slots.take(never), slots.tryTake()]).toEqual([true, true, false]);
    const waiting = ["first", "second"].map((name) => slots.take(never).then((granted) => void got.push(`${name} ${granted}`)));
    slots.release();
    await waiting[0];
    expect(got).toEqual(["first true"]);
    slots.release();
    await waiting[1];
    expect([got, slots.tryTake()]).toEqual([["first true", "second true"], false]);
  });

  test("tell of one that is free only if nobody waits for it", async () => {
    const slots = new Slots(1);
    let told = 0;
    slots.onFree(() => told++);
    await slots.take(never);
    const waiting = slots.take(never);
    slots.release();
    await waiting;
    expect(told).toBe(0);
    slots.release();
    expect(told).toBe(1);
  });

  test("are not given to whoever has given up, and none is lost by it", async () => {
    const slots = new Slots(1);
    const stop = new AbortController();
    await slots.take(never);
    const [gaveUp, patient] = [slots.take(stop.signal), slots.take(never)];
    stop.abort();
    expect(await gaveUp).toBe(false);
    slots.release();
    expect([await patient, await slots.take(stop.signal)]).toEqual([true, false]);
    slots.release();
    expect(slots.tryTake()).toBe(true);
  });
});
