/** What is worth saying about a tool's file. `code` is stable; `remedy` says what would be right. */
export interface Diagnostic {
  readonly severity: "error" | "warning" | "info";
  readonly code: string;
  readonly message: string;
  /** From 1, where the format tells. */
  readonly line?: number;
  readonly column?: number;
  readonly remedy: string;
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** As a reader of the file comes to them; behind these what has no place in it. */
export function inOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const placeOf = ({ line = Infinity, column = 0 }: Diagnostic) => [line, column] as const;
  return diagnostics.toSorted((left, right) => {
    const [[line, column], [otherLine, otherColumn]] = [placeOf(left), placeOf(right)];
    return line === otherLine ? column - otherColumn : line < otherLine ? -1 : 1;
  });
}

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

/** One line for people: `line 12, column 3: message. remedy`. */
export function describeDiagnostic({ line, column, message, remedy }: Diagnostic): string {
  const where = line === undefined ? "" : `line ${line}${column === undefined ? "" : `, column ${column}`}: `;
  return `${where}${message.replace(/[^.!?]$/, "$&.")} ${remedy}`;
}
