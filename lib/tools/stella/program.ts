/**
 * Whether the program of a manifest can be started on this machine. The only part of Stella manifests that looks at
 * the file system beyond the manifest itself; it never starts anything.
 */
import { realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { mayStart, mountWith } from "../../platform/mounts.ts";
import { headOf, isEnv, readEnvCommand, readShebang } from "../../platform/shebang.ts";
import type { Diagnostic } from "../diagnostic.ts";

/** What this file needs to know of the machine. */
export interface Machine {
  /** Null if nothing is there. */
  look(path: string): Promise<FoundProgram | null>;
  /** A path that exists, without links. */
  real(path: string): Promise<string>;
  /** The first bytes of a file, a character each; "" if it cannot be read. */
  head(path: string): Promise<string>;
}

export interface FoundProgram {
  readonly kind: "file" | "directory" | "other";
  readonly executable: boolean;
  /** The mount that nothing can be started from, if that is why it is not executable. */
  readonly noexec?: string;
}

export const thisMachine: Machine = {
  look: async (path) => {
    try {
      const found = await stat(path);
      const kind = found.isFile() ? "file" : found.isDirectory() ? "directory" : "other";
      if (kind !== "file" || mayStart(path)) return { kind, executable: kind === "file" };
      const noexec = mountWith("noexec", path);
      return { kind, executable: false, ...(noexec === null ? {} : { noexec }) };
    } catch {
      // Missing, or behind a folder we may not enter: a tool could not start it either.
      return null;
    }
  },
  real: (path) => realpath(path),
  head: async (path) => headOf(path),
};

/** The same machine, which looks at each path once: many tools share an interpreter. */
export function rememberLooks(machine: Machine): Machine {
  return { ...machine, look: remembered(machine.look), head: remembered(machine.head) };
}

function remembered<T>(ask: (path: string) => Promise<T>): (path: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (path) => {
    const answer = known.get(path) ?? ask(path);
    known.set(path, answer);
    return answer;
  };
}

export interface ProgramQuestion {
  /** `command[0]`. */
  readonly program: string;
  readonly workspace: string;
  /** PATH as the child will have it. */
  readonly path: string | undefined;
  /** Whether a bare name may stand for an executable in the workspace root. */
  readonly trusted: boolean;
}

export interface ProgramAnswer {
  /** Absolute path, if the program is not to be looked up on PATH at the start. */
  readonly path: string | null;
  /** Where it was found; null if it is not there. */
  readonly location: string | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** Finds the program as a start would, and says what would go wrong. */
export async function findProgram(question: ProgramQuestion, machine: Machine = thisMachine): Promise<ProgramAnswer> {
  const { program, workspace } = question;
  const diagnostics: Diagnostic[] = [];
  const say = (severity: "warning" | "info", code: string, message: string, remedy: string) =>
    diagnostics.push({ severity, code, message, remedy });
  if (program.includes("/") || /^\.\.?$/.test(program)) {
    const path = resolve(workspace, program);
    const location = await inspect(path, program, question, machine, say);
    return { path, location, diagnostics };
  }
  const onPath = await searchPath(program, question, machine);
  if (onPath !== null) {
    await inspectShebang(onPath, question, machine, say);
    return { path: null, location: onPath, diagnostics };
  }
  const inRoot = join(workspace, program);
  const found = await machine.look(inRoot);
  if (found?.kind !== "file") {
    say("warning", "program_not_on_path", `"${clip(program)}" is not on the PATH that the tool will have`, "Install it, or give its path.");
  } else if (!question.trusted || !found.executable) {
    say(
      "warning",
      "program_not_on_path",
      `"${clip(program)}" is not on the PATH that the tool will have, but in the workspace`,
      `Write "./${clip(program)}".`,
    );
  } else {
    say(
      "info",
      "bare_name_in_root",
      `"${clip(program)}" is not on the PATH; the file in the workspace root is run`,
      `Write "./${clip(program)}".`,
    );
    await inspectShebang(inRoot, question, machine, say);
    return { path: inRoot, location: inRoot, diagnostics };
  }
  return { path: null, location: null, diagnostics };
}

type Say = (severity: "warning" | "info", code: string, message: string, remedy: string) => void;

async function inspect(path: string, program: string, question: ProgramQuestion, machine: Machine, say: Say): Promise<string | null> {
  const found = await machine.look(path);
  if (found === null) {
    const message = `The program "${clip(program)}" does not exist (looked for ${clip(path)})`;
    say("warning", "program_missing", message, "Write the file, or give its path from the workspace's root.");
  } else if (found.kind !== "file") {
    const message = `The program "${clip(program)}" is ${found.kind === "directory" ? "a folder" : "not a file"}`;
    say("warning", "program_not_file", message, "Name an executable file.");
  } else if (found.noexec !== undefined) {
    const message = `The program "${clip(program)}" is on ${
      clip(found.noexec)
    }, which is mounted noexec: nothing can be started from there`;
    const remedy = "Mount it with exec (docker run --tmpfs /tmp:exec), or name the interpreter first, as in sh script.sh.";
    say("warning", "program_on_noexec", message, remedy);
  } else if (!found.executable) {
    say("warning", "program_not_executable", `The program "${clip(program)}" is not executable`, `Run: chmod +x ${clip(program)}`);
  } else await inspectShebang(path, question, machine, say);
  return found === null ? null : path;
}

/** A chain of interpreters that are scripts themselves ends there, as Linux ends it. */
const MOST_INTERPRETERS = 5;

async function inspectShebang(path: string, question: ProgramQuestion, machine: Machine, say: Say, chain = 1): Promise<void> {
  const shebang = readShebang(await machine.head(path));
  if (shebang === null) return;
  if (shebang.endsWithCr) {
    const message = `The first line of ${clip(path)} ends with CR LF, so its interpreter will not be found`;
    return say("warning", "shebang_crlf", message, "Save the script with LF line ends.");
  }
  const missing = (what: string) =>
    say("warning", "interpreter_missing", `The interpreter ${what}`, "Install it, or name one that is there in the script's first line.");
  const interpreter = resolve(question.workspace, shebang.interpreter);
  const found = await machine.look(interpreter);
  if (found === null) return missing(`${clip(shebang.interpreter)} of ${clip(path)} does not exist`);
  if (!found.executable) return missing(`${clip(shebang.interpreter)} of ${clip(path)} is no file that can be started`);
  if (isEnv(interpreter)) {
    const named = await findForEnv(shebang.argument === null ? [] : [shebang.argument], question, machine);
    if (named === null) return;
    if (named.path === null) return missing(`"${clip(named.name)}" of ${clip(path)} is not on the PATH that the tool will have`);
    return chain < MOST_INTERPRETERS ? await inspectShebang(named.path, question, machine, say, chain + 1) : undefined;
  }
  if (chain < MOST_INTERPRETERS) await inspectShebang(interpreter, question, machine, say, chain + 1);
}

/** What `env` will start; null if that is the script itself. */
async function findForEnv(
  words: readonly string[],
  question: ProgramQuestion,
  machine: Machine,
): Promise<{ readonly name: string; readonly path: string | null } | null> {
  const { argv: [name], path = question.path, folder = "." } = readEnvCommand(words);
  if (name === undefined) return null;
  const place = { ...question, path, workspace: resolve(question.workspace, folder) };
  if (!name.includes("/")) return { name, path: await searchPath(name, place, machine) };
  const found = resolve(place.workspace, name);
  return { name, path: (await machine.look(found))?.executable === true ? found : null };
}

/** An empty entry of PATH is the current folder, which is the workspace. */
async function searchPath(name: string, question: ProgramQuestion, machine: Machine): Promise<string | null> {
  const { path: list, workspace } = question;
  if (list === undefined || list === "") return null;
  for (const entry of list.split(":")) {
    const path = join(resolve(workspace, entry), name);
    if ((await machine.look(path))?.executable === true) return path;
  }
  return null;
}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
