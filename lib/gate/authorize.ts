/**
 * The one gate's first questions: is there such a tool, and is this an input for it. gate.ts asks the others.
 *
 * G1  No verdict means no: whatever goes wrong in here denies the call, with the reason.
 * G2  What is allowed is the input in the verdict, byte for byte.
 * G3  A refusal is text that the model can act on.
 */
import { parseArguments } from "../session/arguments.ts";
import { sha256 } from "../platform/digest.ts";
import type { AllowedBy, DeniedBy } from "../session/event.ts";
import type { JsonInput } from "../session/json.ts";
import type { Mode } from "../session/outcome.ts";
import type { Policy } from "./mode.ts";

export type Verdict =
  | { readonly kind: "allowed"; readonly input: JsonInput; readonly by: AllowedBy }
  | Denied
  | Asked;

export interface Asked {
  readonly kind: "ask";
  readonly input: JsonInput;
  readonly input_digest: string;
  readonly reason: string;
}

export interface Denied {
  readonly kind: "denied";
  readonly by: DeniedBy;
  readonly reason: string;
}

/** One way in which an input does not fit. */
interface Violation {
  readonly pointer: string;
  readonly message: string;
  /** The refusal begins with it. */
  readonly leads?: true;
}

/** What the gate needs to know of a tool. */
export interface GatedTool {
  readonly name: string;
  readonly read_only: boolean;
  readonly approval: Policy;
  check(input: JsonInput): readonly Violation[];
  /** The input as it will run: defaults filled in, what the tool does not know left out. Of one that fits only. */
  complete?(input: JsonInput): JsonInput;
}

export interface GateRequest<T extends GatedTool = GatedTool> {
  readonly name: string;
  /** As the model wrote it. */
  readonly arguments: string;
  readonly mode: Mode;
  readonly tools: GatedTools<T>;
}

/** Where the gate looks tools up. `find` gives only tools that may be offered. */
export interface GatedTools<T extends GatedTool = GatedTool> {
  find(name: string): T | undefined;
  /** Known names near a wrong one, best first. */
  closest(name: string): readonly string[];
  /** Why a known tool may not be called: switched off, not trusted, broken. */
  whyNot(name: string): { readonly by: DeniedBy; readonly reason: string } | undefined;
  /** What there is that may have any name, as it could not be read: a sentence for whoever looks for one that is not there. */
  unread?(): string | null;
}

/** The digest a person's answer is bound to. */
export function inputDigest(input: JsonInput): string {
  return sha256(input.text);
}

export type Admitted<T extends GatedTool> = { readonly kind: "admitted"; readonly tool: T; readonly input: JsonInput };

/** A tool that may be offered, and an input that fits it. `onStage` is told what is asked next. */
export function admit<T extends GatedTool>(
  request: GateRequest<T>,
  onStage: (by: DeniedBy) => void = () => undefined,
): Admitted<T> | Denied {
  const tool = request.tools.find(request.name);
  if (tool === undefined) return unknownTool(request);
  onStage("malformed");
  const parsed = parseArguments(request.arguments);
  if (parsed.kind === "malformed") {
    return refuse("malformed", `${parsed.message}. "${tool.name}" was not run; call it again with one JSON object.`);
  }
  onStage("schema");
  const violations = tool.check(parsed.input);
  if (violations.length === 0) return { kind: "admitted", tool, input: tool.complete?.(parsed.input) ?? parsed.input };
  return refuse("schema", describeViolations(`The input does not fit the schema of "${tool.name}", which was not run:`, violations));
}

export function refuse(by: DeniedBy, reason: string): Denied {
  return { kind: "denied", by, reason };
}

/** All of them: whoever checks bounds how many there are, and counts the rest. */
export function describeViolations(title: string, violations: readonly Violation[]): string {
  const lines = violations.map(({ pointer, message }) => `- ${pointer === "" ? "(input)" : pointer}: ${message}`);
  const lead = violations[0]?.leads === true ? [violations[0].message] : [];
  return [...lead, title, ...lines].join("\n");
}

function unknownTool(request: GateRequest): Denied {
  const known = request.tools.whyNot(request.name);
  if (known !== undefined) return refuse(known.by, known.reason);
  const near = request.tools.closest(request.name);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
  const unread = request.tools.unread?.() ?? null;
  const rest = unread === null ? "" : `\n${unread}`;
  return refuse("unknown_tool", `There is no tool named "${request.name.slice(0, 200).toWellFormed()}".${hint}${rest}`);
}
