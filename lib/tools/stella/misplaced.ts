/**
 * A key of the manifest that stands below a table's header belongs to that table, which is easily overlooked: the
 * manifest then lacks it without a word.
 */
import type { TomlTable } from "smol-toml";
import type { Report } from "./report.ts";

/** Keywords whose value is data of the author's, with any keys. */
const DATA: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "example"]);
/** Keywords whose keys are names. */
const MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);
/** Tables of Stella's that may have such keys of their own. */
const FOREIGN: ReadonlySet<string> = new Set(["env", "foundry"]);

type Place = "schema" | "names" | "unknown";

/** Says of each such key where it stands. `[env]` is not looked at: there it is a variable (see `env-table.ts`). */
export function reportMisplaced(table: TomlTable, report: Report, topLevel: readonly string[]): void {
  const known = new Set(topLevel);
  for (const [key, value] of Object.entries(table)) {
    if (FOREIGN.has(key)) continue;
    walk(value, [key], key === "input_schema" || key === "output_schema" ? "schema" : "unknown", known, report);
  }
}

function walk(value: unknown, path: readonly string[], place: Place, known: ReadonlySet<string>, report: Report): void {
  if (report.isFull || typeof value !== "object" || value === null || value instanceof Date) return;
  if (Array.isArray(value)) return value.forEach((part, index) => walk(part, [...path, String(index)], place, known, report));
  for (const [name, part] of Object.entries(value)) {
    if (known.has(name) && isMeant(name, part, place)) {
      const message = `"${name}" stands under [${shownPath(path)}], where it means nothing to the manifest`;
      report.add("warning", "misplaced_key", [...path, name], message, "Move it above the first [table].");
    } else if (place !== "schema" || !DATA.has(name)) walk(part, [...path, name], placeBelow(place, name), known, report);
  }
}

function placeBelow(place: Place, name: string): Place {
  if (place === "unknown") return "unknown";
  return place === "schema" && MAPS.has(name) ? "names" : "schema";
}

/** Whether the key is more likely the manifest's than what it is here. */
function isMeant(name: string, value: unknown, place: Place): boolean {
  const isTable = typeof value === "object" && value !== null && !Array.isArray(value);
  switch (place) {
    case "schema":
      // A schema has a description of its own.
      return name !== "description";
    case "names":
      // A property may have any name, but its value is a schema.
      return !isTable;
    case "unknown":
      return name === "timeout_ms" || name === "command" || name === "read_only" || name === "speculation_safe" || isTable;
  }
}

function shownPath(path: readonly string[]): string {
  const text = path.join(".");
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
