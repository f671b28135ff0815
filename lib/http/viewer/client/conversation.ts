/** The conversation: one list, newest at the end. Long ones are drawn from their end; the rest on demand. */
import { CallCard } from "./call-card.ts";
import { h, setChildren, setText } from "./dom.ts";
import { clock, modelName, plural } from "./format.ts";
import type { Live } from "./live.ts";
import type { Span } from "./spans.ts";
import type { Item, Prompt, Remark, Reply } from "./items.ts";
import type { Story } from "./story.ts";
import { prose, toLine, toVisible } from "./text.ts";

/** Lines that are drawn at first, calls included, and with each asking for more. */
const FIRST = 200;
const MORE = 600;

interface View {
  readonly element: HTMLElement;
  update(item: Item, live: Live | null): void;
}

export class Conversation {
  readonly #list: HTMLElement;
  readonly #earlier: HTMLButtonElement;
  readonly #scroller: HTMLElement;
  readonly #look: (seq: number) => void;
  #views = new Map<string, View>();
  #most = FIRST;
  #story: Story | null = null;
  #live: Live | null = null;

  constructor(parts: { list: HTMLElement; earlier: HTMLButtonElement; scroller: HTMLElement }, look: (seq: number) => void) {
    this.#list = parts.list;
    this.#earlier = parts.earlier;
    this.#scroller = parts.scroller;
    this.#look = look;
    this.#earlier.addEventListener("click", () => this.#showEarlier());
  }

  clear(): void {
    this.#most = FIRST;
    this.#views.clear();
    this.#list.replaceChildren();
  }

  get atEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < 60;
  }

  get top(): number {
    return this.#scroller.scrollTop;
  }

  toEnd(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** `live`: null when the reader looks at an earlier point. */
  draw(story: Story, live: Live | null): void {
    this.#story = story;
    this.#live = live;
    const hidden = hiddenOf(story.items, this.#most);
    this.#earlier.hidden = hidden === 0;
    setText(this.#earlier, `Show earlier (${plural(hidden, "entry").replace("entrys", "entries")})`);
    const views = new Map<string, View>();
    const elements = story.items.slice(hidden).map((item) => {
      const view = this.#views.get(item.key) ?? this.#create(item);
      view.update(item, live);
      views.set(item.key, view);
      return view.element;
    });
    this.#views = views;
    setChildren(this.#list, elements);
  }

  /** Brings what the bar stands for into sight, opened. */
  reveal({ turn, step, call }: Span): void {
    const story = this.#story;
    if (story === null) return;
    const index = story.items.findIndex((item) => item.kind === "reply" && item.turn === turn && item.step === step);
    const item = story.items[index];
    if (item === undefined) return;
    this.#most = Math.max(this.#most, story.items.slice(index).reduce((sum, each) => sum + linesOf(each), 0));
    this.draw(story, this.#live);
    const element = this.#views.get(item.key)?.element;
    const card = call === null ? null : element?.querySelector<HTMLDetailsElement>(`details[data-call="${CSS.escape(call)}"]`);
    if (card) card.open = true;
    const target = card ?? element;
    target?.scrollIntoView({ block: "center" });
    (card?.querySelector("summary") ?? element)?.focus({ preventScroll: true });
  }

  #showEarlier(): void {
    const fromEnd = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    this.#most += MORE;
    if (this.#story !== null) this.draw(this.#story, this.#live);
    this.#scroller.scrollTop = this.#scroller.scrollHeight - fromEnd;
  }

  #create(item: Item): View {
    switch (item.kind) {
      case "prompt":
        return promptView(item, this.#look);
      case "reply":
        return new ReplyView(item, this.#look);
      case "remark":
        return remarkView(item, this.#look);
    }
  }
}

/** How many of the items are not drawn when this many lines are. The last one always is. */
function hiddenOf(items: readonly Item[], most: number): number {
  let lines = 0;
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    lines += item === undefined ? 0 : linesOf(item);
    if (lines > most) return Math.min(index + 1, items.length - 1);
  }
  return 0;
}

function linesOf(item: Item): number {
  return item.kind === "reply" ? 1 + item.calls.length : 1;
}

function gutter({ seq, at }: Item, look: (seq: number) => void): HTMLElement {
  const time = h(
    "button",
    { type: "button", class: "time", "aria-label": `Look at event ${seq}, ${clock(at)}`, title: `Event ${seq}` },
    clock(at),
  );
  time.addEventListener("click", () => look(seq));
  return time;
}

function promptView(item: Prompt, look: (seq: number) => void): View {
  const who = item.source === "" || item.source === "http" || item.source === "cli" ? "" : ` \u00b7 ${toLine(item.source, 40)}`;
  const element = h(
    "li",
    { class: "item prompt", tabindex: "-1" },
    gutter(item, look),
    h("div", { class: "what" }, h("h3", {}, `Turn ${item.turn}${who}`), ...prose(item.text)),
  );
  return { element, update: () => {} };
}

/** Drawn as they are up to here; more are folded. */
const LINES_SHOWN = 2;

function remarkView(item: Remark, look: (seq: number) => void): View {
  const what = h("div", { class: "what", dir: "auto" });
  const element = h("li", { class: "item remark", "data-tone": item.tone }, gutter(item, look), what);
  let drawn = 0;
  const update = (now: Item) => {
    if (now.kind !== "remark" || now.lines.length === drawn) return;
    drawn = now.lines.length;
    const lines = now.lines.map((line) => h("p", {}, toVisible(line.slice(0, LINE_CHARACTERS))));
    const folded = lines.length > LINES_SHOWN;
    what.replaceChildren(...(folded ? [h("details", {}, h("summary", {}, plural(lines.length, "note")), ...lines)] : lines));
  };
  return { element, update };
}

const LINE_CHARACTERS = 2000;

function headOf({ model, attempt, finish }: Reply): string {
  const parts = [toLine(modelName(model), 60), attempt > 1 ? `attempt ${attempt}` : "", UNUSUAL[finish] ?? ""];
  return parts.filter((part) => part !== "").join(" \u00b7 ");
}

/** Endings of a reply that its reader must know of. */
const UNUSUAL: Readonly<Record<string, string>> = { length: "cut at the length limit", content_filter: "cut by a content filter" };

class ReplyView implements View {
  readonly element: HTMLElement;
  readonly #head = h("h3", {});
  readonly #text = h("div", { class: "text" });
  readonly #thought = h(
    "details",
    { class: "thought", hidden: "" },
    h("summary", {}, "Reasoning"),
    h("pre", { class: "block", tabindex: "0" }),
  );
  readonly #failures = h("div", { class: "failures" });
  readonly #calls = h("div", { class: "calls" });
  readonly #cards = new Map<string, CallCard>();
  #drawn = "";
  #shown = "";

  constructor(item: Reply, look: (seq: number) => void) {
    this.element = h(
      "li",
      { class: "item reply", tabindex: "-1" },
      gutter(item, look),
      h("div", { class: "what" }, this.#head, this.#failures, this.#thought, this.#text, this.#calls),
    );
  }

  update(item: Item, live: Live | null): void {
    if (item.kind !== "reply") return;
    const writing = item.text === null && live?.writing?.step === item.step ? live.writing : null;
    const version = `${item.stamp} ${
      item.text === null || item.calls.some(({ status }) => status === "running") ? live?.version ?? "" : ""
    }`;
    if (version === this.#drawn) return;
    this.#drawn = version;
    setText(this.#head, headOf(item));
    if (this.#failures.childElementCount !== item.failures.length) {
      this.#failures.replaceChildren(
        ...item.failures.map((failure) => h("p", { dir: "auto" }, toVisible(failure.slice(0, LINE_CHARACTERS)))),
      );
    }
    const text = item.text ??
      (writing === null ? (live === null ? "Being written\u2026" : "") : `${writing.partial ? "\u2026" : ""}${writing.text}`);
    this.element.dataset["writing"] = String(item.text === null && live !== null);
    if (this.#shown !== text) {
      this.#shown = text;
      this.#text.replaceChildren(...prose(text));
    }
    this.#showThought(writing?.reasoning ?? "");
    this.#drawCalls(item, live, writing?.announced ?? []);
  }

  #showThought(reasoning: string): void {
    this.#thought.hidden = reasoning === "";
    const pre = this.#thought.lastElementChild;
    if (pre !== null) setText(pre, toVisible(reasoning));
  }

  #drawCalls(item: Reply, live: Live | null, announced: readonly string[]): void {
    for (const call of item.calls) {
      const known = this.#cards.get(call.call);
      const card = known ?? new CallCard();
      if (known === undefined) {
        this.#cards.set(call.call, card);
        this.#calls.append(card.element);
      }
      card.update(call, live?.outputOf(call.call) ?? "");
    }
    for (const old of this.#calls.querySelectorAll(".announced")) old.remove();
    for (const name of announced) this.#calls.append(h("p", { class: "announced" }, `${toLine(name, 80)} is being asked for\u2026`));
    // Looked at from before its reply was complete, it has no calls yet.
    if (item.calls.length === 0 && this.#cards.size > 0) {
      this.#cards.clear();
      this.#calls.replaceChildren();
    }
  }
}
