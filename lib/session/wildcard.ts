/** The one kind of pattern in our rules: `*` stands for any characters, everything else for itself, from end to end. */

/** Case-sensitive, and never worse than the product of both lengths. */
export function matchesWildcard(pattern: string, text: string): boolean {
  return matchesSequence(pattern, text, "*", (wanted, character) => wanted === character);
}

/** The same over anything that has an order: `any` in the pattern stands for as many items as it takes. */
export function matchesSequence(
  pattern: ArrayLike<string>,
  items: ArrayLike<string>,
  any: string,
  fits: (wanted: string, item: string) => boolean,
): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resume = 0;
  while (at < items.length) {
    const wanted = pattern[next];
    if (wanted === any) {
      star = next++;
      resume = at;
    } else if (wanted !== undefined && fits(wanted, items[at] ?? "")) {
      next++;
      at++;
    } else if (star !== -1) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next] === any) next++;
  return next === pattern.length;
}
