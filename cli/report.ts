/** The one object that `run --output-format json` prints: the same keys however the run ended. */
import { calledName } from "../lib/platform/called.ts";
import { describeReason, type StoredEvent, toPlainEvent, type TurnResult, type Workshop } from "../mod.ts";

/** What is known of a run when it ends; without a result it ended before its turn began. */
export interface RunFacts {
  readonly session: string | null;
  readonly model: string | null;
  readonly result: TurnResult | null;
  /** Of a run without a result; absent: it failed. */
  readonly status?: "cancelled";
  /** Why it ended, if it did not complete. */
  readonly reason?: string;
  /** What could not be used because the workspace is not trusted. */
  readonly inert: Inert | null;
  /** Present if the caller asked for them. */
  readonly events?: readonly StoredEvent[];
}

export interface Inert {
  readonly reason: string;
  readonly names: readonly string[];
  /** What would change it. */
  readonly command: string;
}

export function toInert({ workspace, policy: { trust } }: Workshop): Inert | null {
  if (trust.verdict.kind === "trusted" || trust.inert.length === 0) return null;
  return {
    reason: describeReason(trust.verdict),
    names: trust.inert.map(({ name }) => name),
    command: `${calledName()} trust ${workspace}`,
  };
}

export function toReport({ session, model, result, status, reason, inert, events }: RunFacts): object {
  const why = reason ?? result?.error?.message ?? result?.detail;
  return {
    schema_version: 1,
    status: result?.reason ?? status ?? "failed",
    text: result?.text ?? "",
    session,
    model,
    steps: result?.steps ?? 0,
    calls: result?.calls ?? [],
    usage: result?.usage ?? { input_tokens: 0, output_tokens: 0 },
    speculation: result?.speculation ?? { saved_ms: 0, wasted: 0, wasted_ms: 0 },
    ...(why === undefined ? {} : { reason: why }),
    ...(inert === null ? {} : { inert }),
    ...(events === undefined ? {} : { events: events.map(toPlainEvent) }),
  };
}
