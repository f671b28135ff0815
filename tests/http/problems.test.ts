import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rawStatus, startTestServer, type TestServer } from "../fixtures/server.ts";

let subject: TestServer;
let session: string;

beforeAll(async () => {
  subject = await startTestServer({ server: { body: { bytes: 10_000, ms: 300 } } });
  session = await subject.open();
});
afterAll(() => subject.close());

describe("a problem", () => {
  test("has the keys of RFC 9457, the request's id, and a type that says which it is (a pin)", async () => {
    const { status, headers, body } = await subject.ask("GET", "/nowhere", undefined, { "x-request-id": "my-id.1" });
    expect(status).toBe(404);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(headers.get("x-request-id")).toBe("my-id.1");
    expect(body).toEqual({
      type: "urn:orrery:problem:not_found",
      title: "not found",
      status: 404,
      detail: "There is nothing under this path: see /openapi.json",
      instance: "/nowhere",
      request_id: "my-id.1",
    });
  });

  test("does not echo a request id that could be more than an id", async () => {
    const { headers } = await subject.ask("GET", "/healthz", undefined, { "x-request-id": "a b<script>" });
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("is 404 for ids in another form and for sessions that are not there", async () => {
    for (
      const id of ["1", "..%2f..%2fetc%2fpasswd", "SES_01a22983-a7ad-76e0-92c7-7b05c2411149", "ses_01a22983-a7ad-76e0-92c7-7b05c2411149"]
    ) {
      for (const path of ["", "/events", "/calls/call_01a22983-a7ad-76e0-92c7-7b05c2411149"]) {
        expect([id, path, (await subject.ask("GET", `/v1/sessions/${id}${path}`)).status]).toEqual([id, path, 404]);
      }
      for (const path of ["/prompts", "/cancel", "/fork", "/resume"]) {
        expect([id, path, (await subject.ask("POST", `/v1/sessions/${id}${path}`, path === "/prompts" ? { text: "x" } : {})).status])
          .toEqual([id, path, 404]);
      }
    }
    expect((await subject.ask("GET", `/v1/sessions/${session}/calls/call_01a22983-a7ad-76e0-92c7-7b05c2411149`)).body.type).toBe(
      "urn:orrery:problem:unknown_call",
    );
  });

  test("is 405 with Allow for other methods", async () => {
    const { status, headers } = await subject.ask("PUT", `/v1/sessions/${session}`, {});
    expect([status, headers.get("allow")]).toEqual([405, "DELETE, GET, HEAD"]);
    expect((await subject.ask("GET", `/v1/sessions/${session}/prompts`)).headers.get("allow")).toBe("POST");
    expect((await subject.ask("OPTIONS", "/v1/sessions")).status).toBe(405);
    const head = `Host: 127.0.0.1:${subject.port}\r\nAuthorization: Bearer ${subject.token}\r\n`;
    expect((await rawStatus(subject.port, `TRACE /v1/sessions HTTP/1.1\r\n${head}\r\n`)).status).toBe(405);
  });

  test("is 415 for anything but plain JSON, before the body is looked at", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]) {
      expect([type, (await subject.ask("POST", "/v1/sessions", "{}", { "content-type": type })).status]).toEqual([type, 415]);
    }
    expect((await subject.ask("POST", "/v1/sessions", "{}", { "content-encoding": "gzip" })).status).toBe(415);
    expect((await subject.ask("POST", "/v1/sessions", "{}", { "content-type": "application/json; charset=utf-8" })).status).toBe(201);
  });

  test("is 400 with the place for a body that is no JSON", async () => {
    const { status, body } = await subject.ask("POST", "/v1/sessions", '{"title":}');
    expect([status, body.type]).toEqual([400, "urn:orrery:problem:malformed_json"]);
    expect(body.detail).toContain("character 9");
    expect((await subject.ask("POST", "/v1/sessions", "")).body.detail).toContain("at least {}");
    expect((await subject.ask("POST", "/v1/sessions", "[".repeat(9000))).status).toBe(400);
  });

  test("is 422 with a pointer for each fault of a body", async () => {
    const { status, body } = await subject.ask("POST", "/v1/sessions", { mode: "root", "a/b~c": 1 });
    expect(status).toBe(422);
    expect((body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort()).toEqual(["/a~1b~0c", "/mode"]);
    expect((await subject.ask("POST", "/v1/sessions", "[]")).status).toBe(422);
    expect((await subject.ask("POST", `/v1/sessions/${session}/prompts`, { text: " \n" })).body.errors[0].pointer).toBe("/text");
    expect((await subject.ask("GET", "/v1/sessions?limit=x")).body.errors[0].pointer).toBe("?limit");
    expect((await subject.ask("GET", "/v1/sessions?cursor=x")).body.errors[0].pointer).toBe("?cursor");
  });

  test("is 413 for a large body, with and without a stated length", async () => {
    expect((await subject.ask("POST", "/v1/sessions", { title: "x".repeat(20_000) })).status).toBe(413);
    const chunk = `4e20\r\n${"x".repeat(20_000)}\r\n0\r\n\r\n`;
    const { status } = await rawStatus(subject.port, `POST /v1/sessions ${head()}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
    expect(status).toBe(413);
  });

  test("is 408 for a body that does not come", async () => {
    expect((await rawStatus(subject.port, `POST /v1/sessions ${head()}Content-Length: 10\r\n\r\n{`)).status).toBe(408);
  });

  test("ends what is no HTTP, and heads without bound", async () => {
    expect((await rawStatus(subject.port, "what\r\n\r\n")).status).toBe(400);
    const { status } = await rawStatus(
      subject.port,
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${subject.port}\r\nX: ${"a".repeat(200_000)}\r\n\r\n`,
    );
    expect([0, 400, 431]).toContain(status);
  });

  test("explains no fault of the server to clients", async () => {
    const broken = await startTestServer();
    try {
      broken.agent.toolbox = () => Promise.reject(new Error("secret detail"));
      const { status, text, body } = await broken.ask("GET", "/v1/tools");
      expect([status, body.type]).toEqual([500, "urn:orrery:problem:internal"]);
      expect(text).not.toContain("secret");
    } finally {
      await broken.close();
    }
  });
});

function head(): string {
  return `HTTP/1.1\r\nHost: 127.0.0.1:${subject.port}\r\nAuthorization: Bearer ${subject.token}\r\nContent-Type: application/json\r\n`;
}

test("no path serves files", async () => {
  for (const path of ["/file?path=/etc/passwd", "/../../etc/passwd", "/v1/files?path=/etc/passwd", "/v1/fs//etc/passwd"]) {
    expect((await subject.ask("GET", path)).status).toBe(404);
  }
});

test("a POST where there is only another method is told which, whatever its body", async () => {
  const { status, headers } = await subject.ask("POST", "/v1/capabilities", undefined, {});
  expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect((await subject.ask("POST", "/nowhere")).status).toBe(404);
});

test("a page or a list of nothing cannot be asked for", async () => {
  for (const path of ["/v1/sessions?limit=0", "/v1/sessions/ses_01a22983-a7ad-76e0-92c7-7b05c2411149/events?limit=0"]) {
    const { status, body } = await subject.ask("GET", path);
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, "?limit"]);
  }
});
