/**
 * Of files that have one name, all but the first are not used, and each of them is told. A file that is broken takes a
 * name from nobody, except from another broken one: both may be repaired.
 */
import { dirname } from "node:path";
import { type Diagnostic, hasErrors, inOrder, type Position } from "./diagnostic.ts";
import type { CheckedFile, ValidatedFile } from "./tool-folder.ts";

/** @param order folders by precedence. In one folder the first file by name comes first. */
export function withLostNames(files: readonly CheckedFile[], order: readonly string[]): readonly ValidatedFile[] {
  const rank = ({ path }: ValidatedFile) => order.indexOf(dirname(path));
  const ranked = files.toSorted((left, right) => rank(left) - rank(right) || (left.path < right.path ? -1 : 1));
  const owners = new Map<string, CheckedFile>();
  const lost = new Map<CheckedFile, Diagnostic[]>();
  for (const file of ranked) {
    const isBroken = hasErrors(file.diagnostics);
    for (const name of namesIn(file)) {
      const owner = owners.get(name);
      if (owner === undefined || (!isBroken && hasErrors(owner.diagnostics))) owners.set(name, file);
      else lost.set(file, [...lost.get(file) ?? [], describeLoss(name, toLoser(file), owner.path)]);
    }
  }
  return files.map((file) => {
    const { nameAt: _, diagnostics, ...rest } = file;
    return { ...rest, diagnostics: inOrder([...diagnostics, ...lost.get(file) ?? []]) };
  });
}

export function namesIn({ tool, tools = tool === undefined ? [] : [tool] }: ValidatedFile): readonly string[] {
  return tools;
}

function toLoser({ path, tools, nameAt }: CheckedFile): Loser {
  return { path, isOneOfSeveral: tools !== undefined, nameAt };
}

/** A file, or one of several tools of a file in code, that loses its name. */
export interface Loser {
  readonly path: string;
  readonly isOneOfSeveral: boolean;
  readonly nameAt?: (() => Position | null) | undefined;
}

/** In the same words for a session and for whoever has the files checked. */
export function describeLoss(name: string, { path, isOneOfSeveral, nameAt }: Loser, owner: string): Diagnostic {
  const isSame = dirname(path) === dirname(owner);
  const which = isSame ? "which comes first" : "which comes before this folder";
  return {
    severity: "warning",
    code: isSame ? "duplicate_name" : "shadowed_name",
    message: `"${name}" is already the name of ${owner}, ${which}; ${isOneOfSeveral ? "this tool" : "this file"} is not used`,
    ...nameAt?.() ?? {},
    remedy: "Give one of them another name.",
  };
}
