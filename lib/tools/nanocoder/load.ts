/** From folders of Markdown tools to candidates of a toolbox, or to a report for `orrery tools --validate`. */
import { existsSync } from "node:fs";
import { describeDiagnostic, type Diagnostic, hasErrors } from "../diagnostic.ts";
import { readToolFiles, type ToolFile } from "../tool-files.ts";
import type { Candidate, Family, Notice } from "../toolbox.ts";
import type { ParsedDefinition, ParseOptions } from "./definition.ts";
import { findReserved, findSkillTools } from "./leftovers.ts";
import { scriptTool } from "./script-tool.ts";

/** One folder that may hold Markdown tools. */
export interface ToolFolder {
  readonly path: string;
  readonly scope: "workspace" | "user";
  readonly family: Family;
}

export interface LoadContext {
  /** Absolute, links resolved. */
  readonly workspace: string;
  /** Names of variables that children do not get. */
  readonly withheld?: readonly string[];
  /** Whether what lies in the workspace may run; else why not, in words that name the command to trust it. */
  readonly trust:
    | { readonly kind: "trusted" }
    | {
      readonly kind: "untrusted";
      readonly reason: string;
      /** Whether this very file may run all the same, as it was trusted by itself. */
      allowsFile?(path: string, digest: string): boolean;
    };
}

export interface LoadedTools {
  readonly candidates: readonly Candidate[];
  /** Warnings of tools that work, and what was found and is not loaded. */
  readonly notices: readonly Notice[];
}

/** Reads every folder. Nothing in one file keeps another from being loaded, and nothing is started. */
export async function loadMarkdownTools(folders: readonly ToolFolder[], context: LoadContext): Promise<LoadedTools> {
  const loaded = await forEachFile(folders, context, (file, folder, parsed) => loadFile(file, folder, parsed, context));
  const aside = await leftovers(folders, context.workspace);
  return {
    candidates: loaded.flatMap(({ candidates }) => candidates),
    notices: [
      ...loaded.flatMap(({ notices }) => notices),
      ...aside.flatMap(({ path, diagnostics }) => diagnostics.map((said) => toNotice(path, said))),
    ],
  };
}

/** What is said of one file. */
export interface ValidatedFile {
  readonly path: string;
  readonly tool?: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Everything there is to say about the files of these folders, given in order of precedence. Trust plays no part. */
export async function validateMarkdownTools(
  folders: readonly ToolFolder[],
  context: Omit<LoadContext, "trust">,
): Promise<readonly ValidatedFile[]> {
  const owners = new Map<string, { readonly path: string; readonly folder: string }>();
  const validated = await forEachFile(folders, context, (file, folder, parsed): ValidatedFile => {
    if (file.kind === "unreadable") return { path: file.path, diagnostics: [file.diagnostic] };
    const tool = parsed.name === null ? {} : { tool: parsed.name };
    return { path: file.path, ...tool, diagnostics: [...parsed.diagnostics, ...duplicateOf(parsed, file.path, folder.path, owners)] };
  });
  return [...validated, ...await leftovers(folders, context.workspace)];
}

/** In order of the folders, then of the files' names. */
async function forEachFile<T>(
  folders: readonly ToolFolder[],
  { withheld = [] }: Pick<LoadContext, "withheld">,
  visit: (file: ToolFile, folder: ToolFolder, parsed: ParsedDefinition) => T,
): Promise<readonly T[]> {
  const options: ParseOptions = { defaultShell: existsSync("/bin/bash") ? "bash" : "sh", withheld };
  const results: T[] = [];
  for (const folder of folders) {
    const files = await readToolFiles(folder.path, ".md");
    if (files.length === 0) continue;
    // The YAML library is not loaded for a project without such tools.
    const { parseDefinition } = await import("./definition.ts");
    for (const file of files) results.push(visit(file, folder, file.kind === "text" ? await parseDefinition(file.text, options) : NOTHING));
  }
  return results;
}

const NOTHING: ParsedDefinition = { definition: null, name: null, description: null, diagnostics: [] };

function loadFile(file: ToolFile, { scope, family }: ToolFolder, parsed: ParsedDefinition, { trust }: LoadContext): LoadedTools {
  const origin = { system: "nanocoder", scope, path: file.path } as const;
  const { definition, name, description, diagnostics } = parsed;
  if (file.kind === "unreadable" || definition === null) {
    const faults = file.kind === "unreadable" ? [file.diagnostic] : diagnostics.filter(({ severity }) => severity === "error");
    return {
      candidates: [{ kind: "broken", name, description, origin, family, reason: faults.map(describeDiagnostic).join("; "), told: true }],
      notices: (file.kind === "unreadable" ? faults : diagnostics).map((said) => toNotice(file.path, said)),
    };
  }
  const tool = scriptTool(definition, { origin, digest: file.digest });
  const isInert = scope === "workspace" && trust.kind === "untrusted" && trust.allowsFile?.(file.path, file.digest) !== true;
  const inert = isInert ? { untrusted: trust.reason } : {};
  return { candidates: [{ kind: "tool", tool, family, ...inert }], notices: diagnostics.map((said) => toNotice(file.path, said)) };
}

function duplicateOf(
  { name, diagnostics }: ParsedDefinition,
  path: string,
  folder: string,
  owners: Map<string, { readonly path: string; readonly folder: string }>,
): readonly Diagnostic[] {
  if (name === null || hasErrors(diagnostics)) return [];
  const owner = owners.get(name);
  if (owner === undefined) {
    owners.set(name, { path, folder });
    return [];
  }
  const same = owner.folder === folder;
  const message = `"${name}" is already the name of ${owner.path}, ${
    same ? "which comes first" : "which comes before this folder"
  }; this file is not used`;
  return [{ severity: "warning", code: same ? "duplicate_name" : "shadowed_name", message, remedy: "Give one of them another name." }];
}

/** What Nanocoder has besides flat Markdown tools, and what is not loaded here. */
async function leftovers(folders: readonly ToolFolder[], workspace: string): Promise<readonly ValidatedFile[]> {
  const reserved = await Promise.all(folders.filter(({ family }) => family === "nanocoder").map(({ path }) => findReserved(path)));
  return [
    ...reserved.flat().map((path) =>
      aside(path, "reserved_extension", ".ts and .js files are reserved for a later version of the format; this one is not loaded")
    ),
    ...(await findSkillTools(workspace)).map((path) =>
      aside(path, "skill_tools", "Tools of a skill bundle are not loaded; copy the file to .nanocoder/tools to use it")
    ),
  ];
}

function aside(path: string, code: string, message: string): ValidatedFile {
  return { path, diagnostics: [{ severity: "info", code, message }] };
}

function toNotice(path: string, diagnostic: Diagnostic): Notice {
  return { level: diagnostic.severity, code: diagnostic.code, text: `${path}: ${describeDiagnostic(diagnostic)}` };
}
