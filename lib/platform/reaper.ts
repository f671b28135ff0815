/**
 * Children that came to us without our starting them. On Linux a process whose parent has ended goes to the nearest
 * ancestor that asked for such children (a subreaper), or to PID 1: so whoever of a call hides from every tag still
 * ends up with us, and stays a zombie when it ends until we ask for its exit status.
 *
 * Exit statuses of the host's own children are never taken: those are for Bun and Deno to collect.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { bindLibrary } from "./libc.ts";

/** Asks the kernel for the orphans among our descendants. Null, or why there will be none. The whole process is meant, any thread may ask. */
export function adoptOrphans(): string | null {
  if (process.platform !== "linux") return `${process.platform} has no subreapers`;
  const library = bindLibrary({ prctl: ["i32", "u64", "u64", "u64", "u64"] });
  if (library.kind === "unbound") return library.problem;
  return library.calls.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) === 0 ? null : "the kernel refused to make this process a subreaper";
}

/**
 * Children of the main thread: what it started itself and everything that was adopted, as the kernel gives orphans to
 * the first thread of a process. What a worker thread started is not among them while that thread lives. Null: the
 * kernel does not tell (no CONFIG_PROC_CHILDREN).
 */
export function childrenOfMainThread(): readonly number[] | null {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/children`, "latin1");
    return text.trim() === "" ? [] : text.trim().split(" ").map(Number);
  } catch {
    // ENOENT: a kernel built without it, or no /proc.
    return null;
  }
}

/** Takes the exit status of a zombie that was adopted. Only for one that the host did not start. */
export function collectZombie(pid: number): void {
  wait ??= bindWait();
  wait(pid);
}

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

let wait: ((pid: number) => void) | undefined;

function bindWait(): (pid: number) => void {
  const library = bindLibrary({ waitpid: ["i32", "pointer", "i32"] });
  // Without it nothing was adopted either, except by PID 1.
  if (library.kind === "unbound") return () => {};
  const { waitpid } = library.calls;
  return (pid) => void waitpid(pid, null, WNOHANG);
}
