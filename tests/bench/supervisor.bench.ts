/**
 * What supervision costs. Every number stands beside the least possible, taken in the same run and interleaved.
 *
 * Measured: `run()` called until settled, on the main thread: thread hops, checks, tags, pipes, drain, look for leftovers.
 * Not measured: the loop, the journal, a busy machine, a call whose leftovers must be ended.
 *
 * Run it with `bun tests/bench/supervisor.bench.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { spawnProcess } from "../../lib/platform/spawn.ts";
import type { Launch } from "../../lib/session/launch.ts";
import { createSupervisor, type Supervisor } from "../../lib/supervisor/supervisor.ts";

const ROUNDS = 300;
const FLOOD_BYTES = 3_000_000_000;
const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const folder = mkdtempSync(join(tmpdir(), "orrery-bench-"));
const file = join(folder, "file.txt");
writeFileSync(file, "a line of text\n".repeat(100));
const supervisor = createSupervisor({ runtime: "bench" });
let calls = 0;

try {
  await run(truth());
  await flood(supervisor);
  await compare();
  await burst(supervisor);
  await flood(supervisor);
  await modules();
  await talk(supervisor);
  await ends(supervisor);
} finally {
  await supervisor.close();
  rmSync(folder, { recursive: true });
}

async function compare(): Promise<void> {
  const bare: number[] = [];
  const supervised: number[] = [];
  const builtin: number[] = [];
  for (let round = -20; round < ROUNDS; round++) {
    const times = [await timed(spawnBare), await timed(() => run(truth())), await timed(() => run(readFile()))];
    if (round < 0) continue;
    for (const [index, list] of [bare, supervised, builtin].entries()) list.push(times[index] ?? NaN);
  }
  const base = median(bare);
  report("bare spawn of /bin/true", bare, "baseline");
  report("supervised /bin/true", supervised, `+${(median(supervised) - base).toFixed(2)} ms over bare, target +1.50`);
  report("built-in read_file, warm host", builtin, `${(median(builtin) / base).toFixed(2)} of bare, target 1.00`);
}

async function burst(target: Supervisor): Promise<void> {
  const bare = await timed(async () => {
    for (let each = 0; each < 50; each++) await spawnBare();
  });
  const inRow = await timed(async () => {
    for (let each = 0; each < 50; each++) await run(readFile());
  });
  line("50 read_file in a row", `${inRow.toFixed(1)} ms`, `50 bare spawns ${bare.toFixed(1)} ms`);
  const bareAtOnce: number[] = [];
  const atOnce: number[] = [];
  for (let round = 0; round < 20; round++) {
    bareAtOnce.push(await timed(() => Promise.all(Array.from({ length: 8 }, spawnBare))));
    atOnce.push(await timed(() => Promise.all(Array.from({ length: 8 }, () => run(readFile())))));
  }
  report("8 bare spawns at once", bareAtOnce, "baseline");
  report("8 read_file at once", atOnce, `${target.live().length} processes live`);
}

async function modules(): Promise<void> {
  const path = join(folder, "tools.ts");
  const source =
    'import { tool } from "orrery";\nexport const t = tool({ name: "t", description: "t", parameters: { type: "object" }, execute: () => 1 });\n';
  writeFileSync(path, source);
  const times: number[] = [];
  const module = { file: path, ask: "call" } as const;
  for (let round = 0; round < 20; round++) {
    times.push(
      await timed(() => run({ kind: "host", tool: "t", module, input: "{}", context: { workspace: folder, env }, timeout_ms: 10_000 })),
    );
  }
  report("a TypeScript tool", times, "a host of its own for each call");
}

async function talk(target: Supervisor): Promise<void> {
  let tell = () => {};
  const limits = { line_bytes: 1e6, window_bytes: 1e6, queue_bytes: 1e6, stderr_bytes: 1e4 };
  const conversation = target.open({ call: "talk", launch: { argv: ["cat"], cwd: folder, env }, ...limits, onLine: () => tell() });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    times.push(
      await timed(() =>
        new Promise<void>((resolve) => {
          tell = resolve;
          void conversation.send("a line");
        })
      ),
    );
  }
  conversation.close();
  await conversation.ended;
  report("a line to cat and back", times, "a conversation");
}

/** From the cancel to the moment when nothing of a tree of seven is alive. */
async function ends(target: Supervisor): Promise<void> {
  const script = "for each in 1 2 3; do setsid sleep 300 & sleep 301 & done; echo ready; wait";
  const times: number[] = [];
  for (let round = 0; round < 20; round++) {
    const stop = new AbortController();
    const ready = Promise.withResolvers<void>();
    const ended = target.run({ ...request(shell(script)), signal: stop.signal, onOutput: () => ready.resolve() });
    await ready.promise;
    times.push(
      await timed(() => {
        stop.abort();
        return ended;
      }),
    );
  }
  report("cancel of a tree of 7", times, "until nothing of it is alive");
}

async function flood(target: Supervisor): Promise<void> {
  const launch = shell(`yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | head -c ${FLOOD_BYTES}; echo TAIL`);
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => peak = Math.max(peak, process.memoryUsage().rss), 20);
  const took = await timed(async () => {
    const { stdout } = await target.run(request(launch));
    if (!stdout.text.endsWith("TAIL\n") || stdout.bytes !== FLOOD_BYTES + 5) throw new Error("The flood lost its end");
  });
  clearInterval(watch);
  const growth = (peak - before) / 1e6;
  line(
    `flood of ${FLOOD_BYTES / 1e9} GB`,
    `${(FLOOD_BYTES / 1e3 / took).toFixed(0)} MB/s`,
    `memory grew by ${growth.toFixed(1)} MB, target < 50`,
  );
}

async function spawnBare(): Promise<void> {
  const child = spawnProcess({ program: "/bin/true", args: [], cwd: folder, env, stdin: null });
  const drained = [child.stdout, child.stderr].map(async (pipe) => {
    while (await pipe.read() !== null);
    await pipe.close();
  });
  await Promise.all([child.exited, ...drained]);
}

function truth(): Launch {
  return { kind: "process", argv: ["/bin/true"], cwd: folder, env, stdin: null, timeout_ms: 10_000, cap_bytes: 65_536 };
}

function shell(script: string): Launch {
  return { kind: "process", argv: ["sh", "-c", script], cwd: folder, env, stdin: null, timeout_ms: 120_000, cap_bytes: 65_536 };
}

function readFile(): Launch {
  return {
    kind: "host",
    tool: "read_file",
    input: JSON.stringify({ path: file }),
    context: { workspace: folder, env },
    timeout_ms: 10_000,
  };
}

async function run(launch: Launch): Promise<void> {
  const { outcome, problem, reply } = await supervisor.run(request(launch));
  const good = outcome.kind === "returned" || (outcome.kind === "exited" && outcome.code === 0);
  if (!good || reply?.is_error === true) {
    throw new Error(`Cannot measure as a call failed: ${outcome.kind} ${problem ?? reply?.text ?? ""}`);
  }
}

function request(launch: Launch) {
  return { session: "bench", call: `call_${++calls}`, launch, signal: new AbortController().signal };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function report(what: string, times: readonly number[], note: string): void {
  const sorted = times.toSorted((left, right) => left - right);
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? NaN;
  line(what, `${median(times).toFixed(2)} ms median, ${p95.toFixed(2)} p95`, note);
}

function median(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[times.length >> 1] ?? NaN;
}

function line(what: string, value: string, note: string): void {
  console.log(`${what.padEnd(32)} ${value.padEnd(32)} ${note}`);
}
