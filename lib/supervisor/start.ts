/**
 * From a launch to a started process, or the reason why not as a value. What both hosts would report in different
 * ways, or one of them by a throw and the other by an event, is checked here first and worded once.
 */
import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { mountWith } from "../platform/mounts.ts";
import { headOf, readShebang } from "../platform/shebang.ts";
import { type SpawnedProcess, type SpawnFailure, spawnProcess, type SpawnRequest } from "../platform/spawn.ts";
import type { ProcessLaunch } from "../session/launch.ts";

export type Start =
  | { readonly kind: "started"; readonly child: SpawnedProcess }
  /** `problem`: for people and models; names the program, the directory and what the system said. */
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "cancelled" };

/** What is to be started: a call's process, or one that is talked with. */
export interface Program extends Pick<ProcessLaunch, "argv" | "cwd"> {
  readonly stdin: SpawnRequest["stdin"];
}

/** Pauses before another try while somebody still has the program open for writing (ETXTBSY). */
const BUSY_PAUSES_MS = [10, 20, 40, 80, 160];

export async function startProgram(launch: Program, env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Start> {
  const problem = findUnpassable(launch, env) ?? checkFolder(launch.cwd);
  if (problem !== null) return failed(launch, problem);
  const found = findProgram(launch, env["PATH"]);
  if (found.kind === "missing") return failed(launch, found.problem);
  for (const pause of [...BUSY_PAUSES_MS, null]) {
    if (signal.aborted) return { kind: "cancelled" };
    try {
      const request: SpawnRequest = { program: found.path, args: launch.argv.slice(1), cwd: launch.cwd, env, stdin: launch.stdin };
      return { kind: "started", child: spawnProcess(request) };
    } catch (error) {
      const failure = error as SpawnFailure;
      if (failure.code !== "ETXTBSY" || pause === null) return failed(launch, explain(failure, found.path));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return { kind: "cancelled" };
}

function failed(launch: Program, reason: string): Start {
  return { kind: "failed", problem: `Cannot start ${quote(launch.argv[0] ?? "")} in ${quote(launch.cwd)}: ${reason}` };
}

/** What the program would be given otherwise than it stands here, or not at all. */
function findUnpassable(launch: Program, env: Readonly<Record<string, string>>): string | null {
  if (launch.argv.length === 0) return "the command is empty";
  for (const [index, argument] of launch.argv.entries()) {
    const fault = faultOf(argument);
    if (fault !== null) return `argument ${index} has ${fault}`;
  }
  const fault = faultOf(launch.cwd);
  if (fault !== null) return `the directory has ${fault}`;
  for (const [name, value] of Object.entries(env)) {
    if (name === "" || name.includes("=") || faultOf(name) !== null) return `${quote(name)} cannot be the name of a variable (EINVAL)`;
    const fault = faultOf(value);
    if (fault !== null) return `the variable ${name} has ${fault}`;
  }
  return null;
}

function faultOf(text: string): string | null {
  if (text.includes("\0")) return "a NUL character, which no program can be given (EINVAL)";
  return text.isWellFormed() ? null : "half of a surrogate pair, which no program can be given (EILSEQ)";
}

function checkFolder(cwd: string): string | null {
  try {
    return statSync(cwd).isDirectory() ? null : "the directory to run in is not a directory (ENOTDIR)";
  } catch (error) {
    return `the directory to run in cannot be used (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
  }
}

type Found = { readonly kind: "found"; readonly path: string } | { readonly kind: "missing"; readonly problem: string };

/** What execvp takes if the environment has no PATH at all. */
export const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

/** A bare name is looked up on the child's PATH, never on ours; a path is taken from the child's directory. */
function findProgram(launch: Program, path: string | undefined): Found {
  const name = launch.argv[0] ?? "";
  if (name === "") return { kind: "missing", problem: "the name of the program is empty (ENOENT)" };
  if (name.includes("/")) return judge(isAbsolute(name) ? name : resolve(launch.cwd, name));
  if (/^\.\.?$/.test(name)) return { kind: "missing", problem: `${quote(name)} is a folder, and no program (EACCES)` };
  let refused: Found | null = null;
  for (const folder of (path ?? DEFAULT_PATH).split(":")) {
    const candidate = resolve(launch.cwd, folder, name);
    // A folder of that name is not what was meant.
    if (isFolder(candidate)) continue;
    const found = judge(candidate);
    if (found.kind === "found") return found;
    if (found.problem.includes("EACCES")) refused ??= found;
  }
  return refused ?? { kind: "missing", problem: `there is no such program on PATH ${quote(path ?? DEFAULT_PATH)} (ENOENT)` };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // What it is instead, `judge` says.
    return false;
  }
}

function judge(path: string): Found {
  try {
    if (statSync(path).isDirectory()) return { kind: "missing", problem: `${quote(path)} is a directory (EACCES)` };
    accessSync(path, constants.X_OK);
    return { kind: "found", path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES") return { kind: "missing", problem: refusalOf(path) };
    return { kind: "missing", problem: `there is no such file (${code ?? String(error)})` };
  }
}

function refusalOf(path: string): string {
  const mount = mountWith("noexec", path);
  if (mount === null) return `${quote(path)} is not executable (EACCES)`;
  const remedy = "mount it with exec, keep the program elsewhere, or name its interpreter before it";
  return `${quote(path)} is on ${quote(mount)}, which is mounted noexec (EACCES): ${remedy}`;
}

/** Everything that could be checked was in order: what is left is the system's own answer. */
function explain(failure: SpawnFailure, path: string): string {
  switch (failure.code) {
    case "ENOENT":
      return missingInterpreter(path);
    case "E2BIG":
      return "the arguments and the environment are too long for this system (E2BIG): Linux takes 128 KiB in one argument or variable, and some MiB in all";
    case "EACCES":
      if (mountWith("noexec", path) !== null) return refusalOf(path);
      return `${quote(path)}, or the interpreter that its first line names, may not be executed (EACCES)`;
    case "ETXTBSY":
      return `${quote(path)} is open for writing (ETXTBSY)`;
    case "ENOEXEC":
      return `${quote(path)} is not a program for this machine (ENOEXEC)`;
    default:
      return `${failure.message} (${failure.code})`;
  }
}

function missingInterpreter(path: string): string {
  const shebang = readShebang(headOf(path));
  const { interpreter, argument, endsWithCr } = shebang ?? { interpreter: "", argument: null, endsWithCr: false };
  if (endsWithCr && argument === null) {
    return `the first line of ${quote(path)} ends with CR LF, and no interpreter is called ${
      quote(interpreter)
    } (ENOENT): save it with LF line ends`;
  }
  return `the interpreter${shebang === null ? "" : ` ${quote(interpreter)}`} that the first line of ${
    quote(path)
  } names is missing (ENOENT)`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
