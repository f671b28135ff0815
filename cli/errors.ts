/** What an error that reaches the top of a command means for its user. */
import type { Ending } from "./ending.ts";
import type { Shell } from "./terminal.ts";

/** Says it on standard error and gives the ending. */
export async function explain(shell: Shell, error: unknown): Promise<Ending> {
  const ending = await endingOfError(error);
  if (ending === null) {
    const stack = error instanceof Error ? error.stack ?? error.message : String(error);
    shell.err.write(`orrery: Internal error, please report it: ${stack}\n`);
    return "failed";
  }
  shell.err.write(`orrery: ${error instanceof Error ? error.message : String(error)}\n`);
  return ending;
}

/** Null for an error that nobody foresaw. Loaded late, so that help and usage errors need no more than themselves. */
async function endingOfError(error: unknown): Promise<Ending | null> {
  const orrery = await import("../mod.ts");
  if (error instanceof orrery.UsageError || error instanceof orrery.SessionRefusal) return "usage";
  if (error instanceof orrery.ConfigError || error instanceof orrery.ModelConfigError) return "configuration";
  if (
    error instanceof orrery.JournalHeld || error instanceof orrery.JournalUnavailable || error instanceof orrery.LeaseLost ||
    error instanceof orrery.TrustError
  ) {
    return "failed";
  }
  return null;
}
