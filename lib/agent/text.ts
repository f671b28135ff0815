/**
 * Where a program's words come in: nothing checks its types where it runs, and what is no text would be found out far
 * inside, where the log is written. @throws {TypeError} it is none; `what`: what it was to be.
 */
export function requireText(given: unknown, what: string): asserts given is string {
  if (typeof given === "string") return;
  const shown = given === undefined || given === null ? String(given) : `a value of type ${typeof given}`;
  throw new TypeError(`Cannot take ${shown} for ${what}, which must be a text`);
}
