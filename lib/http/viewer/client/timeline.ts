/** The drawing of what took time: one axis, a row for the model, early runs, calls and waits. Bars are buttons. */
import { h, setChildren, setText } from "./dom.ts";
import { duration } from "./format.ts";
import { type Bar, createScale, type Drawing, layOut, type Scale, ticks } from "./scale.ts";
import type { Row, Span } from "./spans.ts";
import type { Story } from "./story.ts";
import { toLine } from "./text.ts";

export interface TimelineParts {
  readonly scroller: HTMLElement;
  readonly plane: HTMLElement;
  readonly rows: HTMLElement;
  readonly needle: HTMLElement;
  readonly axis: HTMLElement;
  readonly hint: HTMLElement;
  readonly saved: HTMLElement;
  readonly choice: HTMLSelectElement;
  readonly wider: HTMLButtonElement;
  readonly narrower: HTMLButtonElement;
}

const ROWS: readonly (readonly [Row, string])[] = [["model", "Model"], ["early", "Early"], ["call", "Calls"], ["wait", "Waiting"]];
const LATEST = "latest";
const ALL = "all";
const WIDEST = 64;
const LINE_PIXELS = 20;
/** A narrower bar has no text on it. */
const LABELLED_PIXELS = 26;
const LABEL_PIXELS = 62;
const HINT = "Bars on one axis overlap where things ran at the same time.";

export class Timeline {
  readonly #parts: TimelineParts;
  readonly #reveal: (span: Span) => void;
  readonly #tracks = new Map<Row, { readonly row: HTMLElement; readonly track: HTMLElement }>();
  #bars = new Map<string, HTMLElement>();
  #zoom = 1;
  #redraw: () => void = () => {};
  #focused = "";
  #turns = -1;

  constructor(parts: TimelineParts, reveal: (span: Span) => void) {
    this.#parts = parts;
    this.#reveal = reveal;
    for (const [row, label] of ROWS) {
      const track = h("div", { class: "track" });
      const element = h("div", { class: `row ${row}`, role: "group", "aria-label": label }, h("span", { class: "label" }, label), track);
      this.#tracks.set(row, { row: element, track });
      parts.rows.append(element);
    }
    parts.choice.addEventListener("change", () => this.#redraw());
    parts.wider.addEventListener("click", () => this.#scaleBy(2));
    parts.narrower.addEventListener("click", () => this.#scaleBy(0.5));
    parts.scroller.addEventListener("scroll", () => this.#redraw(), { passive: true });
    parts.rows.addEventListener("keydown", (event) => this.#move(event));
    this.#say(null);
  }

  /** Another session is shown: what was said of a bar of the last one does not hold. */
  clear(): void {
    this.#say(null);
  }

  /** `redraw` asks for a drawing when the reader looks at another part. */
  onLook(redraw: () => void): void {
    this.#redraw = redraw;
  }

  /** `past`: the session as of the event that is looked at; null: now. The axis stays as it is while the reader moves. */
  draw(story: Story, now: number, past: Story | null): void {
    const { choice, saved, needle } = this.#parts;
    this.#offerTurns(story);
    const turn = choice.value === LATEST ? lastTurn(past ?? story) : choice.value === ALL ? null : Number(choice.value);
    const spans = turn === null ? story.spans.all : story.spans.all.filter((span) => span.turn === turn);
    const scale = createScale(spans, now);
    const drawing = layOut(spans, scale, now, this.#room());
    this.#drawBars(drawing, now);
    this.#drawAxis(scale);
    needle.hidden = past === null;
    if (past !== null) needle.style.left = percent(scale.place(past.at));
    setText(saved, savedText(story));
  }

  #offerTurns(story: Story): void {
    const turns = lastTurn(story);
    if (turns === this.#turns) return;
    this.#turns = turns;
    const { choice } = this.#parts;
    const value = choice.value;
    const each = Array.from({ length: turns }, (_each, index) => h("option", { value: String(turns - index) }, `Turn ${turns - index}`));
    choice.replaceChildren(h("option", { value: LATEST }, "Latest turn"), h("option", { value: ALL }, "Whole session"), ...each);
    choice.value = value;
    if (choice.selectedIndex < 0) choice.value = LATEST;
  }

  #room() {
    const { scroller } = this.#parts;
    const width = Math.max(1, scroller.clientWidth * this.#zoom - LABEL_PIXELS);
    const from = scroller.scrollLeft / width;
    return { width, from: from - 0.1 / this.#zoom, to: from + 1.1 / this.#zoom };
  }

  #scaleBy(factor: number): void {
    const { scroller, wider, narrower, plane } = this.#parts;
    const middle = (scroller.scrollLeft + scroller.clientWidth / 2) / this.#zoom;
    this.#zoom = Math.min(WIDEST, Math.max(1, this.#zoom * factor));
    plane.style.width = percent(this.#zoom);
    wider.disabled = this.#zoom === WIDEST;
    narrower.disabled = this.#zoom === 1;
    scroller.scrollLeft = middle * this.#zoom - scroller.clientWidth / 2;
    this.#redraw();
  }

  #drawBars({ bars, lines }: Drawing, now: number): void {
    const { width } = this.#room();
    const drawn = new Map<string, HTMLElement>();
    const children: Record<Row, HTMLElement[]> = { model: [], early: [], call: [], wait: [] };
    for (const bar of bars) {
      const key = `${bar.row} ${bar.span.seq}`;
      const element = this.#bars.get(key) ?? this.#createBar(key);
      this.#placeBar(element, bar, now, width);
      drawn.set(key, element);
      children[bar.row].push(element);
    }
    this.#bars = drawn;
    if (!drawn.has(this.#focused)) this.#focused = [...drawn.keys()].at(-1) ?? "";
    for (const [key, element] of drawn) element.tabIndex = key === this.#focused ? 0 : -1;
    for (const [row, { row: element, track }] of this.#tracks) {
      element.hidden = lines[row] === 0;
      track.style.height = `${lines[row] * LINE_PIXELS}px`;
      setChildren(track, children[row]);
    }
  }

  #createBar(key: string): HTMLElement {
    const element = h("button", { type: "button", class: "bar" });
    const say = () => this.#say(element);
    element.addEventListener("pointerenter", say);
    element.addEventListener("focus", () => {
      this.#focused = key;
      say();
    });
    element.addEventListener("pointerleave", () => this.#say(null));
    element.addEventListener("click", () => {
      const span = spanOf.get(element);
      if (span !== undefined) this.#reveal(span);
    });
    return element;
  }

  #placeBar(element: HTMLElement, bar: Bar, now: number, width: number): void {
    const { span } = bar;
    element.style.left = percent(bar.left);
    element.style.width = percent(bar.right - bar.left);
    element.style.top = `${bar.line * LINE_PIXELS}px`;
    element.dataset["tone"] = bar.tone;
    spanOf.set(element, span);
    const text = bar.count === 1 ? toLine(span.name, 40) : `${bar.count}`;
    setText(element, (bar.right - bar.left) * width < LABELLED_PIXELS ? "" : text);
    const label = bar.count === 1 ? describe(span, now) : `${bar.count} too close together to draw, from step ${span.step}: zoom in`;
    if (element.getAttribute("aria-label") !== label) element.setAttribute("aria-label", label);
  }

  #drawAxis(scale: Scale): void {
    const width = this.#room().width;
    const marks = ticks(scale, Math.max(2, Math.floor(width / 90))).map(({ place, ms }) => {
      const mark = h("span", { class: place > 0.97 ? "tick last" : "tick" }, ms === 0 ? "0" : duration(ms));
      mark.style.left = percent(place);
      return mark;
    });
    const breaks = scale.breaks.slice(0, 200).map(({ place, ms }) => {
      const mark = h("span", { class: "break", title: `${duration(ms)} shortened` }, "//");
      mark.style.left = percent(place);
      return mark;
    });
    this.#parts.axis.replaceChildren(...marks, ...breaks);
  }

  #say(element: HTMLElement | null): void {
    setText(this.#parts.hint, element?.getAttribute("aria-label") ?? HINT);
  }

  /** Left and right go through the bars in the order of time, up and down to the nearest of another row. */
  #move(event: KeyboardEvent): void {
    const current = document.activeElement;
    if (!(current instanceof HTMLElement) || !spanOf.has(current)) return;
    const ordered = [...this.#bars.values()].sort((left, right) => startOf(left) - startOf(right));
    const index = ordered.indexOf(current);
    const next = neighbour(event.key, ordered, index);
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

const spanOf = new WeakMap<HTMLElement, Span>();

function startOf(element: HTMLElement): number {
  const span = spanOf.get(element);
  return span === undefined ? 0 : span.from + span.seq / 1e6;
}

function neighbour(key: string, ordered: readonly HTMLElement[], index: number): HTMLElement | undefined {
  const rowAt = (at: number) => spanOf.get(ordered[at] as HTMLElement)?.row;
  switch (key) {
    case "ArrowLeft":
      return ordered[index - 1];
    case "ArrowRight":
      return ordered[index + 1];
    case "ArrowUp":
      return ordered.slice(0, index).findLast((_each, at) => rowAt(at) !== rowAt(index));
    case "ArrowDown":
      return ordered.find((_each, at) => at > index && rowAt(at) !== rowAt(index));
    case "Home":
      return ordered[0];
    case "End":
      return ordered[ordered.length - 1];
    default:
      return undefined;
  }
}

function describe(span: Span, now: number): string {
  const kind = { model: "Model", early: "Early run", call: "Call", wait: "Waiting for an answer" }[span.row];
  return `${kind}: ${toLine(span.name, 80)}, ${span.fate}, ${duration(Math.max(0, (span.to ?? now) - span.from))}, step ${span.step}`;
}

function savedText({ speculation: { saved_ms, wasted: unused, wasted_ms } }: Story): string {
  const saved = saved_ms === 0 ? "" : `early runs saved ${duration(saved_ms)}`;
  const wasted = unused === 0 ? "" : `${unused} not used (${duration(wasted_ms)})`;
  return [saved, wasted].filter((part) => part !== "").join(", ");
}

function lastTurn({ turn }: Story): number {
  return turn.kind === "none" ? 0 : turn.turn;
}

function percent(place: number): string {
  return `${(place * 100).toFixed(4)}%`;
}
