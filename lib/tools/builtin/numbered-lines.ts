/** A text as a model reads it: numbered lines, bounded in number, in width and in all. */
export const MAX_LINES = 2000;
const MAX_LINE_BYTES = 1000;

export type NumberedLines =
  | { readonly kind: "lines"; readonly text: string; /** Nothing of the file is missing. */ readonly whole: boolean }
  | { readonly kind: "past_end"; readonly lines: number };

export interface LineRange {
  /** The first line, from 1. */
  readonly offset: number;
  readonly limit: number;
}

/** At least one line is shown, whatever `max_bytes` says. */
export function numberLines(text: string, { offset, limit }: LineRange, max_bytes: number): NumberedLines {
  if (text === "") return { kind: "lines", text: "(the file is empty)", whole: true };
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (offset > lines.length) return { kind: "past_end", lines: lines.length };
  const shown: string[] = [];
  let bytes = 0;
  let shortened = 0;
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const cut = shortenLine(line.replace(/\r$/, ""));
    const numbered = `${String(offset + index).padStart(6)}\t${cut.text}`;
    bytes += Buffer.byteLength(numbered) + 1;
    if (bytes > max_bytes && shown.length > 0) break;
    if (cut.shortened) shortened++;
    shown.push(numbered);
  }
  const last = offset - 1 + shown.length;
  const notes = [
    ...(last < lines.length ? [`(lines ${offset}–${last} of ${lines.length}; continue with offset ${last + 1})`] : []),
    ...(shortened > 0 ? [`(${shortened} lines are longer than ${MAX_LINE_BYTES} bytes and were cut)`] : []),
  ];
  return { kind: "lines", text: [...shown, ...notes].join("\n"), whole: offset === 1 && last === lines.length && shortened === 0 };
}

function shortenLine(line: string): { readonly text: string; readonly shortened: boolean } {
  if (line.length <= MAX_LINE_BYTES / 3 || Buffer.byteLength(line) <= MAX_LINE_BYTES) return { text: line, shortened: false };
  const bytes = Buffer.from(line).subarray(0, MAX_LINE_BYTES);
  const text = new TextDecoder("utf-8").decode(bytes, { stream: true });
  return { text: `${text}…`, shortened: true };
}
