/** Globs over paths, bounded in what matching them can cost. */
import picomatch from "picomatch";

/** Whether a path is wanted. `local` is the path relative to the folder that is searched, `path` that to the workspace. */
export type PathFilter = (path: string, local: string) => boolean;

const MAX_BRACES = 3;

/** Null: too many wildcards or alternatives. A glob without a slash means names in any folder. */
export function compileGlob(glob: string): PathFilter | null {
  const negative = glob.startsWith("!");
  const wanted = negative ? glob.slice(1) : glob;
  if (wanted === "" || !isCheap(wanted) || wanted.split("{").length - 1 > MAX_BRACES) return null;
  const anchored = wanted.replace(/^(?:\.?\/)+/, "");
  const whole = anchored.endsWith("/") ? `${anchored}**` : anchored;
  const matches = picomatch(literalParentheses(whole), { dot: true, noextglob: true, nonegate: true, basename: !wanted.includes("/") });
  return (path, local) => (matches(path) || matches(local)) !== negative;
}

/** Wildcards are matched by backtracking: their number within a name, and that of `**`, is the power of the cost. */
export function isCheap(pattern: string): boolean {
  if (pattern.length > 1000 || pattern.split("**").length > 5) return false;
  return pattern.split("/").every((segment) => segment.replace(/\*+/g, "*").split("*").length <= 4);
}

/** What is special to regular expressions and not to globs is a plain character: folders have names like `(group)`. */
function literalParentheses(glob: string): string {
  return glob.replace(/\\.|[()|+^$]/g, (found) => found.startsWith("\\") ? found : `\\${found}`);
}
