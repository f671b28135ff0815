/**
 * What the loaders of the text formats share: folders in order of precedence, whether what lies in them may run, and what
 * is said of a file. Each format brings only how it reads its own.
 */
import { realpath } from "node:fs/promises";
import type { Origin } from "../session/event.ts";
import { describeDiagnostic, type Diagnostic, type Position } from "./diagnostic.ts";
import { type Extensions, findIgnoredFiles, type ToolFile } from "./tool-files.ts";
import type { Candidate, Family, Notice } from "./toolbox.ts";

/** One folder that may hold tools. */
export interface ToolFolder {
  readonly path: string;
  readonly scope: "workspace" | "user";
  readonly family: Family;
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

export interface LoadPlace {
  /** Absolute, links resolved. */
  readonly workspace: string;
  readonly trust: LoadTrust;
}

export interface LoadedTools {
  readonly candidates: readonly Candidate[];
  /** One for each thing that is said of a file, as `orrery tools --validate` would say it. */
  readonly notices: readonly Notice[];
}

/** What is said of one file. */
export interface ValidatedFile {
  readonly path: string;
  readonly tool?: string;
  /** All of them, of a file that has several. */
  readonly tools?: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** A file that was checked by itself. What it says of its name counts only beside the others. */
export interface CheckedFile extends ValidatedFile {
  /** Where it has its name; asked only of a file that loses it. */
  readonly nameAt?: () => Position | null;
}

type TextFile = Extract<ToolFile, { kind: "text" }>;

/** What was read of a file: the name and the description as far as there are any. */
export interface ReadFile {
  readonly name: string | null;
  readonly description: string | null;
  readonly diagnostics: readonly Diagnostic[];
  readonly nameAt?: () => Position | null;
}

export const UNREADABLE: ReadFile = { name: null, description: null, diagnostics: [] };

/** A file that gave no tool. */
export function loadBroken(
  file: ToolFile,
  origin: Origin,
  family: Family,
  { name, description, diagnostics, nameAt }: ReadFile,
): LoadedTools {
  const said = file.kind === "unreadable" ? [file.diagnostic] : diagnostics;
  const reason = said.filter(({ severity }) => severity === "error").map(describeDiagnostic).join(" ");
  return {
    candidates: [{ kind: "broken", name, description, origin, family, reason, told: true, nameAt }],
    notices: said.map((each) => toNotice(file.path, each)),
  };
}

/**
 * Why a file's tool is inert, or null. A user's tool whose program lies in the workspace runs what the workspace says, so
 * it needs its trust too.
 * @param program what of the workspace it would run, in words such as `its command, by "./x",`; asked only where that matters.
 */
export async function untrustedReason(
  file: TextFile,
  { scope, path: folder }: ToolFolder,
  { trust, workspace }: LoadPlace,
  program: () => string | null | Promise<string | null>,
): Promise<string | null> {
  if (trust.kind === "trusted") return null;
  if (scope === "workspace") return trust.allowsFile?.(file.path, file.digest) === true ? null : trust.reason;
  const inside = `${workspace}/`;
  // Where the home folder is the workspace, the user's own files lie there without any link.
  const isLinked = !folder.startsWith(inside) && (await realpath(file.path).catch(() => file.path)).startsWith(inside);
  const what = isLinked ? "its file" : await program();
  return what === null ? null : `${what} may lead into the workspace, and ${trust.reason}`;
}

/** What is read in a folder, by whoever reads it. */
const EXTENSIONS: Readonly<Record<Family, Extensions>> = {
  orrery: { read: [".toml", ".md", ".ts", ".js", ".py"], reserved: [] },
  stella: { read: [".toml"], reserved: [] },
  nanocoder: { read: [".md"], reserved: [".ts", ".js"] },
  // A folder that is for no format may be any: what has a subfolder of code or of texts is most likely a project.
  other: { read: [".toml", ".md", ".ts", ".js", ".py"], reserved: [], telling: [".toml"] },
};

/** A word on each file of these folders that nothing reads. */
export async function ignoredFiles(folders: readonly ToolFolder[], who: "session" | "check"): Promise<readonly ValidatedFile[]> {
  const byPath = new Map(folders.map(({ path, family }) => [path, EXTENSIONS[family]]));
  return (await Promise.all([...byPath].map(([path, extensions]) => findIgnoredFiles(path, extensions, who)))).flat();
}

export function toNotice(path: string, diagnostic: Diagnostic): Notice {
  return { level: diagnostic.severity, code: diagnostic.code, text: `${path}: ${describeDiagnostic(diagnostic)}` };
}
