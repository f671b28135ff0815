/**
 * What the gate costs a call, beside a bare look-up of the tool in the same run.
 * Run: `bun tests/bench/gate.bench.ts` or `deno run -A tests/bench/gate.bench.ts`.
 *
 * Not measured: hooks (each is a process), the check against a schema, the append of the verdict.
 */
import type { GatedTools } from "../../lib/gate/authorize.ts";
import { createGate, type RuledTool } from "../../lib/gate/gate.ts";
import type { Hook } from "../../lib/gate/hook.ts";
import { createHooks } from "../../lib/gate/hooks.ts";

const ROUNDS = 20_000;
const GOAL_MS = 0.2;

const tools = new Map(
  Array.from(
    { length: 50 },
    (_, index): [string, RuledTool] => [`tool_${index}`, { name: `tool_${index}`, read_only: true, approval: "never", check: () => [] }],
  ),
);
const box: GatedTools<RuledTool> = { find: (name) => tools.get(name), closest: () => [], whyNot: () => undefined };
const elsewhere: readonly Hook[] = Array.from(
  { length: 20 },
  (_, index) => ({
    event: "PreToolUse",
    matcher: `mcp__server_${index}__*`,
    command: "true",
    timeout_ms: 1000,
    scope: "user",
    where: "bench",
  }),
);

function gateWith(active: readonly Hook[]) {
  const hooks = createHooks({ active, inert: [] }, () => Promise.reject(new Error("no hook covers these calls")), {
    workspace: "/",
    env: {},
    shell: "/bin/bash",
  });
  return createGate({ hooks, always_allow: new Set() });
}

const inputs = {
  "small input": '{"path":"src/main.ts","limit":200}',
  "64 KiB input": JSON.stringify({ content: "line of text\n".repeat(5000) }),
};
const signal = new AbortController().signal;
let missed = false;

for (const [title, text] of Object.entries(inputs)) {
  const bare = await measure(async (name) => void await tools.get(name));
  for (const [kind, gate] of Object.entries({ "no hooks": gateWith([]), "20 hooks for other tools": gateWith(elsewhere) })) {
    const ours = await measure(async (name) => {
      const { verdict } = await gate.authorize({ name, arguments: text, mode: "normal", tools: box }, signal);
      if (verdict.kind !== "allowed") throw new Error(`not allowed: ${JSON.stringify(verdict)}`);
    });
    const added = ours.median - bare.median;
    missed ||= title === "small input" && added > GOAL_MS;
    console.log(`${title}, ${kind}: ${show(ours)}; bare look-up ${show(bare)}; adds ${added.toFixed(4)} ms (goal ${GOAL_MS})`);
  }
}
if (missed) throw new Error(`The gate adds more than ${GOAL_MS} ms to a call`);

async function measure(work: (name: string) => Promise<void>): Promise<{ readonly median: number; readonly p99: number }> {
  const times: number[] = [];
  for (let round = -1000; round < ROUNDS; round++) {
    const began = performance.now();
    await work(`tool_${Math.abs(round) % tools.size}`);
    if (round >= 0) times.push(performance.now() - began);
  }
  times.sort((left, right) => left - right);
  return { median: times[Math.floor(times.length / 2)] ?? 0, p99: times[Math.floor(times.length * 0.99)] ?? 0 };
}

function show({ median, p99 }: { readonly median: number; readonly p99: number }): string {
  return `median ${median.toFixed(4)} ms, p99 ${p99.toFixed(4)} ms`;
}
