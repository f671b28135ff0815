/** A schema as data: its type, and the small questions that are asked of it. */

export interface SchemaObject {
  readonly [keyword: string]: unknown;
}
export type SchemaNode = boolean | SchemaObject;

export function own(record: object, key: string): unknown {
  return Object.hasOwn(record, key) ? (record as Record<string, unknown>)[key] : undefined;
}

export function includesType(type: unknown, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

export function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    // A stray percent sign: then it is meant literally.
    return fragment;
  }
}

export function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value));
}

export function isResource(raw: SchemaObject): boolean {
  const id = own(raw, "$id");
  return typeof id === "string" && !id.startsWith("#");
}

export function withoutPrototype(record: SchemaObject): SchemaObject {
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(record)) copy[key] = value;
  return copy;
}

/** A copy of a value that is not a schema, with safe keys. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, part] of Object.entries(value)) copy[key] = plain(part);
  return copy;
}

export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a table";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
