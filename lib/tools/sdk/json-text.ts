/** What a tool returned, as JSON text, or what about it JSON cannot hold. Nothing is lost without being said. */

export type JsonText =
  | { readonly kind: "text"; readonly text: string }
  /** `fault` names the place: `["rows"][2] is NaN`. */
  | { readonly kind: "unholdable"; readonly fault: string };

/** Nothing at all is `null`. A property that is `undefined` is left out, as it always is. */
export function toJsonText(value: unknown): JsonText {
  try {
    const fault = findFault(value, "", "", []);
    return fault === null ? { kind: "text", text: JSON.stringify(value) ?? "null" } : { kind: "unholdable", fault };
  } catch (error) {
    if (error instanceof RangeError) return { kind: "unholdable", fault: "it is nested too deeply or too long" };
    return { kind: "unholdable", fault: `it cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function findFault(given: unknown, key: string, place: string, above: readonly object[]): string | null {
  const value = hasToJson(given) ? given.toJSON(key) : given;
  const subject = place === "" ? "the value" : place;
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : `${subject} is ${value}`;
    case "bigint":
    case "function":
    case "symbol":
      return `${subject} is of type ${typeof value}`;
    case "object":
      break;
    default:
      return null;
  }
  if (value === null) return null;
  if (above.includes(value)) return `${subject} contains itself`;
  const lossy = LOSSY.find((each) => value instanceof each) ?? (ArrayBuffer.isView(value) ? value.constructor : undefined);
  if (lossy !== undefined) return `${subject} is of type ${lossy.name}`;
  const inside = [...above, value];
  for (const [name, member] of Object.entries(value)) {
    const fault = findFault(member, name, `${place}[${Array.isArray(value) ? name : JSON.stringify(name)}]`, inside);
    if (fault !== null) return fault;
  }
  return null;
}

/** Of these JSON.stringify silently keeps nothing, or something else. */
const LOSSY: readonly { readonly name: string; [Symbol.hasInstance](value: unknown): boolean }[] = [
  Map,
  Set,
  WeakMap,
  WeakSet,
  Promise,
  RegExp,
  Error,
  ArrayBuffer,
];

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}
