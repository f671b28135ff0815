/**
 * What a person trusted, outside every repository: one small file for a workspace and one for each file that was
 * trusted by itself, so that writers never have to agree.
 *
 * T1  A record is replaced as a whole or not at all, and only its owner can write it.
 * T2  A record that is damaged, or that others could have written, is no record.
 * T3  A repository cannot bring its own: where the store lies inside the workspace (a home directory, a careless
 *     ORRERY_HOME), a record counts only in the very file that we wrote it to, which a checkout cannot imitate.
 */
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import * as v from "valibot";
import { calledName } from "../platform/called.ts";
import { sha256 } from "../platform/digest.ts";

/** Made when there is something to read: most starts find no store. */
const digest = () => v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const workspaceRecord = () => v.object({ workspace: v.string(), granted_at: v.string(), digests: v.record(v.string(), digest()) });
const fileRecord = () => v.object({ workspace: v.string(), granted_at: v.string(), name: v.string(), digest: digest() });
/** `inode`: of the file that holds the record. */
const envelope = () => v.object({ version: v.literal(1), inode: v.string(), record: v.unknown() });

export type WorkspaceRecord = v.InferOutput<ReturnType<typeof workspaceRecord>>;
export type FileRecord = v.InferOutput<ReturnType<typeof fileRecord>>;

export interface TrustStore {
  /** `problem`: there is a record, and it does not count. */
  read(
    workspace: string,
  ): Promise<{ readonly workspace: WorkspaceRecord | null; readonly files: readonly FileRecord[]; readonly problem: string | null }>;
  writeWorkspace(record: WorkspaceRecord): Promise<void>;
  writeFile(record: FileRecord): Promise<void>;
  /** Whether there was anything to forget. */
  forget(workspace: string): Promise<boolean>;
}

export function createTrustStore(dataDirectory: string): TrustStore {
  const folder = join(dataDirectory, "trust");
  const placeOf = (workspace: string) => join(folder, sha256(workspace));
  return {
    async read(workspace) {
      if (!existsSync(folder)) return { workspace: null, files: [], problem: null };
      const place = placeOf(workspace);
      const rules = { workspace, bound: await liesIn(folder, workspace) };
      const whole = await readRecord(join(place, "workspace.json"), workspaceRecord(), rules);
      const names = await namesIn(join(place, "files"));
      const files = await Promise.all(names.map((name) => readRecord(join(place, "files", name), fileRecord(), rules)));
      return { workspace: whole.record, files: files.flatMap(({ record }) => record ?? []), problem: whole.problem };
    },
    writeWorkspace: async (record) => await replaceFile(join(placeOf(record.workspace), "workspace.json"), record),
    writeFile: async (record) => await replaceFile(join(placeOf(record.workspace), "files", `${sha256(record.name)}.json`), record),
    async forget(workspace) {
      const place = placeOf(workspace);
      const known = (await namesIn(place)).length > 0;
      await rm(place, { recursive: true, force: true });
      return known;
    },
  };
}

interface RecordRules {
  readonly workspace: string;
  /** T3 */
  readonly bound: boolean;
}

interface ReadRecord<T> {
  readonly record: T | null;
  readonly problem: string | null;
}

async function readRecord<T extends { readonly workspace: string }>(
  path: string,
  schema: v.GenericSchema<unknown, T>,
  rules: RecordRules,
): Promise<ReadRecord<T>> {
  const none = (problem: string | null) => ({ record: null, problem });
  try {
    const status = await lstat(path, { bigint: true });
    if (!status.isFile()) return none(`"${path}" is not a regular file`);
    if (!isOurs(status)) return none(`"${path}" can be written by others`);
    const { inode, record } = v.parse(envelope(), JSON.parse(await readFile(path, "utf8")));
    if (rules.bound && inode !== String(status.ino)) {
      return none(`"${path}" lies in the workspace and was not written there by ${calledName()} trust`);
    }
    const parsed = v.parse(schema, record);
    return parsed.workspace === rules.workspace ? { record: parsed, problem: null } : none(`"${path}" is for another workspace`);
  } catch (error) {
    if (isAbsent(error)) return none(null);
    return none(`"${path}" cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isOurs({ mode, uid }: { readonly mode: bigint; readonly uid: bigint }): boolean {
  const own = process.getuid?.();
  return (mode & 0o022n) === 0n && (own === undefined || BigInt(own) === uid);
}

async function liesIn(folder: string, workspace: string): Promise<boolean> {
  try {
    const way = relative(workspace, await realpath(folder));
    return !(way === ".." || way.startsWith("../") || way.startsWith("/"));
  } catch (error) {
    // No store yet: there is nothing to be bound.
    if (isAbsent(error)) return false;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    // A name that begins with a dot is a file that is being written.
    return (await readdir(folder)).filter((name) => !name.startsWith("."));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** `ENOTDIR`: a file is where the folder of the store would be. */
function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

async function replaceFile(path: string, record: object): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = join(dirname(path), `.${crypto.randomUUID()}`);
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      const { ino } = await file.stat({ bigint: true });
      await file.writeFile(JSON.stringify({ version: 1, inode: String(ino), record }));
      await file.sync();
    } finally {
      await file.close();
    }
    // The mode that `open` gives is less whatever the umask takes.
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
