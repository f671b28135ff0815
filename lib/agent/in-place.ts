/**
 * Whether the folder of a session is still the one that was found good when the session was opened. Its path was
 * recorded without symlinks: one that leads elsewhere now, by a link in the place of any of its parts, is another
 * folder. Looked at wherever something is about to work in it, as whoever may write beside it can swap it at any time.
 */
import { realpathSync } from "node:fs";
import type { Tool } from "../tools/tool.ts";

export function isInPlace(workspace: string): boolean {
  try {
    return realpathSync(workspace) === workspace;
  } catch {
    // It is gone, or there is no way to it any more.
    return false;
  }
}

/** Tools that start no process in a folder that is not in place. */
export function keepInPlace(workspace: string): (tool: Tool) => Tool {
  const kept = new WeakMap<Tool, Tool>();
  return (tool) => {
    const known = kept.get(tool);
    if (known !== undefined) return known;
    const plan: Tool["plan"] = (input, context) => {
      const planned = tool.plan(input, context);
      if (planned.kind !== "launch" || isInPlace(workspace)) return planned;
      return {
        kind: "unable",
        problem: `The folder of this session, "${workspace}", is not there any more as it was. "${tool.name}" was not run.`,
      };
    };
    const own = { ...tool, plan };
    kept.set(tool, own);
    return own;
  };
}
