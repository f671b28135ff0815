/** Counts messages that nobody had asked for, in windows of time. */
export class FloodGauge {
  static readonly WINDOW_MS = 10_000;
  static readonly MOST = 5000;
  #since = performance.now();
  #count = 0;

  /** Counts one more, and tells whether it is one too many. */
  isFull(): boolean {
    const now = performance.now();
    if (now - this.#since > FloodGauge.WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    return ++this.#count > FloodGauge.MOST;
  }
}
