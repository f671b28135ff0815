import { nearest } from "./nearest.ts";

/** Whether a keyword of a schema has the value it must have: null, or what is wrong. Unknown keywords may be anything. */
export function wrongShape(keyword: string, value: unknown): string | null {
  const rule = Object.hasOwn(RULES, keyword) ? RULES[keyword] : undefined;
  if (rule === undefined) return null;
  const problem = rule(value);
  return problem === null ? null : `"${keyword}" ${problem}`;
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];

const RULES: Readonly<Record<string, (value: unknown) => string | null>> = {
  type: typeProblem,
  required: (value) => isStrings(value) ? null : "must be a list of property names",
  enum: (value) => Array.isArray(value) && value.length > 0 ? null : "must be a list with at least one value",
  pattern: isString,
  $ref: isString,
  $anchor: isString,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isLimit,
  exclusiveMaximum: isLimit,
  multipleOf: (value) => typeof value === "number" && value > 0 && Number.isFinite(value) ? null : "must be a number above 0",
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  minContains: isCount,
  maxContains: isCount,
  uniqueItems: (value) => typeof value === "boolean" ? null : "must be true or false",
  dependentRequired: (value) =>
    typeof value === "object" && value !== null && Object.values(value).every(isStrings)
      ? null
      : "must be a table of lists of property names",
};

/** Keywords whose value must be of a shape. */
export const SHAPED: readonly string[] = Object.keys(RULES);

function typeProblem(value: unknown): string | null {
  const names = Array.isArray(value) ? value : [value];
  const wrong = names.find((name) => !TYPES.includes(name));
  if (names.length > 0 && wrong === undefined) return null;
  const near = typeof wrong === "string" ? nearest(wrong, TYPES) : null;
  return `must be one of ${TYPES.join(", ")}, not ${JSON.stringify(wrong ?? value)}${near === null ? "" : `; did you mean "${near}"?`}`;
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

function isString(value: unknown): string | null {
  return typeof value === "string" ? null : "must be a string";
}

function isNumber(value: unknown): string | null {
  return typeof value === "number" && Number.isFinite(value) ? null : "must be a number";
}

/** A number since draft-06, a boolean beside `minimum` or `maximum` in draft-04. */
function isLimit(value: unknown): string | null {
  return typeof value === "boolean" || isNumber(value) === null ? null : "must be a number";
}

function isCount(value: unknown): string | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? null : "must be a whole number, 0 or more";
}
