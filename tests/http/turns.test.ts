import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startServer } from "../../lib/http/serve.ts";
import { isAlive } from "../fixtures/alive.ts";
import { type EventReader, startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;

async function start(options: TestServerOptions = {}): Promise<string> {
  subject = await startTestServer(options);
  return await subject.open();
}

afterEach(() => subject.close());

const SILENT = { text: ["a", "b"], delay_ms: 60_000 };
const call = (name: string, input: object = {}) => ({ name, arguments: input });
const prompt = (session: string, query = "", body: object = {}) =>
  subject.ask("POST", `/v1/sessions/${session}/prompts${query}`, { text: "go", ...body });
const typed = (reader: EventReader, type: string) => reader.until(({ value }) => value.type === type);

describe("a prompt", () => {
  test("is answered with its turn when it is durable, and with the end if that is waited for", async () => {
    const session = await start({ script: [{ text: "one" }, { text: "two" }] });
    const taken = await prompt(session);
    expect([taken.status, taken.body]).toEqual([202, { turn: 1 }]);
    const reader = await subject.follow(session);
    await typed(reader, "turn_ended");
    reader.cut();
    const { status, body } = await prompt(session, "?wait=true");
    expect(status).toBe(200);
    expect(body).toMatchObject({ turn: 2, reason: "completed", text: "two", unanswered: false, steps: 1, calls: [] });
  });

  test("goes on though its client leaves, waiting or following", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("slow", "until [ -e go ]; do sleep 0.02; done; touch finished"),
      script: [{ calls: [call("slow")] }, { text: "done" }],
    });
    const reader = await subject.follow(session);
    const leave = new AbortController();
    const waiting = fetch(`${subject.server.url}/v1/sessions/${session}/prompts?wait=true`, {
      method: "POST",
      headers: { authorization: `Bearer ${subject.token}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "go" }),
      signal: leave.signal,
    }).catch(() => null);
    await typed(reader, "call_spawned");
    leave.abort();
    reader.cut();
    await waiting;
    await subject.workspace.write("go", "");
    const again = await subject.follow(session);
    expect((await typed(again, "turn_ended")).value.reason).toBe("completed");
    again.cut();
    expect(existsSync(join(subject.workspace.path, "finished"))).toBe(true);
  });

  test("while a turn runs is refused, or waits its turn in order", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("gate", "while [ ! -e open ]; do sleep 0.02; done"),
      script: [{ calls: [call("gate")] }, { text: "one" }, { text: "two" }, { text: "three" }],
    });
    await prompt(session);
    const refused = await prompt(session);
    expect([refused.status, refused.body.type]).toEqual([409, "urn:orrery:problem:busy"]);
    expect((await prompt(session, "", { text: "second", if_busy: "queue" })).body).toEqual({ turn: 2, queued: true });
    const third = prompt(session, "?wait=true", { text: "third", if_busy: "queue" });
    await subject.workspace.write("open", "");
    expect((await third).body).toMatchObject({ turn: 3, text: "three" });
    const { messages } = (await subject.ask("GET", `/v1/sessions/${session}`)).body as { messages: { role: string; text: string }[] };
    expect(messages.filter(({ role }) => role === "user").map(({ text }) => text)).toEqual(["go", "second", "third"]);
  });

  test("waits with a bounded number of others, and is dropped by a cancel", async () => {
    const session = await start({ script: [SILENT] });
    await prompt(session);
    const dropped = prompt(session, "?wait=true", { if_busy: "queue" });
    let status = 202;
    for (let count = 0; status === 202 && count < 100; count++) status = (await prompt(session, "", { if_busy: "queue" })).status;
    expect(status).toBe(429);
    const { body } = await subject.ask("POST", `/v1/sessions/${session}/cancel`, {});
    expect(body).toEqual({ turn: 1, dropped: 16 });
    expect((await dropped).body).toMatchObject({ turn: 2, reason: "dropped" });
  });

  test("sent twice with one key is one prompt, also at the same time; with another body it is refused", async () => {
    const session = await start({ script: [{ text: "one" }, { text: "two" }] });
    const key = { "idempotency-key": "k-1" };
    const send = (text: string) => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text }, key);
    const [first, second] = await Promise.all([send("go"), send("go")]);
    const third = await send("go");
    expect(second.body).toEqual(first.body);
    expect(third.body).toEqual(first.body);
    expect(third.headers.get("idempotency-replayed")).toBe("true");
    expect(third.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    const other = await send("stop");
    expect([other.status, other.body.type]).toEqual([422, "urn:orrery:problem:key_reused"]);
    expect((await subject.ask("GET", "/v1/sessions")).body.sessions[0].turns).toBe(1);
  });

  test("sent again with its key is the same prompt, whatever the sender waits for, before a restart and after it", async () => {
    const session = await start({ script: [{ text: "one" }, { text: "two" }] });
    const send = async (server: TestServer["server"], query: string, body: object) => {
      const response = await fetch(`${server.url}/v1/sessions/${session}/prompts${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${subject.token}`, "content-type": "application/json", "idempotency-key": "k-5" },
        body: JSON.stringify(body),
      });
      const { turn, type } = await response.json() as { turn?: number; type?: string };
      return [response.status, turn ?? type];
    };
    const ways: readonly (readonly [query: string, body: object])[] = [
      ["", { text: "go" }],
      ["?wait=true", { text: "go" }],
      ["?wait=false", { if_busy: "queue", text: "go" }],
    ];
    for (const [query, body] of ways) expect(await send(subject.server, query, body)).toEqual([202, 1]);
    const refused = [422, "urn:orrery:problem:key_reused"];
    expect(await send(subject.server, "", { text: "other" })).toEqual(refused);
    await subject.server.close(10_000);
    const next = await startServer(subject.agent, { env: { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home } });
    try {
      for (const [query, body] of ways) expect(await send(next, query, body)).toEqual([202, 1]);
      expect(await send(next, "", { text: "other" })).toEqual(refused);
    } finally {
      await next.close(0);
    }
  });

  test("that waits and is dropped is not told of as taken when it is sent again", async () => {
    const session = await start({ script: [SILENT, { text: "never" }] });
    await prompt(session);
    const send = (text: string) =>
      subject.ask("POST", `/v1/sessions/${session}/prompts`, { text, if_busy: "queue" }, { "idempotency-key": "k-3" });
    const before = await subject.ask("GET", `/v1/sessions/${session}`);
    expect([(await send("later")).body, (await send("later")).body]).toEqual([{ turn: 2, queued: true }, { turn: 2, queued: true }]);
    const { body, headers } = await subject.ask("GET", `/v1/sessions/${session}`);
    expect(body.queued).toEqual([{ turn: 2, text: "later", key: "k-3" }]);
    expect(headers.get("etag")).not.toBe(before.headers.get("etag"));
    expect((await send("other")).body.type).toBe("urn:orrery:problem:key_reused");
    expect((await subject.ask("POST", `/v1/sessions/${session}/cancel`, {})).body).toEqual({ turn: 1, dropped: 1 });
    const again = await send("later");
    expect([again.status, again.body.type]).toEqual([409, "urn:orrery:problem:dropped"]);
    const another = await send("another text");
    expect([another.status, another.body.type]).toEqual([422, "urn:orrery:problem:key_reused"]);
  });

  test("with the key of one in the session that a fork was made from is a prompt of its own", async () => {
    const session = await start({ script: [{ text: "one" }, { text: "two" }] });
    const send = (server: TestServer["server"], id: string) =>
      fetch(`${server.url}/v1/sessions/${id}/prompts?wait=true`, {
        method: "POST",
        headers: { authorization: `Bearer ${subject.token}`, "content-type": "application/json", "idempotency-key": "k-4" },
        body: JSON.stringify({ text: "go" }),
      }).then(async (response) => [response.status, await response.json()]);
    expect(await send(subject.server, session)).toMatchObject([200, { turn: 1 }]);
    const { session: fork } = (await subject.ask("POST", `/v1/sessions/${session}/fork`, {})).body;
    // A server that has only the log to go by.
    await subject.server.close(0);
    const next = await startServer(subject.agent, { env: { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home } });
    try {
      expect(await send(next, session)).toEqual([202, { turn: 1 }]);
    } finally {
      await next.close(0);
    }
    const third = await startServer(subject.agent, { env: { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home } });
    try {
      expect(await send(third, fork)).toMatchObject([200, { turn: 2, text: "two" }]);
    } finally {
      await third.close(0);
    }
  });

  test("that was refused may be sent again with its key", async () => {
    const session = await start({
      script: [{ calls: [call("gate")] }, { text: "one" }, { text: "two" }],
      prepare: (workspace) => workspace.tool("gate", "while [ ! -e open ]; do sleep 0.02; done"),
    });
    const first = prompt(session, "?wait=true");
    const reader = await subject.follow(session);
    await typed(reader, "call_spawned");
    reader.cut();
    const send = () => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "again" }, { "idempotency-key": "k-2" });
    expect((await send()).status).toBe(409);
    await subject.workspace.write("open", "");
    await first;
    expect((await send()).body).toMatchObject({ turn: 2, text: "two" });
  });
});

describe("cancel", () => {
  test("ends what runs, all of it, and the session goes on", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("stubborn", "trap '' TERM; sleep 300 & echo $! > child; sleep 301"),
      script: [{ calls: [call("stubborn"), call("stubborn")] }, { text: "next" }],
    });
    const reader = await subject.follow(session);
    const waiting = prompt(session, "?wait=true");
    const { pid } = (await typed(reader, "call_spawned")).value as { pid: number };
    const child = join(subject.workspace.path, "child");
    while (!existsSync(child) || readFileSync(child, "utf8") === "") await new Promise((resolve) => setTimeout(resolve, 10));
    const cancelled = await subject.ask("POST", `/v1/sessions/${session}/cancel`, {});
    expect([cancelled.status, cancelled.body]).toEqual([202, { turn: 1, dropped: 0 }]);
    expect((await waiting).body).toMatchObject({ reason: "cancelled", detail: "cancelled by a client" });
    expect([pid, Number(readFileSync(child, "utf8"))].map(isAlive)).toEqual([false, false]);
    expect((await prompt(session, "?wait=true")).body).toMatchObject({ turn: 2, reason: "completed", text: "next" });
    const again = await subject.ask("POST", `/v1/sessions/${session}/cancel`, {});
    expect([again.status, again.body.type]).toEqual([409, "urn:orrery:problem:no_turn"]);
    reader.cut();
  }, 20_000);

  test("reaches a turn that another runtime drives", async () => {
    await start({
      prepare: (workspace) => workspace.tool("slow", "touch begun; exec sleep 600"),
      script: [{ calls: [call("slow")] }, { text: "never" }],
    });
    const other = await subject.another().create();
    const ended = other.prompt("go", { source: "test" });
    while (!existsSync(join(subject.workspace.path, "begun"))) await new Promise((resolve) => setTimeout(resolve, 10));
    const { status, body } = await subject.ask("POST", `/v1/sessions/${other.id}/cancel`, {});
    expect([status, body]).toEqual([202, { turn: 1, dropped: 0 }]);
    expect(await ended).toMatchObject({ reason: "cancelled", calls: [{ outcome: { kind: "cancelled" } }] });
  }, 20_000);

  test("with a grace lets what runs finish, and starts nothing more", async () => {
    const session = await start({
      prepare: async (workspace) => {
        await workspace.tool("slow", "until [ -e go ]; do sleep 0.02; done; touch finished");
        await workspace.tool("second", "touch second");
      },
      script: [{ calls: [call("slow"), call("second")] }, { text: "never" }],
    });
    const reader = await subject.follow(session);
    await prompt(session);
    await typed(reader, "call_spawned");
    await subject.ask("POST", `/v1/sessions/${session}/cancel`, { grace_ms: 30_000 });
    await subject.workspace.write("go", "");
    expect((await typed(reader, "turn_ended")).value.reason).toBe("cancelled");
    expect(["finished", "second"].map((name) => existsSync(join(subject.workspace.path, name)))).toEqual([true, false]);
    reader.cut();
  });
});

describe("a turn that its runtime left open", () => {
  /** A session in whose turn `hold` runs, and whose runtime then goes away as if it had died. */
  async function leaveOpen(): Promise<string> {
    subject = await startTestServer({
      prepare: (workspace) => workspace.tool("hold", "printf x >> runs; echo ready; [ -e again ] || sleep 30"),
      script: [{ calls: [call("hold")] }, { text: "after" }],
    });
    const other = subject.another();
    const session = await other.create();
    const begun = new Promise<void>((resolve) => session.watch((event) => event.type === "call_output" && resolve()));
    session.prompt("go", { source: "test" }).catch(() => undefined);
    await begun;
    await other.close();
    return session.id;
  }

  test("is interrupted; a prompt is refused, and resume ends the call as unknown without running it again", async () => {
    const session = await leaveOpen();
    const state = await subject.ask("GET", `/v1/sessions/${session}`);
    expect(state.body).toMatchObject({ turn: 1 });
    const refused = await prompt(session);
    expect([refused.status, refused.body.type]).toEqual([409, "urn:orrery:problem:interrupted"]);
    const { body } = await subject.ask("POST", `/v1/sessions/${session}/resume?wait=true`, {});
    expect(body).toMatchObject({ turn: 1, reason: "completed", text: "after", calls: [{ is_error: true }] });
    expect(await readFile(join(subject.workspace.path, "runs"), "utf8")).toBe("x");
    expect((await subject.ask("POST", `/v1/sessions/${session}/resume`, {})).body.type).toBe("urn:orrery:problem:no_turn");
  }, 20_000);
});

describe("draining", () => {
  test("takes no new work, keeps answering, lets a turn finish, and then is gone", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("gate", "while [ ! -e open ]; do sleep 0.02; done"),
      script: [{ calls: [call("gate")] }, { text: "finished" }],
    });
    const reader = await subject.follow(session);
    const waiting = prompt(session, "?wait=true");
    await typed(reader, "call_spawned");
    const closed = subject.server.close(30_000);
    const ready = await subject.ask("GET", "/readyz");
    expect([ready.status, ready.body.type, ready.headers.get("retry-after")]).toEqual([503, "urn:orrery:problem:draining", "5"]);
    expect((await subject.ask("GET", "/healthz")).status).toBe(200);
    expect((await subject.ask("POST", "/v1/sessions", {})).status).toBe(503);
    expect((await prompt(session, "", { if_busy: "queue" })).status).toBe(503);
    expect((await subject.ask("GET", `/v1/sessions/${session}`)).body.status).toBe("running");
    await subject.workspace.write("open", "");
    expect((await waiting).body).toMatchObject({ reason: "completed", text: "finished" });
    await typed(reader, "turn_ended");
    await Promise.all([closed, reader.ended]);
    expect(await fetch(`${subject.server.url}/healthz`).then(() => true, () => false)).toBe(false);
  });

  test("stops a turn that does not finish in time", async () => {
    const session = await start({ script: [SILENT] });
    const waiting = prompt(session, "?wait=true");
    const reader = await subject.follow(session);
    await typed(reader, "attempt_started");
    expect(await subject.server.close(50)).toEqual({ stopped: 1 });
    expect((await waiting).body).toMatchObject({ reason: "stopped", detail: "the server was shut down" });
  });

  test("leaves a question open, and tells who waits for the turn that it goes on elsewhere", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("ask", "true", 'approval = "always"'),
      script: [{ calls: [call("ask")] }, { text: "done" }],
      agent: { mode: "normal" },
    });
    const reader = await subject.follow(session);
    const waiting = prompt(session, "?wait=true");
    await typed(reader, "approval_requested");
    expect(await subject.server.close(600_000)).toEqual({ stopped: 0 });
    const { status, body, headers } = await waiting;
    expect([status, body.type, headers.get("retry-after")]).toEqual([503, "urn:orrery:problem:draining", "5"]);
    expect(reader.messages.some(({ value }) => value.type === "turn_ended")).toBe(false);
  });
});
