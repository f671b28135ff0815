/**
 * One writer at a time in a folder, among all processes that ask here. The system lets go of the lock when its holder
 * ends, however it ends.
 */
import { closeSync, constants, openSync } from "node:fs";
import { bindLibrary } from "./libc.ts";

/** Null if somebody else has had it for all of `patience_ms`. Blocks the thread meanwhile. @throws {Error} the folder cannot be opened. */
export function lockFolder(path: string, patience_ms: number): Disposable | null {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  const deadline = performance.now() + patience_ms;
  flock ??= bind();
  while (flock(descriptor) !== 0) {
    if (performance.now() >= deadline) {
      closeSync(descriptor);
      return null;
    }
    Atomics.wait(pause, 0, 0, PAUSE_MS);
  }
  return { [Symbol.dispose]: () => closeSync(descriptor) };
}

let flock: ((descriptor: number) => number) | undefined;

const PAUSE_MS = 2;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** The same numbers on Linux and macOS. */
const LOCK_EX_NB = 2 | 4;

/** Without the C library there is no lock, and a file that is changed at the very moment of its replacement is replaced. */
function bind(): (descriptor: number) => number {
  const library = bindLibrary({ flock: ["i32", "i32"] });
  if (library.kind === "unbound") return () => 0;
  const { calls } = library;
  return (descriptor) => calls.flock(descriptor, LOCK_EX_NB);
}
