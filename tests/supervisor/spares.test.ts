/** Hosts that are started ahead of a call of a user's module. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../lib/session/json.ts";
import { type Bench, isAlive, openBench, PATH, signalOne, taggedPids, until } from "../fixtures/supervision.ts";

const SOURCE = `
  import { spawn } from "node:child_process";
  import { readFileSync } from "node:fs";
  import { tool } from "orrery";
  import * as v from "valibot";
  const define = (name, execute) => tool({ name, description: name, parameters: v.looseObject({}), execute });
  export const where = define("where", () => ({
    pid: process.pid, cwd: process.cwd(), mine: process.env.MINE ?? null, lineage: process.env.ORRERY_LINEAGE, call: process.env.ORRERY_CALL,
    born: readFileSync("/proc/self/environ", "utf8").split("\\0").find((each) => each.startsWith("ORRERY_LINEAGE=")),
  }));
  export const print = define("print", () => { console.log("printed"); return 1; });
  export const leave = define("leave", async () => {
    const child = spawn("setsid", ["sleep", "300"], { stdio: "ignore" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    return { pid: process.pid, left: child.pid, tag: readFileSync("/proc/" + child.pid + "/environ", "utf8").includes("call_left") };
  });
`;
const SESSION = "s";

let bench: Bench;
let file: string;
beforeAll(() => {
  bench = openBench();
  file = join(bench.folder, "tools.ts");
  writeFileSync(file, SOURCE);
});
afterAll(() => bench[Symbol.asyncDispose]());

/** Pids of hosts that were started ahead and are there. */
function waiting(): readonly number[] {
  return [1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((number) => taggedPids(bench.runtime, `spare-w1-${number}`)).filter(isAlive);
}

async function warm(): Promise<number> {
  bench.supervisor.warmModule(SESSION);
  await until("a host waits", () => waiting().length === 1);
  return waiting()[0] ?? 0;
}

async function data(name: string, options: Parameters<Bench["module"]>[3] = {}): Promise<JsonObject> {
  const run = await bench.module(file, name, {}, { session: SESSION, ...options });
  expect(run.outcome).toEqual({ kind: "returned" });
  return run.reply?.data as JsonObject;
}

describe("a host that waits for a module", () => {
  test("is given to one call, which sees its own folder, environment and tags, and is gone with it", async () => {
    const spare = await warm();
    const found = await data("where", { call: "call_one", env: { PATH, MINE: "1" } });
    expect(found).toMatchObject({ pid: spare, cwd: bench.folder, mine: "1", call: "call_one" });
    expect(found["lineage"]).toBe(`${bench.runtime}/spare-w1-1:${bench.runtime}/call_one`);
    expect(isAlive(spare)).toBe(false);
    expect((await data("where"))["pid"]).not.toBe(spare);
  }, 20_000);

  test("is one for each call that was announced, and no more", async () => {
    bench.supervisor.warmModule(SESSION);
    const first = await warm();
    expect((await data("where"))["pid"]).toBe(first);
    await until("the next one waits", () => waiting().length === 1);
    const [second] = waiting();
    expect((await data("where"))["pid"]).toBe(second ?? 0);
    expect(waiting()).toEqual([]);
  }, 20_000);

  test("has what its call started ended with the call, by the call's own tag too", async () => {
    const spare = await warm();
    const found = await data("leave", { call: "call_left" });
    expect(found).toMatchObject({ pid: spare, tag: true });
    expect(isAlive(Number(found["left"]))).toBe(false);
  }, 20_000);

  test("shows what its call prints", async () => {
    await warm();
    const run = await bench.module(file, "print", {}, { session: SESSION });
    expect(run.stdout.text).toBe("printed\n");
  }, 20_000);

  test("that dies before it is wanted is missed by nobody", async () => {
    const spare = await warm();
    signalOne(spare, "SIGKILL");
    await until("it is gone", () => !isAlive(spare));
    expect((await data("where"))["pid"]).not.toBe(spare);
  }, 20_000);

  test("goes with the runtime", async () => {
    const own = openBench();
    own.supervisor.warmModule(SESSION);
    await until("a host waits", () => taggedPids(own.runtime, "spare-w1-1").length === 1);
    const [spare = 0] = taggedPids(own.runtime, "spare-w1-1");
    await own[Symbol.asyncDispose]();
    expect(isAlive(spare)).toBe(false);
  }, 20_000);
});
