/** [child process] What the executable is when the runtime itself starts it, by an argument that no help lists. */
import { TOOL_HOST_ARGUMENT } from "../lib/platform/self.ts";
import { runToolHost } from "../lib/supervisor/child.ts";
import type { Ending } from "./ending.ts";

export async function hiddenProgram(name: string): Promise<Ending> {
  if (name !== TOOL_HOST_ARGUMENT) {
    console.error(`orrery: Cannot read the command line: No command registered for \`${name}\``);
    return "usage";
  }
  await runToolHost();
  return "completed";
}
