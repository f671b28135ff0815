/**
 * Whether the program of a manifest can be started on this machine. The only part of Stella manifests that looks at
 * the file system beyond the manifest itself; it never starts anything.
 */
import { constants } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { mayStart, mountWith } from "../../platform/mounts.ts";
import type { Diagnostic } from "../diagnostic.ts";

/** What this file needs to know of the machine. */
export interface Machine {
  /** Null if nothing is there. */
  look(path: string): Promise<FoundProgram | null>;
  /** A path that exists, without links. */
  real(path: string): Promise<string>;
  /** The first bytes of a file as text; "" if it cannot be read. */
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
  head: async (path) => {
    try {
      const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
        return buffer.subarray(0, bytesRead).toString("latin1");
      } finally {
        await handle.close();
      }
    } catch {
      // A program may be executable without being readable; then its first line is not known.
      return "";
    }
  },
};

/** The same machine, which looks at each path once: many tools share an interpreter. */
export function rememberLooks(machine: Machine): Machine {
  const looks = new Map<string, Promise<FoundProgram | null>>();
  const look = (path: string) => {
    const known = looks.get(path) ?? machine.look(path);
    looks.set(path, known);
    return known;
  };
  return { ...machine, look };
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
  if (program.includes("/")) {
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

async function inspectShebang(path: string, question: ProgramQuestion, machine: Machine, say: Say): Promise<void> {
  const head = await machine.head(path);
  if (!head.startsWith("#!")) return;
  const line = head.slice(2).split("\n")[0] ?? "";
  if (line.endsWith("\r")) {
    say(
      "warning",
      "shebang_crlf",
      `The first line of ${clip(path)} ends with CR LF, so its interpreter will not be found`,
      "Save the script with LF line ends.",
    );
    return;
  }
  const [interpreter = "", ...rest] = line.trim().split(/[ \t]+/);
  const direct = interpreter === "" || await machine.look(isAbsolute(interpreter) ? interpreter : resolve(question.workspace, interpreter));
  const remedy = "Install it, or name one that is there in the script's first line.";
  if (direct === null) {
    return say("warning", "interpreter_missing", `The interpreter ${clip(interpreter)} of ${clip(path)} does not exist`, remedy);
  }
  const named = /(?:^|\/)env$/.test(interpreter) ? namedForEnv(rest.join(" "), question.path) : null;
  if (named === null) return;
  const isThere = named.name.includes("/")
    ? (await machine.look(resolve(question.workspace, named.name)))?.executable === true
    : await searchPath(named.name, { ...question, path: named.path }, machine) !== null;
  if (isThere) return;
  const message = `The interpreter "${clip(named.name)}" of ${clip(path)} is not on the PATH that the tool will have`;
  say("warning", "interpreter_missing", message, remedy);
}

/** What `env` will start: the kernel gives it all the rest as one word, which only `-S` takes apart. */
function namedForEnv(rest: string, path: string | undefined): { readonly name: string; readonly path: string | undefined } | null {
  const split = /^(?:-[iv0]*S|--split-string[= ])\s*(.*)$/.exec(rest);
  const words = split?.[1] === undefined ? [rest] : split[1].split(/\s+/);
  let found = path;
  for (let index = 0; index < words.length; index++) {
    const word = (words[index] ?? "").replaceAll(/["']/g, "");
    const setting = /^(\w+)=(.*)$/.exec(word);
    if (setting?.[1] === "PATH") found = setting[2];
    if (setting !== null || word === "") continue;
    if (/^(?:-[uC]|--unset|--chdir)$/.test(word)) index++;
    else if (!word.startsWith("-")) return { name: word, path: found };
  }
  return null;
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
