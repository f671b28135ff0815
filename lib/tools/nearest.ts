/** "Did you mean": the known names closest to one that is not known. */

/** Longer names are never compared: nobody mistypes them, and distance costs the product of both lengths. */
const LONGEST = 80;

/** The known name that `name` most likely stands for, or null if none is close. */
export function nearest(name: string, known: readonly string[]): string | null {
  return closest(name, known, 1)[0] ?? null;
}

/** Up to `limit` close names, best first. */
export function closest(name: string, known: readonly string[], limit: number): readonly string[] {
  if (name.length > LONGEST) return [];
  const wanted = name.toLowerCase();
  return known
    .filter((candidate) => candidate.length <= LONGEST)
    .map((candidate) => ({ candidate, distance: distanceOf(wanted, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(Math.max(wanted.length, candidate.length) / 3)))
    .sort((left, right) => left.distance - right.distance || (left.candidate < right.candidate ? -1 : 1))
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** Edits between two words, where swapping two neighbours is one edit; 0 if they differ only in `-`, `_` and case. */
function distanceOf(left: string, right: string): number {
  if (left.replaceAll(/[-_ ]/g, "") === right.replaceAll(/[-_ ]/g, "")) return 0;
  let before: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let edits = Math.min(at(above, column) + 1, at(current, column - 1) + 1, at(above, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) edits = Math.min(edits, at(before, column - 2) + 1);
      current.push(edits);
    }
    before = above;
    above = current;
  }
  return at(above, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
