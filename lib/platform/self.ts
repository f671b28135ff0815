/** Where our own program is: how to start it again as a child, and how to start its worker thread. */
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import { bun } from "./host.ts";
import { COMMIT } from "./version.ts";
import { THREAD_MEMORY_MB } from "./thread-memory.ts";

/** The hidden argument that makes the program a tool host. */
export const TOOL_HOST_ARGUMENT = "__tool-host";

/** And the one that makes it the watchdog of a runtime. */
export const WATCHDOG_ARGUMENT = "__watchdog";

/** Where Bun keeps the modules of a compiled binary (1.4.5): a file system of its own, so no file of a folder is ever in it. */
const BINARY_ROOT = "/$bunfs/root/";

/** Whether this is the binary that `bun build --compile` makes. */
export const isCompiled: boolean = import.meta.url.startsWith(`file://${BINARY_ROOT}`);

/** Command and arguments that start this same program, without anything that the current directory could change. */
export function ownCommand(...args: readonly string[]): readonly string[] {
  if (isCompiled) return [process.execPath, ...args];
  const main = pathOf("../../cli/main.ts");
  // Without the flag, a module that a user's file imports and nobody has would be fetched from a registry.
  if (bun !== null) return [process.execPath, "--no-install", main, ...args];
  return [process.execPath, "run", "-A", "--no-check", ...denoModules(args[0] === TOOL_HOST_ARGUMENT), main, ...args];
}

/** What bare names mean. A tool file gets by "orrery" what it may use: to load the whole would slow every call down. */
export function denoModules(inToolHost: boolean): readonly string[] {
  const config = ["--config", pathOf("../../deno.json")];
  return inToolHost ? [...config, "--import-map", pathOf("./tool-files.json")] : config;
}

/** Whether the program that runs is ours, and not somebody else's that uses our library. */
export function isOwnProgram(): boolean {
  if (isCompiled) return COMMIT !== "source";
  return process.argv[1] === pathOf("../../cli/main.ts");
}

/**
 * The supervisor's thread. In the binary the worker is the second entry of the build, under its path from the common
 * root of both entries, wherever the module that asks for it was put.
 */
export function startSupervisorThread(setup: unknown): Worker {
  const entry = isCompiled ? `${BINARY_ROOT}lib/supervisor/worker.js` : pathOf("../supervisor/worker.ts");
  // Bun: collects garbage sooner, which holds down what a flood of output costs. Deno does not know the word.
  // Bun in turn limits no thread: `limitThreadMemory`.
  const options = {
    workerData: setup,
    smol: true,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB, maxYoungGenerationSizeMb: 4 },
  };
  // Loaded here: it brings Node's streams along, and nothing before the first request needs either.
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  return new Worker(entry, options);
}

/** The path of a file from its place relative to this one. Only from source. */
function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url).href);
}
