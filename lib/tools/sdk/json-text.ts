/** What a tool returned, as JSON text, or what about it JSON cannot hold. Nothing is lost without being said. */
import { describeThrown } from "./thrown.ts";

export type JsonText =
  | { readonly kind: "text"; readonly text: string }
  /** `fault` names the place: `["rows"][2] is NaN`. */
  | { readonly kind: "unholdable"; readonly fault: string };

/** Nothing at all is `null`. A property that is `undefined` is left out, as it always is. */
export function toJsonText(value: unknown): JsonText {
  try {
    const fault = findFault(value, "", new Trail());
    return fault === null ? { kind: "text", text: JSON.stringify(value) ?? "null" } : { kind: "unholdable", fault };
  } catch (error) {
    if (error instanceof RangeError) return { kind: "unholdable", fault: "it is nested too deeply or too long" };
    return { kind: "unholdable", fault: `it cannot be read: ${describeThrown(error, "It")}` };
  }
}

/** Whether it is the same once it was written down. */
export function isJson(value: unknown): boolean {
  return value !== undefined && toJsonText(value).kind === "text";
}

/** From the whole value to the part that is looked at. */
class Trail {
  readonly above = new Set<object>();
  readonly keys: string[] = [];

  /** The place in words, made only where something is wrong with it. */
  subject(): string {
    return this.keys.length === 0 ? "the value" : this.keys.join("");
  }
}

function findFault(given: unknown, key: string, trail: Trail): string | null {
  const value = hasToJson(given) && !isInvalidDate(given) ? given.toJSON(key) : given;
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : `${trail.subject()} is ${value}`;
    case "bigint":
    case "function":
    case "symbol":
      return `${trail.subject()} is of type ${typeof value}`;
    case "object":
      return value === null ? null : findFaultWithin(value, trail);
    default:
      return null;
  }
}

function findFaultWithin(value: object, trail: Trail): string | null {
  if (value instanceof Number) return findFault(Number(value), "", trail);
  if (trail.above.has(value)) return `${trail.subject()} contains itself`;
  const lossy = lossyType(value);
  if (lossy !== null) return `${trail.subject()} is ${lossy}`;
  trail.above.add(value);
  for (const [name, member] of Object.entries(value)) {
    trail.keys.push(`[${Array.isArray(value) ? name : JSON.stringify(name)}]`);
    const fault = findFault(member, name, trail);
    if (fault !== null) return fault;
    trail.keys.pop();
  }
  trail.above.delete(value);
  return null;
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

/** Has nothing but its properties: an array, an object without a class, or a text or boolean in an object's clothes. */
function isPlain(value: object): boolean {
  if (Array.isArray(value) || value instanceof String || value instanceof Boolean) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isInvalidDate(value: unknown): boolean {
  return value instanceof Date && Number.isNaN(value.getTime());
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}
