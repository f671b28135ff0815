/** The one kind of pattern in our rules: `*` stands for any characters, everything else for itself, from end to end. */

/** Case-sensitive, and never worse than the product of both lengths. */
export function matchesWildcard(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    if (pattern[next] === "*") {
      star = next++;
      resume = at;
    } else if (next < pattern.length && pattern[next] === text[at]) {
      next++;
      at++;
    } else if (star !== -1) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next] === "*") next++;
  return next === pattern.length;
}
