/**
 * Who does something in a session, and its removal: a removal begins when those inside have come out, and who comes
 * meanwhile waits for how it ends. So what was begun before it is seen by it, and what comes after it finds nothing.
 */
export class Entrances {
  /** How many are inside, by session; `left` resolves when the last one comes out. */
  readonly #inside = new Map<string, { count: number; readonly left: PromiseWithResolvers<void> }>();
  readonly #removals = new Map<string, Promise<void>>();

  async enter<T>(session: string, work: () => Promise<T>): Promise<T> {
    for (let removal = this.#removals.get(session); removal !== undefined; removal = this.#removals.get(session)) {
      // Whoever asked for it is told why it failed.
      await removal.catch(() => undefined);
    }
    const inside = this.#inside.get(session) ?? { count: 0, left: Promise.withResolvers<void>() };
    this.#inside.set(session, inside);
    inside.count++;
    try {
      return await work();
    } finally {
      if (--inside.count === 0) {
        this.#inside.delete(session);
        inside.left.resolve();
      }
    }
  }

  /** One that is asked for while the session is being removed is that same removal. */
  remove(session: string, work: () => Promise<void>): Promise<void> {
    const known = this.#removals.get(session);
    if (known !== undefined) return known;
    const removal = this.#removeWhenLeft(session, work).finally(() => this.#removals.delete(session));
    this.#removals.set(session, removal);
    return removal;
  }

  async #removeWhenLeft(session: string, work: () => Promise<void>): Promise<void> {
    await this.#inside.get(session)?.left.promise;
    await work();
  }
}
