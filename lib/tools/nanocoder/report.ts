import type { Diagnostic, Position } from "../diagnostic.ts";
import { DiagnosticReport } from "../report.ts";

/** Collects diagnostics of one file, each at an offset of its text. */
export class Report extends DiagnosticReport {
  readonly #text: string;
  readonly #lost = new Set<number>();

  constructor(text: string) {
    super();
    this.#text = text;
  }

  add(severity: Diagnostic["severity"], code: string, at: number, message: string, remedy: string): void {
    if (this.#lost.has(at)) return;
    this.say(severity, code, message, remedy, () => this.positionOf(at));
  }

  /** What stands there has a fault that was told, so what else is found there follows from it and is no fault of its own. */
  lose(at: number): void {
    this.#lost.add(at);
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
