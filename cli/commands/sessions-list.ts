import type { SessionSummary } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { ListFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, type Shell } from "../terminal.ts";

export async function listSessions(shell: Shell, flags: ListFlags): Promise<Ending> {
  const sessions = await withAgent(shell, {}, (agent) => agent.list(flags.limit));
  if (flags.json) shell.out.write(`${JSON.stringify({ schema_version: 1, sessions })}\n`);
  else if (sessions.length === 0) shell.err.write("No sessions yet: orrery demo plays one\n");
  else for (const session of sessions) shell.out.write(`${toLine(session, shell)}\n`);
  return "completed";
}

function toLine(session: SessionSummary, { out }: Shell): string {
  const { dim, bold } = out.colors;
  const when = session.updated_at.replace("T", " ").slice(0, 19);
  const turns = `${session.turns} ${session.turns === 1 ? "turn" : "turns"}`;
  return `${bold(session.session)} ${dim(when)} ${session.status.padEnd(11)} ${turns.padEnd(8)} ${oneLine(session.model, 28).padEnd(28)} ${
    oneLine(session.title, 60)
  }`
    .trimEnd();
}
