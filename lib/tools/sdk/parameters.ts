/** What a tool takes: the JSON Schema that a model and the gate see, and the value that `execute` gets. */
import { type JsonSchema as Converted, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import type { JsonObject } from "../../session/json.ts";
import type { JsonSchema, ToolParameters } from "./define.ts";
import { inputSide, leastItems } from "./input-side.ts";
import type { Node } from "./input-steps.ts";

/** @throws {TypeError} if there is no JSON Schema for it. */
export function toInputSchema(parameters: ToolParameters): JsonSchema {
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters)) throw new TypeError(NO_PARAMETERS);
  if (!isValibot(parameters)) return parameters;
  const { $schema: _dialect, ...schema } = convert(parameters);
  if (!isAlwaysObject(schema, schema, 0)) throw new TypeError("the parameters of a tool must be an object schema, as arguments have names");
  return { ...schema, type: "object", properties: schema["properties"] ?? {} };
}

const NO_PARAMETERS = "parameters must be a valibot schema of an object, or a JSON Schema; v.object({}) is one of no parameters";

/** Deeper than anybody nests: what refers to itself and nothing else is no object. */
const MOST_NESTED = 32;

/** Whether whatever the schema accepts is an object. */
function isAlwaysObject(schema: unknown, root: JsonSchema, depth: number): boolean {
  if (typeof schema !== "object" || schema === null || depth > MOST_NESTED) return false;
  const { type, allOf, anyOf, oneOf, $ref } = schema as JsonSchema;
  const holds = (each: unknown) => isAlwaysObject(each, root, depth + 1);
  if (type === "object") return true;
  if (Array.isArray(allOf) && allOf.some(holds)) return true;
  if ([anyOf, oneOf].some((each) => Array.isArray(each) && each.length > 0 && each.every(holds))) return true;
  if (typeof $ref !== "string" || !$ref.startsWith("#/$defs/")) return false;
  return holds((root["$defs"] as JsonSchema | undefined)?.[$ref.slice("#/$defs/".length)]);
}

export type ParsedInput =
  | { readonly kind: "parsed"; readonly value: unknown }
  /** `problem`: for the model. */
  | { readonly kind: "unfit"; readonly problem: string };

/** An input that has passed the JSON Schema may still fail here: a valibot schema can say more, and may change the value. */
export async function parseInput(parameters: ToolParameters, input: JsonObject): Promise<ParsedInput> {
  if (!isValibot(parameters)) return { kind: "parsed", value: input };
  const result = await v.safeParseAsync(parameters, input);
  if (result.success) return { kind: "parsed", value: result.output };
  const faults = result.issues.map((issue) => {
    const path = v.getDotPath(issue);
    return `- ${path === null ? "(input)" : path}: ${issue.message}`;
  });
  return { kind: "unfit", problem: ["The input does not fit:", ...faults].join("\n") };
}

type ValibotSchema = Exclude<ToolParameters, JsonSchema>;

/** Told by the mark that every version of valibot puts on its schemas: a file may bring its own. */
function isValibot(parameters: ToolParameters): parameters is ValibotSchema {
  const standard = (parameters as { readonly "~standard"?: { readonly vendor?: unknown } })["~standard"];
  return standard?.vendor === "valibot";
}

function convert(parameters: ValibotSchema): Record<string, unknown> {
  try {
    return {
      ...toJsonSchema(inputSide(parameters as v.GenericSchema), {
        target: "draft-2020-12",
        typeMode: "input",
        // A rule that JSON Schema cannot say (`v.check`) holds when the value is parsed; a type it cannot say is an error.
        overrideAction: ({ errors, jsonSchema }) => errors === undefined || errors.length === 0 ? null : jsonSchema,
        overrideSchema: ({ valibotSchema, jsonSchema }) => correct(valibotSchema as unknown as Node, jsonSchema),
      }),
    };
  } catch (error) {
    throw new TypeError(`the parameters cannot be shown to a model: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** What the converter takes for an error, or for required, and is not. */
function correct(schema: Node, converted: Converted): Converted | null {
  // Any schema of texts may be one of keys.
  if (schema.type === "record") return converted;
  const { items } = schema;
  if (!Array.isArray(items)) return null;
  const { prefixItems = [], ...rest } = converted;
  const shown = prefixItems.length === 0 ? {} : { prefixItems };
  return { ...rest, ...shown, minItems: leastItems(items as readonly Node[]) };
}
