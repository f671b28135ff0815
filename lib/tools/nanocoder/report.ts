import { type Diagnostic, hasErrors, type Position } from "../diagnostic.ts";

/** A file with more faults than anybody reads is not worth the time. */
const MOST = 200;

/** Collects diagnostics of one file, each at an offset of its text. */
export class Report {
  readonly diagnostics: Diagnostic[] = [];
  readonly #text: string;
  #left = MOST;

  constructor(text: string) {
    this.#text = text;
  }

  add(severity: Diagnostic["severity"], code: string, at: number, message: string, remedy?: string): void {
    if (this.#left-- <= 0 && (severity !== "error" || hasErrors(this.diagnostics))) return;
    this.diagnostics.push({
      severity,
      code,
      message: message.toWellFormed(),
      ...positionAt(this.#text, at),
      ...(remedy === undefined ? {} : { remedy: remedy.toWellFormed() }),
    });
  }

  lineOf(at: number): number {
    return positionAt(this.#text, at).line;
  }

  /** In order of their places. */
  sorted(): readonly Diagnostic[] {
    return this.diagnostics.toSorted((left, right) => (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0));
  }
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

export function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
