/**
 * How many tools of a turn run at the same time. Early runs and calls share the same places; a call that waits goes
 * before an early run that does.
 */
export class Slots {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #onFree: () => void = () => {};

  constructor(most: number) {
    this.#most = most;
  }

  /** Told when a place is free that nobody waits for. */
  onFree(listener: () => void): void {
    this.#onFree = listener;
  }

  /** A place at once, or none. */
  tryTake(): boolean {
    if (this.#taken >= this.#most) return false;
    this.#taken++;
    return true;
  }

  /** Waits for a place; false if the signal came first, and then there is none to release. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.tryTake()) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const grant = () => resolve(true);
    const giveUp = () => {
      const at = this.#waiting.indexOf(grant);
      if (at >= 0) this.#waiting.splice(at, 1);
      resolve(at < 0);
    };
    this.#waiting.push(grant);
    signal.addEventListener("abort", giveUp, { once: true });
    return await promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next();
    this.#taken--;
    this.#onFree();
  }
}
