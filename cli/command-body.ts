/** What stands between the command line's library and a command of ours. */
import type { CommandContext } from "@stricli/core";
import type { Ending } from "./ending.ts";
import type { Shell } from "./terminal.ts";

/** What a command is called with as `this`. */
export interface CommandScope extends CommandContext {
  readonly shell: Shell;
  finish(ending: Ending): void;
  fail(error: unknown): Promise<void>;
}

/** A command's body as stricli wants it: every way out of it is an ending. */
export function body<Flags, Args extends readonly unknown[]>(
  load: () => Promise<(shell: Shell, flags: Flags, ...args: Args) => Ending | Promise<Ending>>,
): () => Promise<(this: CommandScope, flags: Flags, ...args: Args) => Promise<void>> {
  return async () => {
    const run = await load();
    return async function (flags, ...args) {
      try {
        this.finish(await run(this.shell, flags, ...args));
      } catch (error) {
        await this.fail(error);
      }
    };
  };
}

/** Most commands. */
export function everyday(): Promise<typeof import("./commands/everyday.ts")> {
  return import("./commands/everyday.ts");
}
