/** The three output formats of a run. */
import { calledName } from "../lib/platform/called.ts";
import { type FeedEvent, JournalHeld, type Session, type StoredEvent, toPlainEvent, type TurnResult, type Workshop } from "../mod.ts";
import type { Ending } from "./ending.ts";
import { toEvent } from "./failure.ts";
import { Renderer } from "./render.ts";
import { type RunFacts, toInert, toReport } from "./report.ts";
import type { Shell } from "./terminal.ts";

export interface Presenter {
  /** @param workshop what the session has to work with. */
  begin(session: Session, workshop: Workshop): void;
  watch(event: FeedEvent): void;
  /** Something else is about to be written to standard error. */
  pause(): void;
  finish(result: TurnResult, session: Session): void;
  /** The run broke before it had a result. */
  fail(error: unknown, ending: Ending): void;
}

export function createPresenter(shell: Shell, format: "text" | "json" | "stream-json", withEvents: boolean): Presenter {
  switch (format) {
    case "text":
      return presentText(shell);
    case "json":
      return presentJson(shell, withEvents);
    case "stream-json":
      return presentStream(shell);
  }
}

function presentText(shell: Shell): Presenter {
  const renderer = new Renderer(shell);
  let known: Session | null = null;
  return {
    begin: (session) => void (known = session),
    watch: (event) => renderer.watch(event),
    pause: () => renderer.pause(),
    finish: (result, session) => renderer.finish(result, session.id),
    fail() {
      renderer.pause();
      tellLeftOpen(shell, known);
    },
  };
}

function presentJson(shell: Shell, withEvents: boolean): Presenter {
  const events: StoredEvent[] = [];
  let known: Session | null = null;
  let inert: RunFacts["inert"] = null;
  const print = (facts: Pick<RunFacts, "result" | "reason">, held: string | null = null) => {
    const header = known?.recorded().header ?? null;
    const identity = { session: header === null ? held : known?.id ?? held, model: header?.model ?? null };
    shell.out.write(`${JSON.stringify(toReport({ ...identity, ...facts, inert, ...(withEvents ? { events } : {}) }))}\n`);
  };
  return {
    begin(session, workshop) {
      known = session;
      inert = toInert(workshop);
    },
    watch(event) {
      if (withEvents && "seq" in event) events.push(event);
    },
    pause: () => undefined,
    finish: (result) => print({ result }),
    fail(error) {
      tellLeftOpen(shell, known);
      print(
        { result: known?.soFar() ?? null, reason: messageOf(error) },
        error instanceof JournalHeld ? error.session : null,
      );
    },
  };
}

function presentStream(shell: Shell): Presenter {
  let known: Session | null = null;
  return {
    begin: (session) => void (known = session),
    watch: (event) => shell.out.write(`${JSON.stringify("seq" in event ? toPlainEvent(event) : event)}\n`),
    pause: () => undefined,
    finish: () => undefined,
    fail(error, ending) {
      tellLeftOpen(shell, known);
      shell.out.write(`${JSON.stringify(toEvent({ ending, message: messageOf(error) }))}\n`);
    },
  };
}

/** A turn that was driven here and that the log has as open: not all of it is lost. */
function tellLeftOpen({ err }: Shell, session: Session | null): void {
  if (session === null || session.soFar() === null || session.recorded().turn.kind === "idle") return;
  err.write(`orrery: The turn is left open: when the cause is gone, go on with ${calledName()} sessions resume ${session.id}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
