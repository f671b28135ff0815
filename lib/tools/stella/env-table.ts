import { nearest } from "../nearest.ts";
import { EXPORT_PREFIX, MAX_VARIABLE_BYTES, sizeOf } from "./exports.ts";
import { clip } from "../report.ts";
import { kindOf, type Report } from "./report.ts";

/** By these a call's processes are known. */
const TAGS: readonly string[] = ["ORRERY_LINEAGE", "ORRERY_SESSION", "ORRERY_CALL"];

/** The `[env]` table; faults go to the report. `topLevel`: keys that belong above it, and easily slide into it. */
export function readEnv(value: unknown, report: Report, topLevel: readonly string[]): Readonly<Record<string, string>> {
  const env: Record<string, string> = Object.create(null);
  if (value === undefined) return env;
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date) {
    report.add(
      "error",
      "wrong_type",
      ["env"],
      `"env" must be a table of strings, not ${kindOf(value)}`,
      'Write [env] on its own line and NAME = "value" below it.',
    );
    return env;
  }
  for (const [name, entry] of Object.entries(value)) {
    if (report.isFull) break;
    reportName(name, report, topLevel);
    const problem = valueProblem(name, entry);
    if (problem === null) env[name] = entry;
    else report.add("error", problem.code, ["env", name], problem.message, problem.remedy);
  }
  return env;
}

function reportName(name: string, report: Report, topLevel: readonly string[]): void {
  const path = ["env", name];
  if (name === "" || name.includes("=") || name.includes("\0")) {
    report.add("error", "env_name", path, `"${clip(name)}" cannot be the name of a variable`, "Use letters, digits and underscores.");
  }
  const meant = topLevel.includes(name) ? name : nearest(name, topLevel.filter((key) => key.includes("_") && name === name.toLowerCase()));
  if (meant !== null && name === name.toLowerCase()) {
    const message = `"${clip(name)}" stands under [env], so it is a variable of the script and not the manifest's "${meant}"`;
    report.add("warning", "misplaced_key", path, message, "Move it above the first [table], if that is what it was meant to be.");
  }
  if (TAGS.includes(name)) {
    const message = `"${name}" is set by Orrery for every call, so this value has no effect`;
    report.add("warning", "env_reserved", path, message, "Remove it, or use another name.");
  }
  if (name.startsWith(EXPORT_PREFIX)) {
    const message = `"${clip(name)}" looks like an input; an input of that name will not be exported`;
    report.add("warning", "env_input_prefix", path, message, `Use a name that does not start with ${EXPORT_PREFIX}.`);
  }
}

function valueProblem(name: string, value: unknown): { code: string; message: string; remedy: string } | null {
  const shown = clip(name);
  if (typeof value !== "string") {
    return { code: "wrong_type", message: `[env] "${shown}" must be a string, not ${kindOf(value)}`, remedy: "Put the value in quotes." };
  }
  if (value.includes("\0")) {
    const message = `[env] "${shown}" contains a NUL character, which no variable can hold`;
    return { code: "env_nul", message, remedy: "Remove \\u0000." };
  }
  const size = sizeOf(name, value);
  if (size <= MAX_VARIABLE_BYTES) return null;
  return {
    code: "env_too_large",
    message: `[env] "${shown}" has ${size} bytes, and a variable may have ${MAX_VARIABLE_BYTES}`,
    remedy: "Put the text in a file and give its path.",
  };
}
