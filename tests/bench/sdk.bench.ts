/**
 * What a call of a tool in code costs. Of a Python tool, beside a bare `python3 -c` that imports asyncio and prints one
 * line of JSON. Of a TypeScript tool, beside a bare spare: a host of the same program that was started ahead, answers one
 * call of a built-in and is ended.
 * Run: `bun tests/bench/sdk.bench.ts` or `deno run -A tests/bench/sdk.bench.ts`; ORRERY_BINARY names a binary whose hosts
 * are measured, else they run from source.
 *
 * Not measured: for Python the supervisor and wrappers around python3 (both sides start the interpreter itself); imports
 * of the author's; a cold disk cache; starting a spare, which happens while the model writes.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { ownCommand, TOOL_HOST_ARGUMENT } from "../../lib/platform/self.ts";
import { toInput } from "../../lib/session/json.ts";
import type { ProcessLaunch } from "../../lib/session/launch.ts";
import { createCensus } from "../../lib/supervisor/census.ts";
import { endAll } from "../../lib/supervisor/kill.ts";
import { createSupervisor, type Supervisor } from "../../lib/supervisor/supervisor.ts";
import { startToolHost } from "../../lib/supervisor/tool-host.ts";
import { python } from "../../lib/tools/sdk/python-tool.ts";

const ROUNDS = 60;
const GOAL = 1.3;

const TOOL = `from stella_sdk import tool

@tool
async def greet(name: str, times: int = 2) -> dict:
    """Greet somebody.

    Args:
        name: Whom to greet
        times: How often
    """
    return {"text": "hello " + name, "times": times}
`;
const BARE = 'import asyncio, json\nprint(json.dumps({"text": "hello ada", "times": 2}))';

const MODULE_ROUNDS = 30;
const MODULE_GOAL_MS = 6;

const MODULE = `import { tool } from "orrery";
import * as v from "valibot";
export default tool({
  name: "greet", description: "Greet somebody.", parameters: v.object({ name: v.string() }),
  execute: ({ name }) => ({ text: "hello " + name }),
});
`;

/** A host that was started is ready and idle after this. */
const SETTLE_MS = 300;

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-"));
try {
  compare();
  await compareModules();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function compare(): void {
  const file = join(folder, "greet.py");
  writeFileSync(file, TOOL);
  const interpreter = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();
  const place = { workspace: folder, env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" } };
  const description = {
    name: "greet",
    description: "",
    parameters: {},
    read_only: true,
    speculation_safe: false,
    approval: "never",
    timeout_ms: 30_000,
  } as const;
  const call = python.call(file, description, toInput({ name: "ada" }), place) as ProcessLaunch;
  const bare: ProcessLaunch = { ...call, argv: ["python3", "-c", BARE], env: place.env };

  // They take turns, so that a slow moment of the machine hits both.
  const times = { bare: [] as number[], call: [] as number[] };
  for (let round = -5; round < ROUNDS; round++) {
    const [bareTime, callTime] = [timed(bare, interpreter), timed(call, interpreter)];
    if (round >= 0) times.bare.push(bareTime), times.call.push(callTime);
  }
  const ratio = median(times.call) / median(times.bare);
  console.log(`${interpreter}, ${ROUNDS} rounds, medians`);
  console.log(`bare python3 -c:   ${median(times.bare).toFixed(1)} ms (${Math.min(...times.bare).toFixed(1)} at best)`);
  console.log(`a call of a tool:  ${median(times.call).toFixed(1)} ms (${Math.min(...times.call).toFixed(1)} at best)`);
  console.log(`ratio:             ${ratio.toFixed(2)} (goal: at most ${GOAL})`);
  if (ratio > GOAL) throw new Error(`A call costs more than ${GOAL} times a bare interpreter`);
}

async function compareModules(): Promise<void> {
  const file = join(folder, "greet.ts");
  writeFileSync(file, MODULE);
  const { ORRERY_BINARY: binary } = process.env;
  const command = binary === undefined ? ownCommand(TOOL_HOST_ARGUMENT) : [binary, TOOL_HOST_ARGUMENT];
  const supervisor = createSupervisor({ runtime: "run_bench", hosts: { command } });
  const times = { bare: [] as number[], warm: [] as number[], cold: [] as number[] };
  try {
    for (let round = -3; round < MODULE_ROUNDS; round++) {
      const bare = await timeBareSpare(command, round);
      supervisor.warmModule("bench");
      await sleep(SETTLE_MS);
      const warm = await timeModule(supervisor, file, `warm${round}`);
      const cold = await timeModule(supervisor, file, `cold${round}`);
      if (round >= 0) times.bare.push(bare), times.warm.push(warm), times.cold.push(cold);
    }
  } finally {
    await supervisor.close();
  }
  const more = median(times.warm) - median(times.bare);
  const show = (values: readonly number[]) => `${median(values).toFixed(1)} ms (${Math.min(...values).toFixed(1)} at best)`;
  console.log(`\nTypeScript, hosts by ${binary ?? "source"}, ${MODULE_ROUNDS} rounds, medians`);
  console.log(`bare spare:                 ${show(times.bare)}`);
  console.log(`a call with a spare:        ${show(times.warm)}`);
  console.log(`a call without a spare:     ${show(times.cold)}`);
  console.log(`more than the bare spare:   ${more.toFixed(1)} ms (goal: at most ${MODULE_GOAL_MS} ms)`);
  if (more > MODULE_GOAL_MS) throw new Error(`A call of a .ts tool costs more than ${MODULE_GOAL_MS} ms over a bare spare`);
}

async function timeBareSpare(command: readonly string[], round: number): Promise<number> {
  const entry = `run_bench/bare${round}`;
  const census = createCensus();
  const host = startToolHost({ command, tags: { lineage: entry }, entry, start_ms: 15_000 });
  await host.ready;
  await sleep(SETTLE_MS);
  const began = performance.now();
  const context = { workspace: folder, env: {}, state: {} };
  const reply = await host.call({ type: "call", id: 1, tool: "list_state", input: "{}", context });
  await endAll({ leader: host.identity, entry }, census, 500);
  if (reply.is_error) throw new Error(`The built-in failed: ${reply.text}`);
  return performance.now() - began;
}

async function timeModule(supervisor: Supervisor, file: string, call: string): Promise<number> {
  const began = performance.now();
  const context = { workspace: folder, env: { PATH: process.env["PATH"] ?? "" } };
  const launch = {
    kind: "host",
    tool: "greet",
    module: { file, ask: "call" },
    input: '{"name":"ada"}',
    context,
    timeout_ms: 20_000,
  } as const;
  const run = await supervisor.run({ session: "bench", call, launch, signal: new AbortController().signal });
  if (run.reply?.text !== '{"text":"hello ada"}') throw new Error(`The call failed: ${JSON.stringify(run)}`);
  return performance.now() - began;
}

function timed({ argv, cwd, env, stdin }: ProcessLaunch, interpreter: string): number {
  const began = performance.now();
  const { stdout, stderr } = spawnSync(interpreter, argv.slice(1), { cwd, env: { ...env }, input: stdin ?? "", encoding: "utf8" });
  const took = performance.now() - began;
  if (!stdout.includes("hello ada")) throw new Error(`The call failed: ${stdout}${stderr}`);
  return took;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}
