/**
 * What of a valibot schema holds for the value that comes in, as a schema to be shown: nothing that it accepts may be
 * refused by what is shown, so a rule that JSON Schema would make stricter is left to valibot alone. Of pipes see
 * `input-steps.ts`.
 *
 * I1  What has a fallback takes anything; what it should be is still shown.
 * I2  A default that a function makes is another one each time, so none is shown, nor is one that is not JSON.
 * I3  Of a variant's options more than one may fit what comes in.
 * I4  `undefined` does not come in: where it is one of several it is left out, and where it is excluded nothing is lost.
 */
import type * as v from "valibot";
import { type Node, shownSteps } from "./input-steps.ts";
import { isJson } from "./json-text.ts";

export function inputSide(schema: v.GenericSchema): v.GenericSchema {
  const { fallback: _whole, ...root } = schema as unknown as Node;
  return new InputSide().rewrite(root as Node) as unknown as v.GenericSchema;
}

/**
 * How many items a tuple must have: those behind the last that cannot be `undefined` need not be there. What is not known
 * to refuse it may take it.
 */
export function leastItems(items: readonly Node[]): number {
  return items.findLastIndex(refusesUndefined) + 1;
}

function refusesUndefined(schema: Node): boolean {
  if (schema["fallback"] !== undefined) return false;
  return schema.type === "nullable" ? refusesUndefined(schema["wrapped"] as Node) : DEFINED.has(schema.type);
}

const DEFINED: ReadonlySet<string> = new Set(
  ("string number boolean null literal picklist enum never array tuple loose_tuple strict_tuple tuple_with_rest object loose_object " +
    "strict_object object_with_rest record variant non_optional non_nullish").split(" "),
);

class InputSide {
  /** A schema that contains itself stays one. */
  readonly #known = new Map<object, object>();

  rewrite(given: Node): object {
    const known = this.#known.get(given);
    if (known !== undefined) return known;
    const copy: Record<string, unknown> = {};
    this.#known.set(given, copy);
    const { fallback, ...own } = given;
    const node = EXCLUDING.has(given.type) ? withoutAbsent(own as Node) : own as Node;
    for (const [member, value] of Object.entries(node)) copy[member] = member === "pipe" ? this.#pipe(value) : this.#within(value);
    if (typeof copy["default"] === "function" || !isJson(copy["default"])) delete copy["default"]; // I2
    if (node.type === "variant") copy["type"] = "union"; // I3
    if (node.type === "union") Object.assign(copy, unionOf(copy["options"] as readonly Node[]));
    if (node.type === "lazy") copy["getter"] = () => this.#within((node["getter"] as (input: unknown) => unknown)(undefined));
    if (fallback === undefined) return copy;
    const anything = orAnything(copy, fallback);
    this.#known.set(given, anything);
    return anything;
  }

  #within(value: unknown): unknown {
    if (isNode(value)) return this.rewrite(value);
    if (Array.isArray(value)) return value.some(isNode) ? value.map((each) => this.#within(each)) : value;
    if (!isEntries(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#within(each)]));
  }

  #pipe(pipe: unknown): unknown {
    return shownSteps(pipe as readonly Node[]).map((step) => this.#within(step));
  }
}

/** I1. */
function orAnything(schema: object, fallback: unknown): object {
  const union = { kind: "schema", type: "union", options: [schema, { kind: "schema", type: "any" }] };
  const shown = typeof fallback === "function" || !isJson(fallback) ? {} : { default: fallback };
  return { kind: "schema", type: "optional", wrapped: union, ...shown };
}

/** I4. A union of nothing takes nothing. */
function unionOf(options: readonly Node[]): object {
  const kept = options.filter(({ type }) => !NOTHING.has(type));
  return kept.length === 0 ? { type: "never" } : { options: kept };
}

const NOTHING: ReadonlySet<string> = new Set(["undefined", "void"]);
const EXCLUDING: ReadonlySet<string> = new Set(["non_optional", "non_nullable", "non_nullish"]);
const ABSENT: ReadonlySet<string> = new Set(["optional", "exact_optional", "undefinedable"]);

/** I4. The schema within, that must be there; what it says of null is kept, unless null is excluded too. */
function withoutAbsent(node: Node): Node {
  let wrapped = node["wrapped"] as Node;
  const keepsNull = node.type === "non_optional";
  while (!("pipe" in wrapped) && wrapped["fallback"] === undefined) {
    if (wrapped.type === "nullish" && keepsNull) wrapped = { ...wrapped, type: "nullable" };
    else if (ABSENT.has(wrapped.type) || (!keepsNull && NULL.has(wrapped.type))) wrapped = wrapped["wrapped"] as Node;
    else break;
  }
  // Unlike the others that wrap, this one is required in an object.
  const required = { kind: "schema", type: "undefinedable", wrapped };
  return "pipe" in node ? { ...required, pipe: [required, ...(node["pipe"] as readonly Node[]).slice(1)] } : required;
}

const NULL: ReadonlySet<string> = new Set(["nullable", "nullish"]);

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "kind" in value && "type" in value && typeof value.kind === "string";
}

function isEntries(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && Object.values(value).some(isNode);
}
