/**
 * JSON that keeps what was written. A model may write `3.0` or 9007199254740993; a script can tell those from
 * `3` and 9007199254740992, so the text of a number is never rebuilt from a double.
 */
import { JsonFault, readDocument } from "./json-reader.ts";

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

/** As they were when this was loaded: in the process of a user's file they stay, whatever the file puts in their place. */
export const { parse: parseText, stringify: toText } = JSON;

/** Deeper documents are refused, as input and as data: a parser of a tool, a thread or a client would likely give up earlier. */
export const MAX_DEPTH = 256;

/**
 * Of more values than that no document is read, as input and as data: reading, checking, comparing and writing one keeps
 * the main thread busy for a time that goes with their number, not with the length of texts.
 */
export const MAX_VALUES = 50_000;

/** Whether lists and objects lie in one another further than that. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => typeof member === "object" && isTooDeep(member, levels - 1));
}

interface RawNumber {
  readonly rawJSON: string;
}

/** Present on Bun and Deno, not yet in the type library. */
const json = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};

/** The parsed value in which every number is a `RawNumber` that remembers its token. @throws {JsonFault} */
export function parseKeepingNumbers(text: string): unknown {
  return readDocument(text, { number: json.rawJSON }).value;
}

/**
 * `JSON.parse`, except where a key may be written with an escape: V8 15.0 (Deno 2.9.6) takes such a key for another one
 * once its parser is warm (`{"x":0,"0\\u0062":1}` has "0\\" then), so those documents are read by ourselves.
 */
export function parseJson(text: string): Json {
  if (!ESCAPED_KEY.test(text)) return parseText(text) as Json;
  try {
    return readDocument(text).value as Json;
  } catch (error) {
    // Deeper than we read: what was stored must stay readable, and the host can.
    if (error instanceof JsonFault && error.beyondLimits) return parseText(text) as Json;
    throw error;
  }
}

/** Also true of some texts in strings; never false of an escaped key. One pass, as no part of it can run over an escape. */
const ESCAPED_KEY = /\\.[^"\\]*"[ \t\r\n]*:/s;

/** The token of a number that `parseKeepingNumbers` kept, or null if the value is something else. */
export function numberToken(value: unknown): string | null {
  return json.isRawJSON(value) ? value.rawJSON : null;
}

/** Canonical text of a JSON document: keys sorted by UTF-16 units, no white space, number tokens as written. @throws {JsonFault} */
export function canonicalText(text: string): string {
  return readDocument(text).canonical;
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
  if (typeof value !== "object" || value === null) return toText(value);
  if (json.isRawJSON(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  const members = value as Record<string, unknown>;
  const written = Object.keys(members).sort().map((key) => `${toText(key)}:${writeSorted(members[key])}`);
  return `{${written.join(",")}}`;
}
