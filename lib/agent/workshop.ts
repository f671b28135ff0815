/** What one workspace offers: its tools, and what the gate says of them. */
import { join } from "node:path";
import type { Environment, Paths } from "../config/paths.ts";
import { unmatchedHooks } from "../gate/hook.ts";
import type { ToolGroup } from "../gate/switches.ts";
import { describeReason } from "../gate/trust.ts";
import { CATALOG } from "../tools/builtin/catalog.ts";
import { builtinTools } from "../tools/builtin/tools.ts";
import { loadManifests, type ManifestFolder } from "../tools/stella/load.ts";
import type { Tool } from "../tools/tool.ts";
import { createToolbox, type Toolbox } from "../tools/toolbox.ts";
import type { AgentNotice } from "./options.ts";
import { openPolicy, type Policy, type PolicyOptions } from "./policy.ts";

export interface Workshop {
  readonly workspace: string;
  readonly policy: Policy;
  readonly toolbox: Toolbox;
  readonly notices: readonly AgentNotice[];
}

/** Finds and reads every tool and setting; starts nothing. @throws {ConfigError} */
export async function openWorkshop(options: PolicyOptions): Promise<Workshop> {
  const { workspace, paths, env } = options;
  const policy = await openPolicy(options);
  const { verdict } = policy.trust;
  const loaded = await loadManifests(manifestFolders(workspace, paths, env), {
    workspace,
    env: policy.inherited.env,
    trust: verdict.kind === "trusted"
      ? verdict
      : { kind: "untrusted", reason: `${describeReason(verdict)}. Look at its tools, then run orrery trust, or add --trust-workspace` },
  });
  const builtins = builtinTools().map((tool) => ({ kind: "tool", tool, family: "other" }) as const);
  const toolbox = createToolbox([...loaded.candidates, ...builtins], {
    notices: loaded.notices,
    switchedOff: (tool) => policy.switches.offReason({ name: tool.name, group: groupOf(tool) }),
  });
  return { workspace, policy, toolbox, notices: [...policy.notices, ...toolbox.notices, ...ruleNotices(policy, toolbox)] };
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
