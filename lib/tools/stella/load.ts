/** From folders of Stella manifests to candidates of a toolbox, or to a report for `orrery tools --validate`. */
import type { Position } from "../diagnostic.ts";
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
} from "../tool-folder.ts";
import { type Manifest, type ParsedManifest, parseManifest } from "./manifest.ts";
import { findPositions } from "./positions.ts";
import { findProgram, type Machine, type ProgramAnswer, rememberLooks, thisMachine } from "./program.ts";
import { scriptTool } from "./script-tool.ts";

export interface LoadContext extends LoadPlace {
  /** What children inherit. */
  readonly env: Readonly<Record<string, string>>;
  readonly machine?: Machine;
  /** What of a command and its variables may lead into the workspace, in words such as `its command, by "./x",`; or null. */
  readonly workspacePart?: (command: readonly string[], path: string, env: Readonly<Record<string, string>>) => string | null;
}

/** Reads every folder. Nothing in one file keeps another from being loaded, and nothing is started. */
export async function loadManifests(folders: readonly ToolFolder[], given: LoadContext): Promise<LoadedTools> {
  const context = { ...given, machine: rememberLooks(given.machine ?? thisMachine) };
  const loaded = await forEachFile(folders, (file, folder) => loadFile(file, folder, context));
  const ignored = (await ignoredFiles(folders, "session")).flatMap(({ path, diagnostics }) =>
    diagnostics.map((said) => toNotice(path, said))
  );
  return { candidates: loaded.flatMap(({ candidates }) => candidates), notices: [...loaded.flatMap(({ notices }) => notices), ...ignored] };
}

/** Everything there is to say about each manifest of these folders by itself. Trust plays no part. */
export async function validateManifests(
  folders: readonly ToolFolder[],
  given: Omit<LoadContext, "trust">,
): Promise<readonly CheckedFile[]> {
  const context: LoadContext = { ...given, trust: { kind: "trusted" }, machine: rememberLooks(given.machine ?? thisMachine) };
  const checked = await forEachFile(folders, async (file): Promise<CheckedFile> => {
    if (file.kind === "unreadable") return { path: file.path, diagnostics: [file.diagnostic] };
    const parsed = await parseManifest(file.text);
    const diagnostics = [...parsed.diagnostics, ...(await inspectProgram(file, parsed, context)).diagnostics];
    if (parsed.name === null) return { path: file.path, diagnostics };
    return { path: file.path, tool: parsed.name, diagnostics, nameAt: nameIn(file) };
  });
  return [...checked, ...await ignoredFiles(folders, "check")];
}

const AT_ONCE = 16;

/** In the order of folders and files; a folder that is named twice is read once. */
async function forEachFile<T>(
  folders: readonly ToolFolder[],
  read: (file: ToolFile, folder: ToolFolder) => Promise<T>,
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

type TextFile = Extract<ToolFile, { kind: "text" }>;

async function loadFile(file: ToolFile, folder: ToolFolder, context: LoadContext): Promise<LoadedTools> {
  const origin = { system: "stella", scope: folder.scope, path: file.path } as const;
  if (file.kind === "unreadable") return loadBroken(file, origin, folder.family, UNREADABLE);
  const parsed = await parseManifest(file.text);
  const { manifest } = parsed;
  const program = await inspectProgram(file, parsed, context);
  const diagnostics = [...parsed.diagnostics, ...program.diagnostics];
  if (manifest === null) return loadBroken(file, origin, folder.family, { ...parsed, diagnostics, nameAt: nameIn(file) });
  const bareProgram = manifest.command[0].includes("/") ? null : program.path;
  const tool = scriptTool(manifest, { origin, digest: file.digest, bareProgram });
  const untrusted = await untrustedReason(file, folder, context, () => partOf(manifest, program.location, context));
  // An inert copy shadows nothing.
  const said = diagnostics.filter(({ code }) => untrusted === null || code !== "shadows_builtin");
  return {
    candidates: [{ kind: "tool", tool, family: folder.family, nameAt: nameIn(file), ...(untrusted === null ? {} : { untrusted }) }],
    notices: said.map((each) => toNotice(file.path, each)),
  };
}

function nameIn({ text }: TextFile): () => Position | null {
  return () => findPositions(text).of(["name"]);
}

/** What a manifest would run of the workspace, in words. */
async function partOf({ command, env }: Manifest, program: string | null, context: LoadContext): Promise<string | null> {
  const { workspace, machine = thisMachine } = context;
  const word = context.workspacePart?.(command, env["PATH"] ?? context.env["PATH"] ?? "", env) ?? null;
  if (word !== null) return word;
  const real = program === null ? "" : await machine.real(program);
  return real.startsWith(`${workspace}/`) ? "its program" : null;
}

async function inspectProgram(file: TextFile, { command, env }: ParsedManifest, context: LoadContext): Promise<ProgramAnswer> {
  if (command === null) return { path: null, location: null, diagnostics: [] };
  const question = {
    program: command[0],
    workspace: context.workspace,
    path: env["PATH"] ?? context.env["PATH"],
    trusted: context.trust.kind === "trusted",
  };
  const machine = context.machine ?? thisMachine;
  const answer = await findProgram(question, machine);
  if (answer.diagnostics.length === 0) return answer;
  // Positions cost a second reading of the file, so they are found only when there is something to say.
  return { ...answer, diagnostics: answer.diagnostics.map((said) => ({ ...said, ...(findPositions(file.text).of(["command"]) ?? {}) })) };
}
