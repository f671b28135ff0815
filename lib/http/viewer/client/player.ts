/** Moving through a session's log: a slider over its events, one step at a time, or played. */
import { part, setText } from "./dom.ts";
import { clock } from "./format.ts";
import type { RecordedEvent } from "./wire.ts";

const LEAST_MS = 30;
/** Longer pauses are cut to this, so that nobody watches nothing. */
const MOST_MS = 700;

export class Player {
  readonly #parts = {
    slider: part<HTMLInputElement>("slider"),
    back: part<HTMLButtonElement>("back"),
    on: part<HTMLButtonElement>("on"),
    play: part<HTMLButtonElement>("play"),
    live: part<HTMLButtonElement>("live"),
    where: part("where"),
  };
  readonly #events: () => readonly RecordedEvent[];
  readonly #look: (seq: number | null) => void;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #at: number | null = null;

  /** `look`: show the session as of this event, or what happens now. */
  constructor(events: () => readonly RecordedEvent[], look: (seq: number | null) => void, signal: AbortSignal) {
    const parts = this.#parts;
    this.#events = events;
    this.#look = look;
    parts.slider.addEventListener("input", () => this.#go(Number(parts.slider.value)), { signal });
    parts.back.addEventListener("click", () => this.#go(this.#here() - 1), { signal });
    parts.on.addEventListener("click", () => this.#go(this.#here() + 1), { signal });
    parts.play.addEventListener("click", () => this.#timer === null ? this.#start() : this.stop(), { signal });
    parts.live.addEventListener("click", () => this.#toLive(), { signal });
    signal.addEventListener("abort", () => this.stop());
  }

  /** `at`: the event that is looked at; null: live. */
  draw(at: number | null): void {
    this.#at = at;
    const { slider, back, on, play, live, where } = this.#parts;
    const events = this.#events();
    const head = events[events.length - 1]?.seq ?? 0;
    const here = head === 0 ? 0 : at ?? head;
    const event = events[indexOf(events, here)];
    slider.max = String(head);
    slider.value = String(here);
    const time = event !== undefined && "at" in event ? ` \u00b7 ${clock(Date.parse(event.at))}` : "";
    slider.setAttribute("aria-valuetext", `Event ${here} of ${head}${event === undefined ? "" : `, ${event.type.replaceAll("_", " ")}`}`);
    setText(where, `${here} / ${head}${time}`);
    back.disabled = here <= 1;
    on.disabled = at === null;
    live.hidden = at === null;
    const playing = this.#timer !== null;
    setText(play, playing ? "Pause" : "Play");
    play.disabled = head < 2;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    setText(this.#parts.play, "Play");
  }

  #here(): number {
    return this.#at ?? this.#events().at(-1)?.seq ?? 0;
  }

  #go(seq: number): void {
    this.stop();
    this.#look(Math.max(1, seq));
  }

  #toLive(): void {
    this.stop();
    this.#look(null);
  }

  /** From the beginning, if it stands at the end. */
  #start(): void {
    const events = this.#events();
    const from = this.#at === null || this.#at >= (events.at(-1)?.seq ?? 0) ? events[0]?.seq ?? 1 : this.#at;
    this.#timer = setTimeout(() => {}, 0);
    this.#look(from);
    this.#schedule();
  }

  #schedule(): void {
    const events = this.#events();
    const index = indexOf(events, this.#here());
    const [event, next] = [events[index], events[index + 1]];
    if (next === undefined) return this.#toLive();
    const gap = event !== undefined && "at" in event && "at" in next ? Date.parse(next.at) - Date.parse(event.at) : 0;
    this.#timer = setTimeout(() => {
      this.#look(next.seq);
      this.#at = next.seq;
      this.#schedule();
    }, Math.min(MOST_MS, Math.max(LEAST_MS, gap)));
  }
}

/** Of the last event that is not after this one; -1: there is none. */
export function indexOf(events: readonly RecordedEvent[], seq: number): number {
  let low = -1;
  let high = events.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((events[middle]?.seq ?? 0) <= seq) low = middle;
    else high = middle - 1;
  }
  return low;
}
