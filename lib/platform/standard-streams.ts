/** What a standard stream was when the program started. */
import { fstatSync, readFileSync, statSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2_000_000;

/**
 * Whether this descriptor was closed. Both hosts put /dev/null in its place before any of our code runs, so no file of
 * ours gets its number, and what is written there is lost without an error. Bun marks it close-on-exec, as no descriptor
 * that was inherited can be; on Deno 2.9, and where there is no /proc, it looks like any other /dev/null.
 */
export function wasClosed(descriptor: 0 | 1 | 2): boolean {
  try {
    if (fstatSync(descriptor).rdev !== statSync("/dev/null").rdev) return false;
    const [, flags = "0"] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    // It cannot be asked about.
    return false;
  }
}
