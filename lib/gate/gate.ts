/**
 * The one gate (P6), with everything that may stand in the way of a call. Asked in this order:
 *
 *   1. Is there such a tool, and may it be offered?       unknown_tool, switch, trust
 *   2. Are the arguments one JSON object that fits?       malformed, schema
 *   3. Is there a guard for it that may not run?          trust
 *   4. Does the mode rule it out?                         mode
 *   5. What do the hooks in front of it say?              hook, and schema again for what they changed
 *   6. Must a person agree: by a hook's wish, or by the mode unless the tool is always allowed?
 *
 * G4  No hook runs for a call that is refused without it, and every call that can run has passed all of its hooks.
 * G5  A hook can refuse and ask for approval, and nothing that it says lifts a refusal or an approval: its `allow` only
 *     means that it does not object.
 * G6  A wish of a hook for approval counts in every mode and for tools that are always allowed.
 */
import type { DeniedBy } from "../session/event.ts";
import type { JsonInput } from "../session/json.ts";
import type { Mode } from "../session/outcome.ts";
import { admit, type Asked, describeViolations, type GatedTool, type GateRequest, inputDigest, refuse, type Verdict } from "./authorize.ts";
import type { HookNotice, InertHook } from "./hook.ts";
import type { BeforeCall, Hooks } from "./hooks.ts";
import { leaveOf } from "./mode.ts";

/** A tool under the name that rules are written for, where that differs from the name that a model knows. */
export interface RuledTool extends GatedTool {
  /** For an MCP tool `mcp__server__tool` with the server's and the tool's own names. */
  readonly rule_name?: string;
  /** Another tool has the same rule name: a grant by name is then no grant. */
  readonly rule_ambiguous?: boolean;
}

export interface GateRules {
  readonly hooks: Hooks;
  /** Rule names of tools that need no prompt. */
  readonly always_allow: ReadonlySet<string>;
}

export interface Judgement {
  readonly verdict: Verdict;
  readonly notices: readonly HookNotice[];
}

export interface Gate {
  /** Never rejects: whatever goes wrong in here is a refusal. */
  authorize(request: GateRequest<RuledTool>, signal: AbortSignal): Promise<Judgement>;
  /** The input of a call that this gate allows without asking anybody, a hook or a person; null for every other. */
  allowsUnasked(request: GateRequest<RuledTool>): JsonInput | null;
  /** The question about a call that a person is asked about and no hook has a say in; null for every other. */
  question(request: GateRequest<RuledTool>): Asked | null;
}

export function createGate({ hooks, always_allow }: GateRules): Gate {
  const unhooked = (request: GateRequest<RuledTool>) => {
    try {
      return judgeUnhooked(request, { hooks, always_allow });
    } catch {
      // What cannot be weighed is not allowed; the call itself is told why when it comes to `authorize`.
      return null;
    }
  };
  return {
    allowsUnasked(request) {
      const verdict = unhooked(request);
      return verdict?.kind === "allowed" ? verdict.input : null;
    },
    question(request) {
      const verdict = unhooked(request);
      return verdict?.kind === "ask" ? verdict : null;
    },
    async authorize(request, signal) {
      const stage: Stage = { by: "unknown_tool" };
      try {
        return await judge(request, { hooks, always_allow }, stage, signal);
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        return { verdict: refuse(stage.by, `This call could not be checked, so it was not run: ${problem}`), notices: [] };
      }
    },
  };
}

/** What is being asked, in case the asking itself fails. */
interface Stage {
  by: DeniedBy;
}

async function judge(
  request: GateRequest<RuledTool>,
  { hooks, always_allow }: GateRules,
  stage: Stage,
  signal: AbortSignal,
): Promise<Judgement> {
  const admitted = admit(request, (by) => {
    stage.by = by;
  });
  if (admitted.kind === "denied") return { verdict: admitted, notices: [] };
  const { tool, input } = admitted;
  const name = ruleName(tool);
  stage.by = "trust";
  const guard = hooks.silencedGuard(name);
  if (guard !== undefined) return { verdict: refuse("trust", silenced(tool.name, guard)), notices: [] };
  stage.by = "mode";
  const leave = leaveOf(request.mode, tool.approval, tool.read_only);
  if (leave === "refuse") return { verdict: refuse("mode", `"${tool.name}" is not available in mode ${request.mode}.`), notices: [] };
  stage.by = "hook";
  const passed = await hooks.beforeCall({ name, input, read_only: tool.read_only }, signal);
  if (passed.kind === "refused") return { verdict: refuse("hook", passed.reason), notices: [] };
  stage.by = "schema";
  const mustAsk = leave === "ask" && !isAlwaysAllowed(tool, always_allow);
  return { verdict: afterHooks(tool, passed, mustAsk ? request.mode : null, leave === "ask"), notices: passed.notices };
}

/** Null: a hook must be heard, or the call is refused. */
function judgeUnhooked(request: GateRequest<RuledTool>, { hooks, always_allow }: GateRules): Verdict | null {
  const admitted = admit(request);
  if (admitted.kind === "denied" || hooks.covers(ruleName(admitted.tool))) return null;
  const { tool, input } = admitted;
  const leave = leaveOf(request.mode, tool.approval, tool.read_only);
  if (leave === "refuse") return null;
  const mustAsk = leave === "ask" && !isAlwaysAllowed(tool, always_allow);
  return afterHooks(
    tool,
    { kind: "passed", input, changed: false, wanted_approval: null, notices: [] },
    mustAsk ? request.mode : null,
    leave === "ask",
  );
}

function isAlwaysAllowed(tool: RuledTool, always_allow: ReadonlySet<string>): boolean {
  return always_allow.has(ruleName(tool)) && tool.rule_ambiguous !== true;
}

/** `asking`: the mode that wants a person's approval, if it does; `excused`: it would, were the tool not always allowed. */
function afterHooks(tool: RuledTool, passed: Passed, asking: Mode | null, excused: boolean): Verdict {
  const { changed, wanted_approval } = passed;
  const violations = changed ? tool.check(passed.input) : [];
  if (violations.length > 0) {
    return refuse(
      "schema",
      describeViolations(`A hook changed the input of "${tool.name}" to one that does not fit its schema. It was not run:`, violations),
    );
  }
  const input = changed ? tool.complete?.(passed.input) ?? passed.input : passed.input;
  const reason = wanted_approval ?? (asking === null ? null : `"${tool.name}" needs approval in mode ${asking}`);
  if (reason !== null) return { kind: "ask", input, input_digest: inputDigest(input), reason };
  const byRule = excused ? "always_allow" : tool.approval === "never" ? "policy" : "mode";
  return { kind: "allowed", input, by: changed ? "hook" : byRule };
}

type Passed = Extract<BeforeCall, { kind: "passed" }>;

function ruleName(tool: RuledTool): string {
  return tool.rule_name ?? tool.name;
}

function silenced(tool: string, { hook, reason }: InertHook): string {
  return `"${tool}" was not run: it is guarded by the hook ${hook.where}, which may not run here (${reason}).`;
}
