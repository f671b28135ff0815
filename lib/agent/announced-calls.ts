/**
 * Calls that an agent's code tells its watchers of, and which result is whose. One that the turn then makes itself is told
 * by the log, and so is its result: neither is told twice.
 *
 * A1  A result with the id of an open call belongs to it. Any other id is a model's, and means a call that was told without one:
 *     the oldest that returned just this, else the oldest that the turn has not made, else the oldest.
 * A2  What is said after a call that is held back is told after it.
 */
interface Announced {
  readonly key: string;
  /** As the code gave it. */
  readonly given_id: string | undefined;
  /** As the watchers are told. */
  readonly told_id: string;
  status: { readonly kind: "held"; readonly timer: ReturnType<typeof setTimeout> } | { readonly kind: "told" } | { readonly kind: "made" };
  /** JSON text of what the made call returned. */
  returned?: string;
  say(id: string): void;
}

/** Code that never tells a result does not fill the memory. */
const MOST_OPEN = 1000;

export class AnnouncedCalls {
  readonly #open: Announced[] = [];
  /** A held call, and what was said since. */
  readonly #waiting: (Announced | (() => void))[] = [];

  /** `holds`: whether the call is held back for a moment, as the code may be about to make it. */
  announce(key: string, given_id: string | undefined, holds: boolean, say: (id: string) => void): void {
    const announced: Announced = { key, given_id, told_id: given_id ?? crypto.randomUUID(), status: { kind: "told" }, say };
    if (holds) announced.status = { kind: "held", timer: setTimeout(() => this.#settle(announced, "told"), 0) };
    this.#waiting.push(announced);
    this.#tellWaiting();
    if (this.#open.push(announced) > MOST_OPEN) this.#open.splice(0, 1).forEach((oldest) => this.#settle(oldest, "told"));
  }

  /** Tells something else. A2. */
  follow(tell: () => void): void {
    this.#waiting.push(tell);
    this.#tellWaiting();
  }

  /** The oldest held call of this key is made by the turn itself. */
  make(key: string): { readonly id: string | undefined; returns(value: unknown): void } | null {
    const announced = this.#open.find((each) => each.key === key && each.status.kind === "held");
    if (announced === undefined) return null;
    this.#settle(announced, "made");
    return { id: announced.given_id, returns: (value) => void (announced.returned = textOf(value)) };
  }

  /** The id under which watchers are told of this result; null if the log tells them. */
  answer(id: string, result: unknown): string | null {
    const announced = this.#find(id, result);
    if (announced === undefined) return id;
    this.#open.splice(this.#open.indexOf(announced), 1);
    this.#settle(announced, "told");
    return announced.status.kind === "made" ? null : announced.told_id;
  }

  #settle(announced: Announced, kind: "told" | "made"): void {
    if (announced.status.kind !== "held") return;
    clearTimeout(announced.status.timer);
    announced.status = { kind };
    this.#tellWaiting();
  }

  /** A2. */
  #tellWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (typeof next !== "function" && next.status.kind === "held") return;
      this.#waiting.shift();
      if (typeof next === "function") next();
      else if (next.status.kind === "told") next.say(next.told_id);
    }
  }

  /** A1. */
  #find(id: string, result: unknown): Announced | undefined {
    const named = this.#open.find(({ given_id }) => given_id === id);
    if (named !== undefined) return named;
    const nameless = this.#open.filter(({ given_id }) => given_id === undefined);
    const returned = textOf(result);
    return nameless.find((each) => each.returned !== undefined && each.returned === returned) ??
      nameless.find(({ status }) => status.kind !== "made") ?? nameless[0];
  }
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // What JSON cannot hold is no call's result.
    return "";
  }
}
