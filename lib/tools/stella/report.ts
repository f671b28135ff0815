import type { Diagnostic, Position } from "../diagnostic.ts";
import { DiagnosticReport } from "../report.ts";
import { findPositions, type Positions } from "./positions.ts";

type Severity = Diagnostic["severity"];

/** Collects diagnostics with the position of the key they are about. */
export class Report extends DiagnosticReport {
  readonly #text: string;
  #positions: Positions | null = null;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  get impossibleDates(): readonly Position[] {
    return /-02-(?:29|3\d)/.test(this.#text) ? this.#located().impossibleDates : [];
  }

  add(severity: Severity, code: string, path: readonly string[], message: string, remedy: string): void {
    this.say(severity, code, message, remedy, () => this.#located().of(path));
  }

  addAt(position: Position | null, severity: Severity, code: string, message: string, remedy: string): void {
    this.say(severity, code, message, remedy, () => position);
  }

  /** Most manifests have nothing to report, so their text is read only once. */
  #located(): Positions {
    return this.#positions ??= findPositions(this.#text);
  }
}

/** A TOML value's kind, in words. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Date) return "a date";
  if (typeof value === "object") return "a table";
  if (typeof value === "bigint") return "an integer";
  if (typeof value === "number") return "a float";
  return typeof value === "boolean" ? "a boolean" : "a string";
}
