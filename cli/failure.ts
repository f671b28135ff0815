/** What goes to standard output in place of the data when a command fails: whoever asked for JSON gets JSON. */
import type { Failure } from "./errors.ts";
import type { Shell } from "./terminal.ts";

/** `report`: the object of `run`. `line`: one of a stream of them. */
type Form = "none" | "object" | "report" | "line";

/**
 * @param args as they were given: a line that could not be read has nothing else to go by.
 * @param started a command that runs a turn has then told of its failure by itself, with what it knew.
 */
export async function writeFailure({ out }: Shell, args: readonly string[], failure: Failure, started: boolean): Promise<void> {
  if (started && runsTurn(args)) return;
  switch (formOf(args)) {
    case "none":
      return;
    case "object":
      return out.write(toLine({ schema_version: 1, error: { kind: failure.ending, message: failure.message } }));
    case "line":
      return out.write(toLine(toEvent(failure)));
    case "report": {
      const { toReport } = await import("./report.ts");
      const cut = failure.ending === "interrupted" || failure.ending === "terminated" ? { status: "cancelled" as const } : {};
      return out.write(toLine(toReport({ session: null, model: null, result: null, ...cut, reason: failure.message, inert: null })));
    }
  }
}

/** Whether standard output must not end with nothing, whatever happens. Events that were asked for are whole without an end. */
export function mustReport(args: readonly string[]): boolean {
  return formOf(args) !== "none" && !isCommand(args, "sessions", "events");
}

/** An error where events are expected. It is none, and has no number. */
export function toEvent({ ending, message }: Failure): object {
  return { type: "error", kind: ending, message };
}

function toLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function formOf(args: readonly string[]): Form {
  if (isCommand(args, "sessions", "events")) return "line";
  const escape = args.indexOf("--");
  const options = escape === -1 ? args : args.slice(0, escape);
  const format = outputFormat(options);
  if (format === "stream-json") return "line";
  if (format !== "json" && !options.includes("--json")) return "none";
  return runsTurn(args) ? "report" : "object";
}

function outputFormat(options: readonly string[]): string | undefined {
  const at = options.findLastIndex((option) => /^(?:-o|--output-?[fF]ormat)(?:=|$)/.test(option));
  const option = options[at];
  return option?.includes("=") === true ? option.slice(option.indexOf("=") + 1) : options[at + 1];
}

function runsTurn(args: readonly string[]): boolean {
  return isCommand(args, "run") || isCommand(args, "sessions", "resume");
}

function isCommand(args: readonly string[], ...words: readonly string[]): boolean {
  return words.every((word, index) => args[index] === word);
}
