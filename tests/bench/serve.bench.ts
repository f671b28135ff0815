/**
 * What an idle `orrery serve` weighs and how soon it answers, beside the least that a compiled Hono server is, in turns
 * with it. Needs dist/orrery (or ORRERY_BINARY): `sh compile.sh && bun tests/bench/serve.bench.ts [rounds]`.
 *
 * Memory is what the kernel counts for the process two seconds after its first answer: resident, and its share of what
 * several processes use (PSS), with the processes that it started. As PID 1 that is one more of the program itself;
 * without leave to `unshare` it is left out. Linux only. Not measured: memory under load.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const rounds = Number(process.argv[2] ?? 5);
const root = resolve(import.meta.dirname, "../..");
const orrery = process.env["ORRERY_BINARY"] ?? join(root, "dist/orrery");
const scratch = mkdtempSync(join(tmpdir(), "orrery-bench-"));

const BARE = `
import { Hono } from "hono";
const app = new Hono();
app.get("/healthz", (c) => c.json({ status: "ok" }));
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: app.fetch });
console.log(JSON.stringify({ url: "http://127.0.0.1:" + server.port }));
`;

interface Sample {
  readonly first_answer_ms: number;
  readonly rss: number;
  readonly pss: number;
  readonly processes: number;
}

const UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;

try {
  const serve = [orrery, "serve", "--port", "0", "--json", "--workspace", scratch];
  const commands = {
    bare: { label: "bare Hono, compiled", command: [compileBare()] },
    ours: { label: "orrery serve", command: serve },
    first: { label: "orrery serve as PID 1", command: [...UNSHARE, ...serve] },
  };
  const isPermitted = spawnSync(UNSHARE[0], [...UNSHARE.slice(1), "true"]).status === 0;
  const names = isPermitted ? ["bare", "ours", "first"] as const : ["bare", "ours"] as const;
  const samples: Record<keyof typeof commands, Sample[]> = { bare: [], ours: [], first: [] };
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const taken = await sample(commands[name].command);
      // The first round warms the file cache.
      if (round >= 0) samples[name].push(taken);
    }
  }
  const of = (name: keyof typeof commands, key: keyof Sample) => median(samples[name].map((each) => each[key]));
  console.log(`${rounds} rounds, in turns; medians`);
  for (const name of names) {
    console.log(
      `${commands[name].label}: start to first answer ${of(name, "first_answer_ms").toFixed(0)} ms, resident ${
        of(name, "rss").toFixed(1)
      } MB, PSS ${of(name, "pss").toFixed(1)} MB in ${of(name, "processes")} processes`,
    );
  }
  console.log(
    `above the bare server: resident ${(of("ours", "rss") - of("bare", "rss")).toFixed(1)} MB, PSS ${
      (of("ours", "pss") - of("bare", "pss")).toFixed(1)
    } MB (aim: 60)`,
  );
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** With the same flags as compile.sh. */
function compileBare(): string {
  symlinkSync(join(root, "node_modules"), join(scratch, "node_modules"));
  const source = join(scratch, "bare.ts");
  writeFileSync(source, BARE);
  const flags = ["--compile", "--minify", "--bytecode", "--format=esm", "--no-compile-autoload-bunfig", "--no-compile-autoload-dotenv"];
  const program = join(scratch, "bare");
  const built = spawnSync(join(root, "node_modules/.bin/bun"), ["build", ...flags, "--outfile", program, source], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(`Cannot build the bare server: ${built.stderr}`);
  return program;
}

async function sample([program = "", ...args]: readonly string[]): Promise<Sample> {
  const home = mkdtempSync(join(scratch, "home-"));
  const begin = performance.now();
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ORRERY_HOME: home };
  const child = spawn(program, args, { cwd: scratch, env, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const { url } = JSON.parse(await firstLine(child)) as { readonly url: string };
    await (await fetch(`${url}/healthz`)).text();
    const first_answer_ms = performance.now() - begin;
    await sleep(2000);
    const pids = withDescendants(child.pid ?? 0).filter((pid) => program !== UNSHARE[0] || pid !== child.pid);
    const total = (pattern: RegExp) => pids.reduce((sum, pid) => sum + kilobytes(pid, pattern), 0) / 1024;
    return { first_answer_ms, rss: total(/^Rss:\s+(\d+) kB$/m), pss: total(/^Pss:\s+(\d+) kB$/m), processes: pids.length };
  } finally {
    const ended = new Promise((settle) => child.once("exit", settle));
    // `unshare` waits for its child, and hears of nothing else.
    const server = program === UNSHARE[0] ? withDescendants(child.pid ?? 0)[1] : child.pid;
    if (server !== undefined) process.kill(server, "SIGTERM");
    await ended;
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const part of child.stdout ?? []) {
    text += String(part);
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}

function withDescendants(pid: number): readonly number[] {
  const parents = new Map(readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => [Number(name), parentOf(name)]));
  const found = [pid];
  for (const each of found) for (const [child, parent] of parents) if (parent === each) found.push(child);
  return found;
}

function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // It has just ended.
    return 0;
  }
}

function kilobytes(pid: number, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}
