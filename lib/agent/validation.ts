/** Everything there is to say about the tool files of a workspace, or of one folder. Nothing is started; trust plays no part. */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { UsageError } from "../config/error.ts";
import { type Diagnostic, hasErrors } from "../tools/diagnostic.ts";
import { validateMarkdownTools } from "../tools/nanocoder/load.ts";
import { type ValidatedFile, validateManifests } from "../tools/stella/load.ts";
import type { Family } from "../tools/toolbox.ts";
import { openPolicy, type PolicyOptions } from "./policy.ts";
import { manifestFolders, markdownFolders } from "./workshop.ts";

export type { ValidatedFile } from "../tools/stella/load.ts";

interface Folder {
  readonly path: string;
  readonly scope: "workspace" | "user";
  readonly family: Family;
}

/**
 * @param directory absolute; without it every folder that tools of this workspace are looked for in.
 * @throws {UsageError} the directory is none. @throws {ConfigError}
 */
export async function validateToolFiles(options: PolicyOptions, directory?: string): Promise<readonly ValidatedFile[]> {
  const { workspace, paths, env } = options;
  const { inherited } = await openPolicy(options);
  const given = directory === undefined ? null : givenFolder(directory);
  const folders = {
    manifests: given === null ? manifestFolders(workspace, paths, env) : given.family === "nanocoder" ? [] : [given],
    markdown: given === null ? markdownFolders(options) : given.family === "stella" ? [] : [given],
  };
  const [manifests, found] = await Promise.all([
    validateManifests(folders.manifests, { workspace, env: inherited.env }),
    validateMarkdownTools(folders.markdown, { workspace, withheld: inherited.withheld }),
  ]);
  // What lies elsewhere in the workspace was not asked about.
  const markdown = given === null ? found : found.filter(({ path }) => dirname(path) === given.path);
  const order = orderOf(folders.manifests, folders.markdown);
  return [...withRivals([...manifests, ...markdown], order), ...folders.manifests.flatMap(modulesIn)];
}

/** A folder of one dialect holds files of that dialect; any other folder may hold all. */
function givenFolder(path: string): Folder {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) throw new UsageError(`Cannot validate "${path}" as it does not exist: name an existing folder`);
  if (!status.isDirectory()) throw new UsageError(`Cannot validate "${path}" as it is not a folder: name the folder it lies in`);
  const families: Readonly<Record<string, Family>> = { ".stella": "stella", ".nanocoder": "nanocoder" };
  const family = basename(path) === "tools" ? families[basename(dirname(path))] : undefined;
  return { path, scope: "workspace", family: family ?? "orrery" };
}

/** Folders by precedence, as the toolbox has it: the workspace first, and in one scope Orrery's, Stella's, Nanocoder's. */
function orderOf(...groups: readonly (readonly Folder[])[]): readonly string[] {
  const families: readonly Family[] = ["orrery", "stella", "nanocoder", "other"];
  const rank = ({ scope, family }: Folder) => (scope === "workspace" ? 0 : families.length) + families.indexOf(family);
  return [...new Set(groups.flat().toSorted((left, right) => rank(left) - rank(right)).map(({ path }) => path))];
}

/** Each dialect tells of its own files that lose their name; here a file learns that it lost it to another dialect. */
function withRivals(files: readonly ValidatedFile[], order: readonly string[]): readonly ValidatedFile[] {
  const owners = new Map<string, ValidatedFile>();
  const rank = ({ path }: ValidatedFile) => order.indexOf(dirname(path));
  for (const file of files.toSorted((left, right) => rank(left) - rank(right))) {
    if (file.tool !== undefined && !hasErrors(file.diagnostics) && !owners.has(file.tool)) owners.set(file.tool, file);
  }
  return files.map((file) => {
    const owner = file.tool === undefined ? undefined : owners.get(file.tool);
    const isKnownLoser = file.diagnostics.some(({ code }) => code === "duplicate_name" || code === "shadowed_name");
    if (owner === undefined || owner === file || isKnownLoser || hasErrors(file.diagnostics)) return file;
    return { ...file, diagnostics: [...file.diagnostics, lost(owner)] };
  });
}

function lost({ path, tool }: ValidatedFile): Diagnostic {
  const message = `"${tool}" is already the name of ${path}, which comes before this file; this file is not used`;
  return { severity: "warning", code: "shadowed_name", message, remedy: "Give one of them another name." };
}

const MODULES = [".ts", ".js", ".py"];

/** Which tools such a file has is known only by running it, and validating runs nothing. */
function modulesIn({ path, family }: Folder): readonly ValidatedFile[] {
  if (family !== "orrery") return [];
  return namesIn(path).filter((name) => MODULES.includes(extname(name))).map((name) => ({
    path: join(path, name),
    diagnostics: [{
      severity: "info",
      code: "not_loaded",
      message: "This file was not loaded, as that would run it; what is wrong with it is not known",
      remedy: "Start a session in the trusted workspace: that loads it.",
    }],
  }));
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    // Most projects lack this folder; one that may not be listed is as good as absent.
    return [];
  }
}
