/** What one workspace offers: its tools, and what its children inherit. */
import { join } from "node:path";
import { childEnvironment, isOn } from "../config/environment.ts";
import type { Environment, Paths } from "../config/paths.ts";
import { secretVariables } from "../model/providers.ts";
import { builtinTools } from "../tools/builtin/tools.ts";
import { loadManifests, type ManifestFolder } from "../tools/stella/load.ts";
import { createToolbox, type Toolbox } from "../tools/toolbox.ts";

export interface Workshop {
  readonly workspace: string;
  readonly toolbox: Toolbox;
  /** What a child may inherit. */
  readonly env: Readonly<Record<string, string>>;
}

export interface WorkshopOptions {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  readonly paths: Paths;
  readonly env: Environment;
  readonly trusted: boolean;
}

const UNTRUSTED = "this workspace is not trusted. Look at its tools, then add --trust-workspace, or set ORRERY_TRUST_WORKSPACE=1";

/** Finds and reads every tool; starts nothing. */
export async function openWorkshop({ workspace, paths, env, trusted }: WorkshopOptions): Promise<Workshop> {
  const inherited = childEnvironment(env, secretVariables());
  const loaded = await loadManifests(manifestFolders(workspace, paths, env), {
    workspace,
    env: inherited,
    trust: trusted ? { kind: "trusted" } : { kind: "untrusted", reason: UNTRUSTED },
  });
  const builtins = builtinTools().map((tool) => ({ kind: "tool", tool, family: "other" }) as const);
  return { workspace, env: inherited, toolbox: createToolbox([...loaded.candidates, ...builtins], { notices: loaded.notices }) };
}

/** Whether the environment says that workspaces are trusted. */
export function isTrustedByEnvironment(env: Environment): boolean {
  return isOn(env["ORRERY_TRUST_WORKSPACE"]);
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
