/** What a tool returned, as JSON text, or what about it JSON cannot hold. Nothing is lost without being said. */
import { Buffer } from "node:buffer";
import { MAX_DEPTH, toText } from "../../session/json.ts";
import { describeThrown } from "./thrown.ts";

export type JsonText =
  | { readonly kind: "text"; readonly text: string }
  /** `fault` names the place: `["rows"][2] is NaN`. */
  | { readonly kind: "unholdable"; readonly fault: string };

/** Nothing at all is `null`. A property that is `undefined` is left out, as it always is. */
export function toJsonText(value: unknown): JsonText {
  try {
    return { kind: "text", text: toText(snapshot(value, "", new Trail())) ?? "null" };
  } catch (error) {
    if (error instanceof Unholdable) return { kind: "unholdable", fault: error.message };
    if (error instanceof RangeError && OVERFLOW.test(error.message)) {
      return { kind: "unholdable", fault: "it is nested too deeply or too long" };
    }
    return { kind: "unholdable", fault: `it cannot be read: ${describeThrown(error, "It")}` };
  }
}

/** What the hosts say when the stack is full, or a text is longer than one can be. */
const OVERFLOW = /call stack|string length|out of memory/i;

class Unholdable extends Error {}

/** Whether it is the same once it was written down. */
export function isJson(value: unknown): boolean {
  return value !== undefined && toJsonText(value).kind === "text";
}

/** Of a list: `Array(4294967295)` has nothing in it, and takes twenty seconds and all memory to be written down. */
const MAX_LENGTH = 10_000_000;

/** From the whole value to the part that is looked at. */
class Trail {
  readonly above = new Set<object>();
  readonly keys: string[] = [];

  /** The place in words, made only where something is wrong with it. */
  subject(): string {
    return this.keys.length === 0 ? "the value" : this.keys.join("");
  }
}

/** The value in plain data. Everything is read once: a getter or toJSON() may give something else the next time. */
function snapshot(given: unknown, key: string, trail: Trail): unknown {
  const value = hasToJson(given) && !isInvalidDate(given) && !isBytes(given) ? given.toJSON(key) : given;
  switch (typeof value) {
    case "number":
      if (Number.isFinite(value)) return value;
      throw new Unholdable(`${trail.subject()} is ${value}`);
    case "bigint":
    case "function":
    case "symbol":
      throw new Unholdable(`${trail.subject()} is of type ${typeof value}`);
    case "object":
      return value === null ? null : snapshotOf(value, trail);
    default:
      return value;
  }
}

function snapshotOf(value: object, trail: Trail): unknown {
  if (value instanceof Number) return snapshot(Number(value), "", trail);
  if (value instanceof String || value instanceof Boolean) return value.valueOf();
  if (isRawJson(value)) return value;
  if (trail.above.size >= MAX_DEPTH) throw new Unholdable(`it is nested too deeply: ${MAX_DEPTH} levels are the most`);
  if (trail.above.has(value)) throw new Unholdable(`${trail.subject()} contains itself`);
  const lossy = lossyType(value);
  if (lossy !== null) throw new Unholdable(`${trail.subject()} is ${lossy}`);
  const isList = Array.isArray(value);
  if (isList && value.length > MAX_LENGTH) {
    throw new Unholdable(`${trail.subject()} has ${value.length} places: ${MAX_LENGTH} are the most`);
  }
  trail.above.add(value);
  const copy: object = isList ? new Array(value.length) : {};
  for (const [name, member] of Object.entries(value)) {
    trail.keys.push(`[${isList ? name : toText(name)}]`);
    // Not by assignment, which would mean something else for "__proto__".
    Object.defineProperty(copy, name, { value: snapshot(member, name, trail), enumerable: true });
    trail.keys.pop();
  }
  trail.above.delete(value);
  return copy;
}

/** A number as it is to be written: `JSON.rawJSON("12345678901234567890")`. */
function isRawJson(value: object): boolean {
  return (JSON as { isRawJSON?(value: object): boolean }).isRawJSON?.(value) === true;
}

/** Of what type it is, if `JSON.stringify` would silently keep nothing of it, or something else. */
function lossyType(value: object): string | null {
  if (isInvalidDate(value)) return "an invalid Date";
  const isHidden = !isPlain(value) && Object.keys(value).length === 0;
  if (!isHidden && !ArrayBuffer.isView(value) && !LOSSY.some((each) => value instanceof each)) return null;
  const { constructor: { name } = { name: "" } } = value;
  return `of type ${typeof name === "string" && name !== "" ? name : Object.prototype.toString.call(value).slice(8, -1)}`;
}

/** Known by their kind, as they may have properties besides. */
const LOSSY: readonly { [Symbol.hasInstance](value: unknown): boolean }[] = [
  Map,
  Set,
  WeakMap,
  WeakSet,
  Promise,
  RegExp,
  Error,
  ArrayBuffer,
];

/** Has nothing but its properties: an array, or an object without a class. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A Buffer of Node's has a `toJSON` of its own, of which nobody reads bytes. */
function isBytes(value: object): boolean {
  return Buffer.isBuffer(value) && (value as { toJSON?: unknown }).toJSON === Buffer.prototype.toJSON;
}

function isInvalidDate(value: unknown): boolean {
  return value instanceof Date && Number.isNaN(value.getTime());
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}
