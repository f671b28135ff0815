/**
 * A run as a person sees it: the model's words on standard output, what happens on standard error. On a terminal the
 * words come as they are written, and what runs now is shown on a line that is written over, or, on a dumb one, in a
 * line of its own once it takes longer than a second; elsewhere standard output gets the final answer alone.
 */
import { isKnown, type LiveEvent, type SessionEvent, type StoredEvent, type TurnResult } from "../mod.ts";
import { createNarrator, type Narrator, shortInput } from "./narration.ts";
import { oneLine, type Out, printable, type Shell, wrap } from "./terminal.ts";
import { createWaiting, type Waiting } from "./waiting.ts";
import { widthOf } from "./width.ts";

const UNANSWERED =
  "A call needed approval and nobody could be asked: run this on a terminal, list the tool in alwaysAllow of your settings, " +
  "or give another --mode";

export class Renderer {
  readonly #out: Out;
  readonly #err: Out;
  readonly #narrate: Narrator;
  readonly #asked = new Map<string, string>();
  readonly #running = new Map<string, string>();
  /** Whether this reply's words were shown as they came. */
  #spoken = false;
  #midLine = false;
  #hasStatus = false;
  /** On a dumb terminal. */
  #waiting: Waiting | null = null;

  constructor({ out, err }: Shell) {
    this.#out = out;
    this.#err = err;
    this.#narrate = createNarrator(err);
  }

  watch(event: StoredEvent | LiveEvent): void {
    if (!("seq" in event)) {
      if (event.type === "text_delta") this.#speak(event.text);
      else if (event.type === "status" && event.status === "superseded") this.#takeBack();
    } else if (isKnown(event) && !isSaidAlready(event)) {
      this.#follow(event);
      const line = this.#narrate(event);
      if (line !== null) this.#tell(line);
      if (event.type === "call_started" || event.type === "call_ended") this.#showRunning();
    }
  }

  /** Leaves the screen as others can write on it. */
  pause(): void {
    if (this.#midLine) this.#out.write("\n");
    this.#midLine = false;
    this.#clearStatus();
  }

  /** The last words: the answer where it was not shown yet, and a summary. */
  finish(result: TurnResult, session: string): void {
    this.pause();
    if (!this.#out.isTerminal && result.text !== "") this.#out.write(result.text.endsWith("\n") ? result.text : `${result.text}\n`);
    this.#tell(summary(result, session, this.#err));
    if (result.unanswered) this.#tell(UNANSWERED);
  }

  #follow(event: SessionEvent): void {
    if (event.type === "attempt_started") {
      this.#spoken = false;
      this.#showStatus("waiting for the model");
    } else if (event.type === "reply_committed") {
      // Some endpoints give the whole text only at the end.
      if (!this.#spoken) this.#speak(event.text);
      this.pause();
      for (const call of event.calls) this.#asked.set(call.call, `${call.name} ${shortInput(call.arguments)}`);
    } else if (event.type === "call_started") {
      this.#running.set(event.call, this.#asked.get(event.call) ?? event.name);
    } else if (event.type === "call_ended") {
      this.#running.delete(event.call);
    }
  }

  #speak(text: string): void {
    if (!this.#out.isTerminal || text === "") return;
    this.#clearStatus();
    this.#out.write(printable(text));
    this.#midLine = !text.endsWith("\n");
    this.#spoken = true;
  }

  /** What was shown of a reply that broke off stays on the screen, so it is said what it is worth. */
  #takeBack(): void {
    if (this.#spoken) this.#tell(this.#err.colors.dim("  (that reply broke off: what it said above does not count)"));
    this.#spoken = false;
  }

  #showRunning(): void {
    const [first] = this.#running.values();
    if (first !== undefined) this.#showStatus(`running ${first}`, this.#running.size > 1 ? ` and ${this.#running.size - 1} more` : "");
  }

  #showStatus(text: string, ending = ""): void {
    if (this.#midLine) return;
    this.#clearStatus();
    const { canRewrite, columns } = this.#err;
    if (!canRewrite) {
      this.#waiting = createWaiting(this.#err, `  ${oneLine(text, columns - 7 - ending.length)}${ending}`);
      return this.#waiting.start();
    }
    this.#err.write(this.#err.colors.dim(`  ${oneLine(text, columns - 3 - ending.length)}${ending}`));
    this.#hasStatus = true;
  }

  #clearStatus(): void {
    if (this.#hasStatus) this.#err.write("\r\x1b[K");
    this.#hasStatus = false;
    this.#waiting?.stop();
    this.#waiting = null;
  }

  #tell(line: string): void {
    this.pause();
    this.#err.write(`${line}\n`);
  }
}

/** The runtime itself tells of what is inert, whatever the output format. */
function isSaidAlready(event: SessionEvent): boolean {
  return event.type === "notice" && event.code === "workspace_untrusted";
}

/** In a narrow terminal the facts have lines of their own, so that the session's id stays whole. */
function summary(result: TurnResult, session: string, { colors, columns, isTerminal }: Out): string {
  const { input_tokens, output_tokens } = result.usage;
  const why = result.error?.message ?? result.detail;
  const ended = result.reason === "completed" || why === undefined ? result.reason : `${result.reason}: ${oneLine(why, 400)}`;
  const { dim, red } = colors;
  const isWell = result.reason === "completed";
  const tokens = input_tokens + output_tokens === 0 ? [] : [`${input_tokens} + ${output_tokens} tokens`];
  const facts = [`${count(result.steps, "step")}, ${count(result.calls.length, "call")}`, ...tokens, session].join(" · ");
  const whole = `${ended} · ${facts}`;
  if (!isTerminal || widthOf(whole) <= columns) return `${isWell ? dim(ended) : red(ended)} ${dim(`· ${facts}`)}`;
  const lines = isWell ? wrap(whole, columns).map(dim) : [...wrap(ended, columns).map(red), ...wrap(facts, columns).map(dim)];
  return lines.join("\n");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
