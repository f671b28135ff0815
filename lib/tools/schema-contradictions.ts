/**
 * Where a schema contradicts itself: a choice or a default that its own keywords exclude, bounds that nothing fits,
 * properties that must and may not be there. An error is what leaves no value, or cannot be what its author meant; a
 * warning is what only has no effect. Under `not` and `if` nothing is looked at: there it may be meant.
 */
import type { Json } from "../session/json.ts";
import { toPointerToken } from "../session/json-pointer.ts";
import { nearest } from "./nearest.ts";
import { clip } from "./report.ts";
import { boundProblems, type Contradiction } from "./schema-bounds.ts";
import { createExaminer, type Evaluable } from "./schema-evaluate.ts";
import { partsOf } from "./schema-keywords.ts";
import type { SchemaProblem } from "./schema-load.ts";
import { includesType, isSchema, own, type SchemaNode, type SchemaObject } from "./schema-node.ts";
import { shown, typeFault } from "./schema-scalars.ts";

const MAX_PROBLEMS = 200;
const SHOWN_VALUES = 4;
const SHOWN_REASONS = 3;
/** Names that a misspelt one is compared with, and how many of those get a guess: comparing words is dear. */
const MAX_COMPARED = 128;
const MAX_GUESSES = 8;
/** Required names times patterns that are tried; beyond that a name counts as matched. */
const MAX_MATCHES = 10_000;
/** Keywords through which a property may be described elsewhere. */
const COMPOSING = ["$ref", "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies"];
const NEGATED: ReadonlySet<string> = new Set(["not", "if"]);
/** Keywords below which a schema may be a part of the description of a value, and not all of it. */
const PARTIAL: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "then",
  "else",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
]);

/** @param reported places of which something has been said already. */
export function findContradictions(schema: Evaluable, reported: ReadonlySet<string>): readonly SchemaProblem[] {
  // Of a value that is quoted here, "the input" would be misleading.
  const examine = createExaminer({ ...schema, whole: "it" });
  const problems: SchemaProblem[] = [];
  let hasError = false;
  // More is read by nobody, but the first error must be among them.
  const isFull = () => problems.length >= MAX_PROBLEMS && hasError;
  const visit = (node: SchemaNode, pointer: string, isWhole: boolean): void => {
    if (typeof node === "boolean") return;
    const told = (place: string) => reported.has(`${pointer}${place}`);
    for (const { keyword, ...problem } of contradictionsOf(node, { isWhole, told }, examine)) {
      if (isFull()) return;
      if (problems.length >= MAX_PROBLEMS && problem.severity === "warning") continue;
      hasError ||= problem.severity === "error";
      problems.push({ ...problem, pointer: `${pointer}/${keyword}` });
    }
    for (const part of partsOf(node, pointer)) {
      if (!NEGATED.has(part.keyword)) visit(part.schema, part.pointer, !PARTIAL.has(part.keyword));
    }
  };
  visit(schema.root, "", true);
  return problems;
}

interface Circumstances {
  /** Whether the schema stands alone for its value. */
  readonly isWhole: boolean;
  /** Whether something has been said already of a place below it. */
  told(place: string): boolean;
}

function* contradictionsOf(node: SchemaObject, circumstances: Circumstances, examine: Examine): Generator<Contradiction> {
  yield* boundProblems(node);
  yield* requiredProblems(node, circumstances, examine);
  yield* enumProblems(node, examine);
  yield* valueProblems(node, "const", examine);
  yield* valueProblems(node, "default", examine);
}

type Examine = ReturnType<typeof createExaminer>;

function* requiredProblems(node: SchemaObject, { isWhole, told }: Circumstances, examine: Examine): Generator<Contradiction> {
  if (told("/properties") || (node["type"] !== undefined && !includesType(node["type"], "object"))) return;
  const properties = (own(node, "properties") ?? {}) as SchemaObject;
  const isClosed = node["additionalProperties"] === false;
  const isOpen = !isWhole || isSchema(node["additionalProperties"]) || COMPOSING.some((keyword) => node[keyword] !== undefined);
  let guesses = MAX_GUESSES;
  for (const name of unmatched(node, examine)) {
    const property = own(properties, name);
    const isForbidden = property === false;
    if ((property !== undefined && !isForbidden) || (!isForbidden && !isClosed && isOpen)) continue;
    if (!isClosed && told(`/properties/${toPointerToken(name)}`)) continue;
    const near = guesses-- > 0 ? nearest(name, Object.keys(properties).slice(0, MAX_COMPARED)) : null;
    const why = isForbidden
      ? "whose schema is false, so that it may not be there"
      : isClosed
      ? 'which "additionalProperties" forbids, so no input fits'
      : 'which "properties" does not describe';
    yield {
      severity: isForbidden || isClosed ? "error" : "warning",
      code: "schema_required",
      keyword: "required",
      message: `"required" names "${clip(name)}", ${why}`,
      remedy: near === null ? 'Describe it under "properties", or take it from "required".' : `Did you mean "${near}"?`,
    };
  }
}

/** Required names that none of the patterns describes; what was not compiled, or costs too much, may match anything. */
function unmatched(node: SchemaObject, examine: Examine): readonly string[] {
  const required = (node["required"] as readonly string[] | undefined) ?? [];
  const patterns = Object.keys(own(node, "patternProperties") ?? {});
  if (patterns.length * required.length > MAX_MATCHES) return [];
  return required.filter((name) => !patterns.some((pattern) => (examine({ pattern }, name) ?? []).length === 0));
}

function* enumProblems(node: SchemaObject, examine: Examine): Generator<Contradiction> {
  const members = (node["enum"] as readonly Json[] | undefined) ?? [];
  const [ofType, ofOtherType]: [Member[], Member[]] = [[], []];
  for (const [index, value] of members.entries()) (typeFault(node["type"], value) === null ? ofType : ofOtherType).push({ index, value });
  const [wrong] = ofOtherType;
  if (wrong !== undefined) {
    yield {
      severity: "error",
      code: "schema_enum",
      keyword: `enum/${wrong.index}`,
      message: `"enum" has ${list(ofOtherType)}, but "type" is ${typeWords(node["type"])}`,
      remedy: typeRemedy(node["type"], ofOtherType.map(({ value }) => value)),
    };
  }
  const excluded = ofType.map((member) => ({ ...member, violations: examine(node, member.value) ?? [] }))
    .filter(({ violations }) => violations.length > 0);
  const [first] = excluded;
  if (first === undefined) return;
  const isEmpty = excluded.length === ofType.length;
  yield {
    severity: isEmpty ? "error" : "warning",
    code: "schema_enum",
    keyword: `enum/${first.index}`,
    message: `"enum" has ${list(excluded)}, which other keywords exclude${isEmpty ? ", so no input fits" : ""}: ${
      reasons(first.violations)
    }`,
    remedy: "Remove it, or correct the keyword.",
  };
}

interface Member {
  readonly index: number;
  readonly value: Json;
}

function* valueProblems(node: SchemaObject, keyword: string, examine: Examine): Generator<Contradiction> {
  if (!Object.hasOwn(node, keyword)) return;
  const value = node[keyword] as Json;
  const isOfType = typeFault(node["type"], value) === null;
  const violations = examine(node, value) ?? [];
  if (violations.length === 0) return;
  yield {
    severity: "error",
    code: `schema_${keyword}`,
    keyword,
    message: `"${keyword}" is ${shown(value)}, which its own schema excludes: ${reasons(violations)}`,
    remedy: isOfType ? "Write a value that fits, or correct the keyword." : typeRemedy(node["type"], [value]),
  };
}

function reasons(violations: readonly { readonly message: string }[]): string {
  const more = violations.length > SHOWN_REASONS ? "; and more" : "";
  return `${violations.slice(0, SHOWN_REASONS).map(({ message }) => message).join("; ")}${more}`;
}

function list(members: readonly Member[]): string {
  const more = members.length > SHOWN_VALUES ? ` and ${members.length - SHOWN_VALUES} more` : "";
  return `${members.slice(0, SHOWN_VALUES).map(({ value }) => shown(value)).join(", ")}${more}`;
}

function typeWords(type: unknown): string {
  return (Array.isArray(type) ? type : [type]).map((name) => `"${name}"`).join(" or ");
}

function typeRemedy(type: unknown, values: readonly Json[]): string {
  const it = values.length === 1 ? "it" : "them";
  if (includesType(type, "string") && values.every((value) => typeof value === "number" || typeof value === "boolean")) {
    const quoted = values.slice(0, SHOWN_VALUES).map((value) => `"${String(value)}"`).join(", ");
    return `Quote ${it}: ${quoted}.`;
  }
  const bare = (value: Json) => typeof value === "string" && /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(value);
  if (values.every(bare) && ["number", "integer", "boolean"].some((name) => includesType(type, name))) {
    return `Write ${it} without quotes: ${values.slice(0, SHOWN_VALUES).join(", ")}.`;
  }
  return `Write ${values.length === 1 ? "a value" : "values"} of that type, or correct the type.`;
}
