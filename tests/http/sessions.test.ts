import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { startServer } from "../../lib/http/serve.ts";
import { stateDocument } from "../../lib/http/state.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { newOwner, newSession, opened, prompted, turnEnded } from "../fixtures/journal/events.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;

async function start(options: TestServerOptions): Promise<void> {
  await subject.close();
  subject = await startTestServer(options);
}

beforeEach(async () => {
  subject = await startTestServer();
});
afterEach(() => subject.close());

const prompt = (session: string, text = "go") => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text });

describe("a new session", () => {
  test("has what was asked for, and is where Location says", async () => {
    const { status, headers, body } = await subject.ask("POST", "/v1/sessions", { title: "T", mode: "plan", system: "Be brief." });
    expect(status).toBe(201);
    expect(headers.get("location")).toBe(`/v1/sessions/${body.session}`);
    expect(body).toMatchObject({ mode: "plan", status: "idle", workspace: subject.workspace.path });
    const state = (await subject.ask("GET", headers.get("location") ?? "")).body;
    expect(state.messages).toEqual([{ role: "system", text: "Be brief." }]);
    expect((await subject.ask("GET", "/v1/sessions")).body.sessions[0]).toMatchObject({
      session: body.session,
      title: "T",
      mode: "plan",
      status: "idle",
    });
  });

  test("takes the server's mode where none is asked for, and keeps its own when it is opened again", async () => {
    await start({ agent: { defaultMode: "normal" }, server: { idle_ms: 1 } });
    const [first, second] = [await subject.open(), await subject.open({ mode: "yolo" })];
    expect((await subject.ask("GET", `/v1/sessions/${first}`)).body.mode).toBe("normal");
    await prompt(second);
    expect((await subject.ask("GET", `/v1/sessions/${second}`)).body.mode).toBe("yolo");
  });

  test("is refused with a model or a mode that cannot be", async () => {
    expect((await subject.ask("POST", "/v1/sessions", { model: "nowhere/x" })).body).toMatchObject({
      status: 422,
      type: "urn:orrery:problem:unacceptable",
    });
    expect((await subject.ask("POST", "/v1/sessions", { mode: "root" })).status).toBe(422);
    expect((await subject.ask("GET", "/v1/sessions")).body.sessions).toEqual([]);
  });

  test("works only below the folders that the server is for, symbolic links resolved", async () => {
    const inside = join(subject.workspace.path, "sub");
    await mkdir(inside);
    await symlink(subject.workspace.home, join(subject.workspace.path, "way-out"));
    expect((await subject.ask("POST", "/v1/sessions", { workspace: inside })).body.workspace).toBe(inside);
    const outside = [
      subject.workspace.home,
      join(subject.workspace.path, "way-out"),
      join(inside, "../../home"),
      "/",
      `${subject.workspace.path}2`,
      "relative",
    ];
    for (const workspace of outside) {
      const { status, body } = await subject.ask("POST", "/v1/sessions", { workspace });
      expect([workspace, status]).toEqual([workspace, 422]);
      // Whether there is such a folder is not said.
      expect(body.detail).toMatch(/is not a folder below those|is no absolute path/);
    }
    expect((await subject.ask("GET", `/v1/tools?workspace=${encodeURIComponent(subject.workspace.home)}`)).status).toBe(422);
  });

  test("of a folder that the server is not for does not exist over HTTP", async () => {
    const other = subject.another({ workspace: subject.workspace.home });
    const { id } = await other.create();
    await other.close();
    expect((await subject.ask("GET", `/v1/sessions/${id}`)).status).toBe(404);
    expect((await subject.ask("GET", `/v1/sessions/${id}/events`)).status).toBe(404);
    expect((await subject.ask("POST", `/v1/sessions/${id}/prompts`, { text: "x" })).status).toBe(404);
    expect((await subject.ask("DELETE", `/v1/sessions/${id}`)).status).toBe(404);
    expect((await subject.ask("GET", "/v1/sessions")).body.sessions).toEqual([]);
  });

  test("is one of a bounded number that are open: those that rest make room, and 429 says when none does", async () => {
    await start({ script: [{ text: ["a", "b"], delay_ms: 60_000 }], server: { max_sessions: 2, max_turns: 1 } });
    const ids = [await subject.open(), await subject.open(), await subject.open()];
    expect((await subject.ask("POST", `/v1/sessions/${ids[0]}/prompts`, { text: "x" })).status).toBe(202);
    const { status, headers, body } = await subject.ask("POST", `/v1/sessions/${ids[1]}/prompts`, { text: "x" });
    expect([status, body.type, headers.get("retry-after")]).toEqual([429, "urn:orrery:problem:too_many_turns", "5"]);
  });
});

describe("the list", () => {
  test("goes on page by page, each session once", async () => {
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.push(await subject.open());
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page: { sessions: { session: string }[]; next?: string } =
        (await subject.ask("GET", `/v1/sessions?limit=2${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`)).body;
      seen.push(...page.sessions.map(({ session }) => session));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(made.toReversed());
  });

  test("goes on behind a `next` and behind nothing else, also after a restart", async () => {
    for (let count = 0; count < 3; count++) await subject.open();
    const { next, sessions: [{ session, updated_at }] } = (await subject.ask("GET", "/v1/sessions?limit=1")).body;
    const faults = async (cursor: string) => {
      const { status, body } = await subject.ask("GET", `/v1/sessions?cursor=${encodeURIComponent(cursor)}`);
      return [status, body.errors?.[0]?.pointer];
    };
    const bytes = Buffer.from(next, "base64url");
    const written = Buffer.from(JSON.stringify([updated_at, session]));
    const turned = bytes.with(0, (bytes[0] ?? 0) ^ 1);
    for (
      const cursor of [
        btoa(JSON.stringify(["zzz", session])),
        written.toString("base64url"),
        Buffer.concat([new Uint8Array(12), written]).toString("base64url"),
        Buffer.from(turned).toString("base64url"),
        `${next}=`,
        `${next}A`,
        next.slice(1),
        "",
      ]
    ) expect([cursor, ...await faults(cursor)]).toEqual([cursor, 422, "?cursor"]);
    await subject.server.close(0);
    const again = await startServer(subject.agent, { env: { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home } });
    try {
      const response = await fetch(`${again.url}/v1/sessions?cursor=${next}`, { headers: { authorization: `Bearer ${subject.token}` } });
      expect(((await response.json()) as { sessions: object[] }).sessions).toHaveLength(2);
    } finally {
      await again.close(0);
    }
  });
});

describe("the state", () => {
  test("has these keys and no others (a pin), as of the event it names", async () => {
    await start({
      prepare: (workspace) => workspace.tool("hello", "echo hi"),
      script: [{ text: "let me", calls: [{ name: "hello", arguments: '{"n":9007199254740993}' }] }, {
        text: "done",
        usage: { input_tokens: 3, output_tokens: 4 },
      }],
    });
    const session = await subject.open();
    await prompt(session);
    const { text, body, headers } = await subject.ask("GET", `/v1/sessions/${session}`);
    const keys = [
      "session",
      "seq",
      "status",
      "workspace",
      "model",
      "mode",
      "messages",
      "calls",
      "approvals",
      "tasks",
      "state_keys",
      "queued",
      "usage",
      "speculation",
    ];
    expect(Object.keys(body)).toEqual(keys);
    expect(Object.keys(body.calls[0])).toEqual(["call", "name", "input", "status", "outcome", "result"]);
    expect(body).toMatchObject({
      status: "idle",
      usage: { input_tokens: 3, output_tokens: 4 },
      speculation: { saved_ms: 0, wasted: 0, wasted_ms: 0 },
    });
    expect(body.calls[0]).toMatchObject({
      name: "hello",
      status: "ended",
      outcome: { kind: "exited", code: 0 },
      result: { is_error: false, text: "hi\n" },
    });
    // The digits that the model wrote.
    expect(text).toContain('"input":{"n":9007199254740993}');
    const page = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body;
    expect(page.head).toBe(body.seq);
    expect(headers.get("etag")).toBe(`"${body.seq}-idle"`);
  });

  test("is 304 while nothing changes, and not any more when something has", async () => {
    const session = await subject.open();
    const path = `/v1/sessions/${session}`;
    const etag = (await subject.ask("GET", path)).headers.get("etag") ?? "";
    const again = await subject.ask("GET", path, undefined, { "if-none-match": `"x", W/${etag}` });
    expect([again.status, again.text]).toEqual([304, ""]);
    await prompt(session);
    expect((await subject.ask("GET", path, undefined, { "if-none-match": etag })).status).toBe(200);
  });

  test("is the same whether the session is open here or not", async () => {
    await start({ server: { idle_ms: 1 }, script: [{ text: "one" }, { text: "two" }] });
    const session = await subject.open();
    await prompt(session);
    const open = (await subject.ask("GET", `/v1/sessions/${session}`)).text;
    for (let tries = 0; subject.server.desk.counts.sessions > 0 && tries < 100; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(subject.server.desk.counts.sessions).toBe(0);
    expect((await subject.ask("GET", `/v1/sessions/${session}`)).text).toBe(open);
    expect((await prompt(session)).body).toMatchObject({ turn: 2, text: "two" });
  });

  test("of one call has all that the log says of it", async () => {
    await start({
      prepare: (workspace) => workspace.tool("loud", "head -c 300000 /dev/zero | tr '\\\\0' x; echo oops >&2; exit 3"),
      script: [{ calls: [{ name: "loud", arguments: '{"a":1}' }, { name: "missing", arguments: "{" }] }, { text: "done" }],
    });
    const session = await subject.open();
    await prompt(session);
    const calls = (await subject.ask("GET", `/v1/sessions/${session}`)).body.calls as { call: string }[];
    const [loud, missing] = await Promise.all(
      calls.map(async ({ call }) => (await subject.ask("GET", `/v1/sessions/${session}/calls/${call}`)).body),
    );
    expect(loud).toMatchObject({
      name: "loud",
      status: "ended",
      arguments: '{"a":1}',
      input: { a: 1 },
      step: 1,
      outcome: { kind: "exited", code: 3 },
      truncated: { stdout_bytes: 300_000, stderr_bytes: 5 },
    });
    expect(loud.result.text.length).toBeLessThan(200_000);
    expect(missing).toMatchObject({ name: "missing", input: "{", outcome: { kind: "not_started", reason: "denied" } });
    expect(Object.keys(missing)).toContain("denied_by");
  });
});

describe("a fork", () => {
  test("has the events up to there with the same numbers under its own id, and goes its own way", async () => {
    await start({ script: [{ text: "one" }, { text: "two" }] });
    const session = await subject.open();
    await prompt(session, "first");
    const events = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body.events as { type: string; seq: number }[];
    const { status, body, headers } = await subject.ask("POST", `/v1/sessions/${session}/fork`, {});
    expect([status, body.from, body.from_seq]).toEqual([201, session, events.length]);
    expect(headers.get("location")).toBe(`/v1/sessions/${body.session}`);
    const copied = (await subject.ask("GET", `/v1/sessions/${body.session}/events?limit=1000`)).body.events as {
      type: string;
      seq: number;
      session: string;
    }[];
    expect(copied.map(({ seq, type }) => [seq, type])).toEqual([...events.map(({ seq, type }): [number, string] => [seq, type]), [
      events.length + 1,
      "session_forked",
    ]]);
    expect(copied.every((event) => event.session === body.session)).toBe(true);
    expect((await prompt(body.session, "second")).body).toMatchObject({ turn: 2, text: "two" });
    expect((await subject.ask("GET", `/v1/sessions/${session}`)).body.seq).toBe(events.length);
  });

  test("in the middle of a turn ends its open calls, and can be resumed or cancelled", async () => {
    await start({
      prepare: (workspace) => workspace.tool("touch_it", "touch canary; sleep 0.2; echo ok"),
      script: [{ calls: [{ name: "touch_it", arguments: {} }] }, { text: "done" }],
    });
    const session = await subject.open();
    await prompt(session);
    const events = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body.events as { type: string; seq: number }[];
    const at = events.find(({ type }) => type === "call_started")?.seq;
    const fork = (await subject.ask("POST", `/v1/sessions/${session}/fork`, { at })).body.session as string;
    const state = (await subject.ask("GET", `/v1/sessions/${fork}`)).body;
    expect(state).toMatchObject({ status: "interrupted", turn: 1, calls: [{ outcome: { kind: "not_started", reason: "forked" } }] });
    expect((await prompt(fork)).body.type).toBe("urn:orrery:problem:interrupted");
    const again = (await subject.ask("POST", `/v1/sessions/${session}/fork`, { at })).body.session as string;
    expect((await subject.ask("POST", `/v1/sessions/${fork}/resume?wait=true`, {})).body).toMatchObject({
      turn: 1,
      reason: "completed",
      text: "done",
    });
    expect((await subject.ask("POST", `/v1/sessions/${again}/cancel`, {})).body).toEqual({ turn: 1, dropped: 0 });
    const reader = await subject.follow(again);
    expect((await reader.until(({ value }) => value.type === "turn_ended")).value.reason).toBe("cancelled");
    reader.cut();
  });

  test("is refused where there is no such event", async () => {
    const session = await subject.open();
    for (const at of [2, 999]) {
      expect((await subject.ask("POST", `/v1/sessions/${session}/fork`, { at })).body).toMatchObject({
        status: 422,
        type: "urn:orrery:problem:unacceptable",
      });
    }
    for (const at of [0, -1, 1.5, "1"]) {
      expect((await subject.ask("POST", `/v1/sessions/${session}/fork`, { at })).body.errors[0].pointer).toBe("/at");
    }
  });
});

describe("removing a session", () => {
  test("takes its log away and ends those who follow it", async () => {
    const session = await subject.open();
    const reader = await subject.follow(session);
    await reader.until(({ id }) => id === "1");
    expect((await subject.ask("DELETE", `/v1/sessions/${session}`)).status).toBe(204);
    expect((await reader.until(({ event }) => event === "reset")).value.reason).toBe("removed");
    await reader.ended;
    expect((await subject.ask("GET", `/v1/sessions/${session}`)).status).toBe(404);
    expect((await subject.ask("DELETE", `/v1/sessions/${session}`)).status).toBe(404);
  });

  test("is refused while a turn runs or another runtime has it open", async () => {
    await start({ script: [{ text: ["a", "b"], delay_ms: 60_000 }] });
    const session = await subject.open();
    await subject.ask("POST", `/v1/sessions/${session}/prompts`, { text: "x" });
    expect((await subject.ask("DELETE", `/v1/sessions/${session}`)).body.type).toBe("urn:orrery:problem:busy");
    const other = await subject.another().create();
    await other.settled();
    const held = other.id;
    expect((await subject.ask("DELETE", `/v1/sessions/${held}`)).body.type).toBe("urn:orrery:problem:held");
    expect((await subject.ask("POST", `/v1/sessions/${held}/prompts`, { text: "x" })).body.type).toBe("urn:orrery:problem:held");
  });
});

test("a large state is one document for all who are being sent it, and comes whole", async () => {
  const session = newSession();
  const journal = openSqliteJournal({ path: join(subject.workspace.home, "data/journal.sqlite") });
  const lease = await journal.acquire(session, newOwner());
  const turns = [1, 2, 3, 4, 5].flatMap((
    turn,
  ) => [prompted(session, 2 * turn, "é".repeat(1_000_000), turn), turnEnded(session, 2 * turn + 1, turn)]);
  await journal.append(lease, 0, [{ ...opened(session), workspace: subject.workspace.path } as SessionEvent, ...turns]);
  await journal.close();
  const { desk } = subject.server;
  const document = stateDocument(await desk.view(session));
  expect(stateDocument(await desk.view(session))).toBe(document);
  const path = `/v1/sessions/${session}`;
  const [{ text, headers }, head] = [await subject.ask("GET", path), await subject.ask("HEAD", path)];
  expect(text).toBe(new TextDecoder().decode(document));
  expect([headers, head.headers].map((each) => each.get("content-length"))).toEqual([String(document.length), String(document.length)]);
  expect(head.text).toBe("");
});
