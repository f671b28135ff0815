import { hasErrors, type Position, type RemediedDiagnostic } from "../diagnostic.ts";
import { findPositions, type Positions } from "./positions.ts";

type Severity = RemediedDiagnostic["severity"];

/** A file with more faults than anybody reads is not worth the time. */
const MOST = 200;
const MAX_MESSAGE = 1000;

/** Collects diagnostics with the position of the key they are about. */
export class Report {
  readonly diagnostics: RemediedDiagnostic[] = [];
  readonly #text: string;
  #positions: Positions | null = null;
  #left = MOST;
  #dropped = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get impossibleDates(): readonly Position[] {
    return /-02-(?:29|3\d)/.test(this.#text) ? this.#located().impossibleDates : [];
  }

  /** Whether one more warning would be kept. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  add(severity: Severity, code: string, path: readonly string[], message: string, remedy: string): void {
    if (!this.#isKept(severity)) this.#dropped++;
    else this.#keep(this.#located().of(path), severity, code, message, remedy);
  }

  addAt(position: Position | null, severity: Severity, code: string, message: string, remedy: string): void {
    if (!this.#isKept(severity)) this.#dropped++;
    else this.#keep(position, severity, code, message, remedy);
  }

  /** Everything, and a word on what is not here. */
  finish(): readonly RemediedDiagnostic[] {
    if (!this.isFull) return this.diagnostics;
    const message = this.#dropped === 0 ? `Only the first ${MOST} are told` : `There are at least ${this.#dropped} more`;
    return [...this.diagnostics, { severity: "info", code: "more_diagnostics", message, remedy: "Repair these, and check again." }];
  }

  /** Whatever was left out, the first error never is. */
  #isKept(severity: Severity): boolean {
    return this.#left > 0 || (severity === "error" && !hasErrors(this.diagnostics));
  }

  #keep(position: Position | null, severity: Severity, code: string, message: string, remedy: string): void {
    this.#left--;
    this.diagnostics.push({
      severity,
      code,
      message: (message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message).toWellFormed(),
      ...(position ?? {}),
      remedy: remedy.toWellFormed(),
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

export function clip(text: string, most = 80): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
