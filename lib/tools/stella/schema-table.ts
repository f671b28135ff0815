import type { TomlTable } from "smol-toml";
import { fromPointerToken } from "../../session/json-pointer.ts";
import { compileOwnSchema } from "../own-schema.ts";
import { compileSchema, type Schema } from "../schema.ts";
import { nameExports } from "./exports.ts";
import { clip } from "../report.ts";
import { kindOf, type Report } from "./report.ts";

const SHOWN_POINTER = 200;
const DATE_REMEDY = "Put it in quotes if it is meant as text, or write what the keyword takes.";

/** The schema under `input_schema` or `output_schema`; faults go to the report. Absent or wrong: one that fits all objects. */
export async function readSchema(
  table: TomlTable,
  key: "input_schema" | "output_schema",
  report: Report,
): Promise<Schema> {
  const anything = compileOwnSchema({ type: "object", properties: {} });
  const source = table[key];
  if (source === undefined) {
    report.add(
      "info",
      "no_input_schema",
      [],
      `There is no [${key}]; the tool takes any object`,
      'Describe the input: [input_schema] with type = "object".',
    );
    return anything;
  }
  if (typeof source !== "object" || Array.isArray(source) || source instanceof Date) {
    report.add(
      "error",
      "wrong_type",
      [key],
      `"${key}" must be a table, not ${kindOf(source)}`,
      `Write [${key}] on its own line and the schema below it.`,
    );
    return anything;
  }
  const copy = new JsonCopy(report);
  const json = copy.of(source, [key]);
  const { schema, problems } = await compileSchema(json, key === "input_schema" ? "input" : "output", "refuse");
  for (const { severity, code, pointer, message, remedy } of problems) {
    const path = [key, ...tokensOf(pointer)];
    if (copy.explains(path)) continue;
    report.add(
      severity,
      code,
      path,
      `${message} (${key}${pointer.length > SHOWN_POINTER ? `${pointer.slice(0, SHOWN_POINTER)}…` : pointer})`,
      remedy,
    );
  }
  if (key === "input_schema") reportCollisions(propertiesOf(schema?.declared ?? json), report);
  return schema ?? anything;
}

function propertiesOf(schema: unknown): readonly string[] {
  const properties = typeof schema === "object" && schema !== null && "properties" in schema ? schema.properties : null;
  return typeof properties === "object" && properties !== null && !Array.isArray(properties) ? Object.keys(properties) : [];
}

function reportCollisions(properties: readonly string[], report: Report): void {
  if (properties.includes("")) {
    const message = "A property has an empty name, so it gives no variable";
    report.add("warning", "empty_property", ["input_schema", "properties", ""], message, "Give it a name.");
  }
  for (const { name, key, rivals } of nameExports(properties)) {
    const last = rivals.at(-1);
    if (last === undefined || report.isFull) continue;
    const message = `The properties ${[key, ...rivals].slice(0, 8).map((property) => `"${clip(property)}"`).join(", ")}${
      rivals.length > 7 ? " and others" : ""
    } would all be exported as ${clip(name)}, so none of them is`;
    report.add(
      "warning",
      "export_collision",
      ["input_schema", "properties", last],
      message,
      "Rename one, or read them from standard input.",
    );
  }
}

/** TOML as JSON, which is nested no deeper than `excess.ts` lets it, and the places of what JSON does not have, which are reported. */
class JsonCopy {
  readonly #report: Report;
  readonly #refused = new Set<string>();

  constructor(report: Report) {
    this.#report = report;
  }

  of(value: unknown, path: readonly string[]): unknown {
    if (typeof value === "bigint") return this.#integer(value, path);
    if (typeof value === "number" && !Number.isFinite(value)) {
      return this.#refuse(infinite(value), "Leave it out, or write a smaller number.", path);
    }
    if (value instanceof Date) return this.#refuse("A date cannot be written in JSON", DATE_REMEDY, path);
    if (Array.isArray(value)) return value.map((part, index) => this.of(part, [...path, String(index)]));
    if (typeof value !== "object" || value === null) return value;
    const copy: Record<string, unknown> = Object.create(null);
    for (const [name, part] of Object.entries(value)) copy[name] = this.of(part, [...path, name]);
    return copy;
  }

  /** Whether what is wrong here comes of a value that was refused: the keyword's own, or one in its list. */
  explains(path: readonly string[]): boolean {
    const place = JSON.stringify(path).slice(0, -1);
    return [...this.#refused].some((refused) => refused === place || refused.startsWith(`${place},`));
  }

  #integer(value: bigint, path: readonly string[]): unknown {
    if (value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    const message = `${clip(String(value))} is beyond 2^53, where integers cannot be told apart`;
    return this.#refuse(message, "Use a smaller number, or a string with a pattern.", path);
  }

  #refuse(message: string, remedy: string, path: readonly string[]): null {
    this.#report.add("error", "schema_value", path, message, remedy);
    this.#refused.add(JSON.stringify(path).slice(0, -1));
    return null;
  }
}

function infinite(value: number): string {
  return Number.isNaN(value)
    ? '"nan" cannot be written in JSON'
    : "A number that is infinite, or too large for a double, cannot be written in JSON";
}

function tokensOf(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(fromPointerToken);
}
