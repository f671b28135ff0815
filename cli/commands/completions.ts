import { UsageError } from "../../mod.ts";
import { calledName, COMMAND_NAME } from "../../lib/platform/called.ts";
import type { CompletionsFlags, CompletionsShell } from "../flags.ts";
import { bashCompletions } from "../completions/bash.ts";
import { fishCompletions } from "../completions/fish.ts";
import { zshCompletions } from "../completions/zsh.ts";
import type { Ending } from "../ending.ts";
import { readReference } from "../reference.ts";
import type { Shell } from "../terminal.ts";

const writers = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions };

export function completions({ out }: Shell, { name = calledName() }: CompletionsFlags, shell: CompletionsShell): Ending {
  if (!COMMAND_NAME.test(name)) {
    throw new UsageError(`Cannot complete "${name}" as it is no name of a command: letters, digits, ".", "-" and "_" make one`);
  }
  out.write(writers[shell](readReference(name)));
  return "completed";
}
