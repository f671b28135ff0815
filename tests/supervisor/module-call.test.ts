/** Tools that are a user's TypeScript files, each call in a host of its own. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { hasProc } from "../../lib/platform/proc.ts";
import type { Json, JsonObject } from "../../lib/session/json.ts";
import type { ProcessIdentity } from "../../lib/session/launch.ts";
import type { Outcome } from "../../lib/session/outcome.ts";
import { typescript } from "../../lib/tools/sdk/module-tool.ts";
import { type Bench, isAlive, onDeno, openBench, PATH, taggedPids } from "../fixtures/supervision.ts";

const SOURCE = `
  import { spawn, spawnSync } from "node:child_process";
  import { readFileSync, readlinkSync, writeSync } from "node:fs";
  import { tool } from "orrery";
  import * as v from "valibot";

  const nothing = v.object({});
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const define = (name: string, execute: (input: any, context: any) => unknown) =>
    tool({ name, description: name, parameters: v.looseObject({}), execute });

  export const where = define("where", (input) => ({
    input, pid: process.pid, cwd: process.cwd(), mine: process.env.MINE, lineage: process.env.ORRERY_LINEAGE, call: process.env.ORRERY_CALL,
  }));
  export const print = define("print", () => {
    console.log("by console");
    process.stdout.write("by stream\\n");
    writeSync(1, '{"type":"reply","id":1,"reply":{"is_error":false,"text":"forged"}}\\n');
    console.error("to stderr");
    return "printed";
  });
  export const tell = define("tell", async (_input, { status, progress }) => {
    status("thinking", "hard");
    for (const percent of [10, 50, 90]) progress("task", percent);
    await wait(120);
    status("done");
    return "told";
  });
  export const chatter = define("chatter", async (_input, { progress }) => {
    for (let index = 0; index < 20000; index++) progress("task", index % 100);
    return "said";
  });
  export const polite = define("polite", async (_input, { signal, status }) => {
    status("begun");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    console.log("put away");
    await wait(100);
    console.log("done putting away");
    return "late";
  });
  export const hang = define("hang", () => new Promise(() => {}));
  export const spin = define("spin", () => { for (;;); });
  export const leave = define("leave", async () => {
    const child = spawn("setsid", ["sleep", "300"], { stdio: "ignore" });
    await wait(100);
    return child.pid;
  });
  const ways = {
    exit: (code) => process.exit(code),
    own: (code) => globalThis.Deno.exit(code),
    signal: (name) => process.kill(process.pid, name),
    abort: () => process.abort(),
  };
  export const die = define("die", async ({ way, given }) => {
    console.error("last words");
    ways[way](given);
    await wait(20_000);
  });
  export const insist = define("insist", async (_input, { signal }) => {
    process.kill(process.pid);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return "put away";
  });
  export const patch = define("patch", () => {
    JSON.stringify = () => "patched";
    JSON.parse = () => "patched";
    return { a: 1 };
  });
  export const large = define("large", () => "x".repeat(200000));
  const nest = (levels: number) => Array.from({ length: levels }).reduce((inner) => [inner], 0);
  export const boast = define("boast", (_input, { progress, status }) => {
    progress("x".repeat(2_000_000), 1);
    progress("deep", nest(1000) as number);
    status("done");
    return "boasted";
  });
  const shown = (options: object) => spawnSync("ls", ["-l", "/proc/self/fd"], { encoding: "utf8", ...options }).stdout;
  const inputs = {
    stream: async () => {
      let text = "";
      for await (const chunk of process.stdin) text += chunk;
      return text;
    },
    descriptor: () => readFileSync(0, "utf8"),
    device: () => readFileSync("/dev/stdin", "utf8"),
    host: async () => "Bun" in globalThis ? await globalThis.Bun.stdin.text() : await new Response(globalThis.Deno.stdin.readable).text(),
    child: () => spawnSync("cat", { stdio: ["inherit", "pipe", "inherit"] }).stdout.toString(),
    shell: async () => await globalThis.Bun.$\`cat; /bin/cat\`.text(),
  };
  export const input = define("input", ({ way }) => inputs[way]());
  export const inherited = define("inherited", () => ({
    own: [3, 4].map((descriptor) => readlinkSync("/proc/self/fd/" + descriptor)),
    children: [shown({ stdio: ["inherit", "pipe", "inherit"] }), shown({})],
  }));
  export const deep = define("deep", ({ levels }) => nest(levels));
  /** Answers without the program's leave, on the channel that is the program's own. */
  export const forge = define("forge", ({ before, middle, times, after }) => {
    const bytes = Buffer.from(before + middle.repeat(times) + after + "\\n");
    for (let at = 0; at < bytes.length;) {
      try {
        at += writeSync(3, bytes, at);
      } catch (error) {
        if ((error as { code?: string }).code !== "EAGAIN") throw error;
      }
    }
    for (;;);
  });
`;

let bench: Bench;
let file: string;
beforeAll(() => {
  bench = openBench();
  file = join(bench.folder, "tools.ts");
  writeFileSync(file, SOURCE);
});
afterAll(() => bench[Symbol.asyncDispose]());

function dataOf(run: Awaited<ReturnType<Bench["module"]>>): JsonObject {
  expect(run.outcome).toEqual({ kind: "returned" });
  expect(run.reply?.is_error).toBe(false);
  return run.reply?.data as JsonObject;
}

describe("a call of a module's tool", () => {
  test("runs in the workspace with the call's environment and tags, in a process that is then gone", async () => {
    const spawned = Promise.withResolvers<ProcessIdentity>();
    const run = await bench.module(file, "where", { n: 1 }, { call: "call_m", env: { PATH, MINE: "1" }, onSpawned: spawned.resolve });
    const { pid, ...rest } = dataOf(run);
    expect(rest).toEqual({ input: { n: 1 }, cwd: bench.folder, mine: "1", lineage: `${bench.runtime}/call_m`, call: "call_m" });
    expect(pid).toBe((await spawned.promise).pid);
    expect(isAlive(Number(pid))).toBe(false);
    expect(run.reaped).toEqual([]);
  });

  test("has a process of its own each time, and none of the built-ins'", async () => {
    const builtin = (await bench.host("echo")).reply?.data as JsonObject;
    const runs = [await bench.module(file, "where"), ...await Promise.all([bench.module(file, "where"), bench.module(file, "where")])];
    const pids = [...runs.map((run) => dataOf(run)["pid"]), builtin["pid"]];
    expect(new Set(pids).size).toBe(4);
  }, 15_000);

  test("tells which tools the file has, without running any", async () => {
    const run = await bench.module(file, null);
    const described = dataOf(run) as unknown as { readonly kind: string; readonly tools: readonly { readonly name: string }[] };
    expect(described.kind).toBe("described");
    expect(described.tools.map(({ name }) => name)).toContain("where");
  });

  test("may print as it likes, even with the words of our own conversation", async () => {
    const shown: string[] = [];
    const run = await bench.module(file, "print", {}, { onOutput: (stream, text) => shown.push(`${stream}: ${text}`) });
    expect(run.reply).toEqual({ is_error: false, text: '"printed"', data: "printed" });
    expect(run.stdout.text).toContain("by console\nby stream\n");
    expect(run.stderr.text).toBe("to stderr\n");
    expect(shown.join("")).toContain("forged");
  });

  for (const way of ["stream", "descriptor", "device", "host", "child", ...(onDeno ? [] : ["shell"])]) {
    test(`finds nothing in its standard input, and that at once: ${way}`, async () => {
      const run = await bench.module(file, "input", { way }, { timeout_ms: 10_000 });
      expect([run.outcome, run.reply?.text]).toEqual([{ kind: "returned" }, '""']);
    }, 15_000);
  }

  test.skipIf(!hasProc())("passes on to what it starts neither end of our own conversation", async () => {
    const { own, children } = dataOf(await bench.module(file, "inherited")) as { readonly own: string[]; readonly children: string[] };
    expect(own.every((target) => /^(?:pipe|socket):/.test(target))).toBe(true);
    for (const child of children) {
      expect(child).toContain("0 -> ");
      for (const target of own) expect(child).not.toContain(target);
    }
  });

  test("is heard while it runs, in order", async () => {
    const told: Json[] = [];
    const run = await bench.module(file, "tell", {}, { onMessage: (message) => told.push(message) });
    expect(run.reply?.data).toBe("told");
    expect(told.map((message) => (message as JsonObject)["data"])).toEqual([
      { status: "thinking", message: "hard" },
      { task_id: "task", progress: 10 },
      { task_id: "task", progress: 50 },
      { task_id: "task", progress: 90 },
      { status: "done" },
    ]);
    expect(run.messages_dropped).toBe(undefined);
  });

  test("that says too much is thinned out, told so, and not held up", async () => {
    const told: JsonObject[] = [];
    const run = await bench.module(file, "chatter", {}, { onMessage: (message) => told.push(message as JsonObject) });
    expect(run.reply?.data).toBe("said");
    expect(told.length).toBeLessThan(5000);
    expect(told.length + (run.messages_dropped ?? 0)).toBe(20_000);
    expect(told.at(-1)?.["data"]).toEqual({ task_id: "task", progress: 99 });
  }, 15_000);

  test("is answered whatever it puts in the place of JSON's own functions", async () => {
    expect(dataOf(await bench.module(file, "patch"))).toEqual({ a: 1 });
  });

  test("passes on that its answer was cut", async () => {
    const { reply } = await bench.module(file, "large");
    expect(reply?.whole_bytes).toBe(200_002);
  });

  test("that says what is too long or too deep to be passed on is not held up by it, and told so", async () => {
    const told: Json[] = [];
    const run = await bench.module(file, "boast", {}, { onMessage: (message) => told.push(message) });
    expect([run.reply?.data, run.messages_dropped]).toEqual(["boasted", 2]);
    expect(told.map((message) => (message as JsonObject)["data"])).toEqual([{ status: "done" }]);
  });

  test("may return what is nested in 256 levels; more is an error that says so", async () => {
    expect((await bench.module(file, "deep", { levels: 256 })).reply).toMatchObject({
      is_error: false,
      text: `${"[".repeat(256)}0${"]".repeat(256)}`,
    });
    expect((await bench.module(file, "deep", { levels: 257 })).reply).toMatchObject({
      is_error: true,
      text: expect.stringContaining("256 levels"),
    });
  });

  test("that forges its answer costs no memory and nobody else's call", async () => {
    const reply = { before: '{"type":"reply","id":1,"reply":{"is_error":false,"text":"","data":[', after: "0]}}" };
    const message = { before: '{"type":"message","id":1,"message":[', after: "0]}" };
    const forgeries = [
      { ...reply, middle: "[],", times: 8_000_000 },
      { ...message, middle: "[],", times: 8_000_000 },
      { before: '{"type":"reply","id":1,"reply":{"is_error":false,"text":"', middle: "x", times: 30_000_000, after: '"}}' },
      {
        before: '{"type":"reply","id":1,"reply":{"is_error":false,"text":"","data":',
        middle: "[",
        times: 400_000,
        after: `${"]".repeat(400_000)}}}`,
      },
      { before: '{"type":"message","id":1,"message":', middle: "[", times: 400_000, after: `${"]".repeat(400_000)}}` },
    ];
    const other = bench.sh("until [ -e forged ]; do sleep 0.05; done; echo unmoved", { timeout_ms: 60_000 });
    await bench.module(file, "where");
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => peak = Math.max(peak, process.memoryUsage().rss), 5);
    for (const forgery of forgeries) {
      const run = await bench.module(file, "forge", forgery, { onMessage: () => {} });
      expect(run.outcome).toEqual({ kind: "unknown", cause: "host_died" });
      expect(run.problem).toContain("it spoke out of turn");
    }
    clearInterval(watch);
    writeFileSync(join(bench.folder, "forged"), "");
    expect((await other).stdout.text).toBe("unmoved\n");
    expect(peak - before).toBeLessThan(onDeno ? 200_000_000 : 100_000_000);
  }, 60_000);

  test("is told to stop at a cancel and may put things away, but its answer no longer counts", async () => {
    const stop = new AbortController();
    const run = await bench.module(file, "polite", {}, { signal: stop.signal, onMessage: () => stop.abort() });
    expect(run.outcome).toEqual({ kind: "cancelled" });
    expect(run.stdout.text).toBe("put away\ndone putting away\n");
    expect(run.reply).toBe(undefined);
  }, 10_000);

  test("ends at its deadline, whatever it does", async () => {
    for (const name of ["hang", "spin"]) {
      expect((await bench.module(file, name, {}, { timeout_ms: 700 })).outcome).toEqual({ kind: "timed_out", after_ms: 700 });
    }
  }, 15_000);

  test("leaves nothing behind, and says what it would have", async () => {
    const run = await bench.module(file, "leave");
    expect(run.reaped.map(({ command }) => command)).toEqual(["sleep"]);
    expect(isAlive(Number(run.reply?.data))).toBe(false);
  });

  const ends: readonly (readonly [string, string | number | null, Outcome])[] = [
    ["exit", 7, { kind: "exited", code: 7 }],
    ["exit", 0, { kind: "exited", code: 0 }],
    ...(onDeno ? [["own", 4, { kind: "exited", code: 4 }]] as const : []),
    ["signal", "SIGTERM", { kind: "signalled", signal: "SIGTERM" }],
    ["signal", "SIGKILL", { kind: "signalled", signal: "SIGKILL" }],
    ["abort", null, { kind: "signalled", signal: "SIGABRT" }],
  ];
  for (const [way, given, outcome] of ends) {
    test(`that ends its process ended as that did: ${way} ${given}`, async () => {
      const run = await bench.module(file, "die", { way, given });
      expect(run.outcome).toEqual(outcome);
      expect(run.stderr.text).toContain("last words\n");
      expect(typescript.read("die", run).result).toMatchObject({ is_error: true, text: expect.stringContaining("last words") });
    });
  }

  test("that has asked for the signal is not ended by SIGTERM", async () => {
    expect((await bench.module(file, "insist")).reply?.data).toBe("put away");
  });

  test("of a file that does not load is an error result", async () => {
    const broken = join(bench.folder, "broken.ts");
    writeFileSync(broken, 'import "no-such-package-anywhere"; export const x = 1;');
    const run = await bench.module(broken, "x");
    expect(run.outcome).toEqual({ kind: "returned" });
    expect(run.reply?.is_error).toBe(true);
    expect(run.reply?.text).toContain("no-such-package-anywhere");
  });

  test("leaves no process of any kind", async () => {
    const builtins = bench.supervisor.live().map(({ pid }) => pid);
    expect(taggedPids(bench.runtime).filter((pid) => pid !== process.pid && !builtins.includes(pid)).length).toBeLessThanOrEqual(1);
  });
});

describe("a process that speaks in frames", () => {
  const say = (message: unknown) => `echo '${JSON.stringify({ type: "message", message })}'`;

  test("is heard while it runs; its output is its result and not shown live", async () => {
    const told: Json[] = [];
    const shown: string[] = [];
    const script = `${say({ a: 1 })}; echo no frame; echo '{"type":"other"}'; sleep 0.15; ${
      say("two")
    }; echo seen >&2; echo '{"type":"result"}'`;
    const run = await bench.sh(script, {
      speaks: "frames",
      onMessage: (message) => told.push(message),
      onOutput: (stream, text) => shown.push(`${stream}: ${text}`),
    });
    expect(told).toEqual([{ a: 1 }, "two"]);
    expect(shown).toEqual(["stderr: seen\n"]);
    expect(run.stdout.text).toContain('no frame\n{"type":"other"}');
    expect(run.messages_dropped).toBe(undefined);
  });

  test("floods nobody, and a line of any length harms nothing", async () => {
    const told: Json[] = [];
    const script = `i=0; while [ $i -lt 3000 ]; do ${say("m")}; i=$((i+1)); done; head -c 300000 /dev/zero; echo; ${
      say("x".repeat(20_000))
    }; ${say("last")}`;
    const run = await bench.sh(script, { speaks: "frames", onMessage: (message) => told.push(message) });
    expect(run.outcome).toEqual({ kind: "exited", code: 0 });
    expect(told.at(-1)).toBe("last");
    expect(told.length + (run.messages_dropped ?? 0)).toBe(3002);
  });
});
