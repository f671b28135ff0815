/** [child process] What the executable is when the runtime itself, or a shell that completes, starts it: no help lists these. */
import { TOOL_HOST_ARGUMENT, WATCHDOG_ARGUMENT } from "../lib/platform/self.ts";
import { NAMES_ARGUMENT } from "./completions/values.ts";
import type { Ending } from "./ending.ts";

export async function hiddenProgram(name: string, [argument = ""]: readonly string[]): Promise<Ending> {
  switch (name) {
    case TOOL_HOST_ARGUMENT: {
      const { runToolHost } = await import("../lib/supervisor/child.ts");
      await runToolHost();
      return "completed";
    }
    case WATCHDOG_ARGUMENT: {
      const { runWatchdog } = await import("../lib/supervisor/last-rites.ts");
      await runWatchdog();
      return "completed";
    }
    case NAMES_ARGUMENT: {
      const { printNames } = await import("./completions/names.ts");
      await printNames(argument);
      return "completed";
    }
    default:
      console.error(`orrery: Cannot read the command line: No command registered for \`${name}\``);
      return "usage";
  }
}
