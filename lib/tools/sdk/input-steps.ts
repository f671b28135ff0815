/**
 * Which steps of a valibot pipe hold for the value that comes in, so that what is shown refuses nothing that valibot
 * takes. The rest is left to valibot.
 *
 * P1  In a pipe nothing counts behind the first step that changes the value, but for its title and description. A first
 *     step may change it too, by a default or by leaving something out: then none of the others counts.
 * P2  A pattern counts if JSON Schema reads it as valibot does: without flags but `u`, and without anything that matches
 *     half a character if it has none; and if its check takes linear time.
 * P3  A least length is shown by half: valibot counts UTF-16 units, JSON Schema characters, which are up to two of those.
 * P4  A date or time is shown by valibot's own pattern and a URL by none, as the formats of JSON Schema refuse some of
 *     what valibot takes, and take what it refuses.
 * P5  Of metadata nothing counts that JSON Schema checks a value by.
 */
import { translatePattern } from "../schema-pattern.ts";
import { isJson } from "./json-text.ts";

/** Of valibot's plain objects: a schema, or a step of a pipe. */
export interface Node {
  readonly kind: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The steps of a pipe that are shown, the first of which is its schema. */
export function shownSteps(pipe: readonly Node[]): readonly Node[] {
  const steps = flatten(pipe);
  const change = steps.findIndex((step, index) => index > 0 && changes(step));
  const before = change < 0 ? steps : steps.slice(0, change);
  const [root, ...others] = before;
  if (root === undefined) return [];
  const after = change < 0 ? [] : steps.slice(change).flatMap(wordsOf);
  const type = unchangedType(root);
  return [root, ...others.flatMap((step) => shown(step, type)), ...after];
}

/** One with a fallback is kept as it is: a fallback is the first step's own. */
function flatten(pipe: readonly Node[]): readonly Node[] {
  return pipe.flatMap((step) => "pipe" in step && step["fallback"] === undefined ? flatten(step["pipe"] as readonly Node[]) : [step]);
}

const UNCHANGING: ReadonlySet<string> = new Set(["brand", "flavor", "guard", "readonly"]);

function changes({ kind, type }: Node): boolean {
  return kind === "schema" || (kind === "transformation" && !UNCHANGING.has(type));
}

/** P1. Of what type the value is that the schema hands on as it came in; null: it is another one, or cannot be told. */
function unchangedType(schema: Node): string | null {
  if (schema["fallback"] !== undefined) return null;
  const pipe = schema["pipe"] as readonly Node[] | undefined;
  if (pipe !== undefined) return pipe.slice(1).some(changes) ? null : unchangedType(pipe[0] as Node);
  if (OPTIONAL.has(schema.type)) return unchangedType(schema["wrapped"] as Node);
  if (schema.type === "record") return "pipe" in (schema["key"] as Node) ? null : "object";
  if (!KEEPING.has(schema.type)) return LEAVES.has(schema.type) ? schema.type : null;
  return Object.values(schema["entries"] as Readonly<Record<string, Node>>).some(addsItself) ? null : "object";
}

const OPTIONAL: ReadonlySet<string> = new Set(["optional", "exact_optional", "undefinedable"]);
const LEAVES: ReadonlySet<string> = new Set(["string", "number", "boolean", "array"]);
/** Objects that have as many members as came in, unless one of them is added. */
const KEEPING: ReadonlySet<string> = new Set(["loose_object", "strict_object", "object_with_rest"]);

function addsItself(entry: Node): boolean {
  return entry["default"] !== undefined || entry["fallback"] !== undefined;
}

const LENGTHS: ReadonlySet<string> = new Set(["length", "min_length", "max_length", "non_empty", "empty"]);
const ENTRIES: ReadonlySet<string> = new Set(["entries", "min_entries", "max_entries"]);
const EXACT: ReadonlySet<string> = new Set(["value", "values", "not_value", "not_values"]);

function shown(step: Node, type: string | null): readonly Node[] {
  if (step.kind === "metadata") return words(step);
  if (step.kind !== "validation") return [step];
  if (EXACT.has(step.type)) return [step["requirement"]].flat().every((each) => typeName(each) === type) ? [step] : [];
  if (type === "array") return LENGTHS.has(step.type) ? [step] : [];
  if (type === "object") return ENTRIES.has(step.type) ? [step] : [];
  if (type === "number") return shownOfNumber(step);
  if (type !== "string" || step.type === "url") return [];
  if (LENGTHS.has(step.type)) return shownLength(step);
  if (FORMATTED.has(step.type)) return [step];
  if (!(step["requirement"] instanceof RegExp)) return [step];
  return isSamePattern(step["requirement"]) ? [PATTERNED.has(step.type) ? { ...step, type: "regex" } : step] : [];
}

function typeName(value: unknown): string {
  return typeof value;
}

function shownOfNumber(step: Node): readonly Node[] {
  if (step.type !== "multiple_of") return [step];
  const requirement = Math.abs(step["requirement"] as number);
  return requirement > 0 && Number.isFinite(requirement) ? [{ ...step, requirement }] : [];
}

/** P3. */
function shownLength(step: Node): readonly Node[] {
  const least = Math.ceil((step["requirement"] as number) / 2);
  if (step.type === "min_length") return [{ ...step, requirement: least }];
  return step.type === "length" ? [{ ...step, type: "min_length", requirement: least }, { ...step, type: "max_length" }] : [step];
}

/** P4. Formats that whatever valibot takes has. */
const FORMATTED: ReadonlySet<string> = new Set(["email", "rfc_email", "ipv4", "uuid"]);
const PATTERNED: ReadonlySet<string> = new Set(["iso_date", "iso_date_time", "iso_time", "iso_timestamp"]);

/** P2. */
function isSamePattern({ source, flags }: RegExp): boolean {
  if (flags !== "u" && (flags !== "" || HALVES.test(source))) return false;
  try {
    return new RegExp(source, "u") instanceof RegExp && translatePattern(source).kind === "plan";
  } catch {
    // Old syntax: checks of JSON Schema read every pattern as Unicode.
    return false;
  }
}

/** A dot, what is not of a kind, and whatever is written beyond ASCII or by its number: it may match a surrogate. */
const HALVES = /(?<!\\)(?:\\\\)*\.|\[\^|\\[DSWPpuB]|[^\x00-\x7f]/;

function words(step: Node): readonly Node[] {
  if (step.type === "examples") return isJson(step["examples"]) ? [step] : [];
  if (step.type !== "metadata") return [step];
  const kept = Object.entries(Object(step["metadata"]) as object).filter(([key, value]) => !CHECKING.has(key) && isJson(value));
  return [{ ...step, metadata: Object.fromEntries(kept) }];
}

/** P5. */
const CHECKING: ReadonlySet<string> = new Set(
  ("type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems " +
    "uniqueItems maxContains minContains maxProperties minProperties required dependentRequired dependentSchemas dependencies allOf " +
    "anyOf oneOf not if then else items prefixItems additionalItems contains properties patternProperties additionalProperties " +
    "propertyNames unevaluatedItems unevaluatedProperties $ref $dynamicRef $recursiveRef $id id $anchor $dynamicAnchor $schema " +
    "$vocabulary $defs definitions nullable").split(" "),
);

function wordsOf(step: Node): readonly Node[] {
  if (step.kind !== "metadata") return [];
  if (step.type === "title" || step.type === "description") return [step];
  const { title, description } = Object(step["metadata"]) as { readonly title?: unknown; readonly description?: unknown };
  const kept = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
  return step.type === "metadata" ? [{ ...step, metadata: kept }] : [];
}
