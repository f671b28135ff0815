/**
 * The log as readers get it from the journal, in pages of fixed places: what was read never changes, so readers who
 * replay the same session share it, and those who ask for one page at a time share the question. A part of a page is
 * shared by those who begin where it begins: what has been written since is asked for behind it.
 */
import type { LogRow } from "../journal/journal.ts";
import { type Line, rowToLine } from "./readers-line.ts";

const PAGE_ROWS = 50;
/** One reading goes on while it has less than this, in characters: then it may be one event more. */
const READ_CHARACTERS = 512 * 1024;
/** Asked for at a time, after a first one that tells of their size: one event may be as large as a thousand others. */
const STEP_ROWS = 8;
/** Of all kept pages, in characters. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

export interface PageSource {
  read(session: string, options: { readonly after: number; readonly limit: number }): Promise<readonly LogRow[]>;
}

interface Page {
  readonly lines: readonly Line[];
  readonly size: number;
}

/** What was asked of the journal. */
interface Span {
  readonly after: number;
  readonly limit: number;
}

export class Pages {
  readonly #source: PageSource;
  /** Full pages by their number, parts of others also by what they are behind; the least recently used first. */
  readonly #kept = new Map<string, Page>();
  readonly #asked = new Map<string, Promise<Page>>();
  #size = 0;

  constructor(source: PageSource) {
    this.#source = source;
  }

  /** Some of the lines behind `after`, in order and without a gap; none if there are none. */
  async read(session: string, after: number): Promise<readonly Line[]> {
    const number = Math.floor(after / PAGE_ROWS);
    const key = `${session}/${number}`;
    const full = this.#use(key);
    if (full !== null) return full.lines.slice(after - number * PAGE_ROWS);
    const part = this.#use(`${key}+${after}`) ?? await (this.#asked.get(`${key}+${after}`) ?? this.#ask(session, number, after));
    return part.lines;
  }

  #use(key: string): Page | null {
    const kept = this.#kept.get(key);
    if (kept === undefined) return null;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  /** Of a session that was removed. */
  forget(session: string): void {
    for (const [key, page] of this.#kept) if (key.startsWith(`${session}/`)) this.#drop(key, page);
  }

  /** From `after` to the end of its page, or as far as is reasonable to hold at once. */
  #ask(session: string, number: number, after: number): Promise<Page> {
    const key = `${session}/${number}`;
    const part = `${key}+${after}`;
    const asked = this.#read(session, { after, limit: (number + 1) * PAGE_ROWS - after }).then((page) => {
      if (page.lines.length > 0) this.#keep(page.lines.length === PAGE_ROWS ? key : part, page);
      return page;
    }).finally(() => this.#asked.delete(part));
    this.#asked.set(part, asked);
    return asked;
  }

  async #read(session: string, { after, limit }: Span): Promise<Page> {
    const lines: Line[] = [];
    let size = 0;
    for (let rows = 1; lines.length < limit && size < READ_CHARACTERS;) {
      const wanted = Math.min(rows, limit - lines.length);
      const more = await this.#source.read(session, { after: after + lines.length, limit: wanted });
      for (const row of more) {
        const line = rowToLine(session, row);
        lines.push(line);
        size += line.text.length;
      }
      if (more.length < wanted) break;
      rows = Math.max(1, Math.min(STEP_ROWS, Math.floor((READ_CHARACTERS - size) * lines.length / size)));
    }
    return { lines, size };
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
