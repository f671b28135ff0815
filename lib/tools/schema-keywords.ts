/** Which keywords hold schemas, and whether those look at the same value or at a part of it. */
import { toPointerToken } from "../session/json-pointer.ts";
import { isSchema, type SchemaNode, type SchemaObject } from "./schema-node.ts";

export const SINGLE: ReadonlySet<string> = new Set(
  [
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
  ],
);
export const LISTS: ReadonlySet<string> = new Set(["prefixItems", "allOf", "anyOf", "oneOf"]);
export const MAPS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
]);
/** Keywords whose subschemas look at the same value, so that a loop through them would never end. */
export const IN_PLACE_SINGLE: readonly string[] = ["not", "if", "then", "else"];
export const IN_PLACE_LISTS: readonly string[] = ["allOf", "anyOf", "oneOf"];
export const IN_PLACE_MAPS: readonly string[] = ["dependentSchemas", "dependencies"];

/** A schema that stands below a keyword of another. */
export interface Part {
  readonly keyword: string;
  readonly pointer: string;
  readonly schema: SchemaNode;
}

/** The schemas right below one that was loaded, with their places in the schema. */
export function partsOf(node: SchemaObject, pointer: string): readonly Part[] {
  return Object.entries(node).flatMap(([keyword, value]) => {
    const at = `${pointer}/${toPointerToken(keyword)}`;
    const inside = MAPS.has(keyword) || Array.isArray(value) ? Object.entries(value as object) : [];
    const holdsMany = MAPS.has(keyword) || LISTS.has(keyword) || (keyword === "items" && Array.isArray(value));
    const found: readonly (readonly [string, unknown])[] = holdsMany
      ? inside.map(([name, part]) => [`${at}/${toPointerToken(name)}`, part])
      : SINGLE.has(keyword) || keyword === "items"
      ? [[at, value]]
      : [];
    return found.flatMap(([place, part]) => isSchema(part) ? [{ keyword, pointer: place, schema: part as SchemaNode }] : []);
  });
}
