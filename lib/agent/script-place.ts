/**
 * The file that a command has a runner run, as far as its words tell: for a digest of it. Whether a command may run at all
 * is not judged by this.
 */
import { realpathSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { isFile, lies } from "../gate/place.ts";

/** Programs that run another program, or a file, that their arguments name. */
const RUNNERS =
  /^(?:(?:ba|da|k|z|a)?sh|env|exec|command|nohup|nice|time|timeout|setsid|stdbuf|xargs|sudo|node|bun|bunx|deno|tsx|npx|python[\d.]*|ruby|perl|php|lua|source|\.)$/;

/** Of these, what takes a bare word for a file in the folder it is started in. */
const INTERPRETERS = /^(?:(?:ba|da|k|z|a)?sh|node|bun|deno|tsx|python[\d.]*|ruby|perl|php|lua|source|\.)$/;
/** And what takes one for a name on the PATH; the others look elsewhere first. */
const STARTERS = /^(?:env|exec|command|nohup|nice|time|timeout|setsid|stdbuf|xargs|sudo)$/;
const SHELLS = /^(?:(?:ba|da|k|z|a)?sh|source|\.)$/;
/** Flags whose next word is what runs, a module or code, and flags whose next word only changes how it does. */
const TAKES_WHAT_RUNS = /^-(?:[mep]|-eval|-print)$/;
const TAKES_A_NAME = /^(?:-r|--require|--import|[-+]o)$/;
/** Of one command; more than any chain of runners has. */
const MOST_WORDS = 1000;
const FILE_NAME = /^[\w@.-]+\.\w+$/;

interface ScriptContext {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** The PATH of the child. */
  readonly path: string;
}

/** The word of an argument vector that names a file in the workspace, or null if there is none or it is the first. */
export function workspaceScript(argv: readonly string[], context: ScriptContext): string | null {
  return [...filesGiven(argv.slice(0, MOST_WORDS), context)].find((word) => isInside(word, context.workspace)) ?? null;
}

/** The same of any file that the first word has run; one in the workspace before others. */
export function scriptGiven(argv: readonly string[], context: ScriptContext): string | null {
  const [first] = filesGiven(argv.slice(0, MOST_WORDS), context);
  return workspaceScript(argv, context) ?? first ?? null;
}

/** Relative to the workspace, or absolute. Nothing if the first word is no runner: then that is what runs. */
function* filesGiven([first = "", ...rest]: readonly string[], context: ScriptContext): Generator<string> {
  const runner = basename(first);
  if (!RUNNERS.test(runner)) return;
  for (const [index, word] of rest.entries()) {
    if (/^-\w*c$/.test(word)) return yield* filesOfCommand(rest[index + 1] ?? "", context);
    if (isFlagOrSetting(word)) continue;
    // `timeout 5 ./x`, `nice -n 5 ./x`: a number is the runner's own; what runs comes behind it.
    if (/^[\d.]+[smhd]?$/.test(word) || word === "run") continue;
    const flag = rest[index - 1] ?? "";
    if (TAKES_A_NAME.test(flag)) continue;
    if (!SHELLS.test(runner) && INTERPRETERS.test(runner) && TAKES_WHAT_RUNS.test(flag)) return;
    const further = RUNNERS.test(basename(word));
    const file = further && !isPathInside(word, context.workspace) ? null : fileGiven(word, runner, context);
    if (file !== null) yield file;
    return further ? yield* filesGiven(rest.slice(index), context) : undefined;
  }
}

/** The file may be written after we have looked, so a name that is one settles it. */
function fileGiven(word: string, runner: string, { workspace, path }: ScriptContext): string | null {
  if (word.includes("/") || (INTERPRETERS.test(runner) && FILE_NAME.test(word)) || isFile(join(workspace, word))) return word;
  return STARTERS.test(runner) ? onPath(word, workspace, path) : null;
}

/** Of a command of a shell: every word in the place of a command is looked at. */
function* filesOfCommand(command: string, context: ScriptContext): Generator<string> {
  for (const part of command.split(/[;&|()\n`{}]|\$\(/)) {
    const words = part.trim().split(/\s+/).map((word) => word.replaceAll(/["'\\]/g, "")).filter((word) => word !== "");
    const start = words.findIndex((word) => !/^(?:\w+=.*|!|if|then|else|elif|while|until|do)$/.test(word));
    const [first, ...rest] = start === -1 ? [] : words.slice(start, start + MOST_WORDS);
    if (first === undefined) continue;
    const file = first.includes("/") ? first : onPath(first, context.workspace, context.path);
    // What the system has is not told apart from what only prepares for a script.
    if (file !== null && (isInside(file, context.workspace) || (file === first && !RUNNERS.test(basename(first))))) yield file;
    yield* filesGiven([first, ...rest], context);
  }
}

function isFlagOrSetting(word: string): boolean {
  return word.startsWith("-") || /^\w+=/.test(word);
}

function isPathInside(word: string, workspace: string): boolean {
  return word.includes("/") && isInside(word, workspace);
}

function onPath(name: string, workspace: string, path: string): string | null {
  return path.split(delimiter).map((folder) => resolve(workspace, folder, name)).find(isFile) ?? null;
}

/** By name or behind links: both can be changed from within the workspace. */
function isInside(word: string, workspace: string): boolean {
  const path = resolve(workspace, word);
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
