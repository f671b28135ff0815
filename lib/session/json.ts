/**
 * JSON that keeps what was written. A model may write `3.0` or 9007199254740993; a script can tell those from
 * `3` and 9007199254740992, so the text of a number is never rebuilt from a double.
 */

/** Any value JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A call's input: the value for reading, and the canonical text for running, comparing and digesting. */
export interface JsonInput {
  readonly value: JsonObject;
  readonly text: string;
}

interface RawNumber {
  readonly rawJSON: string;
}

/** `JSON.parse` with source text access and `JSON.rawJSON`: present on Bun and Deno, not yet in the type library. */
const json = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};

/** The parsed value in which every number is a `RawNumber` that remembers its token. */
export function parseKeepingNumbers(text: string): unknown {
  return json.parse(text, (_key, value, context) => typeof value === "number" ? json.rawJSON(context.source ?? String(value)) : value);
}

/** The token of a number that `parseKeepingNumbers` kept, or null if the value is something else. */
export function numberToken(value: unknown): string | null {
  return json.isRawJSON(value) ? value.rawJSON : null;
}

/** Canonical text of a JSON document: keys sorted by UTF-16 units, no white space, number tokens as written. */
export function canonicalText(text: string): string {
  return writeSorted(parseKeepingNumbers(text));
}

/** Canonical text of a value that is already parsed (its numbers print as JavaScript prints them). */
export function canonicalValue(value: Json): string {
  return writeSorted(value);
}

/** An input from a value of ours, not from a model's text. */
export function toInput(value: JsonObject): JsonInput {
  return { value, text: canonicalValue(value) };
}

function writeSorted(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (json.isRawJSON(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  const members = value as Record<string, unknown>;
  const written = Object.keys(members).sort().map((key) => `${JSON.stringify(key)}:${writeSorted(members[key])}`);
  return `{${written.join(",")}}`;
}
