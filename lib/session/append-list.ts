/**
 * A list that is only ever appended to, with the old versions still readable. Appending to the newest version is
 * O(1): versions share one array and each sees only its own length. So a fold over 100,000 events stays linear and
 * `evolve` stays pure for whoever looks through `toArray`.
 */
export interface AppendList<T> {
  readonly length: number;
  readonly shared: T[];
}

export function emptyList<T>(): AppendList<T> {
  return { length: 0, shared: [] };
}

export function append<T>(list: AppendList<T>, item: T): AppendList<T> {
  const shared = list.shared.length === list.length ? list.shared : list.shared.slice(0, list.length);
  shared.push(item);
  return { length: list.length + 1, shared };
}

export function toArray<T>(list: AppendList<T>): readonly T[] {
  return list.shared.slice(0, list.length);
}

/** The items from the newest to the oldest, without a copy. */
export function* newestFirst<T>(list: AppendList<T>): Generator<T> {
  for (let index = list.length - 1; index >= 0; index--) yield list.shared[index] as T;
}
