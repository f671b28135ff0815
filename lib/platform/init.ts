/**
 * [main thread] Being PID 1. The orphans of a whole container come to its first process, those of strangers too (of
 * `docker exec`), and none can be told from another. So the program runs as a child of its own: orphans of its calls go
 * to that child, the nearest ancestor that asks for them, and everybody else's come here.
 *
 * I1  Nobody is signalled here but that child, and only with what this process was sent and the child was not: what the
 *     keys of a terminal mean goes to the whole group that stands before it.
 * I2  Every zombie that was adopted is collected.
 * I3  This process ends as that child does, and the kernel takes along what is left in the container.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import process from "node:process";
import { type HeldSignals, KEYS } from "./init-signals.ts";
import { readStat } from "./proc.ts";
import { childrenOfMainThread, collectZombie } from "./reaper.ts";
import { isCompiled, ownCommand } from "./self.ts";

/** Runs this same program beneath; resolves to the exit code of both. */
export async function runBeneath(args: readonly string[], signals: HeldSignals): Promise<number> {
  const [program = "", ...rest] = ownCommand(...args);
  // The name that it was called by is its own too.
  const child = spawn(program, rest, { stdio: "inherit", ...(isCompiled ? { argv0: process.argv0 } : {}) });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const early = signals.release((signal) => {
    const reachedAll = KEYS.includes(signal) && readStat(process.pid)?.foreground === true;
    if (!reachedAll) pass(signal, child);
  });
  for (const signal of early) pass(signal, child);
  const sweep = setInterval(() => collectZombies(child.pid), SWEEP_MS);
  const [code, signal] = await ended;
  clearInterval(sweep);
  return signal === null ? code ?? 1 : 128 + constants.signals[signal];
}

const SWEEP_MS = 250;

/** Not `child.kill`: on Deno 2.9 that takes the child for dead, whatever it does about the signal. */
function pass(signal: NodeJS.Signals, { pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(pid, signal);
}

function collectZombies(child: number | undefined): void {
  for (const pid of childrenOfMainThread() ?? []) {
    if (pid !== child && readStat(pid)?.alive === false) collectZombie(pid);
  }
}
