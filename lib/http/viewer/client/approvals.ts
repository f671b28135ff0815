/**
 * Calls that wait for a person, a card each.
 *
 * A1  Nothing slides under a pointer or a key that was meant for something else: a card that is answered keeps its place
 *     for a while, and one that has just appeared or moved, or stands beside one that was answered, takes no answer for a
 *     moment.
 * A2  The focus never falls from a card that goes to the page, nor on a button: it goes to the heading of the next one.
 */
import type { Api } from "./api.ts";
import { ApprovalCard, type CardHooks } from "./approval-card.ts";
import { part, setChildren } from "./dom.ts";
import type { Story } from "./story.ts";

/** How long a card stays that waits no more. */
const KEPT_MS = 2000;

export class Approvals {
  readonly #place: HTMLElement;
  readonly #hooks: CardHooks;
  readonly #signal: AbortSignal;
  /** With the time at which it goes; null: it waits. */
  readonly #cards = new Map<string, { readonly call: string; readonly card: ApprovalCard; until: number | null }>();
  #looking = false;

  constructor(place: HTMLElement, api: Api, session: string, signal: AbortSignal) {
    this.#place = place;
    this.#hooks = { api, session, answered: () => this.#hold() };
    this.#signal = signal;
    this.clear();
  }

  draw({ asking, calls }: Pick<Story, "asking" | "calls">): void {
    // Asked again with another input it is another question.
    const wanted = new Map(asking.map((call) => [`${call.call} ${call.approval?.input_digest ?? ""}`, call]));
    for (const [key, entry] of this.#cards) {
      if (entry.until !== null || wanted.has(key)) continue;
      entry.until = performance.now() + KEPT_MS;
      const focused = this.#focusIn(entry.card);
      entry.card.end(calls.get(entry.call)?.verdict ?? "waits no more");
      this.#hold();
      focused?.(this.#next(key)?.heading ?? entry.card.heading);
    }
    for (const [key, call] of wanted) {
      if (this.#cards.get(key)?.card.open !== true) {
        this.#cards.set(key, { call: call.call, card: new ApprovalCard(call, this.#hooks), until: null });
      }
    }
    this.#arrange();
  }

  /** Nothing can be answered here. */
  clear(): void {
    this.#cards.clear();
    this.#arrange();
  }

  #arrange(): void {
    setChildren(this.#place, [...this.#cards.values()].map(({ card }) => card.element));
    this.#place.hidden = this.#cards.size === 0;
    this.#lookSoon();
  }

  /** At each frame: what is not drawn yet has not appeared. */
  #lookSoon(): void {
    if (this.#looking || this.#cards.size === 0) return;
    this.#looking = true;
    requestAnimationFrame(() => {
      this.#looking = false;
      if (this.#signal.aborted) return;
      const now = performance.now();
      for (const { card } of this.#cards.values()) card.look(now);
      this.#dropOld(now);
      this.#lookSoon();
    });
  }

  #dropOld(now: number): void {
    const old = [...this.#cards].filter(([, { until }]) => until !== null && until <= now);
    if (old.length === 0) return;
    for (const [key, { card }] of old) {
      this.#focusIn(card)?.(this.#next(key)?.heading ?? part("scroller"));
      this.#cards.delete(key);
    }
    this.#arrange();
  }

  #hold(): void {
    for (const { card } of this.#cards.values()) if (card.open) card.hold(performance.now());
  }

  /** The one behind this that waits, else the first one. */
  #next(key: string): ApprovalCard | null {
    const keys = [...this.#cards.keys()];
    const at = keys.indexOf(key);
    const found = [...keys.slice(at + 1), ...keys.slice(0, at)].find((each) => this.#cards.get(each)?.card.open === true);
    return found === undefined ? null : this.#cards.get(found)?.card ?? null;
  }

  /** Moves the focus on if it is in this card. Under a pointer nothing scrolls away. */
  #focusIn({ element }: ApprovalCard): ((to: HTMLElement) => void) | null {
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    if (focused === null) return null;
    const preventScroll = !focused.matches(":focus-visible");
    return (to) => to.focus({ preventScroll });
  }
}
