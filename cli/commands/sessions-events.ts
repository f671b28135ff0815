import { setTimeout as delay } from "node:timers/promises";
import { type LogRow, type Runtime, toPlainEvent } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { EventsFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";

const FOLLOW_EVERY_MS = 200;

export async function sessionEvents(shell: Shell, flags: EventsFlags, id: string): Promise<Ending> {
  return await withAgent<Ending>(shell, {}, async (agent) => {
    let after = await printEvents(shell, agent, id, flags.after);
    while (flags.follow && !shell.out.isLost) {
      await delay(FOLLOW_EVERY_MS);
      after = await printEvents(shell, agent, id, after);
    }
    return "completed";
  });
}

/** The number of the last event that was printed. */
async function printEvents(shell: Shell, agent: Runtime, id: string, after: number): Promise<number> {
  const rows = await agent.events(id, after);
  for (const row of rows) shell.out.write(`${JSON.stringify(toLine(row, id))}\n`);
  await shell.out.flushed();
  const last = rows[rows.length - 1];
  if (last === undefined) return after;
  return last.kind === "event" ? last.event.seq : last.seq;
}

function toLine(row: LogRow, session: string): object {
  return row.kind === "event" ? toPlainEvent(row.event) : { type: "damaged", session, seq: row.seq, reason: row.reason, text: row.text };
}
