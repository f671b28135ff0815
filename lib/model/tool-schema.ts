/**
 * A tool's input schema as endpoints take it, whatever the wire format. All stays but what endpoints are known to
 * refuse: no `properties`, arrays without `items`, properties that are not schemas, and combinators at the root. The
 * model is told the rest in words, and the schema as it was written is checked before a call runs.
 */
import { type Fields, isFields } from "./fields.ts";
import { flattenRoot } from "./root-schema.ts";

/** The same for the same schema: every request of a session has them. */
export function toParameters(schema: Fields): Fields {
  const known = taken.get(schema);
  if (known !== undefined) return known;
  const root = flattenRoot(adapt(schema, 0));
  const parameters = { ...root, type: "object", properties: isFields(root.properties) ? root.properties : {} };
  taken.set(schema, parameters);
  return parameters;
}

const taken = new WeakMap<Fields, Fields>();

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
  const adapted = ownFields(Object.entries(schema).map(([keyword, value]) => [keyword, adaptKeyword(keyword, value, depth + 1)]));
  const lacksItems = isArrayType(schema.type) && schema.items === undefined && schema.prefixItems === undefined;
  return lacksItems ? { ...adapted, items: {} } : adapted;
}

function adaptKeyword(keyword: string, value: unknown, depth: number): unknown {
  if (SCHEMA_MAPS.has(keyword) && isFields(value)) return adaptMap(value, depth);
  if (SCHEMA_LISTS.has(keyword) && Array.isArray(value)) return value.map((each) => isFields(each) ? adapt(each, depth) : each);
  if (SCHEMAS.has(keyword) && isFields(value)) return adapt(value, depth);
  return value;
}

function adaptMap(map: Fields, depth: number): Fields {
  return ownFields(
    Object.entries(map).flatMap(([name, value]) => {
      if (isFields(value)) return [[name, adapt(value, depth)]];
      return typeof value === "boolean" ? [[name, value ? {} : { not: {} }]] : [];
    }),
  );
}

/** A parameter may be called `__proto__`: set one by one, that would be no field. */
function ownFields(entries: readonly (readonly [string, unknown])[]): Fields {
  return Object.fromEntries(entries);
}

function isArrayType(type: unknown): boolean {
  return type === "array" || (Array.isArray(type) && type.includes("array"));
}
