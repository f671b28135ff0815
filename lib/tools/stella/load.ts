/** From folders of Stella manifests to candidates of a toolbox, or to a report for `orrery tools --validate`. */
import { describeDiagnostic, type Diagnostic, hasErrors, type RemediedDiagnostic } from "../diagnostic.ts";
import { findIgnoredFiles, type IgnoredFile, readToolFiles, type ToolFile } from "../tool-files.ts";
import type { Candidate, Family, Notice } from "../toolbox.ts";
import { type Manifest, type ParsedManifest, parseManifest } from "./manifest.ts";
import { findPositions } from "./positions.ts";
import { findProgram, type Machine, type ProgramAnswer, rememberLooks, thisMachine } from "./program.ts";
import { scriptTool } from "./script-tool.ts";

/** One folder that may hold manifests. */
export interface ManifestFolder {
  readonly path: string;
  readonly scope: "workspace" | "user";
  readonly family: Family;
}

export interface LoadContext {
  /** Absolute, links resolved. */
  readonly workspace: string;
  /** What children inherit. */
  readonly env: Readonly<Record<string, string>>;
  readonly trust: LoadTrust;
  readonly machine?: Machine;
  /** The first word of a command that names a program in the workspace, whether or not it is there yet. */
  readonly workspaceProgram?: (command: readonly string[], path: string) => string | null;
}

/** Whether what lies in the workspace may run; else why not, in words that name the command to trust it. */
export type LoadTrust =
  | { readonly kind: "trusted" }
  | {
    readonly kind: "untrusted";
    readonly reason: string;
    /** Whether this very file may run all the same, as it was trusted by itself. */
    allowsFile?(path: string, digest: string): boolean;
  };

export interface LoadedTools {
  readonly candidates: readonly Candidate[];
  /** One for each thing that is said of a file, as `orrery tools --validate` would say it. */
  readonly notices: readonly Notice[];
}

/** Reads every folder. Nothing in one file keeps another from being loaded, and nothing is started. */
export async function loadManifests(folders: readonly ManifestFolder[], given: LoadContext): Promise<LoadedTools> {
  const context = { ...given, machine: rememberLooks(given.machine ?? thisMachine) };
  const loaded = await forEachFile(folders, (file, folder) => loadFile(file, folder, context));
  const ignored = (await ignoredIn(folders)).map(({ path, diagnostic }) => toNotice(path, diagnostic));
  return { candidates: loaded.flatMap(({ candidates }) => candidates), notices: [...loaded.flatMap(({ notices }) => notices), ...ignored] };
}

/** What is said of one file. */
export interface ValidatedFile {
  readonly path: string;
  readonly tool?: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Everything there is to say about the manifests of these folders, given in order of precedence. Trust plays no part. */
export async function validateManifests(
  folders: readonly ManifestFolder[],
  given: Omit<LoadContext, "trust">,
): Promise<readonly ValidatedFile[]> {
  const context: LoadContext = { ...given, trust: { kind: "trusted" }, machine: rememberLooks(given.machine ?? thisMachine) };
  const read = await forEachFile(folders, async (file, folder) => {
    if (file.kind === "unreadable") return { file, folder, parsed: null, program: null };
    const parsed = await parseManifest(file.text);
    return { file, folder, parsed, program: await inspectProgram(file, parsed, context) };
  });
  const owners = new Map<string, Owner>();
  const checked = read.map(({ file, folder, parsed, program }): ValidatedFile => {
    if (file.kind === "unreadable" || parsed === null) {
      return { path: file.path, diagnostics: file.kind === "unreadable" ? [file.diagnostic] : [] };
    }
    const diagnostics = [...parsed.diagnostics, ...duplicateOf(parsed, file, folder, owners), ...(program?.diagnostics ?? [])];
    return { path: file.path, ...(parsed.name === null ? {} : { tool: parsed.name }), diagnostics };
  });
  return [...checked, ...(await ignoredIn(folders)).map(({ path, diagnostic }) => ({ path, diagnostics: [diagnostic] }))];
}

/** What is read in a folder, by whoever reads it. */
const EXTENSIONS: Readonly<Record<Family, readonly string[]>> = {
  orrery: [".toml", ".md", ".ts", ".js", ".py"],
  stella: [".toml"],
  nanocoder: [".md"],
  other: [".toml"],
};

async function ignoredIn(folders: readonly ManifestFolder[]): Promise<readonly IgnoredFile[]> {
  const byPath = new Map(folders.map(({ path, family }) => [path, EXTENSIONS[family]]));
  return (await Promise.all([...byPath].map(([path, extensions]) => findIgnoredFiles(path, extensions)))).flat();
}

const AT_ONCE = 16;

/** In the order of folders and files; a folder that is named twice is read once. */
async function forEachFile<T>(
  folders: readonly ManifestFolder[],
  read: (file: ToolFile, folder: ManifestFolder) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  const seen = new Set<string>();
  for (const folder of folders) {
    if (seen.has(folder.path)) continue;
    seen.add(folder.path);
    const files = await readToolFiles(folder.path, ".toml");
    for (let start = 0; start < files.length; start += AT_ONCE) {
      results.push(...await Promise.all(files.slice(start, start + AT_ONCE).map((file) => read(file, folder))));
    }
  }
  return results;
}

interface Owner {
  readonly path: string;
  readonly folder: string;
}

type TextFile = Extract<ToolFile, { kind: "text" }>;

async function loadFile(file: ToolFile, folder: ManifestFolder, context: LoadContext): Promise<LoadedTools> {
  const origin = { system: "stella", scope: folder.scope, path: file.path } as const;
  const { family } = folder;
  if (file.kind === "unreadable") {
    const reason = describeDiagnostic(file.diagnostic);
    return {
      candidates: [{ kind: "broken", name: null, description: null, origin, family, reason, told: true }],
      notices: [toNotice(file.path, file.diagnostic)],
    };
  }
  const parsed = await parseManifest(file.text);
  if (parsed.manifest === null) {
    const reason = parsed.diagnostics.filter(({ severity }) => severity === "error").map(describeDiagnostic).join("; ");
    const { name, description } = parsed;
    return {
      candidates: [{ kind: "broken", name, description, origin, family, reason, told: true }],
      notices: parsed.diagnostics.map((said) => toNotice(file.path, said)),
    };
  }
  const program = await inspectProgram(file, parsed, context);
  const bareProgram = parsed.manifest.command[0].includes("/") ? null : program.path;
  const tool = scriptTool(parsed.manifest, { origin, digest: file.digest, bareProgram });
  const untrusted = await untrustedReason(file, folder, parsed.manifest, program.location, context);
  return {
    candidates: [{ kind: "tool", tool, family, ...(untrusted === null ? {} : { untrusted }) }],
    notices: [...parsed.diagnostics, ...program.diagnostics].filter(({ code }) => untrusted === null || code !== "shadows_builtin").map((
      said,
    ) => toNotice(file.path, said)),
  };
}

/** A user's tool whose program lies in the workspace runs what the workspace says, so it needs its trust too. */
async function untrustedReason(
  file: TextFile,
  folder: ManifestFolder,
  { command, env }: Manifest,
  program: string | null,
  context: LoadContext,
): Promise<string | null> {
  const { trust, workspace, machine = thisMachine } = context;
  if (trust.kind === "trusted") return null;
  if (folder.scope === "workspace") return trust.allowsFile?.(file.path, file.digest) === true ? null : trust.reason;
  const word = context.workspaceProgram?.(command, env["PATH"] ?? context.env["PATH"] ?? "") ?? null;
  if (word !== null) return `its program "${word}" lies in the workspace, and ${trust.reason}`;
  const real = program === null ? "" : await machine.real(program);
  return real.startsWith(`${workspace}/`) ? `its program lies in the workspace, and ${trust.reason}` : null;
}

async function inspectProgram(file: TextFile, { manifest }: ParsedManifest, context: LoadContext): Promise<ProgramAnswer> {
  if (manifest === null) return { path: null, location: null, diagnostics: [] };
  const question = {
    program: manifest.command[0],
    workspace: context.workspace,
    path: manifest.env["PATH"] ?? context.env["PATH"],
    trusted: context.trust.kind === "trusted",
  };
  const machine = context.machine ?? thisMachine;
  const answer = await findProgram(question, machine);
  if (answer.diagnostics.length === 0) return answer;
  // Positions cost a second reading of the file, so they are found only when there is something to say.
  return { ...answer, diagnostics: answer.diagnostics.map((said) => ({ ...said, ...(findPositions(file.text).of(["command"]) ?? {}) })) };
}

function duplicateOf(
  parsed: ParsedManifest,
  file: TextFile,
  folder: ManifestFolder,
  owners: Map<string, Owner>,
): readonly RemediedDiagnostic[] {
  const { manifest } = parsed;
  if (manifest === null || hasErrors(parsed.diagnostics)) return [];
  const owner = owners.get(manifest.name);
  if (owner === undefined) {
    owners.set(manifest.name, { path: file.path, folder: folder.path });
    return [];
  }
  const same = owner.folder === folder.path;
  const message = `"${manifest.name}" is already the name of ${owner.path}, ${
    same ? "which comes first" : "which comes before this folder"
  }; this file is not used`;
  const position = findPositions(file.text).of(["name"]) ?? {};
  return [{
    severity: "warning",
    code: same ? "duplicate_name" : "shadowed_name",
    message,
    ...position,
    remedy: "Give one of them another name.",
  }];
}

function toNotice(path: string, diagnostic: Diagnostic): Notice {
  return { level: diagnostic.severity, code: diagnostic.code, text: `${path}: ${describeDiagnostic(diagnostic)}` };
}
