/** Looks at new processes while calls run, so that one which drops its tag is known before its parent is gone. */
import type { Census, Sighting } from "./census.ts";

/** Most escapes are made right after a start. A look costs 0.04 ms plus 0.05 ms for each new process. */
export const FIRST_PAUSE_MS = 2;
const LAST_PAUSE_MS = 100;

export class Lookout {
  readonly #census: Census;
  readonly #report: (sighting: Sighting) => void;
  #running = 0;
  #pause = FIRST_PAUSE_MS;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(census: Census, report: (sighting: Sighting) => void) {
    this.#census = census;
    this.#report = report;
  }

  /** Something was started. @param first_ms until the first look */
  enter(first_ms: number): void {
    this.#running++;
    this.#pause = FIRST_PAUSE_MS;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), first_ms);
  }

  /** It has ended. */
  leave(): void {
    this.#running--;
    if (this.#running > 0 || this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    const sighting = this.#census.prepare();
    if (sighting.strays.length + sighting.gone.length > 0) this.#report(sighting);
    this.#timer = setTimeout(() => this.#look(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LAST_PAUSE_MS);
  }
}
