/** What stands between the command line's library and a command of ours. */
import type { CommandContext } from "@stricli/core";
import type { Ending } from "./ending.ts";
import { explain } from "./errors.ts";
import { writeFailure } from "./failure.ts";
import type { Shell } from "./terminal.ts";

/** What a command is called with as `this`. */
export interface CommandScope extends CommandContext {
  readonly shell: Shell;
  /** The whole line. */
  readonly args: readonly string[];
  finish(ending: Ending): void;
}

/** A command's body as stricli wants it. */
export function body<Flags, Args extends readonly unknown[]>(
  load: () => Promise<(shell: Shell, flags: Flags, ...args: Args) => Ending | Promise<Ending>>,
): () => Promise<(this: CommandScope, flags: Flags, ...args: Args) => Promise<void>> {
  return async () => {
    const run = await load();
    return async function (flags, ...args) {
      this.finish(await perform(this.shell, this.args, () => run(this.shell, flags, ...args)));
    };
  };
}

/** Runs a command; every way out of it is an ending. */
export async function perform(shell: Shell, args: readonly string[], run: () => Ending | Promise<Ending>): Promise<Ending> {
  try {
    return await run();
  } catch (error) {
    const failure = await explain(shell, error);
    await writeFailure(shell, args, failure, true);
    return failure.ending;
  }
}

/** Most commands. */
export function everyday(): Promise<typeof import("./commands/everyday.ts")> {
  return import("./commands/everyday.ts");
}
