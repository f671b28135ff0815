/**
 * Whether the folder of a session is still the one that was found good when the session was opened. Its path was
 * recorded without symlinks: one that leads elsewhere now, by a link in the place of any of its parts, is another
 * folder. Looked at wherever something is about to work in it, as whoever may write beside it can swap it at any time.
 */
import { realpathSync, statSync } from "node:fs";
import { UsageError } from "../config/error.ts";
import type { Tool } from "../tools/tool.ts";

export function isInPlace(workspace: string): boolean {
  try {
    return realpathSync(workspace) === workspace;
  } catch {
    // It is gone, or there is no way to it any more.
    return false;
  }
}

/**
 * The folder that a session which exists goes on in: where its recorded path leads now. No other can be given, as its
 * tools, its trust and what it read are those of this one.
 * @throws {UsageError} there is none.
 */
export function folderOf(recorded: string): string {
  const refuse = (problem: string) =>
    new UsageError(
      `Cannot go on with that session as the folder that it works in, "${recorded}", ${problem}: put that folder there, or a link to it`,
    );
  let folder: string;
  try {
    folder = realpathSync(recorded);
  } catch (error) {
    throw refuse(isGone(error) ? "is not there" : `cannot be reached (${(error as Error).message})`);
  }
  if (!statSync(folder).isDirectory()) throw refuse("is a file now");
  return folder;
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
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
