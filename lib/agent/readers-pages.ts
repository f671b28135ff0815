/**
 * The log as readers get it from the journal, in pages of fixed places: a full page never changes, so readers who
 * replay the same session share what was read, and those who ask for one page at a time share the question.
 */
import type { LogRow } from "../journal/journal.ts";
import { type Line, rowToLine } from "./readers-line.ts";

/** Few, as an event may be large: a reader that is behind holds one page. */
const PAGE_ROWS = 50;
/** Of all kept pages, in characters. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

export interface PageSource {
  read(session: string, options: { readonly after: number; readonly limit: number }): Promise<readonly LogRow[]>;
}

interface Page {
  readonly lines: readonly Line[];
  readonly size: number;
}

export class Pages {
  readonly #source: PageSource;
  /** Full pages, the least recently used first. */
  readonly #kept = new Map<string, Page>();
  readonly #asked = new Map<string, Promise<Page>>();
  #size = 0;

  constructor(source: PageSource) {
    this.#source = source;
  }

  /** Some of the lines behind `after`, in order and without a gap; none if there are none. */
  async read(session: string, after: number): Promise<readonly Line[]> {
    const number = Math.floor(after / PAGE_ROWS);
    const { lines } = await this.#page(session, number);
    return lines.slice(after - number * PAGE_ROWS);
  }

  /** Of a session that was removed. */
  forget(session: string): void {
    for (const [key, page] of this.#kept) if (key.startsWith(`${session}/`)) this.#drop(key, page);
  }

  async #page(session: string, number: number): Promise<Page> {
    const key = `${session}/${number}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept;
    }
    const asked = this.#asked.get(key) ?? this.#ask(session, number, key);
    return await asked;
  }

  #ask(session: string, number: number, key: string): Promise<Page> {
    const asked = this.#source.read(session, { after: number * PAGE_ROWS, limit: PAGE_ROWS }).then((rows) => {
      const lines = rows.map((row) => rowToLine(session, row));
      const page = { lines, size: lines.reduce((size, line) => size + line.text.length, 0) };
      if (lines.length === PAGE_ROWS && page.size <= KEPT_CHARACTERS / 4) this.#keep(key, page);
      return page;
    }).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  #keep(key: string, page: Page): void {
    this.#kept.set(key, page);
    this.#size += page.size;
    for (const [oldest, each] of this.#kept) {
      if (this.#size <= KEPT_CHARACTERS) return;
      this.#drop(oldest, each);
    }
  }

  #drop(key: string, page: Page): void {
    this.#kept.delete(key);
    this.#size -= page.size;
  }
}
