/**
 * The terminal as a conversation uses it: output on one side, typed texts and answers on the other.
 *
 * C1  While a prompt is on the screen, what is written waits until the line is entered or taken back.
 * C2  A question waits for a line that is being typed, and for what that line does; there is one question at a time.
 * C3  An answer is not remembered among the lines that can be called up again.
 */
import process from "node:process";
import { Screen } from "../screen.ts";
import type { Shell } from "../terminal.ts";
import { Composer } from "./composer.ts";
import type { History } from "./history.ts";
import { type LineEditor, openLineEditor } from "./line-editor.ts";

export interface ConsoleListener {
  /** A whole text; while a question is open, only what begins with a slash. Never rejects. */
  input(text: string): void | Promise<void>;
  /** Ctrl-C, or the signal. */
  interrupt(): void;
  /** The signal. */
  terminate(): void;
  /** The terminal went away: nobody can ask for anything any more. */
  hangUp(): void;
  /** Ctrl-D, or the terminal is gone. */
  end(): void;
  /** A prompt is about to be shown: the cursor must be at the beginning of a line. */
  beforePrompt(): void;
  /** What to show before a text. */
  prompt(): string;
}

interface OpenQuestion {
  readonly prompt: string;
  answer(text: string): void;
}

/** Where more lines belong to what was begun. */
const MORE = "... ";

export class Console {
  /** Where to write. */
  readonly shell: Shell;
  readonly #screen: Screen;
  readonly #listener: ConsoleListener;
  readonly #composer = new Composer();
  readonly #editor: LineEditor;
  /** The prompt that is on the screen: one that was put there, or the one that a key brought. */
  #shown: "asked" | "typed" | null = null;
  /** Whether a prompt is due as soon as the typed one is gone. */
  #isDue = false;
  #question: OpenQuestion | null = null;
  /** Texts that were entered and are being seen to. */
  #passing = 0;
  #lastQuestion: Promise<unknown> = Promise.resolve();
  #waiting: (() => void)[] = [];
  /** There are no more lines. */
  #ended = false;
  #isClosed = false;

  constructor(shell: Shell, history: History, listener: ConsoleListener) {
    this.#screen = new Screen(shell);
    this.shell = this.#screen.shell;
    this.#listener = listener;
    this.#editor = openLineEditor(shell.err, history, {
      line: (text, pasted) => this.#enter(text, pasted),
      beforeKey: () => this.#beforeKey(),
      afterKey: () => this.#afterKey(),
      interrupt: () => listener.interrupt(),
      end: () => this.#end(),
      isWorthKeeping: () => this.#question === null,
    });
    process.on("SIGINT", this.#onInterrupt).on("SIGTERM", this.#onTerminate).on("SIGHUP", this.#onHangUp);
  }

  /** Shows the prompt for a next text, unless one is being typed already. */
  prompt(): void {
    this.#isDue = this.#shown !== null;
    if (this.#shown === null) this.#show(this.#listener.prompt(), "asked");
  }

  /** Null: the question was withdrawn. */
  ask(words: string, prompt: string, signal: AbortSignal): Promise<string | null> {
    const answer = this.#lastQuestion.then(() => this.#ask(words, prompt, signal));
    this.#lastQuestion = answer.catch(() => undefined);
    return answer;
  }

  /** Takes the prompt away, with what is typed. False: nothing was. */
  clear(): boolean {
    const hadText = this.#editor.line !== "" || this.#composer.isOpen;
    this.#composer.clear();
    if (this.#shown !== null && !this.#ended) this.#editor.drop();
    this.#free();
    return hadText;
  }

  /** Gives the terminal back as it was. */
  close(): void {
    process.off("SIGINT", this.#onInterrupt).off("SIGTERM", this.#onTerminate).off("SIGHUP", this.#onHangUp);
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ended = true;
    this.#editor.close();
    this.#free();
  }

  readonly #onInterrupt = () => this.#listener.interrupt();
  readonly #onTerminate = () => this.#listener.terminate();
  readonly #onHangUp = () => this.#listener.hangUp();

  async #ask(words: string, prompt: string, signal: AbortSignal): Promise<string | null> {
    while ((this.#shown !== null || this.#passing > 0) && !signal.aborted) await this.#isFree(signal);
    if (signal.aborted || this.#ended) return null;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const withdraw = () => resolve(null);
    const answer = (text: string) => {
      this.#question = null;
      resolve(text);
    };
    signal.addEventListener("abort", withdraw, { once: true });
    this.#listener.beforePrompt();
    this.shell.err.write(words);
    this.#question = { prompt, answer };
    this.#show(prompt, "asked");
    const text = await promise;
    signal.removeEventListener("abort", withdraw);
    if (text !== null) return text;
    this.#question = null;
    this.clear();
    return null;
  }

  #enter(line: string, pasted: boolean): void {
    const text = this.#composer.add(line, pasted);
    if (text === null) return this.#show(MORE, this.#shown ?? "typed");
    this.#isDue = false;
    this.#free();
    if (this.#question === null || text.startsWith("/")) void this.#pass(text);
    else this.#question.answer(text);
  }

  /** A question that is still open afterwards is put again. */
  async #pass(text: string): Promise<void> {
    this.#passing++;
    await this.#listener.input(text);
    this.#passing--;
    this.#wake();
    if (this.#question !== null && this.#shown === null) this.#show(this.#question.prompt, "asked");
  }

  #beforeKey(): void {
    if (this.#shown === null) this.#show(this.#listener.prompt(), "typed");
  }

  #afterKey(): void {
    if (this.#shown !== "typed" || this.#editor.line !== "" || this.#composer.isOpen) return;
    this.#editor.wipe();
    this.#free();
    if (this.#isDue) this.prompt();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    // What is written from now on does not go behind the prompt.
    if (this.#shown !== null) this.#editor.leave();
    this.#free();
    this.#listener.end();
  }

  #show(prompt: string, how: "asked" | "typed"): void {
    if (this.#ended) return;
    if (this.#shown === null) this.#listener.beforePrompt();
    this.#shown = how;
    this.#screen.hold();
    this.#editor.show(prompt);
  }

  #free(): void {
    this.#shown = null;
    this.#screen.release();
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #isFree(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
