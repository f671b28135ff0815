/** What an error that reaches the top of a command means for its user. */
import type { Ending } from "./ending.ts";
import type { Shell } from "./terminal.ts";

/** A command that did not do what it was asked, for whoever reads its standard output as JSON. */
export interface Failure {
  readonly ending: Ending;
  readonly message: string;
}

/** Says it on standard error and gives the ending. */
export async function explain(shell: Shell, error: unknown): Promise<Failure> {
  const ending = await endingOfError(error);
  const message = error instanceof Error ? error.message : String(error);
  if (ending !== null) {
    shell.err.write(`orrery: ${message}\n`);
    return { ending, message };
  }
  if (isSystemError(error)) {
    // The host has put U+FFFD in the place of what it could not read, so that nothing is found there.
    const isMangled = "code" in error && error.code === "ENOENT" && message.includes("\uFFFD");
    const told = isMangled ? `${message}; a name in this path is not UTF-8: rename it` : message;
    shell.err.write(`orrery: Cannot go on, as the system refuses: ${told}\n`);
    return { ending: "failed", message: told };
  }
  const stack = error instanceof Error ? error.stack ?? message : message;
  shell.err.write(`orrery: Internal error, please report it: ${stack}\n`);
  return { ending: "failed", message: `Internal error: ${message}` };
}

/** What the machine refuses (a full disk, a folder that is not ours) is no fault of the program. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "code" in error && /^E[A-Z]+$/.test(String(error.code));
}

/** Null for an error that nobody foresaw. */
export async function endingOfError(error: unknown): Promise<Ending | null> {
  const { foreseenEnding } = await import("./foreseen.ts");
  return foreseenEnding(error);
}
