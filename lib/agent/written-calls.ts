/** The calls of a reply as far as it is written: which of them no change stands before, and how often each is asked for. */
export class WrittenCalls {
  /** By position, in which order they were announced. */
  readonly #orders = new Map<number, number>();
  /** The orders of those that are not of a read-only tool. */
  readonly #fences = new Set<number>();
  /** By position, what each asks for now. */
  readonly #asked = new Map<number, string>();

  clear(): void {
    this.#orders.clear();
    this.#fences.clear();
    this.#asked.clear();
  }

  announce(position: number, isRead: boolean): void {
    const order = this.#orders.get(position) ?? this.#orders.size;
    this.#orders.set(position, order);
    if (isRead) this.#fences.delete(order);
    else this.#fences.add(order);
  }

  isFenced(position: number): boolean {
    const order = this.#orders.get(position) ?? Infinity;
    return order >= Math.min(...this.#fences);
  }

  /** What the call at this position asked for before, it asks for no more. Null: for nothing that could run. */
  ask(position: number, identity: string | null): void {
    if (identity === null) this.#asked.delete(position);
    else this.#asked.set(position, identity);
  }

  /** How many of the calls ask for this. */
  count(identity: string): number {
    let count = 0;
    for (const each of this.#asked.values()) if (each === identity) count++;
    return count;
  }
}
