/**
 * The files of a tool directory. Nothing in a directory can stop the others from being read: what cannot be read is
 * a diagnostic for its path. Links are followed; devices, pipes and folders are never opened.
 */
import { readFile, stat } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { calledName } from "../platform/called.ts";
import { sha256 } from "../platform/digest.ts";
import type { Diagnostic, Position } from "./diagnostic.ts";
import { listFolder } from "./folder-names.ts";

export type ToolFile =
  | { readonly kind: "text"; readonly path: string; readonly text: string; /** SHA-256 of its bytes. */ readonly digest: string }
  | { readonly kind: "unreadable"; readonly path: string; readonly diagnostic: Diagnostic };

const MAX_BYTES = 256 * 1024;
/** Files of one directory that are read; a directory with more is a mistake. */
const MAX_FILES = 5000;
const AT_ONCE = 32;

/** Files with exactly this extension (`.toml`), sorted by name, not of subfolders. A missing directory has none. */
export async function readToolFiles(directory: string, extension: string): Promise<readonly ToolFile[]> {
  const names = (await listFolder(directory)).names.filter((name) => extname(name) === extension).sort();
  const files: ToolFile[] = [];
  for (let start = 0; start < Math.min(names.length, MAX_FILES); start += AT_ONCE) {
    const batch = names.slice(start, Math.min(start + AT_ONCE, MAX_FILES));
    files.push(...await Promise.all(batch.map((name) => readToolFile(join(directory, name)))));
  }
  if (names.length > MAX_FILES) {
    const message = `Only the first ${MAX_FILES} of its ${names.length} ${extension} files are read`;
    const remedy = "Remove those that are no tools.";
    files.push({ kind: "unreadable", path: directory, diagnostic: { severity: "error", code: "too_many_files", message, remedy } });
  }
  return files;
}

/** What is read in a directory, and what a format keeps for later. */
export interface Extensions {
  readonly read: readonly string[];
  readonly reserved: readonly string[];
  /** What makes a subfolder look like one of tools; without it, whatever is read. */
  readonly telling?: readonly string[];
}

/** A file of a tool directory that is not read, or the directory if it cannot be. */
export interface IgnoredFile {
  readonly path: string;
  readonly diagnostics: readonly [Diagnostic];
}

/** So many are named to a session, where each is an event; whoever asks for a check gets as many as are read. */
const MAX_TOLD = 100;

/**
 * Every file that is not read, and every folder with files that would be read outside of it.
 * @param who asks: a session, or somebody who has the files checked.
 */
export async function findIgnoredFiles(
  directory: string,
  extensions: Extensions,
  who: "session" | "check" = "check",
): Promise<readonly IgnoredFile[]> {
  const { names: found, problem } = await listFolder(directory);
  if (problem !== null) return [unlisted(directory, problem)];
  const names = found.filter((name) => !extensions.read.includes(extname(name))).toSorted();
  const ignored: IgnoredFile[] = [];
  for (const name of names) {
    const path = join(directory, name);
    const why = await whyIgnored(path, name, extensions);
    if (why === null) continue;
    if (ignored.length >= (who === "session" ? MAX_TOLD : MAX_FILES)) return [...ignored, others(directory, ignored.length, who)];
    ignored.push({ path, diagnostics: [{ severity: "info", code: "ignored_file", ...why }] });
  }
  return ignored;
}

function others(path: string, told: number, who: "session" | "check"): IgnoredFile {
  const message = `More than ${told} files here are not read; the others are not named`;
  const remedy = `Keep what is no tool in another folder${who === "session" ? `; ${calledName()} tools --validate names more` : ""}.`;
  return { path, diagnostics: [{ severity: "info", code: "ignored_file", message, remedy }] };
}

function unlisted(path: string, problem: string): IgnoredFile {
  const message = `Cannot look into the folder for tools: ${problem}`;
  return {
    path,
    diagnostics: [{ severity: "error", code: "unreadable", message, remedy: "Make it a folder that can be read, or remove it." }],
  };
}

type Problem = Pick<Diagnostic, "message" | "remedy"> & Partial<Pick<Diagnostic, "code">>;

async function whyIgnored(path: string, name: string, { read, reserved, telling = read }: Extensions): Promise<Problem | null> {
  const message = `This file is no tool, as only ${quoted(read)} files are`;
  if (LEFT_BEHIND.test(name)) {
    return { message: `${message}; an editor or the system has left it`, remedy: "Remove it, if it is not in use." };
  }
  if (looksLikeTool(name, read)) return namesake(name, read);
  const found = await stat(path).catch((error: unknown) => isMangled(path, error) ? MANGLED : null);
  if (found === MANGLED) return { message: `This is not read, as ${NO_UTF8_NAME}`, remedy: "Rename it, best with ASCII letters alone." };
  if (found?.isDirectory() === true) return await folderProblem(path, telling);
  if (reserved.includes(extname(name))) {
    return {
      code: "reserved_extension",
      message: `${reserved.join(" and ")} files are reserved for a later version of the format; this one is not loaded`,
      remedy: "Move a tool in TypeScript to .orrery/tools.",
    };
  }
  const meant = RELATIVES[extname(name)];
  if (meant !== undefined && read.includes(meant) && !name.startsWith(".")) {
    return { message, remedy: `Name it ${basename(name, extname(name))}${meant}, if it is a tool; leave it, if a tool uses it.` };
  }
  return {
    message,
    remedy: name.startsWith(".") ? "Leave it, if something needs it." : "Leave it, if a tool uses it; else move it elsewhere.",
  };
}

/** Extensions of files in the languages of tools that are not read as such, and the one that is. */
const RELATIVES: Readonly<Record<string, string>> = {
  ".mts": ".ts",
  ".cts": ".ts",
  ".tsx": ".ts",
  ".mjs": ".js",
  ".cjs": ".js",
  ".jsx": ".js",
  ".pyw": ".py",
};

/** What editors keep beside a file that is open, and what systems put into folders. */
const LEFT_BEHIND = /^(?:\.#|\._|#.*#$|\.nfs|\.~lock\.|\.DS_Store$|Thumbs\.db$|desktop\.ini$)|\.sw[a-p]$|~$/;

/** `x.TOML`, `.toml`, `x.toml.bak`, `x.tml`: all of which people write, or leave behind. */
function looksLikeTool(name: string, extensions: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return [...extensions, ".tml"].some((extension) => new RegExp(`\\${extension}(?:$|[.~_ -])`).test(lower));
}

function namesake(name: string, extensions: readonly string[]): Problem {
  const lower = extname(name).toLowerCase();
  if (extensions.includes(name.toLowerCase())) {
    return { message: "This file is not read, as it has an extension and no name", remedy: `Name it NAME${name.toLowerCase()}.` };
  }
  return {
    message: `This file is not read, as only names that end with exactly ${quoted(extensions)} are`,
    remedy: extensions.includes(lower) ? `Rename it to ${basename(name, extname(name))}${lower}.` : "Rename it, or move it elsewhere.",
  };
}

function quoted(extensions: readonly string[]): string {
  return extensions.map((extension) => `"${extension}"`).join(", ");
}

async function folderProblem(path: string, extensions: readonly string[]): Promise<Problem | null> {
  const inside = (await listFolder(path)).names.filter((name) => extensions.includes(extname(name).toLowerCase()));
  if (inside.length === 0) return null;
  return {
    message: `This folder is not looked into, and it has ${
      inside.length === 1 ? "a file that looks like a tool" : `${inside.length} files that look like tools`
    }`,
    remedy: "Move what is a tool into the folder above.",
  };
}

async function readToolFile(path: string): Promise<ToolFile> {
  try {
    const file = await stat(path);
    if (!file.isFile()) {
      return unreadable(path, file.isDirectory() ? "it is a folder" : "it is not a regular file", "Write a regular file, or rename this.");
    }
    if (file.size > MAX_BYTES) {
      return unreadable(path, `it has ${file.size} bytes and may have ${MAX_BYTES}`, "Put long texts into files of their own.");
    }
    const bytes = await readFile(path);
    const text = decodeUtf8(bytes);
    if (text !== null) return { kind: "text", path, text, digest: sha256(bytes) };
    return unreadable(path, "it is not UTF-8 from here on", "Save it as UTF-8.", positionAfter(soundPart(bytes)));
  } catch (error) {
    if (isMangled(path, error)) return unreadable(path, NO_UTF8_NAME, "Rename it, best with ASCII letters alone.");
    return unreadable(path, error instanceof Error ? error.message : String(error), "Make it a file that can be read here, or remove it.");
  }
}

const MANGLED = Symbol("a name that is not UTF-8");
const NO_UTF8_NAME = "its name is not UTF-8, and so cannot be given to anything";

/** The hosts put U+FFFD in the place of what is not UTF-8: then nothing is there under the name that we were given. */
function isMangled(path: string, error: unknown): boolean {
  return basename(path).includes("\uFFFD") && (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** The text, byte order mark included, or null. */
function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // A byte sequence that is not UTF-8 is the one thing a fatal decoder throws for.
    return null;
  }
}

/** The text before the first byte that no UTF-8 has there. */
function soundPart(bytes: Uint8Array): string {
  const decode = (length: number): string | null => {
    try {
      // In a stream the file may end within a character.
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length), { stream: true });
    } catch {
      // As above.
      return null;
    }
  };
  let sound = 0;
  let wrong = bytes.length + 1;
  while (wrong - sound > 1) {
    const middle = (sound + wrong) >> 1;
    if (decode(middle) === null) wrong = middle;
    else sound = middle;
  }
  return decode(sound) ?? "";
}

function positionAfter(text: string): Position {
  const lines = text.split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function unreadable(path: string, problem: string, remedy: string, position?: Position): ToolFile {
  const diagnostic = { severity: "error", code: "unreadable", message: `Cannot read the file as ${problem}`, ...position, remedy } as const;
  return { kind: "unreadable", path, diagnostic };
}
