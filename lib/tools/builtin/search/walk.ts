/**
 * The files of a folder that a search looks at: regular files, in folders that are not ignored, links not followed.
 * Upper folders come first, so that a limit leaves out what is deepest.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Folder, holdFolder, PathRefused } from "../workspace-path.ts";
import { IGNORE_FILES, IgnoreRules, MAX_IGNORE_BYTES } from "./ignore-rules.ts";

export interface FoundFile {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly size: number;
}

export interface Walked {
  readonly files: readonly FoundFile[];
  /** Folders that could not be read. */
  readonly unreadable: number;
  /** Why there may be more; null if this is all. */
  readonly cut: "files" | "time" | null;
}

export interface WalkLimits {
  /** Of `performance.now()`. */
  readonly deadline: number;
  readonly entries: number;
}

interface Waiting {
  readonly path: string;
  readonly rules: IgnoreRules;
}

/** `start`: relative to the root; "" for the root itself. */
export function walk(root: string, start: string, wants: (path: string) => boolean, limits: WalkLimits): Walked {
  const files: FoundFile[] = [];
  const queue: Waiting[] = [{ path: start, rules: rulesAbove(root, start) }];
  let [entries, unreadable] = [0, 0];
  for (let next = 0; next < queue.length; next++) {
    const folder = queue[next];
    if (folder === undefined) break;
    if (performance.now() > limits.deadline) return { files, unreadable, cut: "time" };
    const listed = list(root, folder);
    if (listed === null) {
      unreadable++;
      continue;
    }
    for (const entry of listed) {
      if (++entries > limits.entries) return { files, unreadable, cut: "files" };
      if (entry.kind === "folder") queue.push(entry);
      else if (wants(entry.path)) files.push(entry);
    }
  }
  return { files, unreadable, cut: null };
}

type Entry = ({ readonly kind: "folder" } & Waiting) | ({ readonly kind: "file" } & FoundFile);

/** What is in a folder and not ignored, in order of names; null if it cannot be read. */
function list(root: string, { path, rules }: Waiting): readonly Entry[] | null {
  return inFolder(root, path, (folder) => {
    const all = withRulesOf(folder, path, rules);
    const found = readdirSync(folder.at("."), { withFileTypes: true }).sort((left, right) => left.name < right.name ? -1 : 1);
    return found.flatMap((entry): readonly Entry[] => {
      if (entry.name === ".git" || entry.isSymbolicLink()) return [];
      const below = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) return all.ignores(below, "folder") ? [] : [{ kind: "folder", path: below, rules: all }];
      if (all.ignores(below, "file")) return [];
      const size = regularSize(folder.at(entry.name));
      return size === null ? [] : [{ kind: "file", path: below, size }];
    });
  });
}

/** The rules that hold in a folder by what lies above it. Who asks for an ignored folder by name gets it: then none do. */
function rulesAbove(root: string, start: string): IgnoreRules {
  let rules = inFolder(root, "", (folder) => withExclude(folder, IgnoreRules.none)) ?? IgnoreRules.none;
  if (start === "") return rules;
  const names = start.split("/");
  for (let depth = 0; depth < names.length; depth++) {
    const above = names.slice(0, depth).join("/");
    rules = inFolder(root, above, (folder) => withRulesOf(folder, above, rules)) ?? rules;
    if (rules.ignores(names.slice(0, depth + 1).join("/"), "folder")) return IgnoreRules.none;
  }
  return rules;
}

/** A folder that vanished, was swapped or may not be read is one without answers. */
function inFolder<T>(root: string, path: string, look: (folder: Folder) => T): T | null {
  try {
    using folder = holdFolder(root, join(root, path), path);
    return look(folder);
  } catch (error) {
    if (error instanceof PathRefused || (error as NodeJS.ErrnoException).code !== undefined) return null;
    throw error;
  }
}

function withRulesOf(folder: Folder, path: string, above: IgnoreRules): IgnoreRules {
  return IGNORE_FILES.reduce((rules, name) => {
    const text = readSmallText(folder.at(name));
    return text === null ? rules : rules.with(path, text);
  }, above);
}

/** Git's own list of this copy, below all others in rank. */
function withExclude(folder: Folder, rules: IgnoreRules): IgnoreRules {
  const text = isFolder(folder.at(".git")) && isFolder(folder.at(".git/info")) ? readSmallText(folder.at(".git/info/exclude")) : null;
  return text === null ? rules : rules.with("", text);
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function regularSize(path: string): number | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.size : null;
}

function readSmallText(path: string): string | null {
  if (regularSize(path) === null) return null;
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    return found.isFile() && found.size <= MAX_IGNORE_BYTES ? readFileSync(descriptor, "utf8") : null;
  } finally {
    closeSync(descriptor);
  }
}
