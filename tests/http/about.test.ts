import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Validator } from "@cfworker/json-schema";
import { STATUS } from "../../lib/http/problem.ts";
import { eventTypes } from "../../lib/session/event.ts";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: object }>>;
  readonly requestBody?: object;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

let subject: TestServer;
let session: string;

beforeAll(async () => {
  subject = await startTestServer({
    prepare: async (workspace) => {
      await workspace.tool("hello", "echo hi");
      await workspace.tool("stray", "(sleep 30 &) ; exit 1");
    },
    script: [{
      calls: [{ name: "hello", arguments: {} }, { name: "stray", arguments: {} }, { name: "read_file", arguments: { path: "bin/hello" } }],
    }, { text: "done" }],
  });
  session = await subject.open();
  await subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
});
afterAll(() => subject.close());

describe("the OpenAPI document", () => {
  // deno-lint-ignore no-explicit-any
  let document: any;
  beforeAll(async () => {
    document = (await subject.ask("GET", "/openapi.json")).body;
  });

  test("is 3.1 and has every route, with a name, its answers, and problems (a pin)", () => {
    expect(document.openapi).toBe("3.1.0");
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Operation>).map(([method, operation]) => [method, path, operation] as const)
    );
    expect(operations.map(([method, path]) => `${method.toUpperCase()} ${path}`).sort()).toEqual([
      "DELETE /v1/sessions/{id}",
      "GET /",
      "GET /healthz",
      "GET /metrics",
      "GET /openapi.json",
      "GET /readyz",
      "GET /v1/capabilities",
      "GET /v1/sessions",
      "GET /v1/sessions/{id}",
      "GET /v1/sessions/{id}/calls/{call}",
      "GET /v1/sessions/{id}/events",
      "GET /v1/tools",
      "POST /v1/login",
      "POST /v1/sessions",
      "POST /v1/sessions/{id}/approvals/{call}",
      "POST /v1/sessions/{id}/cancel",
      "POST /v1/sessions/{id}/fork",
      "POST /v1/sessions/{id}/mode",
      "POST /v1/sessions/{id}/prompts",
      "POST /v1/sessions/{id}/resume",
    ]);
    for (const [method, path, operation] of operations) {
      const { operationId, summary, responses, requestBody, parameters = [] } = operation;
      expect([path, typeof operationId, typeof summary]).toEqual([path, "string", "string"]);
      expect(Object.keys(responses["default"]?.content ?? {})).toEqual(["application/problem+json"]);
      expect([path, requestBody !== undefined]).toEqual([path, method === "post"]);
      const named = parameters.filter((each) => each.in === "path").map(({ name }) => name);
      expect([path, named]).toEqual([path, [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)]);
    }
  });

  test("names every problem at the routes that have it, but for those that no route has", () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods as Record<string, Operation>));
    const named = new Set(
      operations.flatMap(({ responses }) =>
        Object.entries(responses).flatMap(([status, { description = "" }]) =>
          [...description.matchAll(/`(\w+)`/g)].map(([, code = ""]) => `${status} ${code}`)
        )
      ),
    );
    const all = Object.entries(STATUS).map(([code, status]) => `${status} ${code}`);
    expect(all.filter((each) => !named.has(each))).toEqual([
      "405 method_not_allowed",
      "408 request_too_slow",
      "417 expectation_failed",
      "431 headers_too_large",
    ]);
    const statuses = (path: string, method: string) => Object.keys(document.paths[path][method].responses);
    expect(statuses("/v1/sessions/{id}/approvals/{call}", "post")).toEqual(
      ["200", "400", "401", "403", "404", "408", "409", "413", "415", "422", "500", "501", "503", "default"],
    );
    expect(statuses("/healthz", "get")).toEqual(["200", "default"]);
  });

  test("has bounds for every number in a query, and they are the server's", async () => {
    type Parameter = { in: string; name: string; schema: { type: string; pattern?: string; minimum: number; maximum: number } };
    const seen: string[] = [];
    for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, { parameters?: Parameter[] }>>)) {
      for (const { in: where, name, schema } of methods["get"]?.parameters ?? []) {
        if (where !== "query") continue;
        expect([path, name, schema.pattern]).toEqual([path, name, undefined]);
        if (schema.type !== "integer") continue;
        seen.push(`${path} ${name} ${schema.minimum} ${schema.maximum}`);
        const refused = async (value: number) => {
          const { status, body } = await subject.ask("GET", `${path.replace("{id}", session)}?${name}=${value}`);
          return status === 422 && body.errors[0].pointer === `?${name}`;
        };
        const { minimum, maximum } = schema;
        expect([path, name, await Promise.all([minimum - 1, minimum, maximum, maximum + 1].map(refused))]).toEqual([
          path,
          name,
          [true, false, false, true],
        ]);
      }
    }
    expect(seen.sort()).toEqual([
      "/v1/sessions limit 1 500",
      "/v1/sessions/{id}/events after 0 999999999999999",
      "/v1/sessions/{id}/events limit 1 1000",
    ]);
  });

  test("has a schema for every type of event, which the events of a session fit in every form", async () => {
    const ref = (name: string) => new Validator({ $ref: `#/components/schemas/${name}`, components: document.components }, "2020-12", true);
    expect(eventTypes.filter((type) => document.components.schemas[`event_${type}`] === undefined)).toEqual([]);
    const content = document.paths["/v1/sessions/{id}/events"].get.responses["200"].content;
    for (const type of ["text/event-stream", "application/x-ndjson"]) {
      expect(content[type].schema).toEqual({ $ref: "#/components/schemas/StreamFrame" });
    }
    const { events } = (await subject.ask("GET", `/v1/sessions/${session}/events`)).body as { events: { type: string }[] };
    expect(events.length).toBeGreaterThan(10);
    for (const event of events) {
      const { valid, errors } = ref(`event_${event.type}`).validate(event);
      expect([event.type, valid, errors.map(({ error }) => error)]).toEqual([event.type, true, []]);
      expect(ref("StreamFrame").validate(event).valid).toBe(true);
    }
    expect(ref("Event").validate({ ...events[0], session: "another" }).valid).toBe(false);
    expect(ref("StreamFrame").validate({ type: "text_delta", session }).valid).toBe(false);
    expect(ref("StreamFrame").validate({ type: "text_delta", session, step: 1, attempt: 1, text: "a" }).valid).toBe(true);
    expect(ref("StreamFrame").validate({ type: "reset", reason: "ahead", after: null, head: 3 }).valid).toBe(true);
  });

  test("says of every route what comes when the input does not fit, and which headers count", () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods as Record<string, Operation>));
    // Whatever is refused is a problem, never the validators' own answer.
    for (const { operationId, responses } of operations) {
      for (const [status, { content }] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        expect([operationId, status, content]).toEqual([
          operationId,
          status,
          { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
        ]);
      }
    }
    const headers = (path: string, method: string) =>
      (document.paths[path][method] as Operation).parameters?.filter((each) => each.in === "header").map(({ name }) => name);
    expect(headers("/v1/sessions/{id}", "get")).toEqual(["If-None-Match"]);
    expect(headers("/v1/sessions/{id}/events", "get")).toEqual(["Last-Event-ID"]);
    const keyed = operations.filter(({ parameters = [] }) => parameters.some(({ name }) => name === "Idempotency-Key"));
    expect(keyed.map(({ operationId }) => operationId).toSorted()).toEqual(
      ["answerApproval", "cancel", "changeMode", "createSession", "forkSession", "prompt", "resume"],
    );
    const given = (path: string, method: string, status: string) => Object.keys(document.paths[path][method].responses[status].headers);
    expect(given("/v1/sessions", "post", "201")).toEqual(["X-Request-Id", "Location", "ETag", "Idempotency-Replayed"]);
    expect(given("/v1/sessions/{id}", "get", "200")).toContain("ETag");
    expect(given("/v1/sessions", "get", "default")).toEqual(["X-Request-Id", "Retry-After"]);
  });

  test("names the type of every answer that has a body", () => {
    const types = (path: string) => Object.keys(document.paths[path].get.responses["200"].content);
    expect([types("/"), types("/metrics"), types("/openapi.json")]).toEqual([["text/html"], ["text/plain"], ["application/json"]]);
    expect(types("/v1/sessions/{id}/events")).toEqual(["application/json", "text/event-stream", "application/x-ndjson"]);
    expect(document.paths["/v1/sessions/{id}"].get.responses["304"].content).toBeUndefined();
  });

  test("asks for the token everywhere but where none is needed", () => {
    expect(document.components.securitySchemes.token).toEqual({ type: "http", scheme: "bearer" });
    expect(document.security).toEqual([{ token: [] }]);
    expect(document.paths["/healthz"].get.security).toEqual([]);
    expect(document.paths["/v1/sessions"].get.security).toBeUndefined();
  });
});

test("metrics count calls, turns and early runs, with labels from fixed sets only", async () => {
  const { headers, text } = await subject.ask("GET", "/metrics");
  expect(headers.get("content-type")).toContain("text/plain");
  for (
    const line of [
      'orrery_calls_total{outcome="exited"} 2',
      'orrery_turns_total{reason="completed"} 1',
      'orrery_speculations_total{stage="discarded"} 0',
      "orrery_processes_reaped_total 1",
      "orrery_open_sessions 1",
      "orrery_running_turns 0",
      "orrery_waiting_turns 0",
      "orrery_event_readers 0",
      'orrery_http_requests_total{method="POST",route="/v1/sessions",status="201"} 1',
    ]
  ) expect(text.split("\n")).toContain(line);
  expect(text).not.toContain(session);
  expect(text).not.toContain("read_file");
  await subject.ask("GET", "/some/path/of/a/client");
  await subject.ask("BREW", "/v1/sessions").catch(() => null);
  const again = (await subject.ask("GET", "/metrics")).text;
  expect(again).not.toContain("some/path");
  expect(again).not.toContain("BREW");
});

test("capabilities and tools say what a client can count on", async () => {
  const { body } = await subject.ask("GET", "/v1/capabilities");
  expect(body).toMatchObject({ api: "v1", workspaces: [subject.workspace.path], modes: expect.any(Array), limits: { max_turns: 32 } });
  const tools = (await subject.ask("GET", "/v1/tools")).body;
  expect(tools.schema_version).toBe(1);
  expect(tools.tools.find(({ name }: { name: string }) => name === "hello")).toMatchObject({
    status: "offered",
    origin: { system: "stella", scope: "workspace" },
    read_only: false,
  });
});

test("readiness does not wait long for a journal that does not answer", async () => {
  const locked = await startTestServer();
  try {
    locked.agent.probe = () => new Promise(() => undefined);
    const ready = await locked.ask("GET", "/readyz");
    expect([ready.status, ready.body.type]).toEqual([503, "urn:orrery:problem:unavailable"]);
  } finally {
    await locked.close();
  }
}, 15_000);

test("readiness is the journal's: a server that cannot write is not ready, and still alive", async () => {
  const broken = await startTestServer();
  try {
    broken.agent.probe = () => Promise.reject(new Error("read-only"));
    const ready = await broken.ask("GET", "/readyz");
    expect([ready.status, ready.body.type]).toEqual([503, "urn:orrery:problem:unavailable"]);
    expect(ready.text).not.toContain("read-only");
    expect((await broken.ask("GET", "/healthz")).status).toBe(200);
  } finally {
    await broken.close();
  }
});
