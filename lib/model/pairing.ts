/**
 * For each of what is `said` again the one of what is `known` that it is: first what is surely the `same`, then in
 * order what is `alike`. Nothing is paired twice; what is new has no partner.
 */
export function pair<Said, Known>(
  said: readonly Said[],
  known: readonly Known[],
  same: (said: Said, known: Known) => boolean,
  alike: (said: Said, known: Known) => boolean,
): readonly (Known | undefined)[] {
  const left = [...known];
  const take = (each: Said, fits: (said: Said, known: Known) => boolean) => {
    const at = left.findIndex((candidate) => fits(each, candidate));
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const sure = said.map((each) => take(each, same));
  return said.map((each, place) => sure[place] ?? take(each, alike));
}
