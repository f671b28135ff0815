/** The one object that `run --output-format json` prints: the same keys however the run ended. */
import type { StoredEvent, TurnResult } from "../mod.ts";
import { toPlainEvent } from "../mod.ts";

/** What is known of a run when it ends; without a result it ended before its turn began. */
export interface RunFacts {
  readonly session: string | null;
  readonly model: string | null;
  readonly result: TurnResult | null;
  /** Why it ended, if it did not complete. */
  readonly reason?: string;
  /** Present if the caller asked for them. */
  readonly events?: readonly StoredEvent[];
}

export function toReport({ session, model, result, reason, events }: RunFacts): object {
  const why = reason ?? result?.error?.message ?? result?.detail;
  return {
    schema_version: 1,
    status: result?.reason ?? "failed",
    text: result?.text ?? "",
    session,
    model,
    steps: result?.steps ?? 0,
    calls: result?.calls ?? [],
    usage: result?.usage ?? { input_tokens: 0, output_tokens: 0 },
    speculation: result?.speculation ?? { saved_ms: 0, wasted: 0 },
    ...(why === undefined ? {} : { reason: why }),
    ...(events === undefined ? {} : { events: events.map(toPlainEvent) }),
  };
}
