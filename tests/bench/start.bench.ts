/**
 * How fast the executable starts and how much memory a one-shot run takes, beside two programs compiled in the same
 * way, in turns with them: an empty one, and the least that a durable run can do before its first byte (open SQLite,
 * write durably, start a worker thread, send a request). Needs dist/orrery: `sh compile.sh && bun tests/bench/start.bench.ts [rounds]`.
 * The build for x64 is measured beside its baseline, if both are in dist (`sh compile.sh --target linux-x64`, and
 * `--target linux-x64-baseline`).
 *
 * Not measured: the first start of a new file (it has to be read from disk), a loaded machine, macOS, a real endpoint
 * (TLS, name resolution), memory of tool calls, and the pages that several processes share.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";

const rounds = Number(process.argv[2] ?? 40);
const root = resolve(import.meta.dirname, "../..");
const orrery = process.env["ORRERY_BINARY"] ?? join(root, "dist/orrery");
/** For the same processor, by what they ask of it. */
const targets = ["linux-x64", "linux-x64-baseline"].map((target) => ({ target, program: join(dirname(orrery), `orrery-${target}`) }));
const hasTargets = targets.every(({ program }) => existsSync(program));
const scratch = mkdtempSync(join(tmpdir(), "orrery-bench-"));
const env = { PATH: process.env["PATH"] ?? "", HOME: scratch, ORRERY_HOME: join(scratch, "home") };

const REPLY = [
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "Hello." }, finish_reason: null }] })}\n\n`,
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`,
  "data: [DONE]\n\n",
];

let onRequest = () => {};
const server = createServer((request, response) => {
  onRequest();
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const part of REPLY) response.write(part);
    response.end();
  });
});

const LEAST = `
import { Database } from "bun:sqlite";
import { Worker } from "node:worker_threads";
const [url, file] = process.argv.slice(2);
new Worker("process.stdin", { eval: true }).unref();
const database = new Database(file, { create: true });
for (const step of ["pragma journal_mode = wal", "pragma synchronous = full", "create table log (text)", "insert into log values ('begun')"]) {
  database.run(step);
}
await (await fetch(url, { method: "POST", body: "{}" })).text();
process.exit(0);
`;

try {
  const hello = compileProgram("hello", 'console.log("hello");\n');
  const least = [compileProgram("least", LEAST)];
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const prompt = ["run", "--workspace", scratch, "--model", "local/none", "--base-url", url, "Say hello"];
  const run = [orrery, ...prompt];
  const ofTargets = targets.map(({ target, program }) => ({ target, program, version: [] as number[], run: [] as number[] }));

  const samples = { hello: [] as number[], least: [] as number[], version: [] as number[], run: [] as number[], memory: [] as number[] };
  for (let round = 0; round < rounds + 3; round++) {
    const measured = {
      hello: await timeToExit([hello]),
      version: await timeToExit([orrery, "version"]),
      least: await timeToFirstByte([...least, url, join(scratch, `least-${round}.sqlite`)]),
      run: await timeToFirstByte(run),
      memory: round % 5 === 0 ? await peakMemory(run) : null,
    };
    if (hasTargets) {
      for (const { program, version, run } of round % 2 === 0 ? ofTargets : ofTargets.toReversed()) {
        version.push(await timeToExit([program, "version"]));
        run.push(await timeToFirstByte([program, ...prompt]));
      }
    }
    // The first rounds warm the file cache.
    if (round < 3) continue;
    for (const [name, value] of Object.entries(measured)) if (value !== null) samples[name as keyof typeof samples].push(value);
  }
  const base = median(samples.hello);
  console.log(`hello, executable and gzip -9      ${sizes(hello)}`);
  console.log(`orrery, executable and gzip -9     ${sizes(orrery)}`);
  console.log(`${rounds} rounds, in turns; median (5 % to 95 %)`);
  console.log(`hello, start to exit               ${spread(samples.hello)} ms`);
  console.log(`orrery version, start to exit      ${spread(samples.version)} ms   ${ratio(samples.version, base)} of hello (aim: 1.3)`);
  console.log(`the least, start to first byte     ${spread(samples.least)} ms   ${ratio(samples.least, base)} of hello`);
  console.log(`orrery run, start to first byte    ${spread(samples.run)} ms   ${ratio(samples.run, base)} of hello (aim: 2.5)`);
  console.log(`orrery run, peak resident memory   ${spread(samples.memory)} MB  (aim: 90)`);
  if (hasTargets) {
    console.log(`the same engine in both                           ${isSameEngine(targets.map(({ program }) => program), hello)}`);
  }
  for (const { target, program, version, run } of hasTargets ? ofTargets : []) {
    console.log(`${target}, executable and gzip -9`.padEnd(48), sizes(program));
    console.log(`${target}, orrery version, start to exit`.padEnd(48), `${spread(version.slice(3))} ms`);
    console.log(`${target}, orrery run, start to first byte`.padEnd(48), `${spread(run.slice(3))} ms`);
  }
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(scratch, { recursive: true, force: true });
}

/** With the same flags as compile.sh. */
function compileProgram(name: string, text: string): string {
  const source = join(scratch, `${name}.ts`);
  const program = join(scratch, name);
  writeFileSync(source, text);
  const flags = [
    "--compile",
    "--minify",
    "--bytecode",
    "--splitting",
    "--format=esm",
    "--no-compile-autoload-bunfig",
    "--no-compile-autoload-dotenv",
  ];
  const built = spawnSync(join(root, "node_modules/.bin/bun"), ["build", ...flags, "--outfile", program, source], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(`Cannot build ${name}: ${built.stderr}`);
  return program;
}

function start([program = "", ...args]: readonly string[]): ChildProcess {
  return spawn(program, args, { cwd: scratch, env, stdio: "ignore" });
}

async function exit(child: ChildProcess): Promise<void> {
  const code = await new Promise<number | null>((settle, fail) => child.once("exit", settle).once("error", fail));
  if (code !== 0) throw new Error(`Cannot measure: ${child.spawnargs.join(" ")} ended with ${code}`);
}

async function timeToExit(argv: readonly string[]): Promise<number> {
  const begin = performance.now();
  await exit(start(argv));
  return performance.now() - begin;
}

async function timeToFirstByte(argv: readonly string[]): Promise<number> {
  let first = 0;
  onRequest = () => void (first ||= performance.now());
  const begin = performance.now();
  await exit(start(argv));
  return first - begin;
}

/** The process's own high-water mark in MB, as the kernel keeps it, read until it is gone. */
async function peakMemory(argv: readonly string[]): Promise<number> {
  const child = start(argv);
  let peak = 0;
  const timer = setInterval(() => {
    try {
      const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
      peak = Math.max(peak, Number(line?.[1] ?? 0) / 1024);
    } catch {
      // It has just ended.
    }
  }, 1);
  await exit(child).finally(() => clearInterval(timer));
  return peak;
}

/** An engine is what a program that does next to nothing consists of, but for its last megabytes. */
function isSameEngine([one = "", other = ""]: readonly string[], hello: string): boolean {
  const length = statSync(hello).size - 4e6;
  return readFileSync(one).subarray(0, length).equals(readFileSync(other).subarray(0, length));
}

/** In MB, of a million bytes. */
function sizes(program: string): string {
  const zipped = gzipSync(readFileSync(program), { level: 9 }).length;
  return `${Math.round(statSync(program).size / 1e6)} MB, ${Math.round(zipped / 1e6)} MB`;
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.round((sorted.length - 1) * at)] ?? NaN;
}

function spread(values: readonly number[]): string {
  const [low, middle, high] = [0.05, 0.5, 0.95].map((at) => quantile(values, at).toFixed(1));
  return `${middle} (${low} to ${high})`;
}

function ratio(values: readonly number[], base: number): string {
  return `${(median(values) / base).toFixed(2)}×`;
}
