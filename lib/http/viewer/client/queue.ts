/**
 * Prompts of one session that wait for the turns before them. The server holds them in memory and knows which they are;
 * one that this page sent and that is neither there nor in the log was dropped: it is said, and can be taken back.
 */
import type { Api } from "./api.ts";
import { button, h, setChildren } from "./dom.ts";
import { forgetPrompt, keepPrompt, keptPrompts } from "./sent.ts";
import { toVisible } from "./text.ts";
import type { RecordedEvent } from "./wire.ts";

interface Waiting {
  readonly text: string;
  readonly key?: string;
}

interface Answer {
  readonly seq: number;
  readonly queued: readonly Waiting[];
}

/** What this tab sent, whichever session it shows. */
const sent = keptPrompts();

export class Queue {
  readonly #list: HTMLElement;
  readonly #api: Api;
  readonly #session: string;
  readonly #restore: (text: string) => void;
  readonly #mine: Map<string, string>;
  readonly #begun = new Set<string>();
  #answer: Answer = { seq: 0, queued: [] };
  /** What the answer can tell of: what was sent before it was asked for. */
  #asked: ReadonlySet<string> = new Set();
  #seq = 0;

  constructor(list: HTMLElement, api: Api, session: string, restore: (text: string) => void) {
    this.#list = list;
    this.#api = api;
    this.#session = session;
    this.#restore = restore;
    this.#mine = sent.get(session) ?? new Map<string, string>();
    sent.set(session, this.#mine);
    this.#draw();
  }

  /** It is on its way: nothing can be told of it yet, but should the page be gone when its answer comes. */
  send(key: string, text: string): void {
    keepPrompt(this.#session, key, text);
  }

  /** It waits, or nobody knows. The log may have it before its answer came. */
  add(key: string, text: string): void {
    if (!this.#begun.has(key)) this.#mine.set(key, text);
  }

  /** It was refused, began at once, or is of no more interest. */
  remove(key: string): void {
    this.#mine.delete(key);
    forgetPrompt(this.#session, key);
  }

  note(event: RecordedEvent): void {
    this.#seq = event.seq;
    if (event.type !== "prompted" || event.key === undefined) return this.#draw();
    this.#begun.add(event.key);
    this.remove(event.key);
    this.#draw();
  }

  /** Asks what waits now. */
  look(signal: AbortSignal): void {
    const asked = new Set(this.#mine.keys());
    this.#api.get<Answer>(`v1/sessions/${this.#session}`, signal).then((answer) => {
      this.#answer = answer;
      this.#asked = asked;
      if (!signal.aborted) this.#draw();
    }, () => {
      // The connection's own state says what is wrong; when it is back, this is asked again.
    });
  }

  #draw(): void {
    const { seq, queued } = this.#answer;
    const waiting = queued.filter(({ key }) => key === undefined || !this.#begun.has(key));
    const known = new Set(waiting.map(({ key }) => key));
    const dropped = this.#seq < seq ? [] : [...this.#mine].filter(([key]) => this.#asked.has(key) && !known.has(key));
    this.#list.hidden = waiting.length + dropped.length === 0;
    setChildren(this.#list, [
      ...waiting.map(({ text }) => h("li", {}, h("span", { class: "label" }, "Queued"), h("span", { class: "text" }, toVisible(text)))),
      ...dropped.map(([key, text]) => this.#droppedRow(key, text)),
    ]);
  }

  #droppedRow(key: string, text: string): HTMLElement {
    const leave = (then: () => void) => () => {
      this.remove(key);
      then();
      this.#draw();
    };
    return h(
      "li",
      { class: "dropped", role: "alert" },
      h("span", { class: "label" }, "Not run"),
      h("span", { class: "text" }, toVisible(text)),
      button("Edit again", "plain", leave(() => this.#restore(text))),
      button("Dismiss", "plain", leave(() => {})),
    );
  }
}
