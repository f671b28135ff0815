/** From folders of Markdown tools to candidates of a toolbox, or to a report for `orrery tools --validate`. */
import { existsSync } from "node:fs";
import { readToolFiles, type ToolFile } from "../tool-files.ts";
import {
  type CheckedFile,
  ignoredFiles,
  loadBroken,
  type LoadedTools,
  type LoadPlace,
  toNotice,
  type ToolFolder,
  UNREADABLE,
  untrustedReason,
  type ValidatedFile,
} from "../tool-folder.ts";
import type { Diagnostic } from "../diagnostic.ts";
import type { Definition, ParsedDefinition, ParseOptions } from "./definition.ts";
import { expandAll, expandVariables, inheritedBy } from "./environment.ts";
import { beginsFrontmatter } from "./frontmatter.ts";
import { findSkillTools } from "./leftovers.ts";
import { outlineOf } from "./render.ts";
import { scriptTool } from "./script-tool.ts";

export interface LoadContext extends LoadPlace {
  /** What children inherit. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of variables that children do not get. */
  readonly withheld?: readonly string[];
  /** What of a script and its variables may lead into the workspace, in words such as `its script, by "./x",`; or null. */
  readonly workspacePart?: (script: string, place: ScriptPlace) => string | null;
}

/** `cwd`: as the tool gives it, relative to the workspace or absolute; `path`: its PATH; `env`: what it sets. */
export interface ScriptPlace {
  readonly cwd: string;
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Reads every folder. Nothing in one file keeps another from being loaded, and nothing is started. */
export async function loadMarkdownTools(folders: readonly ToolFolder[], context: LoadContext): Promise<LoadedTools> {
  const loaded = await forEachFile(folders, context, (file, folder, parsed) => loadFile(file, folder, parsed, context));
  const aside = await leftovers(folders, context.workspace, "session");
  return {
    candidates: loaded.flatMap(({ candidates }) => candidates),
    notices: [
      ...loaded.flatMap(({ notices }) => notices),
      ...aside.flatMap(({ path, diagnostics }) => diagnostics.map((said) => toNotice(path, said))),
    ],
  };
}

/** Everything there is to say about each file of these folders by itself. Trust plays no part. */
export async function validateMarkdownTools(
  folders: readonly ToolFolder[],
  context: Omit<LoadContext, "trust">,
): Promise<readonly CheckedFile[]> {
  const validated = await forEachFile(folders, context, (file, { family }, parsed): CheckedFile => {
    if (family === "other" && !isMeantAsTool(file)) return { path: file.path, diagnostics: [noFrontmatter] };
    if (file.kind === "unreadable") return { path: file.path, diagnostics: [file.diagnostic] };
    const { name, namePosition, diagnostics } = parsed;
    return { path: file.path, ...(name === null ? {} : { tool: name, nameAt: () => namePosition }), diagnostics };
  });
  return [...validated, ...await leftovers(folders, context.workspace, "check")];
}

/** In a folder that is for no format Markdown is mostly text for people. */
function isMeantAsTool(file: ToolFile): boolean {
  return file.kind === "text" ? beginsFrontmatter(file.text) : file.diagnostic.code !== "unreadable";
}

const noFrontmatter: Diagnostic = {
  severity: "info",
  code: "ignored_file",
  message: "This file is no tool, as a tool in Markdown begins with frontmatter",
  remedy: "Leave it, if it is for people; else begin it with --- alone on its first line.",
};

/** For the bodies of a folder: three seconds. A thousand common tools take a tenth of it, a thousand of a dozen lines all. */
const MOST_STEPS = 120_000_000;

/** In order of the folders, then of the files' names. */
async function forEachFile<T>(
  folders: readonly ToolFolder[],
  { withheld = [] }: Pick<LoadContext, "withheld">,
  visit: (file: ToolFile, folder: ToolFolder, parsed: ParsedDefinition) => T | Promise<T>,
): Promise<readonly T[]> {
  const options: ParseOptions = { defaultShell: existsSync("/bin/bash") ? "bash" : "sh", withheld };
  const results: T[] = [];
  for (const folder of folders) {
    const files = await readToolFiles(folder.path, ".md");
    if (files.length === 0) continue;
    // The YAML library is not loaded for a project without such tools.
    const { parseDefinition } = await import("./definition.ts");
    // One for each folder: a workspace cannot use up that of the user's own tools.
    const budget = { steps: MOST_STEPS };
    for (const file of files) {
      results.push(await visit(file, folder, file.kind === "text" ? await parseDefinition(file.text, { ...options, budget }) : NOTHING));
    }
  }
  return results;
}

const NOTHING: ParsedDefinition = { ...UNREADABLE, definition: null, namePosition: null };

async function loadFile(file: ToolFile, folder: ToolFolder, parsed: ParsedDefinition, context: LoadContext): Promise<LoadedTools> {
  const { scope, family } = folder;
  const origin = { system: "nanocoder", scope, path: file.path } as const;
  const { definition, diagnostics, namePosition } = parsed;
  const nameAt = () => namePosition;
  if (file.kind === "unreadable" || definition === null) return loadBroken(file, origin, family, { ...parsed, nameAt });
  const tool = scriptTool(definition, { origin, digest: file.digest });
  const untrusted = await untrustedReason(file, folder, context, () => partOf(definition, context));
  return {
    candidates: [{ kind: "tool", tool, family, nameAt, ...(untrusted === null ? {} : { untrusted }) }],
    notices: diagnostics.map((said) => toNotice(file.path, said)),
  };
}

/** What a body would run of the workspace. What a value makes of it cannot be seen from here. */
function partOf({ pieces, cwd, env: own }: Definition, { workspacePart, env: given = {} }: LoadContext): string | null {
  const env = inheritedBy(given);
  const set = expandAll(own, env);
  const place = { cwd: cwd === null ? "" : expandVariables(cwd, env), path: set["PATH"] ?? env["PATH"] ?? "", env: set };
  return workspacePart?.(outlineOf(pieces), place) ?? null;
}

/** What Nanocoder has besides flat Markdown tools, and what is not loaded here. */
async function leftovers(folders: readonly ToolFolder[], workspace: string, who: "session" | "check"): Promise<readonly ValidatedFile[]> {
  const skills = (await findSkillTools(workspace)).map((path): ValidatedFile => ({
    path,
    diagnostics: [{
      severity: "info",
      code: "skill_tools",
      message: "Tools of a skill bundle are not loaded",
      remedy: "Copy the file to .nanocoder/tools to use it.",
    }],
  }));
  // The other folders are those of the Stella format too, which tells of them.
  return [...await ignoredFiles(folders.filter(({ family }) => family === "nanocoder"), who), ...skills];
}
