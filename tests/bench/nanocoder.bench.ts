/**
 * What a Nanocoder tool costs before its shell starts: checking and rendering one call beside gluing the same script
 * together by hand, and loading a thousand files beside only reading them and parsing their YAML, in one run.
 * Run: `bun tests/bench/nanocoder.bench.ts` or `deno run -A tests/bench/nanocoder.bench.ts`.
 *
 * Not measured: the start of the shell (see supervisor.bench.ts), a cold disk cache, bodies of more than a few lines,
 * the import of the YAML library, which a process with such tools pays once.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { toInput } from "../../lib/session/json.ts";
import { parseDefinition } from "../../lib/tools/nanocoder/definition.ts";
import { loadMarkdownTools } from "../../lib/tools/nanocoder/load.ts";
import { scriptTool } from "../../lib/tools/nanocoder/script-tool.ts";

const ROUNDS = 20_000;
const FILES = 1000;

const SOURCE = readFileSync(fileURLToPath(import.meta.resolve("../fixtures/nanocoder/k8s-pods.md")), "utf8");

async function compareCalls(): Promise<void> {
  const { definition } = await parseDefinition(SOURCE, { defaultShell: "bash" });
  if (definition === null) throw new Error("The fixture does not load");
  const origin = { system: "nanocoder", scope: "workspace", path: "/ws/k8s-pods.md" } as const;
  const tool = scriptTool(definition, { origin, digest: "" });
  const context = { workspace: "/", env: { PATH: "/usr/bin:/bin" }, state: { reads: {}, tasks: {}, scratch: {} } };
  const input = toInput({ namespace: "kube-system", selector: "app=it's" });
  const byHand = (value: typeof input.value) => {
    const quote = (text: unknown) => `'${String(text).replaceAll("'", "'\\''")}'`;
    return `kubectl get pods -n ${quote(value["namespace"])} ${value["selector"] ? `-l ${quote(value["selector"])}` : ""}`;
  };
  const ours = () => {
    if (tool.check(input).length > 0) throw new Error("The input does not fit");
    return tool.plan(input, context);
  };
  report("check + complete + render + plan, per call", measure(ours), "the same script by hand", measure(() => byHand(input.value)));
}

async function compareLoading(): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), "orrery-bench-"));
  const folder = join(workspace, ".nanocoder", "tools");
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < FILES; index++) writeFileSync(join(folder, `tool-${index}.md`), SOURCE.replace("k8s_pods", `tool_${index}`));
  const folders = [{ path: folder, scope: "workspace", family: "nanocoder" }] as const;
  const load = async () => {
    const { candidates } = await loadMarkdownTools(folders, { workspace, trust: { kind: "trusted" } });
    if (candidates.length !== FILES || candidates.some(({ kind }) => kind !== "tool")) throw new Error("Not every file was loaded");
  };
  const parseOnly = () => {
    for (const name of readdirSync(folder)) parseAllDocuments(readFileSync(join(folder, name), "utf8").split("---\n")[1] ?? "");
    return Promise.resolve();
  };
  const times = { ours: [] as number[], bare: [] as number[] };
  for (let round = -2; round < 9; round++) {
    const [bare, ours] = [await timed(parseOnly), await timed(load)];
    if (round >= 0) times.bare.push(bare), times.ours.push(ours);
  }
  report(`load ${FILES} files`, times.ours, "read and YAML-parse them", times.bare);
  rmSync(workspace, { recursive: true });
}

/** Milliseconds per call, in batches that a clock can tell. */
function measure(work: () => unknown): number[] {
  const times: number[] = [];
  for (let round = -20; round < ROUNDS / 100; round++) {
    const began = performance.now();
    for (let index = 0; index < 100; index++) work();
    if (round >= 0) times.push((performance.now() - began) / 100);
  }
  return times;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function report(title: string, ours: readonly number[], baseline: string, bare: readonly number[]): void {
  const show = (times: readonly number[]) => {
    const sorted = times.toSorted((left, right) => left - right);
    return `${(sorted[Math.floor(sorted.length / 2)] ?? 0).toPrecision(3)} ms (p95 ${
      (sorted[Math.floor(sorted.length * 0.95)] ?? 0).toPrecision(3)
    })`;
  };
  console.log(`${title}: median ${show(ours)}\n  beside ${baseline}: ${show(bare)}`);
}

await compareCalls();
await compareLoading();
