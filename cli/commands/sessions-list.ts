import { calledName } from "../../lib/platform/called.ts";
import type { SessionSummary } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { ListFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, type Shell, wrap } from "../terminal.ts";

export async function listSessions(shell: Shell, flags: ListFlags): Promise<Ending> {
  const sessions = await withAgent(shell, {}, (agent) => agent.list(flags.limit));
  if (flags.json) shell.out.write(`${JSON.stringify({ schema_version: 1, sessions })}\n`);
  else if (sessions.length === 0) shell.err.write(`No sessions yet: ${calledName()} demo plays one\n`);
  else for (const session of sessions) shell.out.write(`${toLine(session, shell)}\n`);
  return "completed";
}

function toLine(session: SessionSummary, { out }: Shell): string {
  const { dim, bold } = out.colors;
  const when = session.updated_at.replace("T", " ").slice(0, 19);
  const turns = `${session.turns} ${session.turns === 1 ? "turn" : "turns"}`;
  if (out.isTerminal && out.columns < WIDE) {
    const rest = [when, session.status, turns, session.model, session.title].map((each) => oneLine(each, 200)).join(" · ");
    return [bold(session.session), ...wrap(rest, out.columns - 2).map((line) => `  ${dim(line)}`)].join("\n");
  }
  const title = oneLine(session.title, out.isTerminal ? Math.min(60, out.columns - WIDE + SHORTEST_TITLE) : 60);
  return `${bold(session.session)} ${dim(when)} ${session.status.padEnd(11)} ${turns.padEnd(8)} ${
    oneLine(session.model, 28).padEnd(28)
  } ${title}`.trimEnd();
}

const SHORTEST_TITLE = 12;
/** What a line takes with the shortest title. */
const WIDE = 40 + 1 + 19 + 1 + 11 + 1 + 8 + 1 + 28 + 1 + SHORTEST_TITLE;
