import { withAgent } from "../agent.ts";
import type { ForkFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function forkSession(shell: Shell, flags: ForkFlags, id: string): Promise<Ending> {
  const fork = await whileWaiting(shell.err, "copying the session", withAgent(shell, {}, (agent) => agent.fork(id, flags.at)));
  shell.out.write(flags.json ? `${JSON.stringify({ schema_version: 1, ...fork })}\n` : `${fork.session}\n`);
  return "completed";
}
