/** The list of sessions, the most recently used first, looked at again every few seconds while the page is in sight. */
import { type Api, messageOf } from "./api.ts";
import { h, setChildren, setText } from "./dom.ts";
import { ago, plural } from "./format.ts";
import { toLine } from "./text.ts";
import type { SessionRow } from "./wire.ts";

const PAGE = 50;
const LOOK_MS = 5000;

interface Page {
  readonly sessions: readonly SessionRow[];
  readonly next?: string;
}

export interface SidebarParts {
  readonly list: HTMLElement;
  readonly more: HTMLButtonElement;
  readonly word: HTMLElement;
}

export class Sidebar {
  readonly #api: Api;
  readonly #parts: SidebarParts;
  #rows: readonly SessionRow[] = [];
  #next: string | null = null;
  #links = new Map<string, HTMLElement>();
  #current = "";
  #timer: ReturnType<typeof setTimeout> | null = null;
  #looking = false;

  constructor(api: Api, parts: SidebarParts) {
    this.#api = api;
    this.#parts = parts;
    parts.more.addEventListener("click", () => void this.#readMore());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && this.#timer !== null) void this.look();
    });
  }

  select(session: string): void {
    this.#current = session;
    this.#draw();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Reads the first page and goes on doing so. Never rejects: the next look may go better. */
  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    try {
      if (document.visibilityState === "visible") this.#takeFirst(await this.#api.get<Page>(`v1/sessions?limit=${PAGE}`));
    } catch (error) {
      setText(this.#parts.word, messageOf(error));
    }
    this.#looking = false;
    if (this.#api.token !== null) this.#timer = setTimeout(() => void this.look(), LOOK_MS);
  }

  #takeFirst({ sessions, next }: Page): void {
    const fresh = new Set(sessions.map(({ session }) => session));
    // A first page without a next one is all there is: what is not on it was removed.
    const older = next === undefined ? [] : this.#rows.filter(({ session }) => !fresh.has(session));
    if (older.length === 0) this.#next = next ?? null;
    this.#rows = [...sessions, ...older];
    setText(this.#parts.word, this.#rows.length === 0 ? "No sessions yet" : "");
    this.#draw();
  }

  async #readMore(): Promise<void> {
    if (this.#next === null) return;
    try {
      const { sessions, next } = await this.#api.get<Page>(`v1/sessions?limit=${PAGE}&cursor=${encodeURIComponent(this.#next)}`);
      this.#next = next ?? null;
      const known = new Set(this.#rows.map(({ session }) => session));
      this.#rows = [...this.#rows, ...sessions.filter(({ session }) => !known.has(session))];
      this.#draw();
    } catch (error) {
      setText(this.#parts.word, messageOf(error));
    }
  }

  #draw(): void {
    const now = Date.now();
    const links = new Map<string, HTMLElement>();
    for (const row of this.#rows) {
      const link = this.#links.get(row.session) ?? createLink(row.session);
      fill(link, row, now, row.session === this.#current);
      links.set(row.session, link);
    }
    this.#links = links;
    setChildren(this.#parts.list, [...links.values()]);
    this.#parts.more.hidden = this.#next === null;
  }
}

function createLink(session: string): HTMLElement {
  const title = h("span", { class: "title", dir: "auto" });
  const meta = h("span", { class: "meta" });
  return h("li", {}, h("a", { href: `#${session}` }, h("span", { class: "dot", "aria-hidden": "true" }), title, meta));
}

function fill(item: HTMLElement, row: SessionRow, now: number, current: boolean): void {
  const link = item.firstElementChild as HTMLElement;
  const [dot, title, meta] = [...link.children] as [HTMLElement, HTMLElement, HTMLElement];
  dot.dataset["status"] = row.status;
  setText(title, toLine(row.title, 120) || `Session ${row.session.slice(-6)}`);
  const status = row.status === "idle" ? "" : `${row.status} \u00b7 `;
  setText(meta, `${status}${plural(row.turns, "turn")} \u00b7 ${ago(Date.parse(row.updated_at), now)}`);
  if (current) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}
