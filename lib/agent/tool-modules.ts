/** Tool files in TypeScript, JavaScript and Python: where they lie, and how they are asked for their tools. */
import { readdirSync } from "node:fs";
import { extname, join } from "node:path";
import type { Launch, Run } from "../session/launch.ts";
import { distinctFolders } from "../tools/folder-names.ts";
import type { SdkFolder, SdkLoadContext } from "../tools/sdk/load.ts";
import type { LoadedTools, LoadTrust, ValidatedFile } from "../tools/tool-folder.ts";
import type { Policy, PolicyOptions } from "./policy.ts";

/** Runs a launch that belongs to no session, supervised. Never rejects. */
export type RunAside = (launch: Launch) => Promise<Run>;

type Place = Pick<PolicyOptions, "workspace" | "paths">;

/** Folders that may hold such files, in order of precedence. */
export function moduleFolders({ workspace, paths }: Place): readonly SdkFolder[] {
  const folders: readonly SdkFolder[] = [
    { path: join(workspace, ".orrery/tools"), scope: "workspace" },
    { path: join(paths.config, "tools"), scope: "user" },
  ];
  return distinctFolders(folders, workspace);
}

/** Whoever has no such files does not wait for the code that knows them. */
export async function loadModules(options: Place, policy: Policy, trust: LoadTrust, run: RunAside): Promise<LoadedTools> {
  const folders = moduleFolders(options).filter(hasModules);
  if (folders.length === 0) return { candidates: [], notices: [] };
  const { loadSdkTools } = await import("../tools/sdk/load.ts");
  return await loadSdkTools(folders, await toContext(options, policy, trust, run));
}

export async function validateModules(
  folders: readonly SdkFolder[],
  options: Place,
  policy: Policy,
  trust: LoadTrust,
  run: RunAside,
): Promise<readonly ValidatedFile[]> {
  const present = folders.filter(hasModules);
  if (present.length === 0) return [];
  const { validateSdkFiles } = await import("../tools/sdk/load.ts");
  return await validateSdkFiles(present, await toContext(options, policy, trust, run));
}

async function toContext(
  { workspace, paths }: Place,
  { inherited, trust: { allowsFile } }: Policy,
  trust: LoadTrust,
  run: RunAside,
): Promise<SdkLoadContext> {
  const [{ createDescriptionCache }, { isWorkspaceProgram }] = await Promise.all([
    import("../tools/sdk/description-cache.ts"),
    import("../gate/program-place.ts"),
  ]);
  return {
    trust,
    allowsFile,
    workspaceProgram: ([program = ""]) => isWorkspaceProgram(program, { workspace, path: inherited.env["PATH"] ?? "" }) ? program : null,
    ports: { place: { workspace, env: inherited.env }, cache: createDescriptionCache(join(paths.data, "tool-files")), run },
  };
}

const EXTENSIONS: readonly string[] = [".ts", ".js", ".py"];

function hasModules({ path }: SdkFolder): boolean {
  try {
    return readdirSync(path).some((name) => EXTENSIONS.includes(extname(name)));
  } catch {
    // Most projects lack this folder; one that may not be listed is as good as absent.
    return false;
  }
}
