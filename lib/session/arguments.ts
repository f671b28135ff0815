import { type JsonInput, type JsonObject, MAX_DEPTH, MAX_VALUES } from "./json.ts";
import { JsonFault, readDocument } from "./json-reader.ts";

/** What became of the text a model wrote as a call's arguments. */
export type ParsedArguments =
  | { readonly kind: "input"; readonly input: JsonInput }
  | { readonly kind: "malformed"; readonly message: string };

const SHOWN_CHARACTERS = 200;

/**
 * Reads a call's arguments. Blank text and `null` are an empty object; anything else that is not a JSON object is
 * malformed, with the position of the fault, and must not run. So is an object with a key that comes twice, of which a
 * script would see only one.
 */
export function parseArguments(text: string): ParsedArguments {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "null") return { kind: "input", input: { value: {}, text: "{}" } };
  try {
    const { value, canonical } = readDocument(trimmed, { mostDepth: MAX_DEPTH, mostValues: MAX_VALUES, uniqueKeys: true });
    if (!isObject(value)) return malformed(`The arguments must be a JSON object, not ${nameOf(value)}`, text);
    return { kind: "input", input: { value, text: canonical } };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return malformed(problemOf(error, trimmed), text);
  }
}

function problemOf({ position, message, beyondLimits }: JsonFault, text: string): string {
  if (beyondLimits) return `The arguments are ${message}`;
  const where = position >= text.length ? `the text ends at character ${text.length} before the value is complete` : message;
  return `The arguments are not valid JSON: ${where}`;
}

function malformed(problem: string, text: string): ParsedArguments {
  const shown = text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
  return { kind: "malformed", message: `${problem}. Received: ${shown.toWellFormed()}` };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** The first character at which no valid JSON document can go on, or at which it gets too deep for us. */
export function faultPosition(text: string): number {
  try {
    readDocument(text, { mostDepth: MAX_DEPTH });
    return text.length;
  } catch (error) {
    if (error instanceof JsonFault) return error.position;
    throw error;
  }
}
