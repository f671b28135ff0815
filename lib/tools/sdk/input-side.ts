/**
 * What of a valibot schema holds for the value that comes in, as a schema to be shown: nothing that it accepts may be
 * refused by what is shown, so a rule that JSON Schema would make stricter is left to valibot alone.
 *
 * I1  In a pipe nothing counts behind the first step that changes the value, but for its title and description.
 * I2  A pattern counts if it means the same without its flags, as JSON Schema has none.
 * I3  What has a fallback takes anything; what it should be is still shown.
 * I4  A default that a function makes is another one each time, so none is shown.
 * I5  Of a variant's options more than one may fit what comes in.
 * I6  A date or time is shown by valibot's own pattern and a URL by none, as the formats of JSON Schema refuse some of
 *     what valibot takes, and take what it refuses.
 */
import type * as v from "valibot";

export function inputSide(schema: v.GenericSchema): v.GenericSchema {
  const { fallback: _whole, ...root } = schema as unknown as Node;
  return new InputSide().rewrite(root as Node) as unknown as v.GenericSchema;
}

/** Of valibot's plain objects: a schema, or a step of a pipe. */
interface Node {
  readonly kind: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

class InputSide {
  /** A schema that contains itself stays one. */
  readonly #known = new Map<object, object>();

  rewrite(node: Node): object {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    const copy: Record<string, unknown> = {};
    this.#known.set(node, copy);
    const { fallback, ...rest } = node;
    for (const [member, value] of Object.entries(rest)) copy[member] = member === "pipe" ? this.#pipe(value) : this.#within(value);
    if (typeof copy["default"] === "function") delete copy["default"]; // I4
    if (node.type === "variant") copy["type"] = "union"; // I5
    if (node.type === "lazy") copy["getter"] = () => this.#within((node["getter"] as (input: unknown) => unknown)(undefined));
    if (fallback === undefined) return copy;
    const anything = orAnything(copy, fallback);
    this.#known.set(node, anything);
    return anything;
  }

  #within(value: unknown): unknown {
    if (isNode(value)) return this.rewrite(value);
    if (Array.isArray(value)) return value.some(isNode) ? value.map((each) => this.#within(each)) : value;
    if (!isEntries(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#within(each)]));
  }

  #pipe(items: unknown): unknown {
    const flat = flatten(items as readonly Node[]);
    const change = flat.findIndex((item, index) => index > 0 && changes(item));
    const before = change < 0 ? flat : flat.slice(0, change);
    const after = change < 0 ? [] : flat.slice(change).flatMap(wordsOf);
    return [...before.map(withoutFormat).filter(isShown), ...after].map((item) => this.#within(item));
  }
}

/** I3. */
function orAnything(schema: object, fallback: unknown): object {
  const union = { kind: "schema", type: "union", options: [schema, { kind: "schema", type: "any" }] };
  const shown = typeof fallback === "function" ? {} : { default: fallback };
  return { kind: "schema", type: "optional", wrapped: union, ...shown };
}

/** One with a fallback is kept as it is: a fallback is the first step's own. */
function flatten(items: readonly Node[]): readonly Node[] {
  return items.flatMap((item) => "pipe" in item && item["fallback"] === undefined ? flatten(item["pipe"] as readonly Node[]) : [item]);
}

const UNCHANGING: ReadonlySet<string> = new Set(["brand", "flavor", "readonly"]);

function changes({ kind, type }: Node): boolean {
  return kind === "schema" || (kind === "transformation" && !UNCHANGING.has(type));
}

function wordsOf(item: Node): readonly Node[] {
  if (item.kind !== "metadata") return [];
  if (item.type === "title" || item.type === "description") return [item];
  const { title, description } = Object(item["metadata"]) as { readonly title?: unknown; readonly description?: unknown };
  const words = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
  return item.type === "metadata" ? [{ ...item, metadata: words }] : [];
}

/** I6. */
const PATTERNED: ReadonlySet<string> = new Set(["iso_date", "iso_date_time", "iso_time", "iso_timestamp"]);

function withoutFormat(item: Node): Node {
  return item.kind === "validation" && PATTERNED.has(item.type) ? { ...item, type: "regex" } : item;
}

/** I2, I6. */
function isShown({ kind, type, requirement }: Node): boolean {
  if (kind === "validation" && type === "url") return false;
  if (!(requirement instanceof RegExp)) return true;
  if (!["", "u"].includes(requirement.flags)) return false;
  try {
    return new RegExp(requirement.source, "u") instanceof RegExp;
  } catch {
    // Old syntax: checks of JSON Schema read every pattern as Unicode.
    return false;
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "kind" in value && "type" in value && typeof value.kind === "string";
}

function isEntries(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && Object.values(value).some(isNode);
}
