/**
 * What a server answers, as text that a model can read. What text cannot carry is named with its type and size, and said
 * to be left out; nothing is dropped in silence.
 */
import { cutMiddle } from "../../session/excerpt.ts";
import type { Json } from "../../session/json.ts";
import type { HostReply } from "../../session/launch.ts";

/** Bytes of a result's text. */
export const RESULT_BYTES = 100_000;
/** More blocks than this are counted, not shown. */
const MAX_BLOCKS = 1000;

/** The text is empty if there was nothing to say. */
export function renderResult(tool: string, result: Readonly<Record<string, unknown>>): HostReply {
  const { content, structuredContent, isError } = result;
  const is_error = isError === true;
  if (content !== undefined && !Array.isArray(content)) {
    return { is_error: true, text: `${tool} gave an answer that cannot be read: it has no list of contents.` };
  }
  const blocks: readonly unknown[] = content ?? [];
  const shown = blocks.slice(0, MAX_BLOCKS).map(renderBlock);
  if (blocks.length > MAX_BLOCKS) shown.push(`[${blocks.length - MAX_BLOCKS} more contents left out]`);
  // A server that speaks of data says it in text too; one that does not would leave the model with nothing.
  const isTold = blocks.some((block) => typeof block === "object" && block !== null && "type" in block && block.type === "text");
  const data = structuredContent === undefined ? undefined : JSON.stringify(structuredContent);
  if (data !== undefined && !isTold) shown.push(data);
  const whole = shown.join("\n").toWellFormed();
  const { text, bytes, cut } = cutMiddle(whole, RESULT_BYTES);
  const fits = data !== undefined && Buffer.byteLength(data) <= RESULT_BYTES;
  return { is_error, text, ...(fits ? { data: structuredContent as Json } : {}), ...(cut ? { whole_bytes: bytes } : {}) };
}

function renderBlock(block: unknown): string {
  if (typeof block !== "object" || block === null) return "[a content that is no object left out]";
  const fields = block as Readonly<Record<string, unknown>>;
  switch (fields["type"]) {
    case "text":
      return typeof fields["text"] === "string" ? fields["text"] : "[a text without text]";
    case "image":
    case "audio":
      return `[${fields["type"]} left out: ${wordOf(fields["mimeType"], "unknown type")}, ${sizeOf(fields["data"])}]`;
    case "resource":
      return renderResource(fields["resource"]);
    case "resource_link": {
      const { uri, name, mimeType, description, size } = fields;
      const kind = [mimeType, typeof size === "number" ? `${size} bytes` : undefined].filter((each) => typeof each === "string").join(", ");
      const about = typeof description === "string" ? `: ${clip(description)}` : "";
      return `[link to ${wordOf(name, "a resource")} at ${wordOf(uri, "no address")}${
        kind === "" ? "" : ` (${clip(kind)})`
      }; not fetched${about}]`;
    }
    default:
      return `[content of the unknown type ${wordOf(fields["type"], "(none)")} left out]`;
  }
}

function renderResource(resource: unknown): string {
  if (typeof resource !== "object" || resource === null) return "[a resource without contents]";
  const { uri, mimeType, text, blob } = resource as Readonly<Record<string, unknown>>;
  const head = `resource ${wordOf(uri, "without an address")}${typeof mimeType === "string" ? ` (${clip(mimeType)})` : ""}`;
  if (typeof text === "string") return `[${head}]\n${text}`;
  return `[${head} left out: ${sizeOf(blob)} that are not text]`;
}

/** Bytes behind base64. */
function sizeOf(base64: unknown): string {
  if (typeof base64 !== "string") return "no data";
  return `${Math.floor(base64.replace(/=+$/, "").length * 3 / 4)} bytes`;
}

function wordOf(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? clip(value) : otherwise;
}

const MAX_WORD = 300;

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > MAX_WORD ? `${line.slice(0, MAX_WORD).toWellFormed()}…` : line;
}
