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

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

/** One line for people: `line 12, column 3: message. remedy`. */
export function describeDiagnostic({ line, column, message, remedy }: Diagnostic): string {
  const where = line === undefined ? "" : `line ${line}${column === undefined ? "" : `, column ${column}`}: `;
  return `${where}${message.replace(/[^.!?]$/, "$&.")} ${remedy}`;
}
