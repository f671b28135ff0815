/** Bounds that exclude one another, and keywords that mean nothing for the type beside them. */
import type { SchemaProblem } from "./schema-load.ts";
import { includesType, own, type SchemaObject } from "./schema-node.ts";

/** A problem without its address, which the walk over the schema knows. */
export type Contradiction = Omit<SchemaProblem, "pointer"> & { readonly keyword: string };

type Type = "number" | "string" | "array" | "object";

/** What each keyword looks at; values of other types pass it. */
const MEANT_FOR: ReadonlyMap<string, Type> = new Map(Object.entries<Type>({
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
  minLength: "string",
  maxLength: "string",
  pattern: "string",
  minItems: "array",
  maxItems: "array",
  uniqueItems: "array",
  items: "array",
  prefixItems: "array",
  contains: "array",
  minProperties: "object",
  maxProperties: "object",
  required: "object",
  properties: "object",
  additionalProperties: "object",
}));
const PAIRS: readonly (readonly [string, string, Type])[] = [
  ["minLength", "maxLength", "string"],
  ["minItems", "maxItems", "array"],
  ["minContains", "maxContains", "array"],
  ["minProperties", "maxProperties", "object"],
];
const NOUNS: Readonly<Record<Type, string>> = { number: "number", string: "text", array: "list", object: "object" };

export function* boundProblems(node: SchemaObject): Generator<Contradiction> {
  for (const keyword of Object.keys(node)) {
    const type = MEANT_FOR.get(keyword);
    // A schema that was no schema counts as true, and has been reported.
    const isOpen = node[keyword] === true && keyword !== "uniqueItems";
    if (type === undefined || isOpen || mayBe(node, type)) continue;
    const message = `"${keyword}" means nothing beside "type" ${JSON.stringify(node["type"])}, as it is for ${withArticle(NOUNS[type])}`;
    yield { severity: "warning", code: "schema_no_effect", keyword, message, remedy: "Remove it, or correct the type." };
  }
  for (const keyword of node["contains"] === undefined ? ["minContains", "maxContains"] : []) {
    if (node[keyword] === undefined) continue;
    const message = `"${keyword}" means nothing without "contains"`;
    yield { severity: "warning", code: "schema_no_effect", keyword, message, remedy: 'Add "contains", or write minItems and maxItems.' };
  }
  for (const [low, high, type] of PAIRS) {
    if (low === "minContains" && node["contains"] === undefined) continue;
    const [least, most] = [node[low], node[high]];
    if (typeof least !== "number" || typeof most !== "number" || least <= most || !mayBe(node, type)) continue;
    yield nothingFits(low, `"${low}" is ${least} and "${high}" is ${most}, so no ${NOUNS[type]} fits`, `Make "${high}" the larger one.`);
  }
  if (mayBe(node, "number")) yield* rangeProblems(node);
  if (mayBe(node, "object")) yield* countProblems(node);
}

function mayBe(node: SchemaObject, type: Type): boolean {
  const declared = node["type"];
  return declared === undefined || includesType(declared, type) || (type === "number" && includesType(declared, "integer"));
}

interface Limit {
  readonly keyword: string;
  readonly value: number;
  readonly isExclusive: boolean;
}

function* rangeProblems(node: SchemaObject): Generator<Contradiction> {
  const low = limitOf(node, "minimum", "exclusiveMinimum", (left, right) => left > right);
  const high = limitOf(node, "maximum", "exclusiveMaximum", (left, right) => left < right);
  if (low === null || high === null) return;
  const range = `is ${low.isExclusive ? "above" : "at least"} ${low.value} and ${high.isExclusive ? "below" : "at most"} ${high.value}`;
  const isEmpty = low.value > high.value || (low.value === high.value && (low.isExclusive || high.isExclusive));
  if (isEmpty) yield nothingFits(low.keyword, `No number ${range}`, "Make the upper limit the larger one.");
  else if (isWithout(1, low, high) && node["type"] === "integer") {
    yield nothingFits(low.keyword, `No integer ${range}`, "Widen the range, or allow any number.");
  } else if (
    typeof node["multipleOf"] === "number" && Number.isSafeInteger(node["multipleOf"]) && isWithout(node["multipleOf"], low, high)
  ) {
    yield nothingFits("multipleOf", `No multiple of ${node["multipleOf"]} ${range}`, "Widen the range, or use a smaller step.");
  }
}

/** The stricter of the two; in draft-04 the second is a flag of the first. */
function limitOf(
  node: SchemaObject,
  inclusive: string,
  exclusive: string,
  isStricter: (left: number, right: number) => boolean,
): Limit | null {
  const [first, second] = [node[inclusive], node[exclusive]];
  const plain = typeof first === "number" ? { keyword: inclusive, value: first, isExclusive: second === true } : null;
  if (typeof second !== "number") return plain;
  const strict = { keyword: exclusive, value: second, isExclusive: true };
  return plain === null || !isStricter(plain.value, second) ? strict : plain;
}

/** Whether no multiple of a whole step lies between the two. */
function isWithout(step: number, low: Limit, high: Limit): boolean {
  let first = Math.ceil(low.value / step) * step;
  if (low.isExclusive && first === low.value) first += step;
  return first > high.value || (first === high.value && high.isExclusive);
}

function* countProblems(node: SchemaObject): Generator<Contradiction> {
  const required = (node["required"] as readonly string[] | undefined)?.length ?? 0;
  const most = node["maxProperties"];
  if (typeof most === "number" && required > most) {
    const message = `"required" names ${required} properties and "maxProperties" is ${most}, so no object fits`;
    yield nothingFits("maxProperties", message, "Raise the limit, or require fewer.");
  }
  const least = node["minProperties"];
  const isClosed = node["additionalProperties"] === false && node["patternProperties"] === undefined;
  const known = Object.keys(own(node, "properties") ?? {}).length;
  if (typeof least === "number" && isClosed && least > known) {
    const message = `"minProperties" is ${least} and only ${known} properties are allowed, so no object fits`;
    yield nothingFits("minProperties", message, "Lower the limit, or describe more properties.");
  }
}

function nothingFits(keyword: string, message: string, remedy: string): Contradiction {
  return { severity: "error", code: "schema_bounds", keyword, message, remedy };
}

function withArticle(noun: string): string {
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}
