import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import process from "node:process";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { newOwner, newSession, notices, opened } from "../fixtures/journal/events.ts";
import { type EventReader, rawStatus, startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;

async function start(options: TestServerOptions = {}): Promise<string> {
  subject = await startTestServer(options);
  return await subject.open();
}

afterEach(() => subject.close());

const call = (name: string, input: object = {}) => ({ name, arguments: input });
const prompt = (session: string) => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });

async function eventually(holds: () => boolean, ms = 10_000): Promise<void> {
  for (const end = performance.now() + ms; !holds();) {
    if (performance.now() > end) throw new Error("It did not come to hold");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function endedHow(): Promise<string> {
  return (await subject.ask("GET", "/metrics")).text.split("\n").filter((line) => line.startsWith("orrery_event_streams_ended_total{"))
    .join("\n");
}

/** Megabytes of live output, and a turn that ends with it. */
const FLOOD: TestServerOptions = {
  prepare: (workspace) => workspace.tool("flood", "head -c 200000000 /dev/zero | tr '\\\\0' 'x'"),
  script: [{ calls: [call("flood")] }, { text: "done" }],
};

describe("an event stream in a quiet session", () => {
  test("is kept alive by comments, in both formats, and ends with nobody's turn", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("quiet", "until [ -e go ]; do sleep 0.02; done"),
      script: [{ calls: [call("quiet")] }, { text: "done" }],
      server: { streams: { heartbeat_ms: 300 } },
    });
    const reader = await subject.follow(session, { headers: { "Accept-Encoding": "gzip, br" } });
    const lines = await subject.follow(session, { headers: { Accept: "application/x-ndjson" } });
    const turn = prompt(session);
    await reader.until(({ value }) => value.type === "call_spawned");
    const before = reader.comments;
    await eventually(() => reader.comments >= before + 2);
    await subject.workspace.write("go", "");
    await reader.until(({ value }) => value.type === "call_ended");
    expect(reader.head.toLowerCase()).not.toContain("content-encoding");
    expect((await turn).body.reason).toBe("completed");
    reader.cut();
    lines.cut();
  });

  test("has its heartbeat within ten seconds by default", async () => {
    const session = await start();
    const reader = await subject.follow(session);
    await reader.until(({ id }) => id === "1");
    await eventually(() => reader.comments > 0);
    reader.cut();
  }, 15_000);
});

describe("a client that is gone", () => {
  test("is noticed and freed, however it went", async () => {
    const session = await start();
    for (const leave of ["destroy", "end", "resetAndDestroy"] as const) {
      const raw = await subject.raw();
      raw.send(
        `GET /v1/sessions/${session}/events HTTP/1.1\r\nHost: 127.0.0.1:${subject.port}\r\nAuthorization: Bearer ${subject.token}\r\nAccept: text/event-stream\r\n\r\n`,
      );
      await eventually(() => subject.server.desk.counts.readers === 1);
      raw.socket[leave]();
      await eventually(() => subject.server.desk.counts.readers === 0);
    }
    expect(await endedHow()).toContain('{how="left"} 3');
  });
});

describe("a client that does not read", () => {
  test("does not slow a turn that says a lot", async () => {
    // Nobody is cut off meanwhile: a turn that waited for its reader would not end.
    const session = await start({ ...FLOOD, server: { streams: { stall_ms: 600_000 } } });
    const stuck = await subject.follow(session);
    stuck.pause();
    expect((await prompt(session)).body.reason).toBe("completed");
    stuck.cut();
  }, 60_000);

  test("is cut off, with little held for it, and gets everything when it comes back", async () => {
    await start({ server: { streams: { stall_ms: 2000 } } });
    const session = await writeLog(1200, 50_000);
    const memory = process.memoryUsage().rss;
    const stuck = await subject.follow(session);
    stuck.pause();
    await eventually(() => subject.server.desk.counts.readers === 1);
    await eventually(() => subject.server.desk.counts.readers === 0);
    expect(process.memoryUsage().rss - memory).toBeLessThan(100 * 1024 * 1024);
    expect(await endedHow()).toContain('{how="stalled"} 1');
    stuck.resume();
    await stuck.ended;
    const seen = seqs(stuck);
    const again = await subject.follow(session, { last: seen[seen.length - 1] ?? 0 });
    await again.until(({ id }) => id === "1200");
    expect([...seen, ...seqs(again)]).toEqual(Array.from({ length: 1200 }, (_each, index) => index + 1));
    again.cut();
  }, 60_000);

  test("for a while at a time only is not cut off", async () => {
    await start({ server: { streams: { stall_ms: 2000 } } });
    const session = await writeLog(600, 50_000);
    const slow = await subject.follow(session);
    const timer = setInterval(() => {
      slow.resume();
      setTimeout(() => slow.pause(), 20);
    }, 60);
    await slow.until(({ id }) => id === "600");
    clearInterval(timer);
    expect(seqs(slow)).toEqual(Array.from({ length: 600 }, (_each, index) => index + 1));
    slow.cut();
  }, 60_000);
});

describe("a page of large events", () => {
  test("is made beside few others, however many are asked for at once", async () => {
    const session = await start();
    const { desk } = subject.server;
    const read = desk.page.bind(desk);
    let [now, most] = [0, 0];
    desk.page = async (...asked) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return await read(...asked).finally(() => now--);
    };
    const pages = await Promise.all(Array.from({ length: 30 }, () => subject.ask("GET", `/v1/sessions/${session}/events`)));
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
    expect(now).toBe(0);
    expect(most).toBeLessThanOrEqual(4);
  });

  test("ends where it is large enough, says where to go on, and all pages are the log", async () => {
    await start();
    const session = await writeLog(40, 500_000);
    const seen: number[] = [];
    let pages = 0;
    for (let after: number | undefined = 0; after !== undefined; pages++) {
      const { text, body } = await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000&after=${after}`);
      expect(text.length).toBeLessThan(5_500_000);
      seen.push(...body.events.map(({ seq }: { seq: number }) => seq));
      after = body.next as number | undefined;
    }
    expect(seen).toEqual(Array.from({ length: 40 }, (_each, index) => index + 1));
    expect(pages).toBeGreaterThan(3);
  });
});

function seqs(reader: EventReader): readonly number[] {
  return reader.messages.flatMap(({ id }) => id === null ? [] : [Number(id)]);
}

/** A session of so many events, each of so many characters, as another runtime left it. */
async function writeLog(events: number, characters: number): Promise<string> {
  const session = newSession();
  const journal = openSqliteJournal({ path: join(subject.workspace.home, "data/journal.sqlite") });
  const lease = await journal.acquire(session, newOwner());
  await journal.append(lease, 0, [{ ...opened(session), workspace: subject.workspace.path } as SessionEvent]);
  for (let last = 1; last < events;) {
    const batch = notices(session, last, Math.min(100, events - last), "x".repeat(characters));
    await journal.append(lease, last, batch);
    last += batch.length;
  }
  await journal.close();
  return session;
}

test("a stream is not begun for a request with a body, which would have its connection cut when it does not end", async () => {
  subject = await startTestServer();
  const session = await subject.open();
  const raw = async (head: string) => {
    const lines = `Host: 127.0.0.1:${subject.port}\r\nAuthorization: Bearer ${subject.token}\r\nAccept: text/event-stream\r\n${head}`;
    return await rawStatus(subject.port, `GET /v1/sessions/${session}/events HTTP/1.1\r\n${lines}\r\n`);
  };
  for (const head of ["Content-Length: 100000\r\n", "Transfer-Encoding: chunked\r\n"]) {
    const { status, text } = await raw(head);
    expect([head, status]).toEqual([head, 400]);
    expect(text).toContain("urn:orrery:problem:bad_request");
  }
  expect((await raw("Content-Length: 0\r\n")).status).toBe(200);
});
