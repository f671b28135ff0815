/**
 * The file of the workspace that a command runs, as far as its words tell: for a digest of it. Whether a command may run
 * at all is not judged by this.
 */
import { realpathSync } from "node:fs";
import { basename, delimiter, isAbsolute, join, resolve } from "node:path";
import { isFile, lies } from "../gate/place.ts";

/** Programs that run another program, or a file, that their arguments name. */
const RUNNERS =
  /^(?:(?:ba|da|k|z|a)?sh|env|exec|command|nohup|nice|time|timeout|setsid|stdbuf|xargs|sudo|node|bun|bunx|deno|tsx|npx|python[\d.]*|ruby|perl|php|lua|source|\.)$/;

/** Of these, what takes a bare word for a file in the folder it is started in. */
const INTERPRETERS = /^(?:(?:ba|da|k|z|a)?sh|node|bun|deno|tsx|python[\d.]*|ruby|perl|php|lua|source|\.)$/;
/** Flags whose next word is a module, or code. */
const TAKES_A_WORD = /^-(?:[mepr]|-eval|-print|-require|-import)$/;
const FILE_NAME = /^[\w@.-]+\.\w+$/;

interface ScriptContext {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** The PATH of the child. */
  readonly path: string;
}

/** The first word of an argument vector that names a program in the workspace, or null. */
export function workspaceScript(argv: readonly string[], context: ScriptContext): string | null {
  const [first, ...rest] = argv;
  if (first === undefined) return null;
  if (liesInWorkspace(first, context)) return first;
  if (!RUNNERS.test(basename(first))) return null;
  for (const [index, word] of rest.entries()) {
    if (/^-\w*c$/.test(word)) return workspaceScriptOf(rest[index + 1] ?? "", context);
    if (isFlagOrSetting(word)) continue;
    // `timeout 5 ./x`, `nice -n 5 ./x`: a number is the runner's own; what runs comes behind it.
    if (/^[\d.]+[smhd]?$/.test(word) || word === "run") continue;
    // The file may be written after we have looked, so its name settles it.
    if (INTERPRETERS.test(basename(first)) && FILE_NAME.test(word) && !TAKES_A_WORD.test(rest[index - 1] ?? "")) return word;
    return isAbsolute(word) || !RUNNERS.test(basename(word)) ? programOrFile(word, context) : workspaceScript(rest.slice(index), context);
  }
  return null;
}

/** Of one command; more than any chain of runners has. */
const MOST_WORDS = 1000;

/** The same for a command of a shell: every word in the place of a command is looked at. */
function workspaceScriptOf(command: string, context: ScriptContext): string | null {
  for (const part of command.split(/[;&|()\n`{}]|\$\(/)) {
    const words = part.trim().split(/\s+/).map((word) => word.replaceAll(/["'\\]/g, "")).filter((word) => word !== "");
    const start = words.findIndex((word) => !/^(?:\w+=.*|!|if|then|else|elif|while|until|do)$/.test(word));
    const found = start === -1 ? null : workspaceScript(words.slice(start, start + MOST_WORDS), context);
    if (found !== null) return found;
  }
  return null;
}

function isFlagOrSetting(word: string): boolean {
  return word.startsWith("-") || /^\w+=/.test(word);
}

/** What a runner is given: a file as seen from the workspace, or a program on the PATH. */
function programOrFile(word: string, context: ScriptContext): string | null {
  if (liesInWorkspace(word, context)) return word;
  return !word.includes("/") && isFile(join(context.workspace, word)) ? word : null;
}

function liesInWorkspace(word: string, { workspace, path }: ScriptContext): boolean {
  if (word.includes("/")) return isInside(resolve(workspace, word), workspace);
  const found = path.split(delimiter).map((folder) => resolve(workspace, folder, word)).find(isFile);
  return found !== undefined && isInside(found, workspace);
}

/** By name or behind links: both can be changed from within the workspace. */
function isInside(path: string, workspace: string): boolean {
  return lies(path, workspace) || lies(realPath(path), workspace);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It does not exist, or cannot be followed: its name is all there is to go by.
    return path;
  }
}
