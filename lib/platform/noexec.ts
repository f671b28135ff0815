/** File systems that nothing can be started from, whatever a file's mode says. */
import { readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

/** Where the file system of a path is mounted, if that is with `noexec`. Null elsewhere, and where there is no /proc. */
export function noexecMount(path: string): string | null {
  try {
    return findNoexec(readFileSync("/proc/self/mountinfo", "utf8"), realpathSync(path));
  } catch {
    // Not Linux, no /proc, or nothing there: then something else is to be said of it.
    return null;
  }
}

/** @param path absolute, without links. */
export function findNoexec(mountinfo: string, path: string): string | null {
  // Of two mounts on one place the later one is what is seen.
  const options = new Map(
    mountinfo.split("\n").map((line) => {
      const [, , , , place = "", set = ""] = line.split(" ");
      return [unescape(place), set.split(",")] as const;
    }),
  );
  for (let place = path;; place = dirname(place)) {
    const found = options.get(place);
    if (found !== undefined) return found.includes("noexec") ? place : null;
    if (place === dirname(place)) return null;
  }
}

/** The kernel writes blanks and backslashes of a path as octal numbers, and the rest as bytes. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
