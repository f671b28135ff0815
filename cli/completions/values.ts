import type { Reference } from "../reference.ts";

/** Where completions get the names from that only the machine knows: one a line, and nothing is started for them. */
export const NAMES_ARGUMENT = "__names";

export function namesOf(what: "sessions" | "tools", { path: program }: Reference): string {
  return `${program} ${NAMES_ARGUMENT} ${what} 2>/dev/null`;
}

/** What the functions of a script begin with: one name of the program has nothing to do with another. */
export function functionPrefix({ path: program }: Reference): string {
  return `_${program.replace(/\W/g, "_")}`;
}
