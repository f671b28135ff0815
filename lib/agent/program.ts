/** What a call ran, as digests of its files, and whether two runs would be of the same. */
import { stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import { fileDigest, fileStamp } from "./file-digest.ts";
import { scriptGiven, scriptsGiven } from "./script-place.ts";
import type { ProcessLaunch } from "../session/launch.ts";
import { DEFAULT_PATH } from "../supervisor/start.ts";
import type { Plan } from "../tools/tool.ts";
import type { Toolbox } from "../tools/toolbox.ts";

/** To tell whether a larger file is still the same, it is not read: its place, size and times must do. */
const MAX_COMPARED_BYTES = 16 * 1024 * 1024;
/** Of one command; what is longer is a list of data. */
const MOST_ARGUMENTS = 1000;
/** No path is longer. */
const MOST_CHARACTERS = 4096;

/** As `call_started` has them; what cannot be read is left out. */
export interface ProgramDigests {
  /** Of the file that is started. */
  readonly program_digest?: string;
  /** Of the file that a runner is given: `python3 check.py`. */
  readonly script_digest?: string;
}

/** Only for plans that name their program. */
export async function programDigests(plan: Plan): Promise<ProgramDigests> {
  if (plan.kind !== "launch" || plan.program === undefined) return {};
  const launch = commandOf(plan);
  if (launch === null) return named("program_digest", await fileDigest(plan.program));
  const script = scriptGiven(launch.argv, placeOf(launch));
  const [program, given] = await Promise.all([
    locate(plan.program, launch).then(fileDigest),
    script === null ? null : fileDigest(resolve(launch.cwd, script)),
  ]);
  return { ...named("program_digest", program), ...named("script_digest", given) };
}

/**
 * One text for every file that a command names, whether or not it is known what becomes of it: two runs are of one program
 * if and only if these are equal.
 */
export async function programFingerprint(plan: Plan): Promise<string> {
  if (plan.kind !== "launch" || plan.program === undefined) return "";
  const launch = commandOf(plan);
  const paths = launch === null ? [plan.program] : [await locate(plan.program, launch), ...filesNamed(launch)];
  const states = await Promise.all([...new Set(paths)].map(async (path) => [path, await stateOf(path)] as const));
  return JSON.stringify(states.filter(([, state]) => state !== null));
}

/** A plan may say what its program must be: then nothing else is run in its place. */
export function isAsPlanned(plan: Plan, { program_digest }: ProgramDigests): boolean {
  return !saysItsProgram(plan) || plan.program_digest === program_digest;
}

/** Whether a plan says what its program must be. */
export function saysItsProgram(plan: Plan): plan is Extract<Plan, { kind: "launch" }> {
  return plan.kind === "launch" && plan.program_digest !== undefined;
}

/** Whether a file of code is no longer what its tools were read from: those would not be run. */
export async function isOutdated({ offered }: Toolbox): Promise<boolean> {
  const files = new Map(
    offered.flatMap(({ origin: { system, scope, path }, digest }) =>
      system === "sdk" && scope !== "session" && path !== undefined ? [[path, digest]] : []
    ),
  );
  const changed = await Promise.all([...files].map(async ([path, digest]) => await fileDigest(path) !== digest));
  return changed.includes(true);
}

function named(name: keyof ProgramDigests, digest: string | null): ProgramDigests {
  return digest === null ? {} : { [name]: digest };
}

/** The launch of a command that somebody wrote; null where the program is the tool's own definition. */
function commandOf({ launch, program_digest }: Extract<Plan, { kind: "launch" }>): ProcessLaunch | null {
  return launch.kind === "process" && program_digest === undefined ? launch : null;
}

/** Every argument counts, and what stands behind the `=` of a flag; what names no file falls out later. */
function filesNamed(launch: ProcessLaunch): readonly string[] {
  const { argv, cwd } = launch;
  const words = argv.slice(1, MOST_ARGUMENTS).flatMap((word) => [word, word.slice(word.indexOf("=") + 1)]);
  const names = [...scriptsGiven(argv, placeOf(launch)), ...words].filter((word) =>
    word !== "" && word.length <= MOST_CHARACTERS && !word.includes("\0")
  );
  return names.map((word) => resolve(cwd, word));
}

function placeOf({ cwd, env }: ProcessLaunch) {
  return { workspace: cwd, path: env["PATH"] ?? DEFAULT_PATH };
}

/** Its content, as far as that is soon read; else who it is. Null if no file is there. */
async function stateOf(path: string): Promise<string | null> {
  const found = await fileStamp(path);
  if (found === null) return null;
  return (found.size <= MAX_COMPARED_BYTES ? await fileDigest(path) : null) ?? found.stamp;
}

/** A bare name as the start will look it up. */
async function locate(program: string, { cwd, env }: ProcessLaunch): Promise<string> {
  if (program.includes("/")) return resolve(cwd, program);
  for (const folder of (env["PATH"] ?? DEFAULT_PATH).split(delimiter)) {
    const path = resolve(cwd, folder, program);
    const found = await stat(path).catch(() => null);
    if (found?.isFile() === true && (found.mode & 0o111) !== 0) return path;
  }
  return program;
}
