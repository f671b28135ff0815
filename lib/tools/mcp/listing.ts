/**
 * From what a server lists to what may be offered. A server is not trusted with sizes, shapes or claims.
 *
 * D1  A fault in one tool is that tool's alone: what cannot be used is listed with the reason, and the rest stays.
 * D2  Annotations are not read. What a server says of its tools' safety gives them nothing.
 * D3  The same list gives the same tools, whatever the order it comes in.
 */
import { sha256 } from "../../platform/digest.ts";
import { canonicalValue, type Json } from "../../session/json.ts";
import { compileSchema, type Schema, type SchemaProblem } from "../schema.ts";
import { aliasOf, assignAliases, toolNameProblem } from "./names.ts";

/** One tool of a server, fit to be offered. */
export interface Offer {
  readonly server: string;
  /** As the server calls it. */
  readonly tool: string;
  readonly description: string;
  readonly schema: Schema;
  /** Of everything that the server says of it and that we use. */
  readonly digest: string;
}

export interface BrokenOffer {
  readonly server: string;
  readonly tool: string | null;
  readonly description: string;
  readonly reason: string;
}

export interface Listing {
  /** By name. */
  readonly offers: readonly Offer[];
  readonly broken: readonly BrokenOffer[];
  /** What was cut or left out of tools that work. */
  readonly remarks: readonly string[];
}

export const MAX_DESCRIPTION = 2000;
export const MAX_SCHEMA_BYTES = 16 * 1024;
/** Of all schemas of a server. Every one of them goes to the model with every request. */
export const MAX_SCHEMAS_BYTES = 128 * 1024;

export async function readListing(server: string, tools: readonly unknown[]): Promise<Listing> {
  const broken: BrokenOffer[] = [];
  const remarks: string[] = [];
  const named = tools.flatMap((raw) => {
    const read = readTool(raw);
    if ("tool" in read) return [read];
    broken.push({ server, tool: null, description: "", reason: read.problem });
    return [];
  });
  const { kept, repeated } = assignAliases(named, ({ tool }) => ({ server, tool }), ({ tool }) => JSON.stringify(tool));
  for (const { tool } of repeated) remarks.push(`it lists "${tool}" more than once; the first is used`);
  const offers: Offer[] = [];
  const budget = { left: MAX_SCHEMAS_BYTES };
  for (const raw of kept.toSorted((left, right) => left.tool < right.tool ? -1 : 1)) {
    const { tool, description } = raw;
    const fitted = fitSchema(raw.schema, budget);
    if (fitted.remark !== null) {
      remarks.push(`the schema of "${tool}" ${fitted.remark}: the model does not see it, and inputs are not checked`);
    }
    const { schema, problems } = await compileSchema(fitted.schema);
    if (schema === undefined) {
      broken.push({ server, tool, description: clip(description, MAX_DESCRIPTION), reason: wordProblems(problems) });
    } else offers.push(toOffer(server, raw, schema, fitted.remark));
  }
  return { offers, broken, remarks };
}

function wordProblems(problems: readonly SchemaProblem[]): string {
  const errors = problems.filter(({ severity }) => severity === "error");
  const words = errors.map(({ pointer, message }) => `${pointer === "" ? "(schema)" : pointer}: ${message}`).join("; ");
  return `its input schema cannot be used: ${words.slice(0, MAX_REASON).toWellFormed()}`;
}

const MAX_REASON = 1000;

interface RawTool {
  readonly tool: string;
  readonly description: string;
  readonly schema: unknown;
}

function readTool(raw: unknown): RawTool | { readonly problem: string } {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return { problem: "it is not an object" };
  const { name, description, inputSchema } = raw as Record<string, unknown>;
  if (typeof name !== "string") return { problem: "it has no name" };
  const problem = toolNameProblem(name);
  if (problem !== null) return { problem };
  return { tool: name, description: typeof description === "string" ? description.toWellFormed().trim() : "", schema: inputSchema };
}

/** The schema, or an open one with the reason why. */
function fitSchema(schema: unknown, budget: { left: number }): { readonly schema: unknown; readonly remark: string | null } {
  const size = sizeOf(schema);
  if (size > MAX_SCHEMA_BYTES) return { schema: {}, remark: `has ${size} bytes and may have ${MAX_SCHEMA_BYTES}` };
  if (size > budget.left) return { schema: {}, remark: `does not fit in the ${MAX_SCHEMAS_BYTES} bytes for all of them` };
  budget.left -= size;
  return { schema, remark: null };
}

function sizeOf(schema: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(schema) ?? "");
  } catch {
    // Nested deeper than the stack: it came as JSON, so nothing else can be wrong with it.
    return Infinity;
  }
}

function toOffer(server: string, { tool, description }: RawTool, schema: Schema, remark: string | null): Offer {
  const told = description === "" ? `The tool "${tool}" of the MCP server "${server}".` : clip(description, MAX_DESCRIPTION);
  const note = remark === null
    ? ""
    : "\n\n(Its input schema is too large to be shown. Any object is accepted; what it needs may stand above.)";
  const text = `${told}${note}`;
  return { server, tool, description: text, schema, digest: sha256(canonicalValue([server, tool, text, schema.declared as Json])) };
}

function clip(text: string, limit: number): string {
  const points = [...text.slice(0, limit * 2)];
  return text.length <= limit * 2 && points.length <= limit ? text : `${points.slice(0, limit - 1).join("")}…`;
}

/** Tools of several servers under the names that a model is shown. */
export function nameOffers<T extends { readonly server: string; readonly tool: string }>(offers: readonly T[]) {
  return assignAliases(offers, ({ server, tool }) => ({ server, tool }), aliasOf);
}
