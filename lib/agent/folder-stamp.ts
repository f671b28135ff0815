/** Whether folders still hold the files that were read from them. */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** One text for what lies in these folders: it changes with every file that is written, added, removed or renamed. */
export async function stampFolders(folders: readonly string[]): Promise<string> {
  const stamps = await Promise.all([...new Set(folders)].map(async (folder) => `${folder}\n${(await stampFolder(folder)).join("\n")}`));
  return stamps.join("\n\n");
}

async function stampFolder(folder: string): Promise<readonly string[]> {
  // Most are absent, which is told without the detour over another thread.
  if (!existsSync(folder)) return [];
  // A folder that cannot be read holds nothing; whoever reads its tools says why.
  const names = await readdir(folder).catch((): readonly string[] => []);
  return await Promise.all(names.toSorted().map(async (name) => `${name} ${await stampFile(join(folder, name))}`));
}

/** Of what a link leads to, as links are followed. */
async function stampFile(path: string): Promise<string> {
  // What cannot be looked at counts as long as it stays so.
  const found = await stat(path).catch(() => null);
  return found === null ? "-" : [found.ino, found.size, found.mtimeMs, found.ctimeMs].join(" ");
}
