/**
 * Calls that are about to start, in the order of their reply: what the log says of them does not hang on which of them is
 * ready first. They get ready side by side; one that is not in the line yet is not waited for.
 */
export interface Place {
  /** Resolves when nobody in the line stands before it. */
  first(): Promise<void>;
  /** The end of this call will be recorded at once: that is to come in order too. */
  stayToEnd(): void;
  started(): void;
  /** Once is enough, and more do no harm. */
  leave(): void;
}

interface Waiting {
  readonly order: number;
  /** Null until it asks. */
  go: (() => void) | null;
}

export class CallLine {
  readonly #line: Waiting[] = [];

  /** `order`: of the call in its reply. */
  join(order: number): Place {
    const own: Waiting = { order, go: null };
    const behind = this.#line.findIndex((each) => each.order > order);
    this.#line.splice(behind === -1 ? this.#line.length : behind, 0, own);
    const leave = () => {
      const at = this.#line.indexOf(own);
      if (at >= 0) this.#line.splice(at, 1);
      this.#line[0]?.go?.();
    };
    let stays = false;
    return {
      first: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        own.go = resolve;
        this.#line[0]?.go?.();
        return promise;
      },
      stayToEnd: () => {
        stays = true;
      },
      started: () => {
        if (!stays) leave();
      },
      leave,
    };
  }
}
