/** What a tool file says of its tools, whichever language it is written in. */
import * as v from "valibot";
import type { Outcome } from "../../session/outcome.ts";
import type { Diagnostic } from "../diagnostic.ts";
import { MAX_TIMEOUT_MS, toolNamed } from "./define.ts";

export const ToolDescription = v.object({
  /** What providers take as the name of a function. */
  name: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, _ or -")),
  description: v.string(),
  /** Not yet known to be a JSON Schema. */
  parameters: v.record(v.string(), v.unknown()),
  read_only: v.boolean(),
  speculation_safe: v.boolean(),
  approval: v.picklist(["never", "always", "destructive"], 'must be "never", "always" or "destructive"'),
  timeout_ms: v.pipe(v.number(), v.integer("must be a whole number"), v.minValue(1, "must be above 0"), v.maxValue(MAX_TIMEOUT_MS)),
});
export type ToolDescription = v.InferOutput<typeof ToolDescription>;

const position = v.exactOptional(v.number());
/** A diagnostic that comes from another process or time. */
export const SentDiagnostic = v.object({
  severity: v.picklist(["error", "warning", "info"]),
  code: v.string(),
  message: v.string(),
  line: position,
  column: position,
  remedy: v.string(),
}) satisfies v.GenericSchema<Diagnostic>;

export type Description =
  | {
    readonly kind: "described";
    readonly tools: readonly ToolDescription[];
    /** What the file seems to mean as a tool and does not offer. */
    readonly notices: readonly Diagnostic[];
  }
  | {
    readonly kind: "broken";
    /** Of the tools that it would have, as far as they are known. */
    readonly names: readonly string[];
    readonly diagnostics: readonly Diagnostic[];
  };

/** Fields that the author of a tool in TypeScript writes otherwise. */
export const SPELLING: Readonly<Record<string, string>> = { timeout_ms: "timeoutMs" };

/** Reads what came from another process. One tool that is wrong makes the file wrong; one that has none may be a part of others. */
export function parseDescription(
  tools: unknown,
  spelling: Readonly<Record<string, string>> = {},
  notices: readonly Diagnostic[] = [],
): Description {
  const listed = v.safeParse(v.array(v.unknown()), tools);
  if (!listed.success) return broken("description_malformed", "The file's tools could not be read", CORRECT_TOOL);
  const parsed = listed.output.map((tool) => v.safeParse(ToolDescription, tool));
  const names = listed.output.flatMap((tool) => v.is(Named, tool) && tool.name !== "" ? [tool.name] : []);
  const faults = parsed.flatMap(({ issues = [] }, index) =>
    firstOfEach(issues).map((issue) => toDiagnostic(listed.output[index], issue, spelling))
  );
  const diagnostics = [...faults, ...twinsAmong(names)];
  if (diagnostics.length > 0) return { kind: "broken", names: [...new Set(names)], diagnostics };
  return { kind: "described", tools: parsed.flatMap(({ success, output }) => success ? [output] : []), notices };
}

const Kept = v.object({ tools: v.unknown(), notices: v.pipe(v.array(SentDiagnostic), v.readonly()) });

/** What is kept of a file that was described; null: nothing that can be read. */
export function readKept(kept: unknown): Extract<Description, { kind: "described" }> | null {
  const read = v.safeParse(Kept, kept);
  if (!read.success) return null;
  const description = parseDescription(read.output.tools, {}, read.output.notices);
  return description.kind === "described" ? description : null;
}

/** One issue for each field: what else is wrong with it comes of the first. */
function firstOfEach(issues: readonly v.BaseIssue<unknown>[]): readonly v.BaseIssue<unknown>[] {
  return [...Map.groupBy(issues, (issue) => v.getDotPath(issue)).values()].flatMap(([first]) => first === undefined ? [] : [first]);
}

const Named = v.object({ name: v.string() });

export function broken(code: string, message: string, remedy: string): Description {
  return { kind: "broken", names: [], diagnostics: [{ severity: "error", code, message, remedy }] };
}

/** What would be right where a tool says something of itself that cannot be. */
export const CORRECT_TOOL = "Correct what the tool says of itself.";
/** And where a file could not be asked. */
export function remedyFor({ kind }: Outcome): string {
  if (kind === "timed_out") return "Loading a tool file must end by itself, within ten seconds.";
  if (kind === "not_started") return "See that what runs such a file can be started here.";
  return "Loading a tool file must not end its process: remove what does, as every call loads the file.";
}

function toDiagnostic(tool: unknown, issue: v.BaseIssue<unknown>, spelling: Readonly<Record<string, string>>): Diagnostic {
  const name = v.is(Named, tool) ? tool.name : undefined;
  const path = v.getDotPath(issue);
  return {
    severity: "error",
    code: "tool_invalid",
    message: `${toolNamed(name, "The", "A")} is wrong: ${path === null ? "" : `${spelling[path] ?? path}: `}${issue.message}`,
    remedy: CORRECT_TOOL,
  };
}

function twinsAmong(names: readonly string[]): readonly Diagnostic[] {
  const twins = new Set(names.filter((name, index) => names.indexOf(name) < index));
  return [...twins].map((name) => ({
    severity: "error",
    code: "tool_invalid",
    message: `The file has two tools named "${name}"`,
    remedy: "Give one of them another name.",
  }));
}
