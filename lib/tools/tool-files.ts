/**
 * The files of a tool directory. Nothing in a directory can stop the others from being read: what cannot be read is
 * a diagnostic for its path. Links are followed; devices, pipes and folders are never opened.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Diagnostic } from "./diagnostic.ts";
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
    files.push(unreadable(directory, `it has ${names.length} ${extension} files and only ${MAX_FILES} are read`));
  }
  return files;
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
    if (!file.isFile()) return unreadable(path, file.isDirectory() ? "it is a folder" : "it is not a regular file");
    if (file.size > MAX_BYTES) return unreadable(path, `it has ${file.size} bytes and may have ${MAX_BYTES}`);
    const bytes = await readFile(path);
    const text = decodeUtf8(bytes);
    return text === null ? unreadable(path, "it is not UTF-8") : { kind: "text", path, text, digest: sha256(bytes) };
  } catch (error) {
    return unreadable(path, error instanceof Error ? error.message : String(error));
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

function unreadable(path: string, problem: string): ToolFile {
  return { kind: "unreadable", path, diagnostic: { severity: "error", code: "unreadable", message: `Cannot read the file as ${problem}` } };
}
