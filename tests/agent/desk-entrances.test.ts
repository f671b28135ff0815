import { describe, expect, test } from "bun:test";
import { Entrances } from "../../lib/agent/desk-entrances.ts";

/** Long enough for everything that waits for nothing. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("a session that is being removed", () => {
  test("is left first by all who are inside, and entered by nobody before the end", async () => {
    const entrances = new Entrances();
    const [first, second, removal] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const log: string[] = [];
    const inside = [first, second].map(({ promise }, index) =>
      entrances.enter("a", () => promise.then(() => void log.push(`out ${index}`)))
    );
    const removed = entrances.remove("a", async () => {
      log.push("removing");
      await removal.promise;
      log.push("removed");
    });
    const late = entrances.enter("a", async () => void log.push("late"));
    await entrances.enter("b", async () => void log.push("elsewhere"));
    first.resolve();
    await settle();
    expect(log).toEqual(["elsewhere", "out 0"]);
    second.resolve();
    await settle();
    expect(log).toEqual(["elsewhere", "out 0", "out 1", "removing"]);
    removal.resolve();
    await Promise.all([...inside, removed, late]);
    expect(log.slice(4)).toEqual(["removed", "late"]);
  });

  test("is removed once, however many ask for it", async () => {
    const entrances = new Entrances();
    let removals = 0;
    const remove = () =>
      entrances.remove("a", async () => {
        removals++;
        await settle();
      });
    await Promise.all([remove(), remove(), remove()]);
    expect(removals).toBe(1);
    await remove();
    expect(removals).toBe(2);
  });

  test("can be entered after a removal that failed, and after work that failed", async () => {
    const entrances = new Entrances();
    const failed = entrances.remove("a", () => Promise.reject(new Error("held")));
    const entered = entrances.enter("a", () => Promise.resolve("in"));
    expect(await failed.catch((error: Error) => error.message)).toBe("held");
    expect(await entered).toBe("in");
    expect(await entrances.enter("a", () => Promise.reject(new Error("no"))).catch((error: Error) => error.message)).toBe("no");
    expect(await entrances.remove("a", () => Promise.resolve()).then(() => "removed")).toBe("removed");
  });
});
