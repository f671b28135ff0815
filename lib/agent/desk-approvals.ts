/**
 * The questions of one session that wait for somebody. What is open is in the session's state, which is durable; here
 * is only who waits. An answer may come a moment before the question is asked, as the log is ahead of the asker.
 */
import type { Answer } from "./approver.ts";

export class Approvals {
  readonly #slots = new Map<string, Slot>();

  /** Waits for the answer, but not for that of a question that is withdrawn: it may be put again. */
  async ask(call: string, signal: AbortSignal): Promise<Answer> {
    const slot = this.#slot(call);
    const withdrawn = Promise.withResolvers<Answer>();
    const withdraw = () => withdrawn.resolve({ decision: "deny", by: "stop" });
    signal.addEventListener("abort", withdraw, { once: true });
    if (signal.aborted) withdraw();
    try {
      return await Promise.race([slot.promise, withdrawn.promise]);
    } finally {
      signal.removeEventListener("abort", withdraw);
    }
  }

  /** False: the call has its answer already. */
  answer(call: string, answer: Answer): boolean {
    const slot = this.#slot(call);
    if (slot.answered) return false;
    slot.answered = true;
    slot.resolve(answer);
    return true;
  }

  /** The log has the answer, or the call's end. */
  forget(call: string): void {
    this.#slots.delete(call);
  }

  #slot(call: string): Slot {
    const known = this.#slots.get(call);
    if (known !== undefined) return known;
    const slot = { ...Promise.withResolvers<Answer>(), answered: false };
    this.#slots.set(call, slot);
    return slot;
  }
}

interface Slot {
  readonly promise: Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  answered: boolean;
}
