/** The person at the terminal, who is asked one thing at a time. */
import type { Approver } from "../mod.ts";
import { canAsk, describeCall, RUN_IT, toAnswer } from "./ask.ts";
import { readLine } from "./line-input.ts";
import { Screen } from "./screen.ts";
import type { Shell } from "./terminal.ts";

export class Asker {
  /** Where everything else is written: while a question is open it waits. */
  readonly shell: Shell;
  readonly #terminal: Shell;
  readonly #screen: Screen;
  #last: Promise<unknown> = Promise.resolve();

  constructor(terminal: Shell) {
    this.#terminal = terminal;
    this.#screen = new Screen(terminal);
    this.shell = this.#screen.shell;
  }

  /** Null if nobody can be asked. */
  approver(beforeQuestion: () => void, afterAnswer = () => {}): Approver | null {
    if (!canAsk(this.#terminal)) return null;
    return async (question, signal) => {
      const words = () => {
        beforeQuestion();
        return describeCall(question, this.#terminal.err.colors) + RUN_IT;
      };
      const answer = toAnswer(await this.ask(words, signal), signal);
      afterAnswer();
      return answer;
    };
  }

  /**
   * The line that was entered; null: none was, as the input ended or the question was withdrawn.
   * @param words called when it is the question's turn.
   */
  ask(words: () => string, signal: AbortSignal): Promise<string | null> {
    const answer = this.#last.then(() => this.#ask(words, signal));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #ask(words: () => string, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted) return null;
    this.#terminal.err.write(words());
    this.#screen.hold();
    try {
      const line = await readLine(signal);
      // Nobody pressed Enter, so the cursor is behind the question; what a signal says goes to a line of its own itself.
      if (line === null && !this.#screen.next.startsWith("\n")) this.#terminal.err.write("\n");
      return line;
    } finally {
      this.#screen.release();
    }
  }
}
