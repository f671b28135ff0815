/** What `.gitignore` and `.ignore` say: the last rule that fits decides, and deeper files come after those above. */
import ignore, { type Ignore } from "ignore";
import { isCheap } from "./glob.ts";

/** In order of precedence: what comes later may take back what came before. */
export const IGNORE_FILES: readonly string[] = [".gitignore", ".ignore"];
export const MAX_IGNORE_BYTES = 256 * 1024;

export class IgnoreRules {
  static readonly none = new IgnoreRules(ignore({ ignorecase: false }));
  readonly #rules: Ignore;

  private constructor(rules: Ignore) {
    this.#rules = rules;
  }

  /** With the rules of one more file. `folder`: where it lies, relative to the workspace; "" for the workspace itself. */
  with(folder: string, text: string): IgnoreRules {
    const patterns = text.replace(/^\uFEFF/, "").split(/\r?\n/).flatMap((line) => rebase(line, folder));
    if (patterns.length === 0) return this;
    return new IgnoreRules(ignore({ ignorecase: false }).add(this.#rules).add(patterns));
  }

  ignores(path: string, kind: "file" | "folder"): boolean {
    return this.#rules.ignores(kind === "folder" ? `${path}/` : path);
  }
}

/** A line of a nested file as the file at the top would have to say it. A rule that is too costly to match is left out. */
function rebase(line: string, folder: string): readonly string[] {
  if (line.trim() === "" || line.startsWith("#") || !isCheap(line)) return [];
  if (folder === "") return [line];
  const negative = line.startsWith("!");
  const pattern = negative ? line.slice(1) : line;
  const anchored = pattern.trimEnd().replace(/\/$/, "").includes("/");
  const prefix = `/${folder.replace(/[\\*?[\]! #]/g, "\\$&")}/`;
  return [`${negative ? "!" : ""}${prefix}${anchored ? pattern.replace(/^\//, "") : `**/${pattern}`}`];
}
