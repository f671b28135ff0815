import { conversation, isKnown, type LogRow, type SessionEvent, type SessionState, stateOf } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { JsonFlag } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { fold } from "../fold.ts";
import { createNarrator } from "../narration.ts";
import { oneLine, type Out, printable, type Shell, wrap } from "../terminal.ts";

export async function showSession(shell: Shell, flags: JsonFlag, id: string): Promise<Ending> {
  const { rows, held } = await withAgent(shell, {}, async (agent) => {
    return { rows: await agent.events(id), held: (await agent.log.standing(id)).held };
  });
  const state = stateOf(rows, ({ level, text }) => shell.err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`));
  const status = held ? "held" : state.turn.kind === "idle" ? "idle" : "interrupted";
  if (flags.json) shell.out.write(`${JSON.stringify(toObject(id, state, status))}\n`);
  else writeTranscript(shell.out, id, state, rows);
  return "completed";
}

function toObject(id: string, state: SessionState, status: string): object {
  const { header, speculation: { saved_ms, wasted, wasted_ms } } = state;
  return {
    schema_version: 1,
    session: id,
    seq: state.seq,
    status,
    title: header?.title ?? "",
    workspace: header?.workspace ?? null,
    model: header?.model ?? null,
    mode: header?.mode ?? null,
    opened_at: header?.opened_at ?? null,
    turns: state.counts.turns,
    usage: state.usage,
    speculation: { saved_ms, wasted, wasted_ms },
    messages: conversation(state),
  };
}

function writeTranscript(out: Out, id: string, { header, speculation }: SessionState, rows: readonly LogRow[]): void {
  const { dim } = out.colors;
  const facts = header === null ? [] : [header.model, header.mode, header.workspace, header.opened_at];
  const head = [id, ...facts].map((fact) => oneLine(fact, 200)).join(" · ");
  for (const line of out.isTerminal ? wrap(head, out.columns) : [head]) out.write(`${dim(line)}\n`);
  const narrate = createNarrator(out);
  const early = new Map<string, string>();
  for (const row of rows) {
    if (row.kind === "damaged" || !isKnown(row.event)) continue;
    if (row.event.type === "speculation_started") early.set(row.event.speculation, row.event.name);
    for (const line of [wordsOf(row.event, out), narrate(row.event), discardOf(row.event, early, out)]) {
      if (line !== null && line !== "") out.write(`${line}\n`);
    }
  }
  const children = worthOfChildren(rows);
  const [saved_ms, wasted_ms] = [speculation.saved_ms - children.saved_ms, speculation.wasted_ms - children.wasted_ms];
  if (early.size > 0) {
    const thrown = `${speculation.wasted - children.wasted} of ${early.size} were thrown away (${seconds(wasted_ms)})`;
    out.write(`${dim(`early runs saved ${seconds(saved_ms)}, ${thrown}`)}\n`);
  }
  if (children.saved_ms + children.wasted > 0) {
    const thrown = `${children.wasted} were thrown away (${seconds(children.wasted_ms)})`;
    out.write(`${dim(`early runs of sessions that worked for it saved ${seconds(children.saved_ms)}, ${thrown}`)}\n`);
  }
}

/** What early runs were worth in sessions that worked for this one: its own sums have that in them. */
function worthOfChildren(rows: readonly LogRow[]): { readonly saved_ms: number; readonly wasted: number; readonly wasted_ms: number } {
  const sum = { saved_ms: 0, wasted: 0, wasted_ms: 0 };
  for (const row of rows) {
    if (row.kind === "damaged" || !isKnown(row.event) || row.event.type !== "call_ended") continue;
    const { saved_ms = 0, wasted = 0, wasted_ms = 0 } = row.event.child_speculation ?? {};
    sum.saved_ms += saved_ms;
    sum.wasted += wasted;
    sum.wasted_ms += wasted_ms;
  }
  return sum;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function discardOf(event: SessionEvent, early: ReadonlyMap<string, string>, { colors }: Out): string | null {
  if (event.type !== "speculation_discarded") return null;
  const { speculation, reason, cause = reason } = event;
  return colors.dim(`  ${oneLine(early.get(speculation) ?? "?", 64)} ran early and was thrown away: ${oneLine(cause, 64)}`);
}

/** What was said, by either side; and how a turn ended, if not well. */
function wordsOf(event: SessionEvent, out: Out): string | null {
  const { colors, columns } = out;
  if (event.type === "prompted") return `\n${colors.bold(folded(`> ${printable(event.text)}`, out))}`;
  if (event.type === "reply_committed") return folded(printable(event.text).trimEnd(), out);
  if (event.type === "turn_ended" && event.reason !== "completed") {
    const ended = `${event.reason}${event.detail === undefined ? "" : `: ${oneLine(event.detail, 400)}`}`;
    return wrap(ended, columns).map(colors.red).join("\n");
  }
  return null;
}

/** On a terminal; but for blocks of code, whose lines are to be copied. */
function folded(text: string, { isTerminal, columns }: Out): string {
  if (!isTerminal) return text;
  return text.split(/^(```[\s\S]*?^```)/m).map((part, index) => index % 2 === 1 ? part : fold(part, columns)).join("");
}
