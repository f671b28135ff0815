/** What a mount forbids, whatever a file's mode says. */
import { accessSync, constants, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { bun } from "./host.ts";

/** `noexec`: nothing can be started from there. `ro`: nothing can be written. */
export type MountOption = "noexec" | "ro";

/** Where the file system of a path is mounted, if that is with the option. Null elsewhere, and where there is no /proc. */
export function mountWith(option: MountOption, path: string): string | null {
  try {
    return findMount(readFileSync("/proc/self/mountinfo", "utf8"), option, realpathSync(path));
  } catch {
    // Not Linux, no /proc, or nothing there: then something else is to be said of it.
    return null;
  }
}

/** Whether the system would start this file. Deno 2.9 looks at its mode alone. */
export function mayStart(path: string): boolean {
  return refusal(path, constants.X_OK) === null && (bun !== null || mountWith("noexec", path) === null);
}

/** Why no file can be made in this folder, as the system names it; null if one can. Deno 2.9 looks at its mode alone. */
export function writeRefusal(folder: string): string | null {
  return refusal(folder, constants.W_OK | constants.X_OK) ?? (bun === null && mountWith("ro", folder) !== null ? "EROFS" : null);
}

function refusal(path: string, mode: number): string | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** @param path absolute, without links. */
export function findMount(mountinfo: string, option: MountOption, path: string): string | null {
  // Of two mounts on one place the later one is what is seen.
  const options = new Map(
    mountinfo.split("\n").map((line) => {
      const [, , , , place = "", set = ""] = line.split(" ");
      return [unescape(place), set.split(",")] as const;
    }),
  );
  for (let place = path;; place = dirname(place)) {
    const found = options.get(place);
    if (found !== undefined) return found.includes(option) ? place : null;
    if (place === dirname(place)) return null;
  }
}

/** The kernel writes blanks and backslashes of a path as octal numbers, and the rest as bytes. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
