/** The lines that were typed before, in a file that only its owner can read. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export interface History {
  /** The newest first, each once. */
  readonly lines: readonly string[];
  add(line: string): void;
}

export const HISTORY_LINES = 1000;

/** A file that cannot be read or written costs the memory of lines and nothing else, so it is only told of, once. */
export function openHistory(path: string, complain: (text: string) => void): History {
  let usable = true;
  const attempt = (use: () => void) => {
    try {
      if (usable) use();
    } catch (error) {
      usable = false;
      complain(`Cannot keep what is typed in "${path}": ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const lines: string[] = [];
  attempt(() => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, "", { flag: "a", mode: 0o600 });
    const kept = readFileSync(path, "utf8").split("\n").filter((line) => line !== "");
    lines.push(...[...new Set(kept.toReversed())].slice(0, HISTORY_LINES));
    if (kept.length > 2 * HISTORY_LINES) writeFileSync(path, `${lines.toReversed().join("\n")}\n`);
  });
  return { lines, add: (line) => attempt(() => appendFileSync(path, `${line}\n`, { mode: 0o600 })) };
}
