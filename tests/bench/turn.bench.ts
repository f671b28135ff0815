/**
 * What a turn costs around its tools, each number beside the least possible taken in the same run.
 *
 * Measured: (a) sealed arguments to durable `call_ended` of a Stella tool that runs /bin/true, with the real journal and
 * supervisor, against a bare spawn with the same pipes and two bare FULL appends; (b) over HTTP on loopback, from the end
 * of a reply to the arrival of the next request, less the tool's own time, over 50 calls in a row; (c) what running reads
 * during the stream saves, over tools of T and streams that go on for S, against the same turn without early runs and
 * against the least: a bare spawn of the same tool beside a timer of S, between two bare FULL appends before and two after.
 * A machine that was idle is slow at first, memory that was not touched for a while most of all; the least shows how much.
 * Not measured: a real model's latency, a busy machine, tools that leave processes behind.
 *
 * Run it with `bun tests/bench/turn.bench.ts`.
 */
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { openAgent } from "../../lib/agent/agent.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { spawnProcess } from "../../lib/platform/spawn.ts";
import { parseScript } from "../../lib/model/script.ts";
import { type FixtureEndpoint, startScriptEndpoint } from "../fixtures/endpoint.ts";
import { createWorkspace } from "../fixtures/workspace.ts";

const CALLS = 50;
const ROUNDS = 4;
/** Of these the quickest counts: what else the machine does only adds. */
const TURNS = 5;
const workspace = await createWorkspace();
const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };

try {
  await workspace.write(".stella/tools/nothing.toml", 'name = "nothing"\ndescription = "Does nothing."\ncommand = ["/bin/true"]\n');
  await workspace.tool("wait", 'sleep "$STELLA_INPUT_S"', "read_only = true\nspeculation_safe = true");
  await callOverhead();
  await gapBetweenRequests();
  await speculation();
} finally {
  await workspace.remove();
}

async function callOverhead(): Promise<void> {
  const spawns: number[] = [];
  const appends: number[] = [];
  const calls: number[] = [];
  const append = bareAppend(join(workspace.home, "bare.sqlite"));
  for (let round = 0; round < ROUNDS; round++) {
    for (let each = 0; each < CALLS; each++) {
      spawns.push(await timed(() => bareSpawn()));
      appends.push(await timed(() => Promise.resolve(append())));
    }
    calls.push(...await sealedToDurable());
  }
  const least = median(spawns) + 2 * median(appends);
  line("bare spawn of /bin/true", spawns, "baseline");
  line("bare FULL append", appends, "baseline");
  line("sealed arguments to durable end", calls, `${signed(median(calls) - least)} ms over a spawn and two appends, target +1.50`);
}

/** By the clock of whoever watches: the reply is recorded, the end of the call is told once it is durable. */
async function sealedToDurable(): Promise<readonly number[]> {
  const model = await workspace.script(
    ...Array.from({ length: CALLS }, (_none, n) => ({ calls: [{ name: "nothing", arguments: { n } }] })),
    {
      text: "done",
    },
  );
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model, env });
  const session = await agent.create();
  const times: number[] = [];
  let sealed = 0;
  session.watch((event) => {
    if (event.type === "reply_committed") sealed = performance.now();
    if (event.type === "call_ended") times.push(performance.now() - sealed);
  });
  await session.prompt("go", { source: "bench" });
  await agent.close();
  return times.slice(5);
}

async function gapBetweenRequests(): Promise<void> {
  const replies = [...Array.from({ length: CALLS }, (_none, n) => ({ calls: [{ name: "nothing", arguments: { n } }] })), { text: "done" }];
  const endpoint = await startScriptEndpoint(parseScript(JSON.stringify({ replies })));
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model: "local/bench", baseUrl: endpoint.url, env });
  const session = await agent.create();
  const own: number[] = [];
  session.watch((event) => {
    if (event.type === "call_ended" && "duration_ms" in event) own.push(event.duration_ms);
  });
  const arrivals = watchArrivals(endpoint);
  await session.prompt("go", { source: "bench" });
  arrivals.stop();
  await agent.close();
  await endpoint.close();
  const gaps = arrivals.gaps().slice(5).map((gap, index) => gap - (own[index + 5] ?? 0));
  const bare: number[] = [];
  for (let each = 0; each < CALLS; each++) bare.push(await timed(() => bareSpawn()));
  line("bare spawn of /bin/true", bare, "baseline");
  line("reply's end to next request, less the tool", gaps, "target 15.00 ms");
}

/** The time from the end of each answer to the arrival of the next request. */
function watchArrivals(endpoint: FixtureEndpoint): { gaps(): readonly number[]; stop(): void } {
  const ends: number[] = [];
  const begins: number[] = [];
  const seen = new Set<number>();
  const look = () => {
    for (const [index, request] of endpoint.requests.entries()) {
      if (seen.has(index)) continue;
      seen.add(index);
      begins[index] = performance.now();
      void request.closed.then(() => {
        ends[index] = performance.now();
      });
    }
  };
  let running = true;
  const spin = () => {
    look();
    if (running) setImmediate(spin);
  };
  spin();
  return {
    stop: () => {
      running = false;
    },
    gaps: () => begins.slice(1).map((begin, index) => begin - (ends[index] ?? begin)),
  };
}

async function speculation(): Promise<void> {
  const append = bareAppend(join(workspace.home, "beside.sqlite"));
  for (const tool of [50, 200, 1000]) {
    for (const stream of [50, 200, 1000]) {
      const stop = { call: { index: 0, id: "a", name: "wait", arguments: { s: tool / 1000 } } };
      const model = await workspace.script({ stream: [stop, { wait_ms: stream, text: "…" }] }, { text: "done" });
      const turns: { early: number; late: number; least: number }[] = [];
      for (let round = 0; round < TURNS; round++) {
        turns.push({ early: await turn(model, true), late: await turn(model, false), least: await leastTurn(tool, stream, append) });
      }
      const best = (kind: "early" | "late" | "least") => Math.min(...turns.map((each) => each[kind]));
      const bound = Math.max(tool, stream);
      process.stdout.write(
        `T ${String(tool).padStart(4)} S ${String(stream).padStart(4)}   early ${best("early").toFixed(0).padStart(5)} ms   ` +
          `in order ${best("late").toFixed(0).padStart(5)} ms   over max(T, S): ${signed(best("early") - bound)} ms, ` +
          `the least ${signed(best("least") - bound)} ms, target +15\n`,
      );
    }
  }
}

/** What such a turn cannot do without. */
async function leastTurn(tool: number, stream: number, append: () => void): Promise<number> {
  const env = { PATH: process.env["PATH"] ?? "", STELLA_INPUT_S: String(tool / 1000) };
  return await timed(async () => {
    append();
    append();
    await Promise.all([sleep(stream), bareSpawn(join(workspace.path, "bin/wait"), env)]);
    append();
    append();
  });
}

/** A second turn of a session, so that worker and scripts are warm. */
async function turn(model: string, speculation: boolean): Promise<number> {
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model, env, speculation });
  try {
    const warm = await agent.create();
    await warm.prompt("go", { source: "bench" });
    const session = await agent.create();
    return await timed(() => session.prompt("go", { source: "bench" }));
  } finally {
    await agent.close();
  }
}

async function bareSpawn(program = "/bin/true", env: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = spawnProcess({ program, args: [], cwd: workspace.path, env, stdin: null });
  const drained = [child.stdout, child.stderr].map(async (pipe) => {
    while (await pipe.read() !== null);
    await pipe.close();
  });
  await Promise.all([child.exited, ...drained]);
}

function bareAppend(path: string): () => void {
  const database = openDatabase(path, { busy_timeout_ms: 0 });
  database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log (seq INTEGER PRIMARY KEY, body TEXT)");
  const insert = database.prepare("INSERT INTO log (body) VALUES (?)");
  const body = JSON.stringify({ type: "call_started", text: "x".repeat(300) });
  return () => void insert.run(body);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(2)}`;
}

function line(title: string, values: readonly number[], remark: string): void {
  const sorted = [...values].sort((left, right) => left - right);
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? NaN;
  process.stdout.write(
    `${title.padEnd(44)} median ${median(values).toFixed(2).padStart(6)} ms   p95 ${p95.toFixed(2).padStart(6)} ms   ${remark}\n`,
  );
}
