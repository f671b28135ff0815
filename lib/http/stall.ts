/** Whether somebody takes what is there for it. Time in which this process itself was held up is nobody's else. */
export class Stall {
  readonly #ms: number;
  readonly #stalled: () => void;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** @param stalled is told once of each wait that took too long. */
  constructor(ms: number, stalled: () => void) {
    this.#ms = ms;
    this.#stalled = stalled;
  }

  /** Something waits to be taken from now on. */
  begin(): void {
    this.end();
    const due = performance.now() + this.#ms;
    this.#timer = setTimeout(() => {
      if (performance.now() - due > this.#ms * HELD_UP) return this.begin();
      this.#timer = null;
      this.#stalled();
    }, this.#ms);
  }

  /** It was taken. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** A timer that is late by more than this part of its time says that nothing was looked after, readers neither. */
const HELD_UP = 0.1;
