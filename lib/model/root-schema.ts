/**
 * The root of a tool's schema without what OpenAI and Anthropic refuse there: `allOf`, `anyOf`, `oneOf`, `not`,
 * `enum` and `$ref`. Their properties become the root's own, so the model still sees every parameter; what they
 * demand beyond that is said in the description.
 */
import { fromPointerToken } from "../session/json-pointer.ts";
import { type Fields, isFields, listIn, textIn } from "./fields.ts";

const REFUSED = ["allOf", "anyOf", "oneOf", "not", "enum", "$ref"] as const;
/** What lies deeper is not gathered. */
const MAX_DEPTH = 32;
/** Characters of a demand that are worth a model's attention. */
const MAX_WORDS = 2000;

export function flattenRoot(root: Fields): Fields {
  const present = REFUSED.filter((keyword) => root[keyword] !== undefined);
  if (present.length === 0) return root;
  const { properties, required } = new Gathering(root).shapeOf(root, 0);
  const kept = Object.fromEntries(Object.entries(root).filter(([keyword]) => !present.some((each) => each === keyword)));
  const demand = Object.fromEntries(present.map((keyword) => [keyword, root[keyword]]));
  return {
    ...kept,
    ...describe(root, JSON.stringify(demand)),
    properties: Object.fromEntries([...properties].map(([name, schemas]) => [name, oneOrAny([...schemas.values()])])),
    ...(required.size === 0 ? {} : { required: [...required] }),
  };
}

/** What an object may and must have. A parameter that is told of twice, and differently, may be either. */
interface Shape {
  /** Schemas by name, then by their text. */
  readonly properties: Map<string, Map<string, unknown>>;
  readonly required: Set<string>;
}

class Gathering {
  readonly #root: Fields;
  /** Every schema is looked at once, however many references lead to it. */
  readonly #known = new Map<unknown, Shape>();

  constructor(root: Fields) {
    this.#root = root;
  }

  shapeOf(schema: unknown, depth: number): Shape {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const shape: Shape = { properties: new Map(), required: new Set() };
    this.#known.set(schema, shape);
    const target = resolve(schema, this.#root);
    if (target === undefined || depth > MAX_DEPTH) return shape;
    if (isFields(target.properties)) { for (const [name, each] of Object.entries(target.properties)) addProperty(shape, name, each); }
    for (const name of listIn(target, "required")) if (typeof name === "string") shape.required.add(name);
    for (const each of [...(target === schema ? [] : siblings(schema)), ...listIn(target, "allOf")]) {
      const part = this.shapeOf(each, depth + 1);
      addProperties(shape, part);
      for (const name of part.required) shape.required.add(name);
    }
    for (const keyword of ["anyOf", "oneOf"]) {
      const parts = listIn(target, keyword).map((each) => this.shapeOf(each, depth + 1));
      for (const part of parts) addProperties(shape, part);
      const [first, ...others] = parts;
      for (const name of first?.required ?? []) if (others.every((part) => part.required.has(name))) shape.required.add(name);
    }
    return shape;
  }
}

function addProperties(shape: Shape, part: Shape): void {
  for (const [name, schemas] of part.properties) for (const schema of schemas.values()) addProperty(shape, name, schema);
}

function addProperty({ properties }: Shape, name: string, schema: unknown): void {
  const known = properties.get(name) ?? new Map<string, unknown>();
  properties.set(name, known.set(JSON.stringify(schema), schema));
}

function oneOrAny(schemas: readonly unknown[]): unknown {
  return schemas.length === 1 ? schemas[0] : { anyOf: schemas };
}

/** What stands beside a `$ref` holds as well. */
function siblings(schema: unknown): readonly Fields[] {
  if (!isFields(schema)) return [];
  const { $ref: _ref, ...rest } = schema;
  return [rest];
}

/** The schema that a local `$ref` leads to; undefined if it leads nowhere. */
function resolve(schema: unknown, root: Fields): Fields | undefined {
  const seen = new Set<unknown>();
  let target = schema;
  while (isFields(target) && typeof target.$ref === "string" && !seen.has(target)) {
    seen.add(target);
    const path = /^#(\/.*)?$/.exec(target.$ref);
    if (path === null) return undefined;
    target = follow(root, path[1] ?? "");
  }
  return isFields(target) && !seen.has(target) ? target : undefined;
}

function follow(root: Fields, pointer: string): unknown {
  let at: unknown = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = decodePart(part);
    if (isFields(at) && Object.hasOwn(at, key)) at = at[key];
    else at = Array.isArray(at) ? at[Number(key)] : undefined;
  }
  return at;
}

function decodePart(part: string): string {
  const unescaped = fromPointerToken(part);
  try {
    return decodeURIComponent(unescaped);
  } catch {
    // A lone percent sign: the key has it too.
    return unescaped;
  }
}

function describe(root: Fields, demand: string): Fields {
  if (demand.length > MAX_WORDS) return {};
  const description = [textIn(root, "description"), `The whole input must also satisfy ${demand}`].filter((each) => each !== undefined);
  return { description: description.join("\n\n") };
}
