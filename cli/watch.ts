import type { FeedEvent, Runtime, Session } from "../mod.ts";

/**
 * Tells everything of a session that was just created, from its first event on. What became durable before anybody
 * could watch is read from the journal, once the first event that was watched shows that it is there.
 * @returns resolves when everything that was heard so far has been told.
 */
export function watchFromStart(agent: Runtime, session: Session, tell: (event: FeedEvent) => void): () => Promise<void> {
  const waiting: FeedEvent[] = [];
  let filled = false;
  let filling: Promise<void> = Promise.resolve();

  const fill = async (before: number) => {
    const rows = before === 1 ? [] : await agent.events(session.id);
    for (const row of rows) if (row.kind === "event" && row.event.seq < before) tell(row.event);
    filled = true;
    for (const event of waiting.splice(0)) tell(event);
  };

  session.watch((event) => {
    if (filled) return tell(event);
    waiting.push(event);
    const isFirst = "seq" in event && waiting.every((other) => other === event || !("seq" in other));
    if (!isFirst) return;
    filling = fill(event.seq);
    // Whoever awaits it is told; a turn that fails first leaves nobody to.
    filling.catch(() => undefined);
  });
  return () => filling;
}
