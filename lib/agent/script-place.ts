/**
 * The file that a command has a runner run, as far as its words tell: for a digest of it. Whether a command may run at all
 * is not judged by this.
 */
import { realpathSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { isFile, lies } from "../gate/place.ts";
import { isEnv, readEnvCommand } from "../platform/shebang.ts";

/** Programs that run another program, or a file, that their arguments name. */
const RUNNERS =
  /^(?:(?:ba|da|k|z|a)?sh|env|exec|command|nohup|nice|ionice|time|timeout|setsid|stdbuf|xargs|sudo|doas|busybox|node|bun|bunx|deno|tsx|npx|uv|poetry|pipenv|pdm|rye|hatch|python[\d.]*|ruby|perl|php|lua|source|\.)$/;

/** Of these, what takes a bare word for a file in the folder it is started in. */
const INTERPRETERS = /^(?:(?:ba|da|k|z|a)?sh|node|bun|deno|tsx|python[\d.]*|ruby|perl|php|lua|source|\.)$/;
/** And what takes one for a name on the PATH; the others look elsewhere first. */
const STARTERS = /^(?:env|exec|command|nohup|nice|ionice|time|timeout|setsid|stdbuf|xargs|sudo|doas)$/;
const SHELLS = /^(?:(?:ba|da|k|z|a)?sh|source|\.)$/;
const PYTHON = /^python[\d.]*$/;
/** Flags whose next word is code. */
const TAKES_CODE = /^-(?:[ep]|-eval(?:=.*)?|-print(?:=.*)?)$/s;
/** Flags of Python behind which, or in whose word, a module or code stands, and one that keeps it from the folder it is started in. */
const TAKES_MODULE = /^-[bBdEhiIOPqRsSuvVx?]*m(.*)$/s;
const TAKES_PYTHON = /^-[bBdEhiIOPqRsSuvVx?]*c/;
const LEAVES_FOLDER = /^-[bBdEhiIOPqRsSuvVx?]*[IP]/;
/** Of each runner, the flags whose next word only changes how it runs. */
const TAKES_VALUE: readonly (readonly [runner: RegExp, flag: RegExp])[] = [
  [SHELLS, /^(?:[-+][oO]|--(?:rcfile|init-file))$/],
  [PYTHON, /^(?:-[bBdEhiIOPqRsSuvVx?]*[WX]|--check-hash-based-pycs)$/],
  [
    /^(?:node|bun|deno|tsx)$/,
    /^(?:-[rC]|--(?:require|import|loader|preload|experimental-loader|conditions|env-file|config|import-map|cwd))$/,
  ],
  [/^ruby$/, /^-[rIEC]$/],
  [/^perl$/, /^-I$/],
  [/^php$/, /^-[dcz]$/],
  [/^lua$/, /^-l$/],
  [/^exec$/, /^-a$/],
  [/^(?:nice|ionice)$/, /^(?:-[nc]|--(?:adjustment|class|classdata))$/],
  [/^time$/, /^(?:-[fo]|--(?:format|output))$/],
  [/^timeout$/, /^(?:-[sk]|--(?:signal|kill-after))$/],
  [/^stdbuf$/, /^(?:-[ioe]|--(?:input|output|error))$/],
  [/^xargs$/, /^(?:-[nPILdsEa]|--(?:max-args|max-procs|replace|delimiter|arg-file))$/],
  [/^(?:sudo|doas)$/, /^(?:-[ugCDhpRrtTU]|--(?:user|group|chdir|prompt))$/],
];
/** Of one command; more than any chain of runners has. */
const MOST_WORDS = 1000;
const FILE_NAME = /^[\w@.-]+\.\w+$/;

interface ScriptContext {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** The PATH of the child. */
  readonly path: string;
  /** The folder that the command is started in, if it is another one. */
  readonly folder?: string;
}

/** The word of an argument vector that names a file in the workspace, or null if there is none or it is the first. */
export function workspaceScript(argv: readonly string[], context: ScriptContext): string | null {
  return scriptsGiven(argv, context).find((word) => isInside(word, context.workspace)) ?? null;
}

/** The same of any file that the first word has run; one in the workspace before others. */
export function scriptGiven(argv: readonly string[], context: ScriptContext): string | null {
  return workspaceScript(argv, context) ?? scriptsGiven(argv, context)[0] ?? null;
}

/** All of them, relative to the workspace or absolute. */
export function scriptsGiven(argv: readonly string[], context: ScriptContext): readonly string[] {
  return [...filesGiven(argv.slice(0, MOST_WORDS), context)];
}

/** Nothing if the first word is no runner: then that is what runs. */
function* filesGiven([first = "", ...rest]: readonly string[], context: ScriptContext): Generator<string> {
  const runner = basename(first);
  if (!RUNNERS.test(runner)) return;
  if (isEnv(first)) return yield* filesOfEnv(rest, context);
  let isGuess = false;
  for (const [index, word] of rest.entries()) {
    const flag = rest[index - 1] ?? "";
    const code = codeGiven(runner, rest.slice(0, index + 2), context);
    if (code !== null) return yield* code;
    if (isFlagOrSetting(word)) continue;
    // `timeout 5 ./x`, `nice -n 5 ./x`: a number is the runner's own; what runs comes behind it.
    if (/^[\d.]+[smhd]?$/.test(word) || word === "run") continue;
    if (TAKES_VALUE.some(([name, flags]) => name.test(runner) && flags.test(flag))) continue;
    const further = RUNNERS.test(basename(word));
    const file = further && !isPathInside(word, context.workspace) ? null : fileGiven(word, runner, context);
    if (file !== null && (!isGuess || isFile(resolve(context.workspace, file)))) yield file;
    if (further) return yield* filesGiven(rest.slice(index), context);
    // It may be the value of a flag that is not known here: then a file comes behind it.
    isGuess ||= /^-[^=]+$/.test(flag) && !SHELLS.test(runner);
    if (file !== null || !isGuess) return;
  }
}

/** The files of code or of a module, if the last words but one are the flag for one; null if they are not. */
function codeGiven(runner: string, words: readonly string[], context: ScriptContext): Iterable<string> | null {
  const [flag = "", next = ""] = words.slice(-2);
  if (PYTHON.test(runner)) {
    const [, module] = TAKES_MODULE.exec(flag) ?? [];
    if (module === undefined) return TAKES_PYTHON.test(flag) ? [] : null;
    return words.slice(0, -1).some((word) => LEAVES_FOLDER.test(word)) ? [] : moduleFile(module === "" ? next : module, context);
  }
  if (/^-\w*c$/.test(flag)) return filesOfCommand(next, context);
  return INTERPRETERS.test(runner) && !SHELLS.test(runner) && TAKES_CODE.test(flag) ? [] : null;
}

function* filesOfEnv(rest: readonly string[], context: ScriptContext): Generator<string> {
  const { argv, path = context.path, folder } = readEnvCommand(rest);
  const [first] = argv;
  if (first === undefined) return;
  const place = { ...context, path, ...(folder === undefined ? {} : { folder: resolve(folderOf(context), folder) }) };
  if (RUNNERS.test(basename(first)) && !isPathInside(first, context.workspace)) return yield* filesGiven(argv, place);
  const file = fileGiven(first, "env", place);
  if (file !== null) yield file;
}

/** The file that Python takes for a module, if it is one in the folder that it is started in. */
function moduleFile(module: string, context: ScriptContext): readonly string[] {
  const path = module.replaceAll(".", "/");
  const found = [`${path}.py`, `${path}/__main__.py`].find((name) => isFile(placed(name, context)));
  return found === undefined ? [] : [named(found, context)];
}

/** The file may be written after we have looked, so a name that is one settles it. */
function fileGiven(word: string, runner: string, context: ScriptContext): string | null {
  if (PYTHON.test(runner) && isFile(join(placed(word, context), "__main__.py"))) return named(join(word, "__main__.py"), context);
  if (word.includes("/") || (INTERPRETERS.test(runner) && FILE_NAME.test(word)) || isFile(placed(word, context))) {
    return named(word, context);
  }
  return STARTERS.test(runner) ? onPath(word, folderOf(context), context.path) : null;
}

function folderOf({ workspace, folder = workspace }: ScriptContext): string {
  return folder;
}

function placed(word: string, context: ScriptContext): string {
  return resolve(folderOf(context), word);
}

/** As it is written, if that is from the workspace. */
function named(word: string, context: ScriptContext): string {
  return folderOf(context) === context.workspace ? word : placed(word, context);
}

/** Of a command of a shell: every word in the place of a command is looked at. */
function* filesOfCommand(command: string, context: ScriptContext): Generator<string> {
  for (const part of command.split(/[;&|()\n`{}]|\$\(/)) {
    const words = part.trim().split(/\s+/).map((word) => word.replaceAll(/["'\\]/g, "")).filter((word) => word !== "");
    const start = words.findIndex((word) => !/^(?:\w+=.*|!|if|then|else|elif|while|until|do)$/.test(word));
    const [first, ...rest] = start === -1 ? [] : words.slice(start, start + MOST_WORDS);
    if (first === undefined) continue;
    const file = first.includes("/") ? named(first, context) : onPath(first, folderOf(context), context.path);
    // What the system has is not told apart from what only prepares for a script.
    if (file !== null && (isInside(file, context.workspace) || (first.includes("/") && !RUNNERS.test(basename(first))))) yield file;
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
