import type { Diagnostic, Position } from "../diagnostic.ts";
import { findPositions, type Positions } from "./positions.ts";

/** Collects diagnostics with the position of the key they are about. */
export class Report {
  readonly diagnostics: Diagnostic[] = [];
  readonly #text: string;
  #positions: Positions | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  get impossibleDates(): readonly Position[] {
    return /-02-(?:29|3\d)/.test(this.#text) ? this.#located().impossibleDates : [];
  }

  add(severity: Diagnostic["severity"], code: string, path: readonly string[], message: string, remedy?: string): void {
    this.addAt(this.#located().of(path), severity, code, message, remedy);
  }

  addAt(position: Position | null, severity: Diagnostic["severity"], code: string, message: string, remedy?: string): void {
    this.diagnostics.push({
      severity,
      code,
      message: message.toWellFormed(),
      ...(position ?? {}),
      ...(remedy === undefined ? {} : { remedy: remedy.toWellFormed() }),
    });
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

export function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
