/**
 * Ripgrep, where it is installed, only tells which files have a text at all; what matches is decided by us, so that the
 * answers are the same without it.
 *
 * R1  It is never taken from the workspace, and reads no configuration: nothing of a project's can make it start anything.
 * R2  What a model wrote comes after `--`.
 * R3  If it fails in any way, every file is looked at.
 */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";
import process from "node:process";
import type { Needle } from "./terms.ts";

/** Starting it costs more than it saves if there are fewer files. */
const WORTHWHILE = 200;
/** Of the names in one command line; systems allow 256 KiB and more. */
const BATCH_BYTES = 128 * 1024;
const FLAGS = [
  "--no-config",
  "--files-with-matches",
  "--null",
  "--text",
  "--encoding",
  "none",
  "--fixed-strings",
  "--no-mmap",
  "--no-messages",
];

/** The files that contain the text; null if ripgrep cannot say. */
export async function filesWith(
  needle: Needle,
  paths: readonly string[],
  place: { readonly root: string; readonly PATH: string | undefined },
  deadline: number,
): Promise<ReadonlySet<string> | null> {
  const program = paths.length < WORTHWHILE ? null : findRipgrep(place.root, place.PATH);
  if (program === null) return null;
  const found = new Set<string>();
  for (const batch of batches(paths)) {
    const args = [
      ...FLAGS,
      ...(needle.ignore_case ? ["--ignore-case"] : ["--case-sensitive"]),
      "--",
      needle.text,
      ...batch.map((path) => `./${path}`),
    ];
    const output = await run(program, args, place.root, deadline);
    if (output === null) return null;
    for (const path of output.split("\0")) if (path !== "") found.add(path.slice(2));
  }
  return found;
}

function findRipgrep(root: string, PATH = ""): string | null {
  for (const folder of PATH.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    try {
      const real = realpathSync(folder);
      const program = realpathSync(join(real, "rg"));
      if ([real, program].some((path) => path === root || path.startsWith(root + sep))) continue;
      accessSync(program, constants.X_OK);
      if (statSync(program).isFile()) return program;
    } catch (error) {
      // Not here, or not for us.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  }
  return null;
}

function* batches(paths: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    batch.push(path);
    bytes += Buffer.byteLength(path) + 3;
    if (bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** What it printed; null if it did not come to a good end in time. */
async function run(program: string, args: readonly string[], cwd: string, deadline: number): Promise<string | null> {
  const { spawnProcess, SpawnFailure } = await import("../../../platform/spawn.ts");
  try {
    const child = spawnProcess({ program, args, cwd, env: lineage(), stdin: null });
    const late = setTimeout(() => end(child.pid), Math.max(0, deadline - performance.now()));
    const [stdout, , status] = await Promise.all([read(child.stdout), read(child.stderr), child.exited.finally(() => clearTimeout(late))]);
    return status.kind === "exited" && status.code <= 1 ? stdout : null;
  } catch (error) {
    if (error instanceof SpawnFailure) return null;
    throw error;
  }
}

/** Called only while nobody has heard of its exit, so the pid is still its own. */
function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // ESRCH: it ended just now, and that news is on its way.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Nothing but the tag by which what a call started is found and ended. */
function lineage(): Readonly<Record<string, string>> {
  const tag = process.env["ORRERY_LINEAGE"];
  return tag === undefined ? {} : { ORRERY_LINEAGE: tag };
}

async function read(pipe: { read(): Promise<Uint8Array | null>; close(): Promise<void> }): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let chunk = await pipe.read(); chunk !== null; chunk = await pipe.read()) text += decoder.decode(chunk, { stream: true });
  await pipe.close();
  return text + decoder.decode();
}
