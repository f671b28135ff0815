/**
 * What a call of a Python tool costs, beside a bare `python3 -c` that imports asyncio and prints one line of JSON.
 * Run: `bun tests/bench/sdk.bench.ts` or `deno run -A tests/bench/sdk.bench.ts`.
 *
 * Not measured: the supervisor, wrappers around python3 (both sides start the interpreter itself), imports of the
 * author's, a cold disk cache.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { toInput } from "../../lib/session/json.ts";
import type { ProcessLaunch } from "../../lib/session/launch.ts";
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

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-"));
try {
  compare();
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
