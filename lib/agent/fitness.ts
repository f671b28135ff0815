/** Whether what ran early may stand for its call. */
import { access, constants, readFile, realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { sha256 } from "../platform/digest.ts";
import type { EventBody } from "../session/event.ts";
import type { JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import type { Tool } from "../tools/tool.ts";
import { readRun } from "./read-run.ts";

type Unfit = Extract<EventBody<"speculation_discarded">["reason"], "cancelled" | "failed" | "stale">;

export interface EarlyRead {
  readonly tool: Tool;
  readonly input: JsonInput;
}

/** Null if the result is good, and the files that it is of are still what they were. */
export async function whyUnfit({ tool, input }: EarlyRead, run: Run, workspace: string): Promise<Unfit | null> {
  const succeeded = run.outcome.kind === "returned" || (run.outcome.kind === "exited" && run.outcome.code === 0);
  if (!succeeded) return run.outcome.kind === "cancelled" ? "cancelled" : "failed";
  const { result } = readRun(tool, run, input);
  if (result.is_error) return "failed";
  const files = (Array.isArray(result.data) ? result.data : [result.data]).filter(isFileIdentity);
  // One of several that could not be read has nothing that could be compared.
  if (files.some(({ size }) => size < 0)) return "failed";
  return await isStale(files, workspace) ? "stale" : null;
}

/** What a file tool says of a file it read, in the result's `data`; paths are relative to the workspace. */
interface FileIdentity {
  readonly path: string;
  /** The link that led to it: one that leads elsewhere by now makes the result stale too. */
  readonly via?: string;
  /** Below 0 if it could not be read. */
  readonly size: number;
  readonly mtime_ms: number;
  /** Of the last change of the file or of who may read it: what a program that sets the other time back cannot hide. */
  readonly ctime_ms: number;
  readonly inode: number;
  /** Of its content. */
  readonly digest: string;
}

async function isStale(files: readonly FileIdentity[], workspace: string): Promise<boolean> {
  const changed = await Promise.all(files.map(async (file) => {
    const { path, via = path, size, mtime_ms, ctime_ms, inode } = file;
    // Through a link to where the file was moved, identity alone would still fit.
    const real = await realpath(resolve(workspace, via)).catch(() => null);
    if (real !== resolve(workspace, path)) return true;
    const present = await stat(real).catch(() => null);
    if (present === null || present.size !== size || present.mtimeMs !== mtime_ms || present.ino !== inode) return true;
    return present.ctimeMs !== ctime_ms || await isOther(real, file);
  }));
  return changed.includes(true);
}

/** What the times cannot tell: that it may not be read any more, and, where they are told in whole seconds (Deno 2.9.6), another content. */
async function isOther(path: string, { ctime_ms, digest }: FileIdentity): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return ctime_ms % 1000 === 0 && sha256(await readFile(path)) !== digest;
  } catch {
    return true;
  }
}

function isFileIdentity(value: unknown): value is FileIdentity {
  if (typeof value !== "object" || value === null) return false;
  const { path, via, size, mtime_ms, ctime_ms, inode, digest } = value as Record<string, unknown>;
  return typeof path === "string" && (via === undefined || typeof via === "string") && typeof size === "number" &&
    typeof mtime_ms === "number" && typeof ctime_ms === "number" && typeof inode === "number" && typeof digest === "string";
}
