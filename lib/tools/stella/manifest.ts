/**
 * Reading one Stella manifest. Pure, and total: any text gives a manifest or the whole list of what is wrong with it.
 * What depends on the machine (is the program there?) is in `program.ts`.
 */
import { parse, TomlError, type TomlTable } from "smol-toml";
import { type Diagnostic, hasErrors, type Position } from "../diagnostic.ts";
import { nearest } from "../nearest.ts";
import type { Schema } from "../schema.ts";
import type { Approval } from "../tool.ts";
import { readEnv } from "./env-table.ts";
import { MAX_TABLE_DEPTH, TOO_DEEP, withoutExcess } from "./excess.ts";
import { reportMisplaced } from "./misplaced.ts";
import { readName } from "./name.ts";
import { createLocator } from "./positions.ts";
import { clip } from "../report.ts";
import { kindOf, Report } from "./report.ts";
import { readSchema } from "./schema-table.ts";

export interface Manifest {
  readonly name: string;
  readonly description: string;
  readonly command: readonly [string, ...string[]];
  readonly timeout_ms: number;
  readonly env: Readonly<Record<string, string>>;
  readonly input: Schema;
  readonly output: Schema | null;
  readonly read_only: boolean;
  readonly speculation_safe: boolean;
  readonly approval: Approval;
}

export interface ParsedManifest {
  /** What it calls itself, right or wrong; null if that cannot be told. */
  readonly name: string | null;
  readonly description: string | null;
  /** What it would run, and in which environment, as far as that can be told. */
  readonly command: readonly [string, ...string[]] | null;
  readonly env: Readonly<Record<string, string>>;
  /** Null if and only if some diagnostic is an error. */
  readonly manifest: Manifest | null;
  readonly diagnostics: readonly Diagnostic[];
}

export const DEFAULT_TIMEOUT_MS = 30_000;
export const MAX_TIMEOUT_MS = 600_000;
/** One argument is one string for the kernel, which takes 128 KiB. */
const MAX_ARGUMENT_BYTES = 131_071;

/** Top-level keys that mean something here. */
export const KNOWN_KEYS: readonly string[] = [
  "name",
  "description",
  "command",
  "timeout_ms",
  "env",
  "input_schema",
  "output_schema",
  "read_only",
  "speculation_safe",
  "approval",
];
/** Keys that Stella reads and Orrery has no use for. */
const IGNORED_KEYS = ["risk", "idempotent", "foundry"];

export async function parseManifest(text: string): Promise<ParsedManifest> {
  const parsed = parseToml(text);
  if ("diagnostic" in parsed) return { ...UNKNOWN, manifest: null, diagnostics: [parsed.diagnostic] };
  const report = new Report(text);
  const manifest = await readFields(withoutExcess(parsed.table, report), report);
  reportImpossibleDates(report);
  const { name, description } = parsed.table;
  return {
    name: typeof name === "string" ? name : null,
    description: typeof description === "string" ? description : null,
    command: mayBeProgram(manifest.command[0]) ? manifest.command : null,
    env: manifest.env,
    manifest: hasErrors(report.diagnostics) ? null : manifest,
    diagnostics: report.finish(),
  };
}

/** The parser takes 30 February. Where no date may be at all, that has been said. */
function reportImpossibleDates(report: Report): void {
  for (const position of report.impossibleDates) {
    if (report.diagnostics.some(({ severity, line }) => severity === "error" && line === position.line)) continue;
    report.addAt(position, "error", "toml_syntax", "This date is not in the calendar", "Write it as a string, or as a date that exists.");
  }
}

/** What cannot be one has been reported. */
function mayBeProgram(word: string): boolean {
  return word !== "" && !word.includes("\0") && Buffer.byteLength(word) <= MAX_ARGUMENT_BYTES;
}

const UNKNOWN = { name: null, description: null, command: null, env: {} } as const;

type Toml = { readonly table: TomlTable } | { readonly diagnostic: Diagnostic };

function parseToml(text: string): Toml {
  const mark = text.indexOf("\uFEFF", 1);
  if (mark !== -1) {
    const message = "A byte order mark may stand only at the very beginning of the file";
    return syntaxError(message, createLocator(text)(mark), "Remove the invisible character U+FEFF, or write it as \\uFEFF in a string.");
  }
  try {
    // As bigints, integers can be told from floats: `timeout_ms = 5.0` is not an integer.
    return { table: parse(text, { integersAsBigInt: true, maxDepth: MAX_TABLE_DEPTH }) };
  } catch (error) {
    if (error instanceof TomlError) {
      if (error.message.includes("excessively nested")) return { diagnostic: tooDeep(error) };
      const reason = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "";
      return syntaxError(`Not valid TOML: ${reason}`, { line: error.line, column: error.column });
    }
    return syntaxError(`Not valid TOML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Of tables and arrays in one value the parser itself counts the levels. */
function tooDeep({ line, column }: Position): Diagnostic {
  return { severity: "error", code: "too_deep", message: TOO_DEEP, line, column, remedy: "Use fewer levels." };
}

function syntaxError(
  message: string,
  position?: Position,
  remedy = "Correct it there; everything else is checked once it is TOML.",
): { readonly diagnostic: Diagnostic } {
  return {
    diagnostic: { severity: "error", code: "toml_syntax", message: clip(message, 400).toWellFormed(), ...(position ?? {}), remedy },
  };
}

/** Every field is read even if others are wrong, so that all faults come at once; the result counts only without errors. */
async function readFields(table: TomlTable, report: Report): Promise<Manifest> {
  reportUnknownKeys(table, report);
  const name = readName(table["name"], report);
  const description = readDescription(table["description"], report);
  const command = readCommand(table["command"], report);
  const timeout_ms = readTimeout(table["timeout_ms"], report);
  const env = readEnv(table["env"], report, KNOWN_KEYS);
  reportMisplaced(table, report, KNOWN_KEYS);
  const input = await readSchema(table, "input_schema", report);
  const output = table["output_schema"] === undefined ? null : await readSchema(table, "output_schema", report);
  const read_only = readFlag(table, "read_only", report);
  const speculation_safe = readFlag(table, "speculation_safe", report) ?? false;
  if (speculation_safe && read_only === false) {
    const message = `"speculation_safe" needs "read_only": a tool that changes something cannot be run on suspicion`;
    report.add("error", "speculation_unsafe", ["speculation_safe"], message, "Add read_only = true, or remove speculation_safe.");
  }
  const approval = readApproval(table["approval"], report);
  return { name, description, command, timeout_ms, env, input, output, read_only: read_only ?? false, speculation_safe, approval };
}

function reportUnknownKeys(table: TomlTable, report: Report): void {
  for (const key of Object.keys(table)) {
    if (KNOWN_KEYS.includes(key)) continue;
    if (report.isFull) return;
    if (IGNORED_KEYS.includes(key)) {
      report.add("info", "ignored_key", [key], `"${key}" has no effect here`, "Remove it if the file is for Orrery alone.");
      continue;
    }
    const near = nearest(key, KNOWN_KEYS);
    const remedy = near === null ? `Known keys: ${KNOWN_KEYS.join(", ")}.` : `Did you mean "${near}"?`;
    report.add("warning", "unknown_key", [key], `"${clip(key)}" is not a key of a manifest and has no effect`, remedy);
  }
}

function readDescription(value: unknown, report: Report): string {
  if (value === undefined) {
    report.add(
      "error",
      "missing_description",
      [],
      `"description" is missing`,
      "Say in one sentence what the tool does and when to use it.",
    );
  } else if (typeof value !== "string") {
    report.add("error", "wrong_type", ["description"], `"description" must be a string, not ${kindOf(value)}`, "Put it in quotes.");
  } else if (value.trim() === "") {
    report.add("error", "blank_description", ["description"], `"description" is blank`, "Say in one sentence what the tool does.");
  } else return value;
  return "";
}

function readCommand(value: unknown, report: Report): readonly [string, ...string[]] {
  const wrong = (code: string, message: string, path: readonly string[] = ["command"]) =>
    report.add("error", code, path, message, 'Write an array of strings: command = ["scripts/tool.sh", "--flag"].');
  if (value === undefined) wrong("missing_command", `"command" is missing`, []);
  else if (!Array.isArray(value)) wrong("wrong_type", `"command" must be an array of strings, not ${kindOf(value)}`);
  else if (value.length === 0) wrong("empty_command", `"command" is an empty array`);
  else {
    for (const [index, part] of value.entries()) {
      if (report.isFull) break;
      if (typeof part !== "string") wrong("wrong_type", `Element ${index} of "command" must be a string, not ${kindOf(part)}`);
      else if (part.includes("\0")) {
        wrong("command_nul", `Element ${index} of "command" contains a NUL character, which no argument can hold`);
      } else if (Buffer.byteLength(part) > MAX_ARGUMENT_BYTES) {
        wrong("command_too_large", `Element ${index} of "command" is longer than ${MAX_ARGUMENT_BYTES} bytes`);
      }
    }
    const [program, ...rest] = value as readonly unknown[];
    if (typeof program === "string" && program.trim() !== "") return [program, ...rest.filter((part) => typeof part === "string")];
    if (typeof program === "string") wrong("empty_command", `The first element of "command" is blank; it names the program`);
  }
  return [""];
}

function readTimeout(value: unknown, report: Report): number {
  const path = ["timeout_ms"];
  if (value === undefined || value === 0n) {
    const message = value === undefined ? `"timeout_ms" is not given` : `"timeout_ms" is 0`;
    report.add(
      "info",
      "default_timeout",
      path,
      `${message}; the default of ${DEFAULT_TIMEOUT_MS} ms applies`,
      `Write timeout_ms = ${DEFAULT_TIMEOUT_MS}, or what it needs.`,
    );
    return DEFAULT_TIMEOUT_MS;
  }
  if (typeof value !== "bigint") {
    const found = typeof value === "number" ? "a float" : kindOf(value);
    report.add(
      "error",
      "wrong_type",
      path,
      `"timeout_ms" must be a whole number of milliseconds, not ${found}`,
      `Write an integer: timeout_ms = ${DEFAULT_TIMEOUT_MS}.`,
    );
  } else if (value < 0n) {
    report.add("error", "negative_timeout", path, `"timeout_ms" is negative`, `Write a number from 1 to ${MAX_TIMEOUT_MS}.`);
  } else if (value > BigInt(MAX_TIMEOUT_MS)) {
    const message = `"timeout_ms" is over the limit; ${MAX_TIMEOUT_MS} ms (10 minutes) apply`;
    report.add("warning", "timeout_clamped", path, message, `Write a number from 1 to ${MAX_TIMEOUT_MS}.`);
    return MAX_TIMEOUT_MS;
  } else return Number(value);
  return DEFAULT_TIMEOUT_MS;
}

/** Null if it is neither: what it was meant to be is not known. */
function readFlag(table: TomlTable, key: "read_only" | "speculation_safe", report: Report): boolean | null {
  const value = table[key];
  if (value === undefined || typeof value === "boolean") return value ?? false;
  report.add("error", "wrong_type", [key], `"${key}" must be true or false, not ${kindOf(value)}`, `Write ${key} = true, without quotes.`);
  return null;
}

function readApproval(value: unknown, report: Report): Approval {
  if (value === undefined) return "never";
  if (value === "never" || value === "always" || value === "destructive") return value;
  const found = typeof value === "string" ? `"${clip(value)}"` : kindOf(value);
  const message = `"approval" must be "never", "always" or "destructive", not ${found}`;
  report.add("error", "invalid_approval", ["approval"], message, 'Write approval = "always" to be asked every time, or leave it out.');
  return "always";
}
