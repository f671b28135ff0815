/** A turn as the conversation shows it: as `run` does, and of every call what it began with and what came of it. */
import { type FeedEvent, isKnown, type SessionEvent, type TurnResult } from "../../mod.ts";
import { RESULT_LINES, shortInput } from "../narration.ts";
import { Renderer } from "../render.ts";
import { excerpt, oneLine, type Shell } from "../terminal.ts";

export class View {
  readonly #shell: Shell;
  readonly #renderer: Renderer;
  readonly #asked = new Map<string, string>();

  constructor(shell: Shell) {
    this.#shell = shell;
    this.#renderer = new Renderer(shell);
  }

  watch(event: FeedEvent): void {
    this.#renderer.watch(event);
    if ("seq" in event && isKnown(event)) this.#add(event);
  }

  /** Leaves the cursor at the beginning of a line. */
  pause(): void {
    this.#renderer.pause();
  }

  finish(result: TurnResult, session: string): void {
    this.#asked.clear();
    this.#renderer.finish(result, session);
  }

  #add(event: SessionEvent): void {
    if (event.type === "reply_committed") {
      for (const { call, name, arguments: text } of event.calls) this.#asked.set(call, `${name} ${shortInput(text)}`);
    } else if (event.type === "call_started" && !this.#shell.err.isTerminal) {
      // On a terminal the renderer says so.
      this.#say([`  running ${oneLine(this.#asked.get(event.call) ?? event.name, this.#width)}`]);
    } else if (event.type === "call_ended" && !event.result.is_error) {
      this.#say(excerpt(event.result.text, this.#width, RESULT_LINES).map((line) => `    ${line}`.trimEnd()));
    }
  }

  get #width(): number {
    return Math.max(20, this.#shell.err.columns - 12);
  }

  #say(lines: readonly string[]): void {
    this.pause();
    for (const line of lines) this.#shell.err.write(`${this.#shell.err.colors.dim(line)}\n`);
  }
}
