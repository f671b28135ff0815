import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../lib/session/json.ts";
import { openBoard } from "./session-state.ts";

describe("the task board", () => {
  test("numbers tasks in order, one at a time or several at once", async () => {
    const board = openBoard();
    expect((await board.call("task_create", { subject: "first", definition_of_done: "tests pass" })).text).toBe(
      "t1 [pending] first\n    definition_of_done: tests pass",
    );
    const { text, data } = await board.call("task_create", { tasks: [{ subject: "second" }, { subject: "third", description: "d" }] });
    expect(text).toBe("t2 [pending] second\nt3 [pending] third\n    description: d");
    expect(data).toEqual({
      tasks: [{ id: "t2", subject: "second", status: "pending" }, { id: "t3", subject: "third", status: "pending", description: "d" }],
    });
    expect(Object.keys(board.tasks())).toEqual(["t1", "t2", "t3"]);
  });

  test("lists every task, in the order of their numbers", async () => {
    const board = openBoard();
    expect((await board.call("task_list")).text).toBe("The board is empty.");
    await board.call("task_create", { tasks: Array.from({ length: 11 }, (_, index) => ({ subject: `s${index + 1}` })) });
    await board.call("task_assign", { id: "t2", owner: "tester", briefing: "look twice" });
    const { text, data } = await board.call("task_list");
    expect(text.split("\n").slice(0, 4)).toEqual([
      "t1 [pending] s1",
      "t2 [pending] s2 (tester)",
      "    briefing: look twice",
      "t3 [pending] s3",
    ]);
    expect(text.endsWith("t11 [pending] s11")).toBe(true);
    expect((data as { tasks: readonly JsonObject[] }).tasks[1]).toEqual({ id: "t2", subject: "s2", status: "pending", owner: "tester" });
  });

  test("takes a task from pending over in progress to completed, or to cancelled with a reason", async () => {
    const board = openBoard();
    await board.call("task_create", { tasks: [{ subject: "a" }, { subject: "b" }] });
    expect((await board.call("task_start", { id: "t1" })).text).toBe("t1 [in_progress] a");
    expect((await board.call("task_complete", { id: "t1" })).text).toBe("t1 [completed] a");
    expect((await board.call("task_cancel", { id: "t2", reason: "not needed" })).text).toBe("t2 [cancelled] b\n    reason: not needed");
    expect(board.tasks()).toMatchObject({ t1: { status: "completed" }, t2: { status: "cancelled", reason: "not needed" } });
  });

  test("refuses every other step, says why, and changes nothing", async () => {
    const steps = ["task_start", "task_complete", "task_cancel", "task_assign"];
    const prepared: Readonly<Record<string, readonly string[]>> = {
      pending: [],
      in_progress: ["task_start"],
      completed: ["task_start", "task_complete"],
      cancelled: ["task_cancel"],
    };
    const allowed: Record<string, readonly string[]> = {};
    for (const [status, before] of Object.entries(prepared)) {
      const works: string[] = [];
      for (const step of steps) {
        const board = openBoard();
        await board.call("task_create", { subject: "s" });
        for (const tool of before) await board.call(tool, { id: "t1" });
        const was = board.tasks();
        const { is_error, text, changes } = await board.call(step, { id: "t1", ...(step === "task_assign" ? { owner: "o" } : {}) });
        if (!is_error) works.push(step);
        else {expect([text.startsWith(`Task "t1" is ${status}; only a task that is `), changes, board.tasks()]).toEqual([
            true,
            undefined,
            was,
          ]);}
      }
      allowed[status] = works;
    }
    expect(allowed).toEqual({
      pending: ["task_start", "task_cancel", "task_assign"],
      in_progress: ["task_complete", "task_cancel", "task_assign"],
      completed: [],
      cancelled: [],
    });
  });

  test("names the tasks there are when one is asked for that is not", async () => {
    const board = openBoard();
    expect((await board.call("task_start", { id: "t1" })).text).toBe('There is no task "t1". The board is empty.');
    await board.call("task_create", { subject: "a" });
    for (const id of ["t2", "1", "T1", "__proto__", "constructor"]) {
      expect((await board.call("task_complete", { id })).text).toBe(`There is no task "${id}". The board has t1.`);
    }
  });

  test("asks for what is missing", async () => {
    const board = openBoard();
    for (
      const input of [{}, { description: "d" }, { subject: " " }, { subject: "a", tasks: [{ subject: "b" }] }, {
        description: "d",
        tasks: [{ subject: "b" }],
      }]
    ) {
      expect((await board.call("task_create", input)).is_error).toBe(true);
    }
    await board.call("task_create", { subject: "a" });
    expect((await board.call("task_assign", { id: "t1" })).text).toBe("Give an owner, a briefing, or both.");
    expect(Object.keys(board.tasks())).toEqual(["t1"]);
  });

  test("holds 500 tasks, of 4 MiB in all, and its list stays within 64 KiB and says what it leaves out", async () => {
    const many = openBoard();
    const fifty = Array.from({ length: 50 }, (_, index) => ({ subject: `${index} ${"s".repeat(190)}`, description: "d".repeat(100) }));
    for (let round = 0; round < 10; round++) expect((await many.call("task_create", { tasks: fifty })).is_error).toBe(false);
    expect((await many.call("task_create", { subject: "one more" })).text).toContain("more than 500 tasks");
    const list = await many.call("task_list");
    expect(Buffer.byteLength(list.text)).toBeLessThan(66_000);
    expect(list.text).toMatch(/\(\d+ of 500 tasks are shown, without their texts/);
    expect(list.data).toMatchObject({ truncated: true });

    const wordy = openBoard();
    const long = Array.from({ length: 20 }, () => ({ subject: "s", description: "d".repeat(8000), definition_of_done: "é".repeat(8000) }));
    const outcomes: boolean[] = [];
    for (let round = 0; round < 10; round++) outcomes.push((await wordy.call("task_create", { tasks: long })).is_error);
    expect([outcomes[0], outcomes.at(-1)]).toEqual([false, true]);
    expect((await wordy.call("task_list")).text).toContain("(the tasks' texts are too long to be shown)");
  });

  test("never gives an id twice, whatever was done before", async () => {
    const step = fc.tuple(
      fc.constantFrom("task_create", "task_start", "task_complete", "task_cancel", "task_assign"),
      fc.integer({ min: 1, max: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const board = openBoard();
        const given: string[] = [];
        for (const [tool, number] of steps) {
          const create = { tasks: Array.from({ length: number % 3 + 1 }, () => ({ subject: "s" })) };
          const { data } = await board.call(
            tool,
            tool === "task_create" ? create : { id: `t${number}`, ...(tool === "task_assign" ? { owner: "o" } : {}) },
          );
          if (tool === "task_create") given.push(...(data as { tasks: readonly { id: string }[] }).tasks.map(({ id }) => id));
        }
        expect(given).toEqual(given.map((_, index) => `t${index + 1}`));
        expect(Object.keys(board.tasks())).toEqual(given);
      }),
      { seed: 7, numRuns: 60 },
    );
  });
});
