/**
 * Everything there is to say about the tool files of a workspace, or of one folder. Trust plays no part and nothing is
 * started, but for files in code that may run: only running them tells what is in them.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
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
  const { workspace, paths } = options;
  const policy = await openPolicy(options);
  const { inherited } = policy;
  const folders = directory === undefined ? everyFolder(options) : givenFolder(directory, options);
  const [manifests, found, modules] = await Promise.all([
    validateManifests(folders.manifests, { workspace, env: inherited.env }),
    validateMarkdownTools(folders.markdown, { workspace, withheld: inherited.withheld }),
    validateModules(folders.modules, options, policy, toLoadTrust(policy.trust), run),
  ]);
  // What lies elsewhere in the workspace was not asked about.
  const isAskedFor = (path: string) => folders.markdown.some((folder) => [path, dirname(path)].includes(folder.path));
  const markdown = directory === undefined ? found : found.filter(({ path }) => isAskedFor(path));
  const order = orderOf(folders.manifests, folders.markdown);
  const files = withLostNames([...manifests, ...markdown, ...modules], order);
  if (directory !== undefined) return files;
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

/** Where files of each kind are looked for. */
interface Folders {
  readonly manifests: readonly ToolFolder[];
  readonly markdown: readonly ToolFolder[];
  readonly modules: readonly SdkFolder[];
}

function everyFolder(options: PolicyOptions): Folders {
  const { workspace, paths, env } = options;
  return { manifests: manifestFolders(workspace, paths, env), markdown: markdownFolders(options), modules: moduleFolders(options) };
}

/**
 * A folder that sessions read is judged as they read it, under whatever path it is named. Of any other one its name tells
 * what it holds, or it may hold all; but no file in code is ever run from there.
 */
function givenFolder(path: string, options: PolicyOptions): Folders {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) throw new UsageError(`Cannot validate "${path}" as it does not exist: name an existing folder`);
  if (!status.isDirectory()) throw new UsageError(`Cannot validate "${path}" as it is not a folder: name the folder it lies in`);
  const real = realpathSync(path);
  const { manifests, markdown, modules } = everyFolder(options);
  const paths = [...manifests, ...markdown, ...modules].map((folder) => folder.path);
  const known = paths.find((each) => each === path) ?? paths.find((each) => existsSync(each) && realpathSync(each) === real);
  if (known !== undefined) return { manifests: only(manifests, known), markdown: only(markdown, known), modules: only(modules, known) };
  const family = familyOf(path) ?? familyOf(real) ?? "other";
  const folder = { path, scope: "workspace", family } as const;
  return {
    manifests: family === "nanocoder" ? [] : [folder],
    markdown: family === "stella" ? [] : [folder],
    modules: family === "stella" || family === "nanocoder" ? [] : [{ path, scope: "workspace", neverRuns: NOT_FROM_THERE }],
  };
}

const NOT_FROM_THERE = "a file in code is run only from .orrery/tools of the workspace or from the user's own Orrery tools folder";

/** One path may be that of several folders, as where the workspace is the home folder. */
function only<Folder extends { readonly path: string }>(folders: readonly Folder[], path: string): readonly Folder[] {
  return folders.filter((folder) => folder.path === path).slice(0, 1);
}

/** Of a folder of another workspace or user. */
function familyOf(path: string): Family | undefined {
  const families: Readonly<Record<string, Family>> = { orrery: "orrery", stella: "stella", nanocoder: "nanocoder" };
  const [, name = ""] = /\/\.(?:config\/)?(orrery|stella|nanocoder)\/tools$/.exec(path) ?? [];
  return families[name];
}

/** Folders by precedence, as the toolbox has it: the workspace first, and in one scope Orrery's, Stella's, Nanocoder's. */
function orderOf(...groups: readonly (readonly ToolFolder[])[]): readonly string[] {
  const families: readonly Family[] = ["orrery", "stella", "nanocoder", "other"];
  const rank = ({ scope, family }: ToolFolder) => (scope === "workspace" ? 0 : families.length) + families.indexOf(family);
  return [...new Set(groups.flat().toSorted((left, right) => rank(left) - rank(right)).map(({ path }) => path))];
}
