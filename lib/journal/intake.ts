/** A log on its way in: its rows wait beside the journal, in a temporary table that ends with this process. */
import type { StoredEvent } from "../session/event.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Intake } from "./journal.ts";
import { checkNumbering } from "./numbering.ts";
import { dropAside, setAside, takeIn } from "./statements.ts";
import { emptySummary, summarise, type Summary } from "./summary.ts";

export class SqliteIntake implements Intake {
  readonly #session: string;
  readonly #writer: GroupCommit;
  #summary: Summary = emptySummary;
  #aside = false;

  constructor(session: string, writer: GroupCommit) {
    this.#session = session;
    this.#writer = writer;
  }

  async add(events: readonly StoredEvent[], texts: readonly string[]): Promise<void> {
    const { seq } = this.#summary;
    checkNumbering(this.#session, seq, events);
    this.#summary = summarise(this.#summary, events);
    await this.#writer.read((store) => setAside(store, this.#session, seq + 1, texts));
    this.#aside = true;
  }

  async commit(): Promise<void> {
    const summary = this.#summary;
    if (summary.seq > 0) await this.#writer.submit(true, (store) => takeIn(store, this.#session, summary));
  }

  async discard(): Promise<void> {
    if (this.#aside) await this.#writer.read((store) => dropAside(store, this.#session));
    this.#aside = false;
  }
}
