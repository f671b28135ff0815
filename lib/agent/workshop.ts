/** What one workspace offers: its tools, and what the gate says of them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment, Paths } from "../config/paths.ts";
import { unmatchedHooks } from "../gate/hook.ts";
import { workspaceProgram } from "../gate/program-place.ts";
import type { ToolGroup } from "../gate/switches.ts";
import { describeReason, type WorkspaceTrust } from "../gate/trust.ts";
import { CATALOG } from "../tools/builtin/catalog.ts";
import { builtinTools } from "../tools/builtin/tools.ts";
import type { LoadContext, LoadedTools, ToolFolder } from "../tools/nanocoder/load.ts";
import { personalDirectory } from "../tools/nanocoder/windows.ts";
import { loadManifests, type LoadTrust, type ManifestFolder } from "../tools/stella/load.ts";
import type { Tool } from "../tools/tool.ts";
import { type Candidate, createToolbox, type Toolbox } from "../tools/toolbox.ts";
import type { AgentNotice } from "./options.ts";
import { openPolicy, type Policy, type PolicyOptions } from "./policy.ts";

export interface Workshop {
  readonly workspace: string;
  readonly policy: Policy;
  readonly toolbox: Toolbox;
  /** The toolbox with more in it. */
  assemble(more: readonly Candidate[]): Toolbox;
  readonly notices: readonly AgentNotice[];
}

/** Finds and reads every tool and setting; starts nothing. @throws {ConfigError} */
export async function openWorkshop(options: PolicyOptions): Promise<Workshop> {
  const { workspace, paths, env } = options;
  const policy = await openPolicy(options);
  const trust = toLoadTrust(policy.trust);
  const [manifests, markdown] = await Promise.all([
    loadManifests(manifestFolders(workspace, paths, env), {
      workspace,
      env: policy.inherited.env,
      trust,
      workspaceProgram: (command, path) => workspaceProgram(command, { workspace, path }),
    }),
    loadMarkdown(options, { workspace, withheld: policy.inherited.withheld, trust }),
  ]);
  const builtins = builtinTools().map((tool) => ({ kind: "tool", tool, family: "other" }) as const);
  const assemble = (more: readonly Candidate[]) =>
    createToolbox([...manifests.candidates, ...markdown.candidates, ...more, ...builtins], {
      notices: [...manifests.notices, ...markdown.notices],
      switchedOff: (tool) => policy.switches.offReason({ name: tool.rule_name ?? tool.name, group: groupOf(tool) }),
    });
  const toolbox = assemble([]);
  const notices = [...policy.notices, ...inertNotices(policy, toolbox), ...toolNotices(toolbox), ...ruleNotices(policy, toolbox)];
  return { workspace, policy, toolbox, assemble, notices };
}

function toLoadTrust({ verdict, allowsFile }: WorkspaceTrust): LoadTrust {
  if (verdict.kind === "trusted") return verdict;
  return {
    kind: "untrusted",
    reason: `${describeReason(verdict)}. Look at its tools, then run orrery trust, or add --trust-workspace`,
    allowsFile,
  };
}

/** Folders that may hold Stella manifests, in order of precedence. */
export function manifestFolders(workspace: string, paths: Paths, env: Environment): readonly ManifestFolder[] {
  const stella = [
    ...(paths.home === null ? [] : [join(paths.home, ".config/stella/tools")]),
    ...(env["XDG_CONFIG_HOME"] === undefined || env["XDG_CONFIG_HOME"] === "" ? [] : [join(env["XDG_CONFIG_HOME"], "stella/tools")]),
    ...(paths.home === null ? [] : [join(paths.home, ".stella/tools")]),
  ];
  return [
    { path: join(workspace, ".orrery/tools"), scope: "workspace", family: "orrery" },
    { path: join(workspace, ".stella/tools"), scope: "workspace", family: "stella" },
    { path: join(paths.config, "tools"), scope: "user", family: "orrery" },
    ...[...new Set(stella)].map((path) => ({ path, scope: "user", family: "stella" }) as const),
  ];
}

/** The compiler of Markdown tools is not even loaded for a project without them. */
async function loadMarkdown(options: PolicyOptions, context: LoadContext): Promise<LoadedTools> {
  const folders = markdownFolders(options);
  const places = [join(options.workspace, ".nanocoder"), ...folders.map(({ path }) => path)];
  if (!places.some((path) => existsSync(path))) return { candidates: [], notices: [] };
  const { loadMarkdownTools } = await import("../tools/nanocoder/load.ts");
  return await loadMarkdownTools(folders, context);
}

/** Folders that may hold Markdown tools, in order of precedence. */
export function markdownFolders(
  { workspace, paths, env, platform }: Pick<PolicyOptions, "workspace" | "paths" | "env" | "platform">,
): readonly ToolFolder[] {
  const personal = personalDirectory(platform, env, paths.home);
  return [
    { path: join(workspace, ".orrery/tools"), scope: "workspace", family: "orrery" },
    { path: join(workspace, ".nanocoder/tools"), scope: "workspace", family: "nanocoder" },
    { path: join(paths.config, "tools"), scope: "user", family: "orrery" },
    ...(personal === null ? [] : [{ path: personal, scope: "user", family: "nanocoder" } as const]),
  ];
}

/** What does not run here and the command that would change it; null if nothing is inert. */
export function describeInertHere({ trust, survey }: Policy): string | null {
  if (trust.verdict.kind === "trusted" || trust.inert.length === 0) return null;
  const names = trust.inert.map(({ name, detail }) => detail === undefined ? name : `${name} (${detail})`);
  return `Not active, as ${describeReason(trust.verdict)} (orrery trust ${survey.workspace} or --trust-workspace changes that): ${
    names.join(", ")
  }`;
}

/** One for all that is inert in the workspace, hooks and servers too. */
function inertNotices(policy: Policy, { listings }: Toolbox): readonly AgentNotice[] {
  const text = describeInertHere(policy);
  const elsewhere = listings.filter(({ status, origin }) => status === "untrusted" && origin.scope !== "workspace");
  return [
    ...(text === null ? [] : [{ level: "warning" as const, code: "workspace_untrusted", text }]),
    ...elsewhere.map(({ name, origin, reason }) => ({
      level: "warning" as const,
      code: "tool_untrusted",
      text: `The tool "${name}" (${origin.path}) is not active: ${reason}`,
    })),
  ];
}

function toolNotices({ notices }: Toolbox): readonly AgentNotice[] {
  return notices.filter(({ code }) => code !== "tool_untrusted");
}

function groupOf(tool: Tool): ToolGroup {
  if (tool.origin.system === "mcp") return "mcp";
  return CATALOG.find((row) => tool.origin.system === "builtin" && row.name === tool.name)?.group ?? "custom";
}

/** Rules that name nothing we know: most likely mistakes. */
function ruleNotices({ hooks, switches }: Policy, { listings }: Toolbox): readonly AgentNotice[] {
  const names = listings.flatMap(({ name }) => name === null ? [] : [name]);
  return [
    ...unmatchedHooks([...hooks.active, ...hooks.inert.map(({ hook }) => hook)], names).map((hook) => ({
      level: "warning" as const,
      code: "hook_matches_nothing",
      text: `The ${hook.event} hook ${hook.where} is for "${hook.matcher ?? "*"}", which is no tool that is known here`,
    })),
    ...switches.unknownKeys(names).map((rule) => ({
      level: "warning" as const,
      code: "switch_matches_nothing",
      text: `The switch ${rule.where} names no tool and no group that is known here`,
    })),
  ];
}
