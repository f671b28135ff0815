import type { TomlTable } from "smol-toml";
import { compileOwnSchema, compileSchema, type Schema } from "../schema.ts";
import { nameExports } from "./exports.ts";
import { clip, kindOf, type Report } from "./report.ts";

const MAX_DEPTH = 70;

/** The schema under `input_schema` or `output_schema`; faults go to the report. Absent or wrong: one that fits all objects. */
export async function readSchema(
  table: TomlTable,
  key: "input_schema" | "output_schema",
  report: Report,
  topLevel: readonly string[],
): Promise<Schema> {
  const anything = compileOwnSchema({ type: "object", properties: {} });
  const source = table[key];
  if (source === undefined) {
    report.add("info", "no_input_schema", [], `There is no [${key}]; the tool takes any object`);
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
  reportMisplaced(source as TomlTable, key, report, topLevel);
  const { schema, problems } = await compileSchema(toJson(source, [key], report), key === "input_schema" ? "input" : "output");
  for (const { severity, code, pointer, message, remedy } of problems) {
    report.add(severity, code, [key, ...tokensOf(pointer)], `${message} (${key}${pointer})`, remedy);
  }
  if (schema !== undefined && key === "input_schema") reportCollisions(schema, report);
  return schema ?? anything;
}

/** Keys of the manifest that no schema has: below a table header they belong to that table. */
function reportMisplaced(source: TomlTable, key: string, report: Report, topLevel: readonly string[]): void {
  for (const name of topLevel) {
    // A schema has a description of its own.
    if (name === "description" || !Object.hasOwn(source, name)) continue;
    const message = `"${name}" stands under [${key}], where it means nothing`;
    report.add("warning", "misplaced_key", [key, name], message, "Move it above the first [table].");
  }
}

function reportCollisions(schema: Schema, report: Report): void {
  const properties = Object.keys((schema.declared["properties"] as object | undefined) ?? {});
  for (const { name, key, rivals } of nameExports(properties)) {
    const last = rivals.at(-1);
    if (last === undefined) continue;
    const message = `The properties ${[key, ...rivals].map((property) => `"${clip(property)}"`).join(", ")} would all be exported as ${
      clip(name)
    }, so none of them is`;
    report.add(
      "warning",
      "export_collision",
      ["input_schema", "properties", last],
      message,
      "Rename one, or read them from standard input.",
    );
  }
}

/** TOML as JSON. What JSON does not have is reported. */
function toJson(value: unknown, path: readonly string[], report: Report): unknown {
  if (path.length > MAX_DEPTH) {
    report.add("error", "schema_too_large", path, `The schema is nested deeper than ${MAX_DEPTH} levels`);
    return null;
  }
  if (typeof value === "bigint") return toNumber(value, path, report);
  if (typeof value === "number" && !Number.isFinite(value)) return refuse(`${value} cannot be written in JSON`, path, report);
  if (value instanceof Date) return refuse("A date cannot be written in JSON; put it in quotes", path, report);
  if (Array.isArray(value)) return value.map((part, index) => toJson(part, [...path, String(index)], report));
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, part] of Object.entries(value)) copy[name] = toJson(part, [...path, name], report);
  return copy;
}

function toNumber(value: bigint, path: readonly string[], report: Report): unknown {
  if (value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  return refuse(`${value} is beyond 2^53, where integers cannot be told apart`, path, report);
}

function refuse(message: string, path: readonly string[], report: Report): null {
  report.add("error", "schema_value", path, message);
  return null;
}

function tokensOf(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
