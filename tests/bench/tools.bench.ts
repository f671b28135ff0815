/**
 * What tools cost before anything runs: finding and validating 1,000 manifests beside reading and parsing the same
 * files, checking a call's arguments beside parsing them, and the digest of a large program beside hashing it. Run: `bun tests/bench/tools.bench.ts` or
 * `deno run -A tests/bench/tools.bench.ts`.
 *
 * Not measured: a cold disk cache, manifests with patterns (the pattern engine is loaded once, some 20 ms), processes.
 */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { programDigests } from "../../lib/agent/program.ts";
import { parseArguments } from "../../lib/session/arguments.ts";
import { builtinTools } from "../../lib/tools/builtin/tools.ts";
import { compileOwnSchema } from "../../lib/tools/own-schema.ts";
import { loadManifests, validateManifests } from "../../lib/tools/stella/load.ts";
import { createToolbox } from "../../lib/tools/toolbox.ts";

const MANIFESTS = 1000;
const ROUNDS = 7;
const CHECKS = 20_000;
const LARGE_BYTES = 100_000_000;

async function measureManifests(workspace: string): Promise<void> {
  const folder = join(workspace, ".stella/tools");
  const folders = [{ path: folder, scope: "workspace", family: "stella" }] as const;
  const context = { workspace, env: { PATH: "/usr/local/bin:/usr/bin:/bin" }, trust: { kind: "trusted" } } as const;
  const times = { parsed: [] as number[], loaded: [] as number[], validated: [] as number[], box: [] as number[] };
  for (let round = -2; round < ROUNDS; round++) {
    const parsed = await timed(() => parseAll(folder));
    const loaded = await timed(() => loadManifests(folders, context));
    const validated = await timed(() => validateManifests(folders, context));
    const candidates = [...(await loadManifests(folders, context)).candidates];
    const box = await timed(() => createToolbox(candidates).declarations());
    if (round < 0) continue;
    times.parsed.push(parsed), times.loaded.push(loaded), times.validated.push(validated), times.box.push(box);
  }
  report(`read and parse ${MANIFESTS} files (baseline)`, times.parsed);
  report(`load ${MANIFESTS} manifests: diagnostics, schema, program`, times.loaded, times.parsed);
  report(`validate ${MANIFESTS} manifests`, times.validated, times.parsed);
  report(`make a toolbox of ${MANIFESTS}`, times.box);
}

async function parseAll(folder: string): Promise<number> {
  const names = (await readdir(folder)).sort();
  let fields = 0;
  for (let start = 0; start < names.length; start += 32) {
    const texts = await Promise.all(names.slice(start, start + 32).map((name) => readFile(join(folder, name), "utf8")));
    for (const text of texts) fields += Object.keys(parse(text, { integersAsBigInt: true })).length;
  }
  return fields;
}

function measureChecks(): void {
  const schema = compileOwnSchema({
    type: "object",
    properties: {
      path: { type: "string", minLength: 1 },
      mode: { enum: ["fast", "exact", "both"] },
      limit: { type: "integer", minimum: 1, maximum: 2000 },
      edits: {
        type: "array",
        items: { type: "object", properties: { from: { type: "string" }, to: { type: "string" } }, required: ["from", "to"] },
      },
    },
    required: ["path"],
    additionalProperties: false,
  });
  const text = JSON.stringify({
    path: "src/lib.rs",
    mode: "exact",
    limit: 200,
    edits: Array.from({ length: 8 }, () => ({ from: "a", to: "b" })),
  });
  const input = parseArguments(text);
  if (input.kind !== "input") throw new Error(input.message);
  const each = (action: () => unknown) => {
    const start = performance.now();
    for (let index = 0; index < CHECKS; index++) action();
    return (1000 * (performance.now() - start)) / CHECKS;
  };
  const times = { parsed: [] as number[], read: [] as number[], checked: [] as number[] };
  for (let round = -2; round < ROUNDS; round++) {
    const [parsed, read, checked] = [
      each(() => JSON.parse(text)),
      each(() => parseArguments(text)),
      each(() => schema.check(input.input.value)),
    ];
    if (round >= 0) times.parsed.push(parsed), times.read.push(read), times.checked.push(checked);
  }
  report(`JSON.parse of a call's arguments, ${text.length} bytes (baseline)`, times.parsed, undefined, "µs");
  report("parseArguments: value and canonical text", times.read, times.parsed, "µs");
  report("check against the schema", times.checked, times.parsed, "µs");
}

/** What `call_started` says of the program: the first time, and once it is known. */
async function measureDigests(workspace: string): Promise<void> {
  const times = { hashed: [] as number[], first: [] as number[], later: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    const path = join(workspace, `program-${round}`);
    await writeFile(path, new Uint8Array(LARGE_BYTES), { mode: 0o755 });
    // A file that has just changed is not remembered.
    await new Promise((resolve) => setTimeout(resolve, 2100));
    const launch = { kind: "process", argv: [path], cwd: workspace, env: {}, stdin: null, timeout_ms: 1, cap_bytes: 1 } as const;
    const plan = { kind: "launch", launch, program: path } as const;
    const hashed = await timed(async () => createHash("sha256").update(await readFile(path)).digest("hex"));
    const first = await timed(() => programDigests(plan));
    const later = await timed(() => programDigests(plan));
    await rm(path);
    if (round >= 0) times.hashed.push(hashed), times.first.push(first), times.later.push(later);
  }
  report("read and hash a program of 100 MB (baseline)", times.hashed);
  report("its digest for the first call", times.first, times.hashed);
  report("and for a later one", times.later);
}

async function timed(action: () => unknown): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

function report(label: string, times: readonly number[], baseline?: readonly number[], unit = "ms"): void {
  const sorted = [...times].sort((left, right) => left - right);
  const factor = baseline === undefined ? "" : `  ×${(median(times) / median(baseline)).toFixed(2)}`;
  const spread = `${(sorted[0] ?? 0).toFixed(2)}–${(sorted.at(-1) ?? 0).toFixed(2)}`;
  console.log(`${label.padEnd(62)} ${median(times).toFixed(2).padStart(8)} ${unit}  (${spread})${factor}`);
}

function median(times: readonly number[]): number {
  return [...times].sort((left, right) => left - right)[Math.floor(times.length / 2)] ?? 0;
}

const workspace = await mkdtemp(join(tmpdir(), "orrery-bench-tools-"));
try {
  await mkdir(join(workspace, ".stella/tools"), { recursive: true });
  await mkdir(join(workspace, "scripts"));
  for (let index = 0; index < MANIFESTS; index++) {
    const text = `name = "tool_${index}"
description = "Does the thing number ${index}, and says what came of it."
command = ["scripts/run-${index}.sh", "--fast"]
timeout_ms = 60000
read_only = true

[env]
LEVEL = "${index}"

[input_schema]
type = "object"
required = ["path"]
additionalProperties = false

[input_schema.properties.path]
type = "string"
description = "The file to look at."

[input_schema.properties.limit]
type = "integer"
minimum = 1
maximum = 100
`;
    await writeFile(join(workspace, `scripts/run-${index}.sh`), "#!/bin/sh\ncat\n", { mode: 0o755 });
    await writeFile(join(workspace, `.stella/tools/tool-${String(index).padStart(4, "0")}.toml`), text);
  }
  await measureManifests(workspace);
  measureChecks();
  await measureDigests(workspace);
  const start = performance.now();
  builtinTools();
  console.log(`the built-ins as tools, once ${(performance.now() - start).toFixed(2)} ms`);
} finally {
  await rm(workspace, { recursive: true, force: true });
}
