/** What a call ran, as digests of its files. */
import { readFile, stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import { scriptGiven } from "./script-place.ts";
import { sha256 } from "../platform/digest.ts";
import type { ProcessLaunch } from "../session/launch.ts";
import type { Plan } from "../tools/tool.ts";
import type { Toolbox } from "../tools/toolbox.ts";

/** Larger programs are not read for a digest. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_KNOWN = 1024;
const known = new Map<string, { readonly stamp: string; readonly digest: string }>();

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
  const { launch, program } = plan;
  if (launch.kind !== "process" || plan.program_digest !== undefined) return named("program_digest", await fileDigest(program));
  const script = scriptOf(launch);
  return {
    ...named("program_digest", await fileDigest(await locate(program, launch))),
    ...(script === null ? {} : named("script_digest", await fileDigest(script))),
  };
}

/** One text for all of it: two runs are of one program if and only if these are equal. */
export function fingerprint({ program_digest = "", script_digest = "" }: ProgramDigests): string {
  return `${program_digest}:${script_digest}`;
}

/** A plan may say what its program must be: then nothing else is run in its place. */
export function isAsPlanned(plan: Plan, { program_digest }: ProgramDigests): boolean {
  return plan.kind !== "launch" || plan.program_digest === undefined || plan.program_digest === program_digest;
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

function scriptOf({ argv, cwd, env }: ProcessLaunch): string | null {
  const word = scriptGiven(argv, { workspace: cwd, path: env["PATH"] ?? "" });
  return word === null ? null : resolve(cwd, word);
}

/** A bare name as the start will look it up. */
async function locate(program: string, { cwd, env }: ProcessLaunch): Promise<string> {
  if (program.includes("/")) return resolve(cwd, program);
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const path = resolve(cwd, folder, program);
    const found = await stat(path).catch(() => null);
    if (found?.isFile() === true && (found.mode & 0o111) !== 0) return path;
  }
  return program;
}

/** SHA-256 of a file, remembered while the file keeps its identity; null if it cannot be read. */
async function fileDigest(path: string): Promise<string | null> {
  try {
    const file = await stat(path, { bigint: true });
    if (!file.isFile() || file.size > BigInt(MAX_BYTES)) return null;
    const stamp = `${file.dev}:${file.ino}:${file.size}:${file.mtimeNs}:${file.ctimeNs}`;
    const before = known.get(path);
    if (before?.stamp === stamp) return before.digest;
    const digest = sha256(await readFile(path));
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(path, { stamp, digest });
    return digest;
  } catch {
    // It does not exist or may not be read: the start of the process will say so, with its own words.
    return null;
  }
}
