/**
 * What is held of answers that are not taken, on all connections together. Answers are made whole, and one is held until
 * its last byte is taken: whoever asks for large ones and reads none of them would have this process hold them all. Beyond
 * a bound the connections that have taken nothing for the longest time are given up.
 */

export interface Held {
  /** Some of it was taken just now. */
  taken(): void;
  release(): void;
}

interface Entry {
  readonly bytes: number;
  /** When some of it was taken last. */
  since: number;
  readonly give_up: () => void;
}

export class Unsent {
  readonly #most: number;
  readonly #patience_ms: number;
  readonly #entries = new Set<Entry>();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** @param patience_ms nobody who took something within this time is given up */
  constructor(most_bytes: number, patience_ms: number) {
    this.#most = most_bytes;
    this.#patience_ms = patience_ms;
  }

  hold(bytes: number, give_up: () => void): Held {
    const entry: Entry = { bytes, since: performance.now(), give_up };
    this.#entries.add(entry);
    this.#bytes += bytes;
    this.#makeRoom();
    return {
      taken: () => void (entry.since = performance.now()),
      release: () => this.#release(entry),
    };
  }

  #release(entry: Entry): void {
    if (this.#entries.delete(entry)) this.#bytes -= entry.bytes;
  }

  #makeRoom(): void {
    if (this.#bytes <= this.#most) return;
    const latest = performance.now() - this.#patience_ms;
    const idle = [...this.#entries].filter(({ since }) => since <= latest).sort((left, right) => left.since - right.since);
    for (const entry of idle) {
      if (this.#bytes <= this.#most) return;
      this.#release(entry);
      entry.give_up();
    }
    if (this.#bytes > this.#most) this.#timer ??= setTimeout(() => this.#lookAgain(), this.#patience_ms / 4);
  }

  /** At those who had taken something just then. */
  #lookAgain(): void {
    this.#timer = null;
    this.#makeRoom();
  }
}
