import { CATALOG, GROUP_WORDS, MCP_PREFIX, RESERVED_NAMES } from "../builtin/catalog.ts";
import { clip } from "../report.ts";
import { kindOf, type Report } from "./report.ts";

const NAME = /^[a-z][a-z0-9_]{1,63}$/;

/** The tool's name; faults go to the report. */
export function readName(value: unknown, report: Report): string {
  if (value === undefined) {
    report.add("error", "missing_name", [], `"name" is missing`, 'Give the tool a name: name = "word_count".');
    return "";
  }
  if (typeof value !== "string") {
    report.add("error", "wrong_type", ["name"], `"name" must be a string, not ${kindOf(value)}`, 'Put it in quotes: name = "word_count".');
    return "";
  }
  const reason = reservedBecause(value.toLowerCase());
  if (reason !== null) {
    report.add("error", "reserved_name", ["name"], `The name "${clip(value)}" is reserved: ${reason}`, "Choose another name.");
  }
  if (reason === null && !NAME.test(value)) {
    const suggestion = suggest(value);
    const remedy = suggestion === null ? "Use lower-case letters, digits and underscores." : `Write name = "${suggestion}".`;
    const rule = "a name has 2 to 64 lower-case letters, digits and underscores, and starts with a letter";
    report.add("error", "invalid_name", ["name"], `The name "${clip(value)}" is not valid: ${rule}`, remedy);
  }
  const row = CATALOG.find(({ name, reserved }) => name === value && !reserved);
  if (row !== undefined) {
    const message = `"${value}" is also a built-in, which this tool takes the place of`;
    report.add("warning", "shadows_builtin", ["name"], message, "Choose another name to keep both.");
  }
  return value;
}

/** Why no tool from a file may have this name; null if it may. */
export function reservedBecause(name: string): string | null {
  if (RESERVED_NAMES.includes(name)) return "it is a built-in tool";
  if (GROUP_WORDS.includes(name)) return "it names a group of tools in switches";
  return name.startsWith(MCP_PREFIX) ? `names that start with "${MCP_PREFIX}" belong to MCP servers` : null;
}

/** One of which too little is left gets a word besides. */
function suggest(name: string): string | null {
  const letters = name.normalize("NFKD").replaceAll(/\p{Mark}+/gu, "");
  const words = letters.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  const fixed = words.replaceAll(/[^a-z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "");
  if (fixed === "") return null;
  const rest = fixed.replace(/^[^a-z]+/, "");
  const whole = rest.length > 1 ? rest : rest === fixed ? `${fixed}_tool` : `tool_${fixed}`;
  const cut = whole.slice(0, 64).replace(/_+$/, "");
  return NAME.test(cut) && reservedBecause(cut) === null ? cut : null;
}
