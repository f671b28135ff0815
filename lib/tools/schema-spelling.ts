/**
 * Keywords of a schema that nobody knows. They mean nothing and are allowed, as annotations of all kinds are; one that is
 * nearly a known one is most likely meant to be that.
 */
import { LISTS, MAPS, SINGLE } from "./schema-keywords.ts";
import { nearest } from "./nearest.ts";
import { SHAPED } from "./schema-shape.ts";

/** What others have beside JSON Schema, or JSON Schema has without an effect on a check. */
const ANNOTATIONS: readonly string[] = [
  "$comment",
  "$dynamicAnchor",
  "$dynamicRef",
  "$id",
  "$recursiveAnchor",
  "$recursiveRef",
  "$schema",
  "$vocabulary",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "deprecated",
  "discriminator",
  "example",
  "externalDocs",
  "id",
  "name",
  "note",
  "notes",
  "nullable",
  "readOnly",
  "title",
  "writeOnly",
  "xml",
];
/** Of these a wrong spelling changes what a model is told or what is checked. */
const MEANT: readonly string[] = [
  ...[...SINGLE, ...LISTS, ...MAPS, ...SHAPED].filter((keyword) => keyword.length > "not".length),
  "items",
  "const",
  "default",
  "description",
  "examples",
  "format",
];
const KNOWN: ReadonlySet<string> = new Set([...ANNOTATIONS, ...MEANT, ...SINGLE]);
/** Different words of one schema that are compared: comparing is dear, and nobody mistypes more. */
const MOST_COMPARED = 500;

/** The keyword that another one is most likely meant to be, or null; of one schema. */
export function createSpelling(): (keyword: string) => string | null {
  const compared = new Map<string, string | null>();
  return (keyword) => {
    if (KNOWN.has(keyword) || /^x[-_]/i.test(keyword)) return null;
    const before = compared.get(keyword);
    if (before !== undefined || compared.size >= MOST_COMPARED) return before ?? null;
    const near = nearest(keyword, MEANT.filter((each) => isAsLong(each, keyword)));
    compared.set(keyword, near);
    return near;
  };
}

/** A slip of the pen leaves a word about as long as it was; `constraints` is no `contains`. */
function isAsLong(left: string, right: string): boolean {
  return Math.abs(left.length - right.length) <= Math.max(1, Math.floor(right.length / 8));
}
