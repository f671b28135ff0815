/**
 * Work that somebody else asks for, as often as he likes: done once at a time, with a pause between, and once more if it
 * was asked for meanwhile.
 */
export class Repeater {
  readonly #work: () => Promise<void> | null;
  readonly #pause_ms: number;
  readonly #stop: AbortSignal;
  #wanted = false;
  #busy: Promise<void> | null = null;

  /** `work` never rejects; null: it cannot be done now, and waits for `resume`. */
  constructor(work: () => Promise<void> | null, pause_ms: number, stop: AbortSignal) {
    this.#work = work;
    this.#pause_ms = pause_ms;
    this.#stop = stop;
  }

  /** Nothing is being done. */
  get idle(): Promise<void> {
    return this.#busy ?? Promise.resolve();
  }

  request(): void {
    this.#wanted = true;
    this.resume();
  }

  resume(): void {
    if (!this.#wanted || this.#busy !== null || this.#stop.aborted) return;
    const work = this.#work();
    if (work === null) return;
    this.#wanted = false;
    this.#busy = work.then(() => pause(this.#pause_ms, this.#stop)).then(() => {
      this.#busy = null;
      this.resume();
    });
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    stop.addEventListener("abort", done);
  });
}
