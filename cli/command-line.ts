/** From arguments to an ending. */
import { perform } from "./command-body.ts";
import type { Ending } from "./ending.ts";
import { writeFailure } from "./failure.ts";
import { type RunFlags, runParameters } from "./flags.ts";
import { CAUSES, type HeldSignals } from "./held-signals.ts";
import { readPlainLine } from "./plain-line.ts";
import { flush, openShell, type Shell } from "./terminal.ts";

/** @param held signals since the start; a command that heeds them takes them over. */
export async function commandLine(args: readonly string[], held: HeldSignals | null = null): Promise<Ending> {
  const shell: Shell = { ...openShell(), held };
  const command = runCommand(shell, args);
  const ending = held === null ? await command : await Promise.race([command, interrupted(shell, args, held)]);
  await flush(shell);
  if (shell.out.failure === null) return ending;
  shell.err.write(`orrery: Cannot write to standard output: ${shell.out.failure.message}\n`);
  await flush(shell);
  return ending === "completed" ? "failed" : ending;
}

/** Most of what is run is a plain `run`: that one does not wait for the tree of all commands. */
async function runCommand(shell: Shell, args: readonly string[]): Promise<Ending> {
  const [first, ...rest] = args;
  const plain = first === "run" ? readPlainLine<RunFlags, [prompt?: string]>(runParameters, rest) : null;
  if (plain === null) return await (await import("./application.ts")).runByTree(shell, args);
  const { run } = await import("./commands/run.ts");
  return await perform(shell, args, () => run(shell, plain.flags, ...plain.positional));
}

/** Whoever asked for JSON gets it, though nobody heeded the signal. Never resolves once somebody does. */
async function interrupted(shell: Shell, args: readonly string[], held: HeldSignals): Promise<Ending> {
  const signal = await held.first;
  if (held.isTaken) return await new Promise<never>(() => {});
  const ending = CAUSES[signal];
  if (!shell.out.isUsed) await writeFailure(shell, args, { ending, message: `${signal} received` }, false);
  shell.out.seal();
  return ending;
}
