/**
 * A tool's input schema as endpoints take it, whatever the wire format. All stays but what endpoints are known to
 * refuse: no `properties`, arrays without `items`, properties that are not schemas, and combinators at the root. The
 * model is told the rest in words, and the schema as it was written is checked before a call runs.
 */
import { type Fields, isFields } from "./fields.ts";
import { flattenRoot } from "./root-schema.ts";

export function toParameters(schema: Fields): Fields {
  const root = flattenRoot(adapt(schema, 0));
  return { ...root, type: "object", properties: isFields(root.properties) ? root.properties : {} };
}

/** Deeper parts go out as they are. */
const MAX_DEPTH = 64;
const SCHEMA_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const SCHEMA_LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const SCHEMAS: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
]);

function adapt(schema: Fields, depth: number): Fields {
  if (depth > MAX_DEPTH) return schema;
  const adapted: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) setOwn(adapted, keyword, adaptKeyword(keyword, value, depth + 1));
  if (isArrayType(schema.type) && schema.items === undefined && schema.prefixItems === undefined) adapted.items = {};
  return adapted;
}

function adaptKeyword(keyword: string, value: unknown, depth: number): unknown {
  if (SCHEMA_MAPS.has(keyword) && isFields(value)) return adaptMap(value, depth);
  if (SCHEMA_LISTS.has(keyword) && Array.isArray(value)) return value.map((each) => isFields(each) ? adapt(each, depth) : each);
  if (SCHEMAS.has(keyword) && isFields(value)) return adapt(value, depth);
  return value;
}

function adaptMap(map: Fields, depth: number): Fields {
  const adapted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(map)) {
    if (isFields(value)) setOwn(adapted, name, adapt(value, depth));
    else if (value === true) setOwn(adapted, name, {});
    else if (value === false) setOwn(adapted, name, { not: {} });
  }
  return adapted;
}

/** A parameter may be called `__proto__`. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function isArrayType(type: unknown): boolean {
  return type === "array" || (Array.isArray(type) && type.includes("array"));
}
