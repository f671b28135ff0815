import type { Cancellation } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { Ending } from "../ending.ts";
import type { CancelFlags } from "../flags.ts";
import type { Shell } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function cancelSession(shell: Shell, flags: CancelFlags, id: string): Promise<Ending> {
  const cancelled = withAgent(shell, {}, (agent) => agent.cancel(id, { grace_ms: flags.grace * 1000 }));
  const cancellation = await whileWaiting(shell.err, "waiting for the turn to end", cancelled);
  if (flags.json) shell.out.write(`${JSON.stringify({ schema_version: 1, cancelled: cancellation.turn !== null, ...cancellation })}\n`);
  else shell.err.write(`${toWords(cancellation)}\n`);
  return "completed";
}

function toWords({ session, turn, by }: Cancellation): string {
  if (turn === null) return `Nothing to cancel: no turn of ${session} is open`;
  return by === "holder"
    ? `Cancelled turn ${turn} of ${session}`
    : `Cancelled turn ${turn} of ${session}, which nobody drove: what a call that was running did is not known`;
}
