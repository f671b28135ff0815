/** What a call gives to the parameters: checked, completed, and shown to a model as a JSON Schema. */
import { type Json, type JsonInput, type JsonObject, parseKeepingNumbers } from "../../session/json.ts";
import { readDocument } from "../../session/json-reader.ts";
import type { Violation } from "../tool.ts";
import { fitsType, type Parameter, type ParameterType } from "./parameters.ts";

/** The schema that a model is shown. It says what was declared; `checkArguments` is what counts. */
export function toJsonSchema(parameters: readonly Parameter[]): Readonly<Record<string, unknown>> {
  return {
    type: "object",
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, toPropertySchema(parameter)])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  };
}

function toPropertySchema(parameter: Parameter): Readonly<Record<string, unknown>> {
  const { type, description, default: fallback, enum: members, pattern, minLength, maxLength, min, max, items } = parameter;
  const optional = {
    description,
    default: fallback === null ? null : JSON.parse(fallback) as Json,
    enum: members,
    pattern: pattern?.source ?? null,
    minLength,
    maxLength,
    minimum: min,
    maximum: max,
    items: items === null ? null : { type: items },
  };
  return { type, ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)) };
}

/** Every way in which the input does not fit, in the order of declaration. What is not declared does not count. */
export function checkArguments(parameters: readonly Parameter[], { value }: JsonInput): readonly Violation[] {
  return parameters.flatMap((parameter) => {
    const given = Object.hasOwn(value, parameter.name) ? value[parameter.name] : undefined;
    if (given === undefined || given === null) {
      return parameter.required ? [{ pointer: `/${parameter.name}`, message: `⚒ Missing required parameter: ${parameter.name}` }] : [];
    }
    return problemsOf(parameter, given).map(({ pointer, problem }) => ({
      pointer: `/${parameter.name}${pointer}`,
      message: `⚒ Invalid parameter: ${parameter.name}${pointer === "" ? "" : ` (${pointer.slice(1)})`} ${problem}`,
    }));
  });
}

interface Problem {
  readonly pointer: string;
  readonly problem: string;
}

function problemsOf(parameter: Parameter, given: Json): readonly Problem[] {
  const { type, items } = parameter;
  if (!fitsType(given, type)) return [{ pointer: "", problem: `must be ${withArticle(type)}, not ${describe(given)}` }];
  if (Array.isArray(given)) return (given as readonly Json[]).flatMap((element, index) => elementProblems(element, index, items));
  const problems = [
    ...enumProblems(parameter, given),
    ...(typeof given === "string" ? textProblems(parameter, given) : []),
    ...rangeProblems(parameter, given),
  ];
  return problems.map((problem) => ({ pointer: "", problem }));
}

function elementProblems(element: Json, index: number, items: ParameterType | null): readonly Problem[] {
  const pointer = `/${index}`;
  if (items !== null && !fitsType(element, items)) return [{ pointer, problem: `must be ${withArticle(items)}, not ${describe(element)}` }];
  return unpassable(typeof element === "string" ? element : JSON.stringify(element)).map((problem) => ({ pointer, problem }));
}

function enumProblems({ enum: members }: Parameter, given: Json): readonly string[] {
  if (members === null || members.some((member) => member === given)) return [];
  return [`must be one of ${members.map((member) => JSON.stringify(member)).join(", ")}, not ${describe(given)}`];
}

function textProblems({ minLength, maxLength, pattern }: Parameter, text: string): readonly string[] {
  const length = minLength === null && maxLength === null ? 0 : [...text].length;
  return [
    ...(minLength !== null && length < minLength ? [`must have at least ${minLength} characters, not ${length}`] : []),
    ...(maxLength !== null && length > maxLength ? [`must have at most ${maxLength} characters, not ${length}`] : []),
    ...(pattern === null ? [] : patternProblems(pattern, text)),
    ...unpassable(text),
  ];
}

/** Work that a pattern may take on one value, in steps of its engine: a fraction of a second. */
const MOST_STEPS = 50_000_000;

function patternProblems({ source, matcher }: NonNullable<Parameter["pattern"]>, text: string): readonly string[] {
  if (matcher.cost(text.length) > MOST_STEPS) return [`is too long (${text.length} characters) to be held against the pattern ${source}`];
  return matcher.test(text) ? [] : [`must match the pattern ${source}`];
}

function rangeProblems({ min, max }: Parameter, given: Json): readonly string[] {
  if (typeof given !== "number") return [];
  return [
    ...(min !== null && given < min ? [`must be at least ${min}, not ${given}`] : []),
    ...(max !== null && given > max ? [`must be at most ${max}, not ${given}`] : []),
  ];
}

/** What no process can receive as it is. */
function unpassable(text: string): readonly string[] {
  return [
    ...(text.includes("\0") ? ["has a NUL character, which no program can receive"] : []),
    ...(text.isWellFormed() ? [] : ["has half of a surrogate pair, which no program can receive"]),
  ];
}

function withArticle(type: ParameterType): string {
  return type === "integer" || type === "array" ? `an ${type}` : `a ${type}`;
}

function describe(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "number" && !Number.isFinite(value)) return "a number that is too large";
  const text = JSON.stringify(value).toWellFormed();
  return `the ${typeof value} ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`;
}

/**
 * The input as it runs: what is not declared is gone, what was omitted has its default. An explicit null stays: it was
 * not omitted. Numbers keep their text. Doing it twice changes nothing.
 */
export function completeArguments(parameters: readonly Parameter[], { text }: JsonInput): JsonInput {
  const given = parseKeepingNumbers(text) as Readonly<Record<string, unknown>>;
  const members = parameters.flatMap(({ name, default: fallback }) => {
    const written = Object.hasOwn(given, name) ? JSON.stringify(given[name]) : fallback;
    return written === null ? [] : [`${JSON.stringify(name)}:${written}`];
  });
  const { value, canonical } = readDocument(`{${members.join(",")}}`);
  return { value: value as JsonObject, text: canonical };
}

/** The values of a completed input as the template takes them, numbers with their text. */
export function valuesOf({ text }: JsonInput): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(parseKeepingNumbers(text) as object));
}
