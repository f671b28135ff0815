/**
 * What a worker thread may keep. Deno ends a thread that needs more than it was started with; Bun 1.4.5 limits none, so
 * there the thread looks itself, and dies alone, by an error that nobody catches, before it takes the program along.
 */
import process from "node:process";
import { bun } from "./host.ts";

export const THREAD_MEMORY_MB = 512;
const LOOK_MS = 200;

/** [worker thread] What grows in one piece, without a turn of the loop, is not seen in time. */
export function limitThreadMemory(): void {
  if (bun === null) return;
  const { heapSize } = process.getBuiltinModule("bun:jsc") as unknown as { heapSize(): number };
  setInterval(() => {
    if (heapSize() > THREAD_MEMORY_MB * 1024 ** 2) throw new Error(`out of memory: it keeps more than ${THREAD_MEMORY_MB} MiB`);
  }, LOOK_MS).unref();
}
