import { afterEach, describe, expect, test } from "bun:test";
import { Validator } from "@cfworker/json-schema";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient } from "../../lib/http/client.ts";
import { ApiProblem, OPERATIONS } from "../../lib/http/client-request.ts";
import type { ClientEvent } from "../../lib/http/client-events.ts";
import { startServer } from "../../lib/http/serve.ts";
import { type CuttingProxy, startCuttingProxy } from "../fixtures/cutting-proxy.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;
let client: Client;
let proxy: CuttingProxy | null = null;

afterEach(async () => {
  await proxy?.close();
  proxy = null;
  await subject.close();
});

async function start(options: TestServerOptions = {}): Promise<void> {
  subject = await startTestServer(options);
  client = createClient({ url: `${subject.server.url}/`, token: subject.token });
}

const call = (name: string, input: object = {}) => ({ name, arguments: input });
const numbers = (events: readonly ClientEvent[]) => events.flatMap((event) => "seq" in event ? [event.seq] : []);
const between = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_each, index) => first + index);
const problemOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => "none", (error: unknown) => error);

/** A turn of many steps, each with a call and words in pieces. */
const LONG = [
  ...Array.from(
    { length: 30 },
    (_each, index) => ({ text: ["a", "b\n", "€"], calls: [call(`nothing_${index}`, { words: "x".repeat(index * 20) })] }),
  ),
  { text: "done" },
];

describe("the client", () => {
  test("knows every operation of the API by its name, and no other", async () => {
    await start();
    const { paths } = (await subject.ask("GET", "/openapi.json")).body as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`] as const)
    );
    const ofSessions = described.filter(([id, route]) => route.includes(" /v1/") && id !== "login");
    expect(Object.fromEntries(ofSessions.toSorted())).toEqual(Object.fromEntries(Object.entries(OPERATIONS).toSorted()));
  });

  test("gets from each operation what the OpenAPI document says of it", async () => {
    await start({
      prepare: (workspace) => workspace.tool("touch_it", 'touch "$STELLA_INPUT_NAME"', 'approval = "always"'),
      script: [{ calls: [call("touch_it", { name: "made" })] }, { text: "done" }],
    });
    // deno-lint-ignore no-explicit-any
    const document = (await subject.ask("GET", "/openapi.json")).body as any;
    const seen: string[] = [];
    const check = (operation: keyof typeof OPERATIONS, status: number, answer: unknown) => {
      const [method = "", path = ""] = OPERATIONS[operation].split(" ");
      const { schema } = document.paths[path][method.toLowerCase()].responses[status].content["application/json"];
      const { valid, errors } = new Validator({ ...schema, components: document.components }, "2020-12", false).validate(answer);
      expect([operation, valid, errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`)]).toEqual([
        operation,
        true,
        [],
      ]);
      seen.push(operation);
    };
    check("capabilities", 200, await client.capabilities());
    check("listTools", 200, await client.tools());
    const opened = await client.create({ title: "One", mode: "normal" });
    check("createSession", 201, opened);
    const { session } = opened;
    const turn = await client.prompt(session, "go");
    check("prompt", 202, turn);
    let asked = "";
    for await (const event of client.follow(session)) {
      if (event.type === "approval_requested") {
        check("answerApproval", 200, await client.answer(session, asked = event.call, { decision: "allow" }));
      }
      if (event.type === "turn_ended") break;
    }
    check("changeMode", 200, await client.changeMode(session, { mode: "plan" }));
    check("getSession", 200, await client.state(session));
    check("getCall", 200, await client.call(session, asked));
    check("listSessions", 200, await client.sessions({ limit: 1 }));
    check("getEvents", 200, await client.events(session, { after: 1, limit: 3 }));
    const fork = await client.fork(session, { at: 4 });
    check("forkSession", 201, fork);
    check("resume", 202, await client.resume(fork.session));
    for await (const event of client.follow(fork.session)) if (event.type === "approval_requested" && event.call !== asked) break;
    check("cancel", 202, await client.cancel(fork.session));
    for await (const event of client.follow(fork.session)) if (event.type === "turn_ended") break;
    await client.remove(fork.session);
    expect(seen.toSorted()).toEqual(Object.keys(OPERATIONS).filter((each) => each !== "deleteSession").toSorted());
    expect(existsSync(join(subject.workspace.path, "made"))).toBe(true);
  });

  test("throws what the server refuses as a problem with its code, its faults and when to come back", async () => {
    await start({ server: { max_sessions: 1 }, script: [{ text: ["a", "b"], delay_ms: 60_000 }] });
    const missing = "ses_00000000-0000-7000-8000-000000000000";
    expect(await problemOf(client.state(missing))).toMatchObject({ name: "ApiProblem", status: 404, code: "unknown_session" });
    expect(await problemOf(client.create({ title: 7 as unknown as string }))).toMatchObject({
      code: "invalid",
      errors: [{ pointer: "/title" }],
    });
    const { session } = await client.create({});
    await client.prompt(session, "go", { idempotency_key: "one" });
    expect(await problemOf(client.prompt(session, "again"))).toMatchObject({ status: 409, code: "busy" });
    expect(await problemOf(client.prompt(session, "other", { idempotency_key: "one" }))).toMatchObject({ status: 422, code: "key_reused" });
    expect(await problemOf(client.create({}))).toMatchObject({ status: 429, code: "too_many_sessions", retry_after_ms: 5000 });
    const stranger = createClient({ url: subject.server.url, token: () => "not-the-token-of-the-server" });
    expect(await problemOf(stranger.sessions())).toBeInstanceOf(ApiProblem);
    for (const events of [client.follow(missing), stranger.follow(session)]) {
      expect(await problemOf(events.next())).toBeInstanceOf(ApiProblem);
    }
  });
});

test("a prompt whose answer is lost is sent again, and begins one turn", async () => {
  await start({ script: [{ text: "one" }, { text: "two" }], server: { allowed_hosts: ["127.0.0.1"] } });
  proxy = await startCuttingProxy(subject.port, (connection) => connection < 2 ? 0 : Infinity);
  const { session } = await client.create({});
  const flaky = createClient({ url: proxy.url, token: subject.token });
  expect(await flaky.prompt(session, "go")).toEqual({ turn: 1 });
  for await (const event of client.follow(session)) if (event.type === "turn_ended") break;
  expect((await client.sessions()).sessions).toMatchObject([{ session, turns: 1 }]);
  expect(proxy.connections).toBe(3);
});

describe("run", () => {
  const SILENT = { text: ["a", "b"], delay_ms: 60_000 };
  const texts = (events: readonly ClientEvent[]) => events.flatMap((event) => event.type === "prompted" ? [event.text] : []);

  test("of a prompt that waits gives its own turn and nothing of the others", async () => {
    await start({
      prepare: (workspace) => workspace.tool("gate", "while [ ! -e open ]; do sleep 0.02; done"),
      script: [{ calls: [call("gate")] }, { text: "one" }, { text: "two" }],
    });
    const { session } = await client.create({});
    await client.prompt(session, "first");
    const waiting = Array.fromAsync(client.run(session, "second", { if_busy: "queue" }));
    while ((await client.state(session)).queued.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await client.state(session)).queued).toMatchObject([{ turn: 2, text: "second" }]);
    await subject.workspace.write("open", "");
    const events = await waiting;
    expect(texts(events)).toEqual(["second"]);
    expect(events.filter(({ type }) => type === "turn_ended")).toMatchObject([{ turn: 2 }]);
    expect((await client.state(session)).queued).toEqual([]);
  });

  test("of a prompt that is dropped ends with that, and not with the turn of another", async () => {
    await start({ script: [SILENT, { text: "third's" }] });
    const { session } = await client.create({});
    await client.prompt(session, "first");
    const seen: ClientEvent[] = [];
    const waiting = problemOf((async () => {
      for await (const event of client.run(session, "second", { if_busy: "queue" })) seen.push(event);
    })());
    while ((await client.state(session)).queued.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await client.cancel(session)).toEqual({ turn: 1, dropped: 1 });
    for await (const event of client.follow(session)) if (event.type === "turn_ended") break;
    await client.prompt(session, "third");
    expect(await waiting).toMatchObject({ name: "ApiProblem", status: 409, code: "dropped" });
    expect(texts(seen)).toEqual([]);
  });

  test("of a prompt that waited when the server ended ends with that, as soon as there is a server to ask", async () => {
    await start({ script: [SILENT], server: { allowed_hosts: ["127.0.0.1"] } });
    // Nobody else may take the address meanwhile, so it is the proxy's.
    let { port } = subject;
    proxy = await startCuttingProxy(() => port, () => Infinity);
    const { session } = await client.create({});
    await client.prompt(session, "first");
    const far = createClient({ url: proxy.url, token: subject.token });
    const waiting = problemOf(Array.fromAsync(far.run(session, "second", { if_busy: "queue" })));
    while ((await client.state(session)).queued.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await subject.server.close(0);
    const env = { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home };
    const next = await startServer(subject.agent, { port: 0, env, allowed_hosts: ["127.0.0.1"] });
    port = Number(new URL(next.url).port);
    try {
      expect(await waiting).toMatchObject({ name: "ApiProblem", code: "dropped" });
    } finally {
      await next.close(0);
    }
  }, 20_000);

  test("of a prompt that was taken before gives that turn again", async () => {
    await start({ script: [{ text: "one" }] });
    const { session } = await client.create({});
    const first = await Array.fromAsync(client.run(session, "go", { idempotency_key: "same" }));
    const again = await Array.fromAsync(client.run(session, "go", { idempotency_key: "same" }));
    expect(numbers(again)).toEqual(numbers(first));
  });
});

describe("following", () => {
  test("over connections that break anywhere gives every event once, in order, and ends with the turn", async () => {
    await start({ script: LONG, server: { allowed_hosts: ["127.0.0.1"] } });
    proxy = await startCuttingProxy(subject.port, (connection) => 400 + (connection * 7919) % 6000);
    const { session, seq } = await client.create({});
    const flaky = createClient({ url: proxy.url, token: subject.token });
    const all: ClientEvent[] = [];
    const watching = (async () => {
      for await (const event of flaky.follow(session, { after: seq })) {
        all.push(event);
        if (event.type === "turn_ended") return;
      }
    })();
    const mine = await Array.fromAsync(client.run(session, "go"));
    await watching;
    const { seq: end } = await client.state(session);
    expect(numbers(mine)).toEqual(between(seq + 1, end));
    expect(numbers(all)).toEqual(between(seq + 1, end));
    expect(proxy.connections).toBeGreaterThan(10);
    expect(all.filter(({ type }) => type === "connected").length).toBeGreaterThan(5);
  }, 60_000);

  test("tells of a cursor that the log does not reach, and begins again", async () => {
    await start();
    const { session, seq } = await client.create({});
    const seen: ClientEvent[] = [];
    for await (const event of client.follow(session, { after: 999 })) {
      seen.push(event);
      if ("seq" in event && event.seq === seq) break;
    }
    expect(seen.slice(0, 2)).toMatchObject([{ type: "connected", after: 999 }, { type: "reset", reason: "ahead", after: 999, head: seq }]);
    expect(numbers(seen)).toEqual(between(1, seq));
  });

  test("ends when the session is removed, and when its signal aborts", async () => {
    await start();
    const { session, seq } = await client.create({});
    const leave = new AbortController();
    const aborted = (async () => {
      for await (const event of client.follow(session, { after: seq, signal: leave.signal })) if (event.type === "connected") leave.abort();
    })();
    await aborted;
    const seen: ClientEvent[] = [];
    for await (const event of client.follow(session, { after: seq })) {
      seen.push(event);
      if (event.type === "connected") await client.remove(session);
    }
    expect(seen.at(-1)).toMatchObject({ type: "reset", reason: "removed" });
  });

  test("that is left leaves no reader behind", async () => {
    await start();
    const { session } = await client.create({});
    for await (const event of client.follow(session)) if ("seq" in event) break;
    while (subject.server.desk.counts.readers > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});
