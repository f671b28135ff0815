import { sha256 } from "../../platform/digest.ts";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, numberOf, succeeded, textOf } from "./definition.ts";
import { MAX_LINES, numberLines } from "./numbered-lines.ts";
import { identityOf } from "./replace-file.ts";
import { openInside, pathProblem, readBytes } from "./workspace-path.ts";

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_RENDERED_BYTES = 64 * 1024;
const MAX_FILES = 32;
/** Of all files of one call; those after that are not read. */
const MAX_BATCH_BYTES = 2 * MAX_RENDERED_BYTES;
const part = {
  path: { type: "string", minLength: 1, description: "Path of the file, relative to the workspace." },
  offset: { type: "integer", minimum: 1, description: "First line to read, from 1." },
  limit: { type: "integer", minimum: 1, maximum: MAX_LINES, description: `Lines to read, ${MAX_LINES} at most.` },
};

export const readFile: BuiltinDefinition = {
  kind: "host",
  description:
    "Read a text file of the workspace with line numbers. Give offset (first line, from 1) and limit (number of lines) to read a part of a large file. Give files instead of path to read several at once.",
  input_schema: {
    type: "object",
    properties: {
      ...part,
      files: {
        type: "array",
        minItems: 1,
        maxItems: MAX_FILES,
        items: { type: "object", properties: part, required: ["path"], additionalProperties: false },
        description: "Several files, or parts of them.",
      },
    },
    additionalProperties: false,
  },
  run: read,
};

/** Some providers refuse alternatives at the root of a schema, so this one is checked here. */
function read(input: JsonObject, context: HostContext): HostReply {
  const files = input["files"] as readonly JsonObject[] | undefined;
  if (files === undefined) return input["path"] === undefined ? failed("Give either path, or files.") : readPart(input, context);
  if (Object.keys(input).length > 1) return failed("Give either path with its offset and limit, or files, each with its own.");
  return readBatch(files, context);
}

function readBatch(files: readonly JsonObject[], context: HostContext): HostReply {
  const sections: string[] = [];
  const data: JsonObject[] = [];
  let left = MAX_BATCH_BYTES;
  for (const file of files) {
    const path = textOf(file, "path");
    const reply = left > 0
      ? readPart(file, context, left)
      : failed("Not read, as the files before it fill this result. Read it by itself.");
    left -= Buffer.byteLength(reply.text);
    sections.push(`==> ${path} <==\n${reply.text}`);
    data.push(reply.is_error ? unread(path, reply.text) : reply.data as JsonObject);
  }
  const problems = data.filter((file) => file["problem"] !== undefined).length;
  const note = problems === 0 ? [] : [`(${problems} of ${files.length} files could not be read)`];
  return { is_error: problems === files.length, text: [...sections, ...note].join("\n\n"), data };
}

/** No file has this identity: an early run that could not read one of its files counts as failed, and the call runs itself. */
function unread(path: string, problem: string): JsonObject {
  return { path, problem, size: -1, mtime_ms: 0, ctime_ms: 0, inode: 0, digest: "", whole: false };
}

function readPart(input: JsonObject, context: HostContext, max_bytes = MAX_RENDERED_BYTES): HostReply {
  const given = textOf(input, "path");
  try {
    using file = openInside(context.workspace, given, context.secret_files);
    const { found } = file;
    if (found.size > MAX_FILE_BYTES) {
      return failed(
        `Cannot read "${given}" as it has ${found.size} bytes; at most ${MAX_FILE_BYTES} can be read. Use bash to look at parts of it.`,
      );
    }
    const bytes = readBytes(file);
    const text = toText(bytes);
    if (text === null) {
      return failed(
        `Cannot read "${given}" as text: it has ${bytes.length} bytes and ${bytes.includes(0) ? "looks binary" : "is not UTF-8"}.`,
      );
    }
    const range = { offset: numberOf(input, "offset", 1), limit: numberOf(input, "limit", MAX_LINES) };
    const lines = numberLines(text, range, Math.min(max_bytes, MAX_RENDERED_BYTES));
    if (lines.kind === "past_end") return failed(`"${given}" has ${lines.lines} lines; offset is past its end.`);
    const { path, via } = file;
    const identity = { ...identityOf(found), ctime_ms: found.ctimeMs, size: bytes.length };
    return succeeded(lines.text, { path, ...(via === undefined ? {} : { via }), ...identity, whole: lines.whole, digest: sha256(bytes) });
  } catch (error) {
    return failed(pathProblem(error, given));
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
