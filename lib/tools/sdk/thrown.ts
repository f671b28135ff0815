/** What was thrown, in words: anything can be, and even an error may have a message that is no text or a stack that throws. */
import { toText } from "../../session/json.ts";

/** A line for the model. `who` threw it. Of an error that gathers others, theirs too. */
export function describeThrown(error: unknown, who = "The tool"): string {
  const said = describeOne(error, who);
  // Not what those gather in their turn: an error may contain itself.
  const shown = errorsOf(error).slice(0, MOST_SHOWN).map((each) => describeOne(each, who));
  const more = errorsOf(error).length - shown.length;
  return shown.length === 0 ? said : `${said} (${shown.join("; ")}${more === 0 ? "" : `; and ${more} more`})`;
}

function describeOne(error: unknown, who: string): string {
  try {
    if (!(error instanceof Error)) return `${who} threw what is not an error: ${showThrown(error)}`;
    const { name, message } = { name: String(error.name), message: String(error.message) };
    if (message === "") return name;
    return name === "Error" ? message : `${name}: ${message}`;
  } catch {
    // A value whose own conversion to text throws.
    return `${who} threw what has no text`;
  }
}

/** Of several errors in one: what it gathers. */
export function errorsOf(error: unknown): readonly unknown[] {
  try {
    return error instanceof AggregateError && Array.isArray(error.errors) ? error.errors : [];
  } catch {
    // A proxy that refuses to be looked at.
    return [];
  }
}

const MOST_SHOWN = 10;

/** The stack, for people. */
export function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack ?? error) : `Thrown: ${describeThrown(error)}`;
  } catch {
    // A getter that throws.
    return `Thrown without a stack: ${describeThrown(error)}`;
  }
}

function showThrown(value: unknown): string {
  return typeof value === "object" && value !== null ? toText(value) : String(value);
}
