/**
 * Everything there is to say about the tool files of a workspace, or of one folder. Trust plays no part and nothing is
 * started, but for files in code that may run: only running them tells what is in them.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { UsageError } from "../config/error.ts";
import { CATALOG } from "../tools/builtin/catalog.ts";
import { namesIn, withLostNames } from "../tools/lost-names.ts";
import { validateMarkdownTools } from "../tools/nanocoder/load.ts";
import { validateManifests } from "../tools/stella/load.ts";
import type { ToolFolder, ValidatedFile } from "../tools/tool-folder.ts";
import type { SdkFolder } from "../tools/sdk/load.ts";
import type { Family } from "../tools/toolbox.ts";
import { openPolicy, type Policy, type PolicyOptions } from "./policy.ts";
import { unknownRules } from "./rules.ts";
import { serverPrefixes } from "./servers.ts";
import { moduleFolders, type RunAside, validateModules } from "./tool-modules.ts";
import { manifestFolders, markdownFolders, toLoadTrust } from "./workshop.ts";

export type { ValidatedFile } from "../tools/tool-folder.ts";

/**
 * @param directory absolute; without it every folder that tools of this workspace are looked for in.
 * @throws {UsageError} the directory is none. @throws {ConfigError}
 */
export async function validateToolFiles(
  options: PolicyOptions,
  run: RunAside,
  directory?: string,
): Promise<readonly ValidatedFile[]> {
  const { workspace, paths, env } = options;
  const policy = await openPolicy(options);
  const { inherited } = policy;
  const given = directory === undefined ? null : givenFolder(directory);
  const folders = {
    manifests: given === null ? manifestFolders(workspace, paths, env) : given.family === "nanocoder" ? [] : [given],
    markdown: given === null ? markdownFolders(options) : given.family === "stella" ? [] : [given],
    modules: given === null ? moduleFolders(options) : given.family === "orrery" ? [asModuleFolder(given, options)] : [],
  };
  const [manifests, found, modules] = await Promise.all([
    validateManifests(folders.manifests, { workspace, env: inherited.env }),
    validateMarkdownTools(folders.markdown, { workspace, withheld: inherited.withheld }),
    validateModules(folders.modules, options, policy, toLoadTrust(policy.trust), run),
  ]);
  // What lies elsewhere in the workspace was not asked about.
  const markdown = given === null ? found : found.filter(({ path }) => path === given.path || dirname(path) === given.path);
  const order = orderOf(folders.manifests, folders.markdown);
  const files = withLostNames([...manifests, ...markdown, ...modules], order);
  if (given !== null) return files;
  return [...files, ...settingsWithUnknownRules(policy, files, await serverPrefixes({ workspace, policy }, paths))];
}

/** Files of settings with rules for tools that are not there. `unknown`: how tools begin that only servers know. */
function settingsWithUnknownRules(
  policy: Policy,
  files: readonly ValidatedFile[],
  unknown: readonly string[],
): readonly ValidatedFile[] {
  const names = [...CATALOG.map(({ name }) => name), ...files.flatMap(namesIn)];
  const said = unknownRules(policy, names, unknown).map(({ code, text, source: { path, position } }) => ({
    path,
    diagnostic: { severity: "warning", code, message: text, ...position, remedy: "Correct the name, or remove it." } as const,
  }));
  const paths = [...new Set(said.flatMap(({ path }) => path === undefined ? [] : [path]))];
  return paths.map((path) => ({ path, diagnostics: said.filter((each) => each.path === path).map(({ diagnostic }) => diagnostic) }));
}

/** The user's own folder stays that under whatever path it is named. */
function asModuleFolder({ path }: ToolFolder, options: PolicyOptions): SdkFolder {
  const real = realpathSync(path);
  return moduleFolders(options).find((known) => existsSync(known.path) && realpathSync(known.path) === real) ??
    { path: real, scope: "workspace" };
}

/** A folder of one dialect holds files of that dialect; any other folder may hold all. */
function givenFolder(path: string): ToolFolder {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) throw new UsageError(`Cannot validate "${path}" as it does not exist: name an existing folder`);
  if (!status.isDirectory()) throw new UsageError(`Cannot validate "${path}" as it is not a folder: name the folder it lies in`);
  const families: Readonly<Record<string, Family>> = { ".stella": "stella", ".nanocoder": "nanocoder" };
  const family = basename(path) === "tools" ? families[basename(dirname(path))] : undefined;
  return { path, scope: "workspace", family: family ?? "orrery" };
}

/** Folders by precedence, as the toolbox has it: the workspace first, and in one scope Orrery's, Stella's, Nanocoder's. */
function orderOf(...groups: readonly (readonly ToolFolder[])[]): readonly string[] {
  const families: readonly Family[] = ["orrery", "stella", "nanocoder", "other"];
  const rank = ({ scope, family }: ToolFolder) => (scope === "workspace" ? 0 : families.length) + families.indexOf(family);
  return [...new Set(groups.flat().toSorted((left, right) => rank(left) - rank(right)).map(({ path }) => path))];
}
