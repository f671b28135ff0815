/** A turn as the conversation shows it: as `run` does, and of every call what it began with and what came of it. */
import { type FeedEvent, isKnown, type SessionEvent, type TurnResult } from "../../mod.ts";
import { shortInput } from "../narration.ts";
import { Renderer } from "../render.ts";
import { oneLine, printable, type Shell } from "../terminal.ts";

const RESULT_LINES = 6;

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
      this.#say(excerptOf(event.result.text, this.#width));
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

/** The beginning of a result; the whole of it is in the journal. */
function excerptOf(text: string, width: number): readonly string[] {
  const lines = printable(text).trimEnd().split("\n");
  const shown = lines.slice(0, RESULT_LINES).map((line) => `    ${oneLine(line, width)}`.trimEnd());
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, `    … ${more} more ${more === 1 ? "line" : "lines"}`] : shown;
}
