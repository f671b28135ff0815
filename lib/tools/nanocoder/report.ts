import type { Diagnostic, Position } from "../diagnostic.ts";
import { DiagnosticReport } from "../report.ts";

/** Collects diagnostics of one file, each at an offset of its text. */
export class Report extends DiagnosticReport {
  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  add(severity: Diagnostic["severity"], code: string, at: number, message: string, remedy: string): void {
    this.say(severity, code, message, remedy, () => this.positionOf(at));
  }

  positionOf(at: number): Position {
    const before = this.#text.slice(0, at);
    return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
  }

  /** In order of their places. */
  sorted(): readonly Diagnostic[] {
    return this.finish().toSorted((left, right) => lineOf(left) - lineOf(right) || (left.column ?? 0) - (right.column ?? 0));
  }
}

/** What has no place comes last. */
function lineOf({ line = Infinity }: Diagnostic): number {
  return line;
}
