/** Tools of skill bundles, which are none here: said, so that nobody looks for them in vain. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";

/** Folders of a project's skills that are looked into, and how deep. */
const MOST_FOLDERS = 500;
const DEEPEST = 5;

/** Markdown files in folders called `tools` anywhere under `.nanocoder/skills`. */
export async function findSkillTools(workspace: string): Promise<readonly string[]> {
  const found: string[] = [];
  const open = [{ path: join(workspace, ".nanocoder", "skills"), depth: 0, tools: false }];
  for (let visited = 0; open.length > 0 && visited < MOST_FOLDERS; visited++) {
    const folder = open.shift();
    if (folder === undefined) break;
    for (const entry of await entriesOf(folder.path)) {
      const path = join(folder.path, entry.name);
      if (entry.isDirectory() && folder.depth < DEEPEST) open.push({ path, depth: folder.depth + 1, tools: entry.name === "tools" });
      else if (folder.tools && extname(entry.name) === ".md") found.push(path);
    }
  }
  return found;
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.sort((left, right) => left.name < right.name ? -1 : 1);
  } catch {
    // Most projects lack these folders; one that may not be listed is as good as absent.
    return [];
  }
}
