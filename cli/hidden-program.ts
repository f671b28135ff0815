/** [child process] What the executable is when the runtime itself starts it, by an argument that no help lists. */
import { TOOL_HOST_ARGUMENT, WATCHDOG_ARGUMENT } from "../lib/platform/self.ts";
import type { Ending } from "./ending.ts";

export async function hiddenProgram(name: string): Promise<Ending> {
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
    default:
      console.error(`orrery: Cannot read the command line: No command registered for \`${name}\``);
      return "usage";
  }
}
