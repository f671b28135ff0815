/** A folder of a test's own, gone afterwards. */
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Folder extends AsyncDisposable {
  /** Absolute, links resolved. */
  readonly path: string;
  at(name: string): string;
  /** Writes a file, and the folders above it. */
  write(name: string, content: string | Uint8Array, mode?: number): Promise<string>;
}

export async function makeFolder(): Promise<Folder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "orrery-tools-")));
  return {
    path,
    at: (name) => join(path, name),
    write: async (name, content, mode) => {
      const target = join(path, name);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
      if (mode !== undefined) await chmod(target, mode);
      return target;
    },
    [Symbol.asyncDispose]: async () => await rm(path, { recursive: true, force: true }),
  };
}
