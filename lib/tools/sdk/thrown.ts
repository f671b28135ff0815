/** What was thrown, in words: anything can be, and even an error may have a message that is no text or a stack that throws. */

/** A line for the model. `who` threw it. */
export function describeThrown(error: unknown, who = "The tool"): string {
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
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
