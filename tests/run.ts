/**
 * Runs checks and suites one after the other and ends with one line: `N passed, N failed`. Suites are counted from
 * their JUnit reports, not from what they print. A check counts as one.
 *
 * R1  A suite that fails without naming a failed test, or that ran no test, is a failure.
 * R2  What failed is named again right before that line, so that the end of a long log is enough to go on with.
 * R3  What a step started does not outlive it: each has its own process group and a deadline.
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
  readonly env?: Readonly<Record<string, string>>;
  /** Only for suites: how to count what the report says. The file's path is appended to the last argument. */
  readonly count?: (report: string) => Tally;
}

const root = resolve(import.meta.dirname, "..");
const STEP_DEADLINE_MS = 20 * 60_000;
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
  argv: ["bun", "test", ...paths, "--reporter=junit", "--reporter-outfile="],
  count: countBunReport,
});

const scratch = await mkdtemp(join(tmpdir(), "orrery-tests-"));

const steps: Readonly<Record<string, Step>> = {
  format: { title: "format", argv: ["deno", "fmt", "--check"] },
  lint: { title: "lint", argv: ["deno", "lint"] },
  types: { title: "types (tsc)", argv: ["tsc", "-p", "."] },
  "deno-types": { title: "types (deno)", argv: ["deno", "check", "mod.ts", "lib", "cli", "tests"] },
  bun: { title: "suite on Bun", ...bunSuite("tests", "--path-ignore-patterns=tests/scenarios/**") },
  deno: {
    title: "suite on Deno",
    argv: ["deno", "test", "-A", "--no-check", "--ignore=tests/scenarios", "tests", "--junit-path="],
    count: countDenoReport,
  },
  build: { title: "build", argv: ["sh", "compile.sh"] },
  binary: { title: "scenarios, compiled binary", ...bunSuite("tests/scenarios"), env: { ORRERY_BINARY: join(scratch, "alone/orrery") } },
  source: {
    title: "scenarios of the main job, source on Deno",
    ...bunSuite(...["run", "seed-wordcount", "tool-call", "tools", "sdk-tools"].map((name) => `tests/scenarios/${name}.test.ts`)),
    env: { ORRERY_COMMAND: JSON.stringify(denoFromSource) },
  },
};

let passed = 0;
let failed = 0;
const failures: string[] = [];
try {
  for (const name of chosenSteps(process.argv.slice(2))) {
    const tally = await runStep(name, steps[name] as Step);
    passed += tally.passed;
    failed += tally.failed;
    failures.push(...tally.failures.map((failure) => `${steps[name]?.title}: ${failure}`));
  }
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

async function runStep(name: string, step: Step): Promise<Tally> {
  console.log(`\n== ${step.title}`);
  const started = performance.now();
  const report = join(scratch, `${name}.xml`);
  if (name === "binary") await copyBinary();
  const argv = step.count === undefined ? step.argv : [...step.argv.slice(0, -1), `${step.argv.at(-1)}${report}`];
  const ending = await run(argv, step.env ?? {});
  const tally = step.count === undefined ? { passed: 1, failed: 0, failures: [] } : await readReport(report, step.count);
  const problem = problemOf(ending, tally);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`== ${step.title}: ${problem ?? "ok"} (${seconds} s)`);
  if (problem === null || tally.failed > 0) return tally;
  return { passed: step.count === undefined ? 0 : tally.passed, failed: 1, failures: [problem] };
}

/** The executable is tested away from the repository, so that it cannot lean on it. */
async function copyBinary(): Promise<void> {
  await mkdir(join(scratch, "alone"), { recursive: true });
  await copyFile(join(root, "dist/orrery"), join(scratch, "alone/orrery"));
}

/** R1. */
function problemOf(ending: string | null, tally: Tally): string | null {
  if (tally.failed > 0) return `${tally.failed} failed`;
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
  return new Promise((settle) => {
    const timer = setTimeout(() => killGroup(child.pid), STEP_DEADLINE_MS);
    const stop = () => {
      killGroup(child.pid);
      process.exit(130);
    };
    process.once("SIGINT", stop).once("SIGTERM", stop);
    const finish = (ending: string | null) => {
      clearTimeout(timer);
      process.off("SIGINT", stop).off("SIGTERM", stop);
      settle(ending);
    };
    child.once("error", (error) => finish(`cannot start: ${error.message}`));
    child.once("exit", (code, signal) => finish(code === 0 ? null : signal === null ? `exit code ${code}` : `killed by ${signal}`));
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
