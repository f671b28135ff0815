/** What a call gives to the parameters: checked, completed, and shown to a model as a JSON Schema. */
import { type Json, type JsonInput, type JsonObject, parseKeepingNumbers } from "../../session/json.ts";
import { readDocument } from "../../session/json-reader.ts";
import { FaultList } from "../schema-place.ts";
import type { Violation } from "../tool.ts";
import { problemsOf } from "./constraints.ts";
import { fitsDoubles, writeArgument } from "./numbers.ts";
import type { Parameter } from "./parameters.ts";

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
    // A number that is not itself to a parser with doubles would be another one to the model.
    default: fallback === null || !fitsDoubles(fallback) ? null : JSON.parse(fallback) as Json,
    enum: members === null || members.some((member) => typeof member === "bigint") ? null : members,
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
export function checkArguments(parameters: readonly Parameter[], { value, text }: JsonInput): readonly Violation[] {
  let document: Readonly<Record<string, unknown>> | undefined;
  const written = (name: string) => (document ??= parseKeepingNumbers(text) as Readonly<Record<string, unknown>>)[name];
  const faults = new FaultList();
  for (const parameter of parameters) {
    const given = Object.hasOwn(value, parameter.name) ? value[parameter.name] : undefined;
    if (given === undefined || given === null) {
      if (!parameter.required) continue;
      faults.add({ pointer: `/${parameter.name}`, message: `⚒ Missing required parameter: ${parameter.name}`, leads: true });
      continue;
    }
    for (const { pointer, problem } of problemsOf(parameter, given, () => written(parameter.name))) {
      faults.add({
        pointer: `/${parameter.name}${pointer}`,
        message: `⚒ Invalid parameter: ${parameter.name}${pointer === "" ? "" : ` (${pointer.slice(1)})`} ${problem}`,
        leads: true,
      });
    }
  }
  return faults.toViolations();
}

/**
 * The input as it runs: what is not declared is gone, what was omitted has its default. An explicit null stays: it was
 * not omitted. Numbers keep their text. Doing it twice changes nothing.
 */
export function completeArguments(parameters: readonly Parameter[], { text }: JsonInput): JsonInput {
  const given = parseKeepingNumbers(text) as Readonly<Record<string, unknown>>;
  const members = parameters.flatMap((parameter) => {
    const { name, default: fallback } = parameter;
    const written = Object.hasOwn(given, name) ? writeArgument(given[name], parameter) : fallback;
    return written === null ? [] : [`${JSON.stringify(name)}:${written}`];
  });
  const { value, canonical } = readDocument(`{${members.join(",")}}`);
  return { value: value as JsonObject, text: canonical };
}

/** The values of a completed input as the template takes them, numbers with their text. */
export function valuesOf({ text }: JsonInput): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(parseKeepingNumbers(text) as object));
}
