/** A tool's file in its two parts. What has no valid frontmatter is an error, never a tool with defaults. */

export type SplitFile =
  | {
    readonly kind: "split";
    /** The whole file without its byte order mark, lines ended by LF alone: what positions are counted in. */
    readonly text: string;
    readonly yaml: string;
    readonly yamlAt: number;
    /** Without blank lines around it. */
    readonly body: string;
    readonly bodyAt: number;
  }
  | { readonly kind: "fault"; readonly code: string; readonly message: string; readonly remedy: string; readonly line: number };

const DELIMITER = /^---[ \t]*$/;

export function splitFile(source: string): SplitFile {
  const text = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const lines = text.split("\n");
  if (!DELIMITER.test(lines[0] ?? "")) return noOpening(lines);
  const close = lines.findIndex((line, index) => index > 0 && DELIMITER.test(line));
  if (close < 0) {
    return {
      kind: "fault",
      code: "unclosed_frontmatter",
      message: "The frontmatter is never closed",
      remedy: "Write --- alone on a line below it, without spaces before it.",
      line: lines.length,
    };
  }
  const yamlAt = (lines[0]?.length ?? 0) + 1;
  const yaml = lines.slice(1, close).map((line) => `${line}\n`).join("");
  const rest = yamlAt + yaml.length + (lines[close]?.length ?? 0) + 1;
  const whole = text.slice(rest);
  const body = whole.trimStart();
  return { kind: "split", text, yaml, yamlAt, body: body.replace(/\n\s*$/, ""), bodyAt: rest + whole.length - body.length };
}

/** Whether a text means to have frontmatter, right or wrong. A longer row of dashes is a rule between paragraphs. */
export function beginsFrontmatter(source: string): boolean {
  return /^\uFEFF?\s*---(?!-)/.test(source);
}

function noOpening(lines: readonly string[]): SplitFile {
  const first = lines.findIndex((line) => line.trim() !== "");
  const remedy = "Begin the file with --- alone on its first line.";
  const fault = { kind: "fault", code: "no_frontmatter", remedy } as const;
  if (first > 0 && DELIMITER.test(lines[first] ?? "")) {
    return {
      ...fault,
      message: `The frontmatter begins on line ${first + 1}, and only blank lines come before it`,
      remedy: "Remove the blank lines.",
      line: 1,
    };
  }
  if (lines[0]?.startsWith("---")) return { ...fault, message: "The first line must be --- and nothing else", line: 1 };
  return { ...fault, message: "The file has no frontmatter", line: 1 };
}
