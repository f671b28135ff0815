import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { sourceCommand } from "../fixtures/supervision.ts";

test("a signal that comes before the program beneath PID 1 is there is passed on to it", () => {
  const [program = "", ...args] = sourceCommand("./programs/early-signal.ts");
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  expect([status, stderr]).toEqual([143, ""]);
});
