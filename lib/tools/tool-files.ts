/**
 * The files of a tool directory. Nothing in a directory can stop the others from being read: what cannot be read is
 * a diagnostic for its path. Links are followed; devices, pipes and folders are never opened.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import type { Diagnostic, RemediedDiagnostic } from "./diagnostic.ts";
import { sha256 } from "../session/digest.ts";

export type ToolFile =
  | { readonly kind: "text"; readonly path: string; readonly text: string; /** SHA-256 of its bytes. */ readonly digest: string }
  | { readonly kind: "unreadable"; readonly path: string; readonly diagnostic: Diagnostic };

const MAX_BYTES = 256 * 1024;
/** Files of one directory that are read; a directory with more is a mistake. */
const MAX_FILES = 5000;
const AT_ONCE = 32;

/** Files with exactly this extension (`.toml`), sorted by name, not of subfolders. A missing directory has none. */
export async function readToolFiles(directory: string, extension: string): Promise<readonly ToolFile[]> {
  const names = (await namesIn(directory)).filter((name) => extname(name) === extension).sort();
  const files: ToolFile[] = [];
  for (let start = 0; start < Math.min(names.length, MAX_FILES); start += AT_ONCE) {
    const batch = names.slice(start, Math.min(start + AT_ONCE, MAX_FILES));
    files.push(...await Promise.all(batch.map((name) => readToolFile(join(directory, name)))));
  }
  if (names.length > MAX_FILES) {
    files.push(
      unreadable(directory, `it has ${names.length} ${extension} files and only ${MAX_FILES} are read`, "Remove those that are no tools."),
    );
  }
  return files;
}

/** A file of a tool directory that looks as if it were meant to be a tool, and is not read. */
export interface IgnoredFile {
  readonly path: string;
  readonly diagnostic: RemediedDiagnostic;
}

/** `extensions`: what is read there. */
export async function findIgnoredFiles(directory: string, extensions: readonly string[]): Promise<readonly IgnoredFile[]> {
  const names = (await namesIn(directory)).toSorted();
  const ignored: IgnoredFile[] = [];
  for (const name of names) {
    if (ignored.length >= MAX_IGNORED) break;
    if (extensions.includes(extname(name))) continue;
    const path = join(directory, name);
    const problem = looksLikeTool(name, extensions) ? ignoredBecause(name, extensions) : await folderProblem(path, extensions);
    if (problem !== null) ignored.push({ path, diagnostic: { severity: "info", code: "ignored_file", ...problem } });
  }
  return ignored;
}

interface Problem {
  readonly message: string;
  readonly remedy: string;
}

const MAX_IGNORED = 100;

/** `x.TOML`, `.toml`, `x.toml.bak`, `x.tml`: all of which people write, or leave behind. */
function looksLikeTool(name: string, extensions: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return [...extensions, ".tml"].some((extension) => new RegExp(`\\${extension}(?:$|[.~_ -])`).test(lower));
}

function ignoredBecause(name: string, extensions: readonly string[]): Problem {
  const exact = extensions.map((extension) => `"${extension}"`).join(", ");
  const lower = extname(name).toLowerCase();
  if (extensions.includes(name.toLowerCase())) {
    return { message: "This file is not read, as it has an extension and no name", remedy: `Name it NAME${name.toLowerCase()}.` };
  }
  return {
    message: `This file is not read, as only names that end with exactly ${exact} are`,
    remedy: extensions.includes(lower) ? `Rename it to ${basename(name, extname(name))}${lower}.` : "Rename it, or move it elsewhere.",
  };
}

async function folderProblem(path: string, extensions: readonly string[]): Promise<Problem | null> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) return null;
  const inside = (await namesIn(path)).filter((name) => extensions.includes(extname(name).toLowerCase()));
  if (inside.length === 0) return null;
  return {
    message: `This folder is not looked into, and it has ${inside.length} files that look like tools`,
    remedy: "Move them into the folder above.",
  };
}

async function namesIn(directory: string): Promise<readonly string[]> {
  // Asked without the detour over another thread: a run looks at all of them before its first request.
  if (!existsSync(directory)) return [];
  try {
    return await readdir(directory);
  } catch {
    // Most projects lack most of the directories that are looked at; one that may not be listed is as good as absent.
    return [];
  }
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
    return text === null ? unreadable(path, "it is not UTF-8", "Save it as UTF-8.") : { kind: "text", path, text, digest: sha256(bytes) };
  } catch (error) {
    return unreadable(path, error instanceof Error ? error.message : String(error), "Make it a file that can be read here, or remove it.");
  }
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

function unreadable(path: string, problem: string, remedy: string): ToolFile {
  const diagnostic = { severity: "error", code: "unreadable", message: `Cannot read the file as ${problem}`, remedy } as const;
  return { kind: "unreadable", path, diagnostic };
}
