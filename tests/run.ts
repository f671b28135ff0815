/**
 * Runs checks, two at a time, and then suites one after the other, and ends with one line: `N passed, N failed`. Suites
 * are counted from their JUnit reports, not from what they print. A check counts as one.
 *
 * R1  A suite that fails without naming a failed test, or that ran no test, is a failure.
 * R2  What failed is named again right before that line, so that the end of a long log is enough to go on with.
 * R3  What a step started does not outlive it: each has its own process group and a deadline.
 * R4  A suite runs in two lanes. Tests of different files share no process: Deno's own way to run files beside each
 *     other would put them into one.
 */
import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { countBunReport, countDenoReport, type Tally } from "./host/junit.ts";

interface Step {
  readonly title: string;
  readonly argv: readonly string[];
  /** Only for suites: the parts it is run in, as arguments to add, two at a time. */
  readonly parts?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Only for suites: how to count what the report says. The file's path is appended to the last argument. */
  readonly count?: (report: string) => Tally;
}

const root = resolve(import.meta.dirname, "..");
const STEP_DEADLINE_MS = 20 * 60_000;
const LANES = 2;
// Deno itself and not the script in .bin that starts it: tests signal what they started.
const denoFromSource = [
  join(root, "node_modules/deno/deno"),
  "run",
  "-A",
  "--no-check",
  "--config",
  join(root, "deno.json"),
  join(root, "cli/main.ts"),
];

const bunSuite = (...paths: string[]) => ({
  // A test that hangs is ended; what a machine under load takes is no failure.
  argv: ["bun", "test", ...paths, `--parallel=${LANES}`, "--timeout=30000", "--reporter=junit", "--reporter-outfile="],
  count: countBunReport,
});

const scratch = await mkdtemp(join(tmpdir(), "orrery-tests-"));

const steps: Readonly<Record<string, Step>> = {
  format: { title: "format", argv: ["deno", "fmt", "--check"] },
  lint: { title: "lint", argv: ["deno", "lint"] },
  types: { title: "types (tsc)", argv: ["tsc", "-p", "."] },
  "deno-types": { title: "types (deno)", argv: ["deno", "check", "mod.ts", "lib", "cli", "scripts", "tests"] },
  build: { title: "build", argv: ["sh", "compile.sh"] },
  bun: { title: "suite on Bun", ...bunSuite("tests", "--path-ignore-patterns=tests/scenarios/**") },
  deno: {
    title: "suite on Deno",
    argv: ["deno", "test", "-A", "--no-check", "--ignore=tests/scenarios", "tests", "--junit-path="],
    parts: [1, 2, 3, 4, 5, 6].map((part) => `--shard=${part}/6`),
    count: countDenoReport,
  },
  binary: { title: "scenarios, compiled binary", ...bunSuite("tests/scenarios"), env: { ORRERY_BINARY: join(scratch, "alone/orrery") } },
  source: {
    title: "scenarios of the main job, source on Deno",
    ...bunSuite(...["run", "seed-wordcount", "tool-call", "tools", "sdk-tools"].map((name) => `tests/scenarios/${name}.test.ts`)),
    env: { ORRERY_COMMAND: JSON.stringify(denoFromSource) },
  },
};

const running = new Set<number>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    running.forEach(killGroup);
    process.exit(130);
  });
}

let passed = 0;
let failed = 0;
const failures: string[] = [];
try {
  const chosen = chosenSteps(process.argv.slice(2));
  const isCheck = (name: string) => steps[name]?.count === undefined;
  await inLanes(chosen.filter(isCheck), takeStep);
  for (const name of chosen.filter((each) => !isCheck(each))) await takeStep(name);
} finally {
  await rm(scratch, { recursive: true, force: true });
}
if (failures.length > 0) console.log(["\n== failed", ...failures].join("\n"));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

function chosenSteps(names: readonly string[]): readonly string[] {
  const unknown = names.find((name) => !Object.hasOwn(steps, name));
  if (unknown !== undefined) throw new Error(`Cannot run "${unknown}": the steps are ${Object.keys(steps).join(", ")}`);
  return names.length === 0 ? Object.keys(steps) : names;
}

async function takeStep(name: string): Promise<void> {
  const tally = await runStep(name, steps[name] as Step);
  passed += tally.passed;
  failed += tally.failed;
  failures.push(...tally.failures.map((failure) => `${steps[name]?.title}: ${failure}`));
}

async function inLanes<T>(items: readonly T[], take: (item: T, index: number) => Promise<void>): Promise<void> {
  const waiting = [...items.entries()];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await take(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function runStep(name: string, step: Step): Promise<Tally> {
  console.log(`\n== ${step.title}`);
  const started = performance.now();
  if (name === "binary") await copyBinary();
  const tallies: Tally[] = [];
  await inLanes(step.parts ?? [""], async (part, index) => {
    tallies.push(await runPart(step, part, join(scratch, `${name}-${index}.xml`)));
  });
  const tally = sum(tallies);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`== ${step.title}: ${tally.failed === 0 ? "ok" : `${tally.failed} failed`} (${seconds} s)`);
  return tally;
}

async function runPart(step: Step, part: string, report: string): Promise<Tally> {
  const argv = part === "" ? step.argv : [...step.argv.slice(0, -1), part, ...step.argv.slice(-1)];
  const reporting = step.count === undefined ? argv : [...argv.slice(0, -1), `${argv.at(-1)}${report}`];
  const ending = await run(reporting, step.env ?? {});
  const tally = step.count === undefined ? { passed: 1, failed: 0, failures: [] } : await readReport(report, step.count);
  const problem = problemOf(ending, tally);
  if (problem === null || tally.failed > 0) return tally;
  return { passed: step.count === undefined ? 0 : tally.passed, failed: 1, failures: [`${part} ${problem}`.trim()] };
}

function sum(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((total, { passed }) => total + passed, 0),
    failed: tallies.reduce((total, { failed }) => total + failed, 0),
    failures: tallies.flatMap(({ failures }) => failures),
  };
}

/** The executable is tested away from the repository, so that it cannot lean on it. */
async function copyBinary(): Promise<void> {
  await mkdir(join(scratch, "alone"), { recursive: true });
  await copyFile(join(root, "dist/orrery"), join(scratch, "alone/orrery"));
}

/** R1. */
function problemOf(ending: string | null, tally: Tally): string | null {
  if (ending !== null) return ending;
  return tally.passed === 0 ? "ran no test" : null;
}

async function readReport(path: string, count: (report: string) => Tally): Promise<Tally> {
  try {
    return count(await readFile(path, "utf8"));
  } catch (error) {
    console.log(`Cannot count tests: ${String(error)}`);
    return { passed: 0, failed: 0, failures: [] };
  }
}

/** Null if it ended well, else how it ended. */
function run(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<string | null> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, DENO_NO_UPDATE_CHECK: "1", ...env },
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
  if (child.pid !== undefined) running.add(child.pid);
  const timer = setTimeout(() => killGroup(child.pid), STEP_DEADLINE_MS);
  return new Promise<string | null>((settle) => {
    child.once("error", (error) => settle(`cannot start: ${error.message}`));
    child.once("exit", (code, signal) => settle(code === 0 ? null : signal === null ? `exit code ${code}` : `killed by ${signal}`));
  }).finally(() => {
    clearTimeout(timer);
    running.delete(child.pid ?? 0);
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // ESRCH: it has just ended by itself.
  }
}
