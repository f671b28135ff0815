import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { sha256 } from "../../session/digest.ts";
import { type BuiltinDefinition, failed, numberOf, succeeded, textOf } from "./definition.ts";
import { openInside, PathRefused } from "./workspace-path.ts";

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_LINES = 2000;
const MAX_LINE_BYTES = 1000;
const MAX_RENDERED_BYTES = 64 * 1024;

export const readFile: BuiltinDefinition = {
  kind: "host",
  description:
    "Read a text file of the workspace with line numbers. Give offset (first line, from 1) and limit (number of lines) to read a part of a large file.",
  input_schema: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "Path of the file, relative to the workspace." },
      offset: { type: "integer", minimum: 1, description: "First line to read, from 1." },
      limit: { type: "integer", minimum: 1, maximum: MAX_LINES, description: `Lines to read, ${MAX_LINES} at most.` },
    },
    required: ["path"],
    additionalProperties: false,
  },
  run: readPart,
};

async function readPart(input: JsonObject, context: HostContext): Promise<HostReply> {
  const path = textOf(input, "path");
  try {
    const { handle, path: real } = await openInside(context.workspace, path);
    try {
      const { size, mtimeMs, ino } = await handle.stat();
      if (size > MAX_FILE_BYTES) {
        return failed(
          `Cannot read "${path}" as it has ${size} bytes; at most ${MAX_FILE_BYTES} can be read. Use bash to look at parts of it.`,
        );
      }
      const bytes = await handle.readFile();
      const text = toText(bytes);
      if (text === null) {
        return failed(
          `Cannot read "${path}" as text: it has ${bytes.length} bytes and ${bytes.includes(0) ? "looks binary" : "is not UTF-8"}.`,
        );
      }
      const rendered = render(text, numberOf(input, "offset", 1), numberOf(input, "limit", MAX_LINES));
      if (rendered.kind === "past_end") return failed(`"${path}" has ${rendered.lines} lines; offset is past its end.`);
      const data = { path: real, size: bytes.length, mtime_ms: mtimeMs, inode: ino, whole: rendered.whole, digest: sha256(bytes) };
      return succeeded(rendered.text, data);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof PathRefused) return failed(error.message);
    throw error;
  }
}

function toText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8, which is the question.
    return null;
  }
}

type Rendered =
  | { readonly kind: "lines"; readonly text: string; /** Nothing of the file is missing. */ readonly whole: boolean }
  | { readonly kind: "past_end"; readonly lines: number };

function render(text: string, offset: number, limit: number): Rendered {
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
    if (bytes > MAX_RENDERED_BYTES) break;
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
