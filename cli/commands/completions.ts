import type { CompletionsShell } from "../flags.ts";
import { bashCompletions } from "../completions/bash.ts";
import { fishCompletions } from "../completions/fish.ts";
import { zshCompletions } from "../completions/zsh.ts";
import type { Ending } from "../ending.ts";
import type { NoFlags } from "../flags.ts";
import { readReference } from "../reference.ts";
import type { Shell } from "../terminal.ts";

const writers = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions };

export function completions({ out }: Shell, _flags: NoFlags, shell: CompletionsShell): Ending {
  out.write(writers[shell](readReference()));
  return "completed";
}
