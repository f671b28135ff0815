/** Keywords that look at one value without going into it, and the words for what is wrong. */
import type { Json } from "../session/json.ts";
import type { SchemaObject } from "./schema-node.ts";

const SHOWN_VALUE = 80;
const SHOWN_CHOICES = 20;

export function typeName(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** `show` gives the value as it is quoted. */
export function typeFault(expected: unknown, value: Json, show: () => string = () => shown(value)): (() => string) | null {
  if (expected === undefined) return null;
  const names = (Array.isArray(expected) ? expected : [expected]) as readonly string[];
  const actual = typeName(value);
  if (names.some((name) => name === actual || (name === "integer" && Number.isInteger(value)))) return null;
  return () => `must be ${names.map(withArticle).join(" or ")}, but it is ${show()}`;
}

/** `same` compares two values and accounts for the work. */
export function choiceFault(
  schema: SchemaObject,
  value: Json,
  same: (left: Json, right: Json) => boolean,
  show: () => string,
): (() => string) | null {
  const choices = schema["enum"] as readonly Json[] | undefined;
  if (choices !== undefined && !choices.some((choice) => same(choice, value))) {
    return () => {
      const list = choices.slice(0, SHOWN_CHOICES).map(choice).join(", ");
      const more = choices.length > SHOWN_CHOICES ? ` (and ${choices.length - SHOWN_CHOICES} more)` : "";
      return `must be one of ${list}${more}, but it is ${show()}`;
    };
  }
  if (Object.hasOwn(schema, "const") && !same(schema["const"] as Json, value)) {
    return () => `must be exactly ${choice(schema["const"] as Json)}, but it is ${show()}`;
  }
  return null;
}

/** What it must be; what it is instead is for the caller to say. */
export function* numberFaults(schema: SchemaObject, value: number): Generator<string> {
  const limit = (keyword: string) => schema[keyword] as number | boolean | undefined;
  const minimum = limit("minimum");
  const maximum = limit("maximum");
  const above = limit("exclusiveMinimum");
  const below = limit("exclusiveMaximum");
  if (typeof minimum === "number" && (above === true ? value <= minimum : value < minimum)) {
    yield `must be ${above === true ? "above" : "at least"} ${minimum}`;
  }
  if (typeof maximum === "number" && (below === true ? value >= maximum : value > maximum)) {
    yield `must be ${below === true ? "below" : "at most"} ${maximum}`;
  }
  if (typeof above === "number" && value <= above) yield `must be above ${above}`;
  if (typeof below === "number" && value >= below) yield `must be below ${below}`;
  const step = schema["multipleOf"] as number | undefined;
  if (step !== undefined && !isMultiple(value, step)) yield `must be a multiple of ${step}`;
}

export function* lengthFaults(schema: SchemaObject, value: string): Generator<string> {
  const least = schema["minLength"] as number | undefined;
  const most = schema["maxLength"] as number | undefined;
  if (least === undefined && most === undefined) return;
  const length = codePoints(value);
  const given = `, but it has ${length}`;
  if (least !== undefined && length < least) yield least === 1 ? "must not be empty" : `must have at least ${least} characters${given}`;
  if (most !== undefined && length > most) yield `must have at most ${most} characters${given}`;
}

export function* sizeFaults(schema: SchemaObject, size: number, unit: "Items" | "Properties"): Generator<string> {
  const least = schema[`min${unit}`] as number | undefined;
  const most = schema[`max${unit}`] as number | undefined;
  const noun = unit.toLowerCase();
  if (least !== undefined && size < least) yield `must have at least ${least} ${noun}, but it has ${size}`;
  if (most !== undefined && size > most) yield `must have at most ${most} ${noun}, but it has ${size}`;
}

/** A value as it is shown to a model: short, on one line, well-formed. */
export function shown(value: Json): string {
  return typeof value === "string" ? `the string ${literal(value)}` : literal(value);
}

/** A number as it was written, and what is compared in its place if that is another one. */
export function shownNumber(token: string, value: number): string {
  const written = token.length > SHOWN_VALUE ? `${token.slice(0, SHOWN_VALUE)}…` : token;
  if (!Number.isFinite(value)) return `${written}, which is too large`;
  if (value === 0) return /^[^eE]*[1-9]/.test(token) ? `${written}, which counts as 0` : written;
  return isOtherInteger(token, value) ? `${written}, which counts as ${BigInt(value)}` : written;
}

/** Integers that a double has no place for; a longer one is not worth the work. */
function isOtherInteger(token: string, value: number): boolean {
  return !Number.isSafeInteger(value) && /^-?\d{1,400}$/.test(token) && BigInt(token) !== BigInt(value);
}

/** A choice is shown as it would be written, or its beginning. */
function choice(value: Json): string {
  if (typeof value !== "object" || value === null) return literal(value);
  const text = JSON.stringify(value);
  return text.length > SHOWN_VALUE ? `${text.slice(0, SHOWN_VALUE).toWellFormed()}…` : text;
}

function literal(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (typeof value === "object" && value !== null) return "an object";
  const text = typeof value === "string" ? JSON.stringify(value.slice(0, SHOWN_VALUE + 1)) : String(value);
  return text.length > SHOWN_VALUE ? `${text.slice(0, SHOWN_VALUE).toWellFormed()}…` : text;
}

function withArticle(name: string): string {
  if (name === "null") return name;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

function codePoints(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; count++) index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/** Decimal arithmetic: 0.3 is a multiple of 0.1. Of a number that is too large for a double nobody can say: it is none. */
function isMultiple(value: number, step: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [valueDigits, valueScale] = decimal(value);
  const [stepDigits, stepScale] = decimal(step);
  const scale = Math.max(valueScale, stepScale);
  return (valueDigits * 10n ** BigInt(scale - valueScale)) % (stepDigits * 10n ** BigInt(scale - stepScale)) === 0n;
}

/** `value` = digits / 10^scale. */
function decimal(value: number): [bigint, number] {
  const [coefficient = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = coefficient.split(".");
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale < 0 ? [digits * 10n ** BigInt(-scale), 0] : [digits, scale];
}
