/**
 * The one gate. Every execution, from every surface, asks here first.
 *
 * G1  No verdict means no: whatever goes wrong in here denies the call, with the reason.
 * G2  What is allowed is the input in the verdict, byte for byte.
 * G3  A refusal is text that the model can act on.
 */
import { parseArguments } from "../session/arguments.ts";
import { sha256 } from "../session/digest.ts";
import type { AllowedBy, DeniedBy } from "../session/event.ts";
import type { JsonInput } from "../session/json.ts";
import type { Mode } from "../session/outcome.ts";
import { leaveOf, type Policy } from "./mode.ts";

export type Verdict =
  | { readonly kind: "allowed"; readonly input: JsonInput; readonly by: AllowedBy }
  | { readonly kind: "denied"; readonly by: DeniedBy; readonly reason: string }
  | { readonly kind: "ask"; readonly input: JsonInput; readonly input_digest: string; readonly reason: string };

/** What the gate needs to know of a tool. */
export interface GatedTool {
  readonly name: string;
  readonly read_only: boolean;
  readonly approval: Policy;
  check(input: JsonInput): readonly { readonly pointer: string; readonly message: string }[];
}

export interface GateRequest {
  readonly name: string;
  /** As the model wrote it. */
  readonly arguments: string;
  readonly mode: Mode;
  readonly tools: GatedTools;
}

/** Where the gate looks tools up. `find` gives only tools that may be offered. */
export interface GatedTools {
  find(name: string): GatedTool | undefined;
  /** Known names near a wrong one, best first. */
  closest(name: string): readonly string[];
  /** Why a known tool may not be called: not trusted, broken. */
  whyNot(name: string): { readonly by: DeniedBy; readonly reason: string } | undefined;
}

export function authorize(request: GateRequest): Verdict {
  const tool = request.tools.find(request.name);
  if (tool === undefined) return unknownTool(request);
  const parsed = parseArguments(request.arguments);
  if (parsed.kind === "malformed") {
    return denied("malformed", `${parsed.message}. "${tool.name}" was not run; call it again with one JSON object.`);
  }
  const violations = tool.check(parsed.input);
  if (violations.length > 0) return denied("schema", describeViolations(tool.name, violations));
  return byMode(tool, parsed.input, request.mode);
}

/** The digest a person's answer is bound to. */
export function inputDigest(input: JsonInput): string {
  return sha256(input.text);
}

function unknownTool(request: GateRequest): Verdict {
  const known = request.tools.whyNot(request.name);
  if (known !== undefined) return denied(known.by, known.reason);
  const near = request.tools.closest(request.name);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
  return denied("unknown_tool", `There is no tool named "${request.name.slice(0, 200).toWellFormed()}".${hint}`);
}

const SHOWN_VIOLATIONS = 20;

function describeViolations(tool: string, violations: readonly { readonly pointer: string; readonly message: string }[]): string {
  const shown = violations.slice(0, SHOWN_VIOLATIONS).map(({ pointer, message }) => `- ${pointer === "" ? "(input)" : pointer}: ${message}`);
  const rest = violations.length > SHOWN_VIOLATIONS ? [`- and ${violations.length - SHOWN_VIOLATIONS} more`] : [];
  return [`The input does not fit the schema of "${tool}", which was not run:`, ...shown, ...rest].join("\n");
}

function byMode(tool: GatedTool, input: JsonInput, mode: Mode): Verdict {
  switch (leaveOf(mode, tool.approval, tool.read_only)) {
    case "run":
      return { kind: "allowed", input, by: tool.approval === "never" ? "policy" : "mode" };
    case "ask":
      return { kind: "ask", input, input_digest: inputDigest(input), reason: `"${tool.name}" needs approval in mode ${mode}` };
    case "refuse":
      return denied("mode", `"${tool.name}" is not available in mode ${mode}.`);
  }
}

function denied(by: DeniedBy, reason: string): Verdict {
  return { kind: "denied", by, reason };
}
