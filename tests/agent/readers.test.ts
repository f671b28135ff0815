import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FeedEvent } from "../../lib/agent/feed.ts";
import { type Batch, Readers } from "../../lib/agent/readers.ts";
import type { Journal, Lease, LogRow } from "../../lib/journal/journal.ts";
import { createMemoryJournal } from "../../lib/journal/memory.ts";
import { newOwner, newSession, notices } from "../fixtures/journal/events.ts";

const stop = new Set<AbortController>();

afterEach(() => {
  for (const each of stop) each.abort();
  stop.clear();
});

/** A session that this runtime drives, and readers of it. */
class Subject {
  readonly session = newSession();
  readonly journal: Journal = createMemoryJournal();
  readonly readers: Readers;
  reads = 0;
  seq = 0;
  #lease: Lease | null = null;

  constructor(read: (rows: Promise<readonly LogRow[]>) => Promise<readonly LogRow[]> = (rows) => rows) {
    this.readers = new Readers({
      read: (session, options) => {
        this.reads++;
        return read(this.journal.read(session, options));
      },
      head: (session) => this.journal.head(session),
    });
  }

  async drive(): Promise<void> {
    this.#lease = await this.journal.acquire(this.session, newOwner());
    this.readers.drive(this.session, this.seq);
  }

  /** Durable first, told then, as a recorder does. */
  async append(count: number, text?: string): Promise<void> {
    const events = notices(this.session, this.seq, count, text);
    if (this.#lease === null) throw new Error("nobody drives this session");
    await this.journal.append(this.#lease, this.seq, events);
    this.seq += count;
    for (const event of events) this.readers.publish(this.session, event);
  }

  say(text: string): void {
    const event: FeedEvent = { type: "text_delta", session: this.session, step: 1, attempt: 1, text };
    this.readers.publish(this.session, event);
  }

  follow(after = 0): Follower {
    const controller = new AbortController();
    stop.add(controller);
    return new Follower(this.readers.follow(this.session, after, controller.signal), controller);
  }
}

class Follower {
  readonly seen: string[] = [];
  readonly #batches: AsyncGenerator<Batch, void>;
  readonly #controller: AbortController;

  constructor(batches: AsyncGenerator<Batch, void>, controller: AbortController) {
    this.#batches = batches;
    this.#controller = controller;
  }

  /** One batch more; false at the end. Durable events are seen by their number, live ones by their text. */
  async next(): Promise<boolean> {
    const { done, value } = await this.#batches.next();
    if (done === true || value === undefined) return false;
    if (value.kind === "reset") this.seen.push(`reset ${value.reason}`);
    else for (const { seq, text } of value.lines) this.seen.push(seq === null ? (JSON.parse(text) as { text: string }).text : String(seq));
    return true;
  }

  async until(last: string): Promise<void> {
    while (this.seen[this.seen.length - 1] !== last && await this.next());
  }

  leave(): void {
    this.#controller.abort();
  }
}

const upTo = (count: number, from = 1) => Array.from({ length: count - from + 1 }, (_each, index) => String(from + index));

/** The text of the reply that is being written, as a client has it that takes events as they are meant. */
class Client {
  text = "";
  seq: number;
  readonly #follower: AsyncGenerator<Batch, void>;
  readonly #controller: AbortController;

  constructor(subject: Subject, after: number, draft: string) {
    this.#controller = new AbortController();
    stop.add(this.#controller);
    this.#follower = subject.readers.follow(subject.session, after, this.#controller.signal);
    this.seq = after;
    this.text = draft;
  }

  async next(): Promise<void> {
    const { value } = await this.#follower.next();
    if (value?.kind !== "lines") return;
    for (const { seq, text } of value.lines) {
      if (seq !== null) this.seq = seq;
      else {
        const event = JSON.parse(text) as { readonly text: string; readonly whole?: true };
        this.text = (event.whole === true ? "" : this.text) + event.text;
      }
    }
  }

  leave(): void {
    this.#controller.abort();
  }
}

describe("a reader that joins", () => {
  test("gets all that is live behind all that is recorded, then what comes", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(2);
    subject.say("a");
    subject.say("b");
    const follower = subject.follow();
    await follower.until("ab");
    subject.say("c");
    await subject.append(1);
    await follower.until("3");
    expect(follower.seen).toEqual(["1", "2", "ab", "c", "3"]);
    const other = subject.follow(3);
    await other.next();
    expect(other.seen).toEqual(["abc"]);
  });

  test("while another one reads too gets the same, and neither gets anything twice", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(1);
    const first = subject.follow();
    await first.until("1");
    subject.say("a");
    const second = subject.follow(1);
    const third = subject.follow(0);
    subject.say("b");
    await Promise.all([first.until("b"), second.until("ab"), third.until("ab")]);
    subject.say("c");
    await Promise.all([first.until("c"), second.until("c"), third.until("c")]);
    expect([first.seen, second.seen, third.seen]).toEqual([["1", "a", "b", "c"], ["ab", "c"], ["1", "ab", "c"]]);
  });

  test("or was too slow for the shared tail has the text of the reply at every point, wherever it is cut (property)", async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant("say" as const),
          text: fc.string({ minLength: 1, maxLength: 5 }),
          times: fc.constantFrom(1, 5000),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("append" as const), count: fc.constantFrom(1, 3, 120) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("read" as const) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("reconnect" as const), keeps: fc.boolean() }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const subject = new Subject();
        await subject.drive();
        await subject.append(1);
        let said = "";
        let client = new Client(subject, 0, "");
        const upToDate = async () => {
          subject.say(".");
          said += ".";
          while (client.text !== said || client.seq < subject.seq) {
            if (client.seq === subject.seq && client.text.endsWith(".") && client.text.length > said.length) break;
            await client.next();
          }
        };
        for (const each of steps) {
          if (each.kind === "append") await subject.append(each.count);
          else if (each.kind === "reconnect") {
            client.leave();
            client = new Client(subject, client.seq, each.keeps ? client.text : "");
          } else if (each.kind === "read") await upToDate();
          else {
            for (let times = 0; times < each.times; times++) subject.say(each.text);
            said += each.text.repeat(each.times);
          }
        }
        await upToDate();
        expect(client.text).toBe(said);
        client.leave();
      }),
      { numRuns: 60, seed: 20261130 },
    );
  }, 60_000);
});

describe("a reader", () => {
  test("gets what is recorded, then what happens, with live events in their place", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(3);
    const follower = subject.follow();
    await follower.until("3");
    subject.say("a");
    subject.say("b");
    await subject.append(1);
    subject.say("c");
    await follower.until("c");
    expect(follower.seen).toEqual(["1", "2", "3", "a", "b", "4", "c"]);
  });

  test("that is behind misses live events and no durable one, though the shared tail has moved on", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(1);
    const follower = subject.follow();
    await follower.next();
    for (let round = 0; round < 50; round++) {
      subject.say(`live ${round}`);
      await subject.append(2, "x".repeat(100_000));
    }
    await follower.until("101");
    expect(follower.seen.filter((each) => !each.startsWith("live"))).toEqual(upTo(101));
    expect(subject.readers.count).toBe(1);
  });

  test("that replays costs one reading of each full page, however many do so", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(1000);
    await Promise.all(Array.from({ length: 50 }, async () => {
      const follower = subject.follow();
      await follower.until("1000");
      expect(follower.seen).toEqual(upTo(1000));
    }));
    // A page of 50 is read in steps: 1, then 8 at a time.
    expect(subject.reads).toBeLessThanOrEqual(20 * 8 + 1);
  });

  test("that begins where another one began shares what that one read, also of a page that is not full, and gets what came since", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(30, "x".repeat(100_000));
    const readAll = async () => {
      const seen: (number | null)[] = [];
      for (let lines = await subject.readers.page(subject.session, 3); lines.length > 0;) {
        seen.push(...lines.map(({ seq }) => seq));
        lines = await subject.readers.page(subject.session, seen.at(-1) ?? 0);
      }
      return seen;
    };
    const first = await readAll();
    const reads = subject.reads;
    // Only that there is nothing behind the last one is asked anew.
    expect(await readAll()).toEqual(first);
    expect(subject.reads).toBe(reads + 1);
    await subject.append(2);
    expect(await readAll()).toEqual(Array.from({ length: 29 }, (_each, index) => index + 4));
  });

  test("of large events holds few of them at a time", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(60, "x".repeat(400_000));
    expect((await subject.readers.page(subject.session, 0)).length).toBe(2);
    const seen: (number | null)[] = [];
    for (let after = 0; after < 60;) {
      const lines = await subject.readers.page(subject.session, after);
      expect(lines.length).toBeLessThanOrEqual(2);
      seen.push(...lines.map(({ seq }) => seq));
      after += lines.length;
    }
    expect(seen).toEqual(Array.from({ length: 60 }, (_each, index) => index + 1));
  });

  test("ahead of the log is told so and starts again", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(2);
    const follower = subject.follow(7);
    await follower.until("2");
    expect(follower.seen).toEqual(["reset ahead", "1", "2"]);
  });

  test("ends when it leaves, whatever it waits for, and is not counted any more", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(1);
    const follower = subject.follow();
    await follower.next();
    const waiting = follower.next();
    follower.leave();
    expect(await waiting).toBe(false);
    expect(subject.readers.count).toBe(0);
  });

  test("of a session that is removed is told so, and ends", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(1);
    const follower = subject.follow();
    await follower.next();
    const rest = follower.next().then(() => follower.next());
    subject.readers.remove(subject.session);
    expect(await rest).toBe(false);
    expect(follower.seen).toEqual(["1", "reset removed"]);
  });

  test("keeps its place while the session changes hands", async () => {
    const subject = new Subject();
    await subject.drive();
    await subject.append(2);
    const follower = subject.follow();
    await follower.until("2");
    subject.readers.undrive(subject.session);
    await subject.append(2);
    await follower.until("4");
    subject.readers.drive(subject.session, subject.seq);
    await subject.append(2);
    await follower.until("6");
    expect(follower.seen).toEqual(upTo(6));
  });

  test("is given a page that was read before an event became durable, and then the event", async () => {
    const hold = Promise.withResolvers<void>();
    let first = true;
    const subject = new Subject(async (rows) => {
      const read = await rows;
      if (first) await hold.promise;
      first = false;
      return read;
    });
    await subject.drive();
    await subject.append(2);
    const follower = subject.follow();
    const reading = follower.next();
    await subject.append(3);
    hold.resolve();
    await reading;
    await follower.until("5");
    expect(follower.seen).toEqual(upTo(5));
  });

  test("gets every durable event once and in order, wherever it begins, leaves and comes back (property)", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 300 }), size: fc.constantFrom(1, 20_000) }),
      fc.record({ kind: fc.constant("say" as const) }),
      fc.record({ kind: fc.constant("read" as const), count: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant("reconnect" as const) }),
      fc.record({ kind: fc.constant("hands" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const subject = new Subject();
        await subject.drive();
        await subject.append(1);
        const seen: string[] = [];
        let follower = subject.follow();
        const durable = () => [...seen, ...follower.seen].filter((each) => /^\d+$/.test(each));
        for (const each of steps) {
          if (each.kind === "append") await subject.append(each.count, "x".repeat(each.size));
          else if (each.kind === "say") subject.say("live");
          else if (each.kind === "reconnect") {
            follower.leave();
            seen.push(...follower.seen);
            follower = subject.follow(Number(durable().at(-1) ?? 0));
          } else if (each.kind === "read") {
            for (let count = 0; count < each.count && durable().length < subject.seq; count++) await follower.next();
          } else {
            subject.readers.undrive(subject.session);
            subject.readers.drive(subject.session, subject.seq);
          }
        }
        while (durable().length < subject.seq) await follower.next();
        follower.leave();
        expect(durable()).toEqual(upTo(subject.seq));
      }),
      { numRuns: 60, seed: 20261101 },
    );
  }, 60_000);
});
