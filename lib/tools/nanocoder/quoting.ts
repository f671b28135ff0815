/**
 * How a value is written so that the shell sees it as it is, for every place where one may stand.
 *
 * In a word it is single-quoted. Inside the author's own quotes the quote characters arrive as part of the value, as
 * they would if the author's quotes were around a single-quoted word; nothing in it expands or ends the string. In a
 * here-document it is plain text.
 */
import type { Spot } from "./shell-place.ts";
import type { HereDocument } from "./shell-state.ts";

/** Expands to nothing, in every shell and under `set -u`: keeps a line from being the end of its here-document. */
const NOTHING = "${0+}";

/** `texts`: the value, or the elements of a list. */
export function encode(texts: readonly string[], spot: Spot): string {
  const written = write(texts, spot);
  return spot.backticks === 0 ? written : escapeForBackticks(written, spot.backticks);
}

export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function write(texts: readonly string[], spot: Spot): string {
  const quoted = () => texts.map((text) => `'${text}'`).join(" ");
  const nested = spot.documents.length > 0;
  switch (spot.kind) {
    case "word":
      return guardLines(texts.map(singleQuoted).join(" "), nested ? "''" : "");
    case "double":
      return guardLines(quoted().replaceAll(/[\\$`"]/g, "\\$&"), nested ? '""' : "");
    case "single":
      return guardLines(quoted().replaceAll("'", "'\\''"), nested ? "''" : "");
    case "ansi":
      return `'${guardLines(singleQuoted(quoted()), nested ? "''" : "")}$'`;
    case "here":
      return guardHereLines(texts.join(" ").replaceAll(/[\\$`]/g, "\\$&"), spot);
    case "quoted_here":
      return texts.join(" ");
  }
}

/**
 * In a here-document further out no line of the value may be that one's end or begin with a tab that `<<-` drops, and
 * no line may end with a backslash, which would go together with the line's end.
 */
function guardLines(written: string, guard: string): string {
  return guard === ""
    ? written
    : written.replaceAll(/(\\?)\n/g, (_all, backslash: string) => `${backslash}${backslash === "" ? "" : guard}\n${guard}`);
}

function guardHereLines(written: string, { documents, open }: Spot): string {
  const outer = documents.length > 1;
  return written.split("\n").map((line, index) => {
    const atLineStart = index > 0 || open;
    return outer || (atLineStart && documents.some((document) => mayBeTaken(line, document))) ? NOTHING + line : line;
  }).join("\n");
}

/** Whether a line, with whatever is around it, could be taken for the end, lose a tab or lose a byte. */
function mayBeTaken(line: string, { delimiter, strip, substituted, damaging }: HereDocument): boolean {
  if (substituted || (strip && line.startsWith("\t"))) return true;
  let alike = 0;
  while (alike < line.length && delimiter.includes(line.slice(0, alike + 1))) alike++;
  return alike === line.length || (damaging && line.charCodeAt(alike) > 127);
}

function escapeForBackticks(written: string, levels: number): string {
  let escaped = written;
  for (let level = 0; level < levels; level++) escaped = escaped.replaceAll(/[\\$`]/g, "\\$&");
  return escaped;
}

/**
 * What a value in a quoted here-document does to it, where nothing can be escaped; null if it is fine.
 * @param from and `to`: where the value stands in the finished script.
 */
export function hereFault(script: string, from: number, to: number, { documents, backticks }: Spot): string | null {
  const start = script.lastIndexOf("\n", from - 1) + 1;
  const end = script.indexOf("\n", to);
  if (documents.length > 1 && script.slice(from, to + 1).includes("\\\n")) {
    return "a backslash at the end of a line would take the next line with it";
  }
  const lines = script.slice(start, end < 0 ? script.length : end).split("\n").map((line) => takeOutBackslashes(line, backticks));
  for (const { delimiter, strip, substituted, damaging } of documents) {
    // Tabs before the value are the author's own.
    const own = strip ? /^\t*/.exec(script.slice(start, from))?.[0].length ?? 0 : 0;
    const kept = lines.map((line, index) => index === 0 ? line.slice(own) : line);
    if (strip && kept.some((line, index) => line.startsWith("\t") && (index > 0 || start + own === from))) {
      return `the here-document "${delimiter}" (<<-) would drop the tabs at the start of its lines`;
    }
    if (kept.some((line) => endsDocument(line, delimiter, substituted))) return `a line of it would end the here-document "${delimiter}"`;
    if (damaging && kept.some((line) => losesByte(line, delimiter))) {
      return `sh may damage a line that begins like the here-document's "${delimiter}"`;
    }
  }
  return null;
}

function endsDocument(line: string, delimiter: string, substituted: boolean): boolean {
  return line === delimiter || (substituted && line.startsWith(delimiter) && line.slice(delimiter.length).includes(")"));
}

function losesByte(line: string, delimiter: string): boolean {
  let alike = 0;
  while (alike < delimiter.length && line[alike] === delimiter[alike]) alike++;
  return alike > 0 && line.charCodeAt(alike) > 127;
}

function takeOutBackslashes(line: string, levels: number): string {
  let text = line;
  for (let level = 0; level < levels; level++) text = text.replaceAll(/\\([\\$`])/g, "$1");
  return text;
}
