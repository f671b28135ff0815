/**
 * Recorded events in words, a short line each, and the beginning of what a call that failed said: for people who watch a
 * run or look at an old one.
 */
import type { SessionEvent } from "../mod.ts";
import { excerpt, oneLine, type Out, printable } from "./terminal.ts";

type Ended = Extract<SessionEvent, { type: "call_ended" }>;

/** How many lines of a result are shown; the whole of it is in the journal. */
export const RESULT_LINES = 6;

/** Lines for the event, or null if it is not worth any. Remembers the calls it has heard of. */
export type Narrator = (event: SessionEvent) => string | null;

export function createNarrator(out: Pick<Out, "colors" | "columns">): Narrator {
  const { bold, dim, red, yellow } = out.colors;
  const labels = new Map<string, string>();
  // Asked for every time: a window may change its size.
  const width = () => Math.max(40, out.columns) - 32;

  const callLine = (event: Ended): string => {
    const { outcome, result } = event;
    const failed = result.is_error || outcome.kind === "unknown";
    const facts = [outcomeText(event), `${formatMs(event.duration_ms)}`, ...extras(event)].join(" · ");
    const line = `  ${labels.get(event.call) ?? event.call} ${failed ? red(facts) : dim(facts)}`;
    if (!failed || result.text === "") return line;
    return [line, ...excerpt(result.text, width() + 24, RESULT_LINES).map((each) => `    ${dim(each)}`.trimEnd())].join("\n");
  };

  return (event) => {
    switch (event.type) {
      case "reply_committed":
        for (const call of event.calls) {
          labels.set(call.call, `${bold(printable(call.name))} ${oneLine(shortInput(call.arguments), width())}`.trimEnd());
        }
        return null;
      case "call_ended":
        return callLine(event);
      case "attempt_failed": {
        const then = event.retry_in_ms === null ? "" : ` · asking again in ${formatMs(event.retry_in_ms)}`;
        return yellow(`  model: ${oneLine(event.error.message, 400)}${then}`);
      }
      case "notice":
        // Hints about tool files are for whoever checks them; a run is not the place.
        return event.level === "info" ? null : (event.level === "error" ? red : yellow)(`  ${event.level}: ${oneLine(event.text, 400)}`);
      case "session_resumed":
        return yellow(`  resumed: ${event.calls.length} calls whose outcome is unknown`);
      default:
        return null;
    }
  };
}

/** What to show of a call's arguments: the value if there is only one, else the text. */
export function shortInput(text: string): string {
  try {
    const values: unknown[] = Object.values(JSON.parse(text) as object);
    if (values.length === 0) return "";
    return values.length === 1 && typeof values[0] === "string" ? values[0] : text;
  } catch {
    // Malformed arguments are shown as the model wrote them.
    return text;
  }
}

export function formatMs(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

export function outcomeText({ outcome, result }: Pick<Ended, "outcome" | "result">): string {
  switch (outcome.kind) {
    case "exited":
      return outcome.code === 0 && !result.is_error ? "ok" : `exit ${outcome.code}`;
    case "signalled":
      return `killed by ${outcome.signal}`;
    case "timed_out":
      return `timed out after ${formatMs(outcome.after_ms)}`;
    case "cancelled":
      return "cancelled";
    case "returned":
      return result.is_error ? "error" : "ok";
    case "not_started":
      return `not started: ${outcome.reason}`;
    case "unknown":
      return `outcome unknown: ${outcome.cause}`;
  }
}

function extras(event: Ended): readonly string[] {
  const all = event.reaped ?? [];
  const reaped = all.filter(({ uncertain }) => uncertain !== true).length;
  const uncertain = all.length - reaped;
  return [
    ...(event.truncated === undefined ? [] : ["output cut"]),
    ...(reaped === 0 ? [] : [`ended ${reaped} left behind`]),
    ...(uncertain === 0 ? [] : [`ended ${uncertain} left behind by this or another call`]),
    ...(event.reaped_omitted === undefined ? [] : [`ended ${event.reaped_omitted} more`]),
  ];
}
