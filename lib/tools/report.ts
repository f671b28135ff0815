import { type Diagnostic, hasErrors, type Position } from "./diagnostic.ts";

/** A file with more faults than anybody reads is not worth the time. */
const MOST = 200;
const MAX_MESSAGE = 1000;

/** Collects what there is to say of one file. Each format brings how a place in it is told. */
export class DiagnosticReport {
  readonly diagnostics: Diagnostic[] = [];
  #left = MOST;
  #dropped = 0;

  /** Whether one more warning would be left out. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Whatever is left out, the first error never is. `locate` is asked only for what is kept. */
  say(severity: Diagnostic["severity"], code: string, message: string, remedy: string, locate: () => Position | null): void {
    if (this.isFull && (severity !== "error" || hasErrors(this.diagnostics))) {
      this.#dropped++;
      return;
    }
    this.#left--;
    this.diagnostics.push({
      severity,
      code,
      message: clip(message, MAX_MESSAGE).toWellFormed(),
      ...locate(),
      remedy: remedy.toWellFormed(),
    });
  }

  /** Everything, and a word on what is not here. */
  finish(): readonly Diagnostic[] {
    if (!this.isFull) return this.diagnostics;
    const message = this.#dropped === 0 ? `Only the first ${MOST} are told` : `There are at least ${this.#dropped} more`;
    return [...this.diagnostics, { severity: "info", code: "more_diagnostics", message, remedy: "Repair these, and check again." }];
  }
}

export function clip(text: string, most = 80): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
