import { withAgent } from "../agent.ts";
import type { Ending } from "../ending.ts";
import type { NoFlags } from "../flags.ts";
import type { Shell } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function exportSession(shell: Shell, _flags: NoFlags, id: string): Promise<Ending> {
  const exported = withAgent<Ending>(shell, {}, async (agent) => {
    for await (const lines of agent.export(id)) {
      shell.out.write(lines);
      await shell.out.flushed();
      if (shell.out.failure !== null) break;
    }
    return "completed";
  });
  // Lines on a terminal show for themselves that it goes on.
  return shell.out.isTerminal ? await exported : await whileWaiting(shell.err, "exporting", exported);
}
