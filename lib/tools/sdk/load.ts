/**
 * From folders of tool files in TypeScript, JavaScript and Python to candidates of a toolbox, or to a report for
 * `orrery tools --validate`. Which tools such a file has is known only by running it: one that may not run is listed
 * without names, and one that takes too long, or is broken, keeps no other from being loaded.
 */
import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { describeDiagnostic, type Diagnostic } from "../diagnostic.ts";
import { readToolFiles, type ToolFile } from "../tool-files.ts";
import type { LoadedTools, LoadTrust, ValidatedFile } from "../tool-folder.ts";
import type { Candidate, Notice } from "../toolbox.ts";
import { languages, loadSdkFile, type SdkFile, type SdkPorts } from "./files.ts";
import type { Language } from "./language.ts";

export interface SdkFolder {
  readonly path: string;
  readonly scope: "workspace" | "user";
  /** Why no file of it is run, trusted or not: it is only looked at. */
  readonly neverRuns?: string;
}

export interface SdkLoadContext {
  readonly trust: LoadTrust;
  /** Whether a file of the workspace may run with the content that has this digest. */
  allowsFile(path: string, digest: string): boolean;
  /** The first word of a command that names a program in the workspace. */
  workspaceProgram(command: readonly string[]): string | null;
  readonly ports: SdkPorts;
}

/** Files that are asked for their tools at the same time. */
const AT_ONCE = 4;

/** Reads every folder, and asks the files that may run and are new for their tools. */
export async function loadSdkTools(folders: readonly SdkFolder[], context: SdkLoadContext): Promise<LoadedTools> {
  const loaded = await forEachFile(folders, context);
  return { candidates: loaded.flatMap(({ loaded }) => toCandidates(loaded)), notices: loaded.flatMap(({ loaded }) => toNotices(loaded)) };
}

/** What there is to say about each file, that it was not asked included. Nothing is taken from what a file said before. */
export async function validateSdkFiles(folders: readonly SdkFolder[], context: SdkLoadContext): Promise<readonly ValidatedFile[]> {
  const ports = { ...context.ports, afresh: true };
  return (await forEachFile(folders, { ...context, ports })).map(({ file, loaded }) => toValidated(file.path, loaded));
}

interface Visited {
  readonly file: ToolFile;
  readonly loaded: SdkFile;
}

async function forEachFile(folders: readonly SdkFolder[], context: SdkLoadContext): Promise<readonly Visited[]> {
  const found = (await Promise.all(folders.map((folder) => filesIn(folder)))).flat();
  const visited: Visited[] = [];
  for (let start = 0; start < found.length; start += AT_ONCE) {
    visited.push(
      ...await Promise.all(
        found.slice(start, start + AT_ONCE).map(async ({ file, folder, language }): Promise<Visited> => {
          const { scope, neverRuns } = folder;
          // There a file that cannot be read may be anything.
          if (neverRuns !== undefined) {
            return { file, loaded: { kind: "untrusted", origin: { system: "sdk", scope, path: file.path }, reason: neverRuns } };
          }
          const untrusted = await untrustedReason(file, folder, language, context);
          return { file, loaded: await loadSdkFile(file, scope, language, untrusted, context.ports) };
        }),
      ),
    );
  }
  return visited;
}

interface Found {
  readonly file: ToolFile;
  readonly folder: SdkFolder;
  readonly language: Language;
}

/** In order of their names. A declaration file has nothing to run. */
async function filesIn(folder: SdkFolder): Promise<readonly Found[]> {
  const found = await Promise.all(
    languages.flatMap((language) =>
      language.extensions.map(async (extension) =>
        (await readToolFiles(folder.path, extension)).map((file) => ({ file, folder, language }))
      )
    ),
  );
  return found.flat().filter(({ file }) => !file.path.endsWith(".d.ts"))
    .toSorted((left, right) => basename(left.file.path) < basename(right.file.path) ? -1 : 1);
}

/** A user's file that lies in the workspace, or is run by a program of it, runs what the workspace says. */
async function untrustedReason(
  file: ToolFile,
  { scope }: SdkFolder,
  language: Language,
  { trust, allowsFile, workspaceProgram, ports }: SdkLoadContext,
): Promise<string | null> {
  if (file.kind === "unreadable") return null;
  if (scope === "workspace") {
    if (!file.path.startsWith(`${ports.place.workspace}/`)) return "it does not lie in the workspace";
    if (allowsFile(file.path, file.digest)) return null;
    return trust.kind === "trusted" ? "it is none of the files that were trusted" : trust.reason;
  }
  if (trust.kind === "trusted") return null;
  const word = language.program === null ? null : workspaceProgram([language.program]);
  if (word !== null) return `"${word}", which runs it, may lead into the workspace, and ${trust.reason}`;
  const real = await realpath(file.path).catch(() => file.path);
  return real.startsWith(`${ports.place.workspace}/`) ? `it lies in the workspace, and ${trust.reason}` : null;
}

function toCandidates(loaded: SdkFile): readonly Candidate[] {
  const { origin } = loaded;
  const family = "orrery" as const;
  switch (loaded.kind) {
    case "untrusted":
      return [{ kind: "untrusted", origin, family, reason: loaded.reason }];
    case "broken": {
      const reason = loaded.diagnostics.filter(({ severity }) => severity === "error").map(describeDiagnostic).join(" ");
      const names = loaded.names.length === 0 ? [null] : loaded.names;
      return names.map((name) => ({ kind: "broken", name, description: null, origin, family, reason, told: true }));
    }
    case "tools":
      return loaded.tools.map((tool) => ({ kind: "tool", tool, family }));
  }
}

function toNotices(loaded: SdkFile): readonly Notice[] {
  if (loaded.kind === "untrusted") return [];
  return loaded.diagnostics.map((said) => ({
    level: said.severity,
    code: said.code,
    text: `${loaded.origin.path}: ${describeDiagnostic(said)}`,
  }));
}

function toValidated(path: string, loaded: SdkFile): ValidatedFile {
  switch (loaded.kind) {
    case "untrusted":
      return { path, diagnostics: [notLoaded(loaded.reason)] };
    case "broken":
      return { path, ...toNames(loaded.names), diagnostics: loaded.diagnostics };
    case "tools":
      return { path, ...toNames(loaded.tools.map(({ name }) => name)), diagnostics: loaded.diagnostics };
  }
}

function toNames([tool, ...others]: readonly string[]): Pick<ValidatedFile, "tool" | "tools"> {
  return { ...(tool === undefined ? {} : { tool }), ...(tool === undefined || others.length === 0 ? {} : { tools: [tool, ...others] }) };
}

function notLoaded(reason: string): Diagnostic {
  return {
    severity: "info",
    code: "not_loaded",
    message: "This file was not loaded, as that would run it; what is wrong with it is not known",
    remedy: `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`,
  };
}
