/**
 * On Linux every process of a user can read the environment that another of his was started with, in
 * `/proc/PID/environ`: a tool could read there what was kept out of its own.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import process from "node:process";

/**
 * Overwrites the values of these variables where other processes see them; whether it did. Whoever needs them must have
 * copied them before: on Deno they are gone for this process too.
 */
export function concealVariables(names: readonly string[]): boolean {
  if (process.platform !== "linux" || !names.some((name) => (process.env[name] ?? "") !== "")) return false;
  try {
    const places = placesOf(names, readFileSync("/proc/self/environ"));
    const start = environmentStart(readFileSync("/proc/self/stat", "latin1"));
    const memory = openSync("/proc/self/mem", "r+");
    try {
      for (const { offset, length } of places) writeSync(memory, Buffer.alloc(length, "x"), 0, length, start + offset);
    } finally {
      closeSync(memory);
    }
    return places.length > 0;
  } catch {
    // Without /proc, or where it may not be written, it stays as the system made it.
    return false;
  }
}

function placesOf(names: readonly string[], block: Buffer): readonly { readonly offset: number; readonly length: number }[] {
  const places: { offset: number; length: number }[] = [];
  for (let at = 0; at < block.length;) {
    const next = block.indexOf(0, at);
    const end = next === -1 ? block.length : next;
    const equals = block.indexOf("=", at);
    if (equals > at && equals < end && names.includes(block.toString("latin1", at, equals))) {
      places.push({ offset: equals + 1, length: end - equals - 1 });
    }
    at = end + 1;
  }
  return places;
}

/** Field 50 of proc(5); the second, in parentheses, may hold anything. */
function environmentStart(stat: string): number {
  const start = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[50 - 3]);
  if (!Number.isSafeInteger(start) || start <= 0) throw new RangeError("The environment of this process is nowhere");
  return start;
}
