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

  test("is 413 for a body of more than a code from somebody without a token", async () => {
    const sizes = [[3000, 422], [5000, 413]] as const;
    for (const [size, status] of sizes) {
      const { status: answered } = await subject.ask("POST", "/v1/login", { code: "x".repeat(size) }, { authorization: "" });
      expect([size, answered]).toEqual([size, status]);
    }
    expect((await subject.ask("POST", "/v1/sessions", { system: "x".repeat(5000) })).status).toBe(201);
  });

  test("is 404 for ids in another form and for sessions that are not there", async () => {
    for (
      const id of ["1", "..%2f..%2fetc%2fpasswd", "SES_01a22983-a7ad-76e0-92c7-7b05c2411149", "ses_01a22983-a7ad-76e0-92c7-7b05c2411149"]
    ) {
      for (const path of ["", "/events", "/calls/call_01a22983-a7ad-76e0-92c7-7b05c2411149"]) {
        expect([id, path, (await subject.ask("GET", `/v1/sessions/${id}${path}`)).status]).toEqual([id, path, 404]);
      }
      for (const path of ["/prompts", "/cancel", "/fork", "/resume", "/mode"]) {
        const body = path === "/prompts" ? { text: "x" } : path === "/mode" ? { mode: "plan" } : {};
        expect([id, path, (await subject.ask("POST", `/v1/sessions/${id}${path}`, body)).status])
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
    const tunnel = await rawStatus(subject.port, `CONNECT example.com:443 HTTP/1.1\r\n${head}X-Request-Id: my-id.2\r\n\r\n`);
    expect([tunnel.status, /^allow: (.*)$/im.exec(tunnel.text)?.[1]?.trim()]).toEqual([405, "GET, HEAD"]);
    expect(tunnel.text).toContain("urn:orrery:problem:method_not_allowed");
    expect(tunnel.text.toLowerCase()).toContain("x-request-id: my-id.2");
    expect((await subject.ask("GET", "/metrics")).text).toContain('{method="other",route="/",status="405"} 1');
  });

  test("is 415 for anything but plain JSON, before the body is looked at", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]) {
      expect([type, (await subject.ask("POST", "/v1/sessions", "{}", { "content-type": type })).status]).toEqual([type, 415]);
    }
    expect((await subject.ask("POST", "/v1/sessions", "{}", { "content-encoding": "gzip" })).status).toBe(415);
    for (const type of ["application/json; charset=utf-16", 'application/json; x=1; charset="latin1"', "application/json;charset=utf-80"]) {
      expect([type, (await subject.ask("POST", "/v1/sessions", "{}", { "content-type": type })).status]).toEqual([type, 415]);
    }
    for (const type of ["application/json; charset=utf-8", 'application/json;charset="UTF-8"; x=1']) {
      expect([type, (await subject.ask("POST", "/v1/sessions", "{}", { "content-type": type })).status]).toEqual([type, 201]);
    }
  });

  test("is 417 for an expectation that nobody can meet, once it is known who was meant and who asks", async () => {
    const ask = async (head: string) =>
      await rawStatus(
        subject.port,
        `POST /v1/sessions HTTP/1.1\r\n${head}Content-Type: application/json\r\nExpect: foo\r\nContent-Length: 2\r\n\r\n{}`,
      );
    const [host, token] = [`Host: 127.0.0.1:${subject.port}\r\n`, `Authorization: Bearer ${subject.token}\r\n`];
    expect((await ask(`Host: evil.com\r\n${token}`)).status).toBe(403);
    expect((await ask(`${host}${token}Origin: http://evil.com\r\n`)).status).toBe(403);
    expect((await ask(host)).status).toBe(401);
    const { status, text } = await ask(`${host}${token}X-Request-Id: my-id.3\r\n`);
    expect([status, text.includes("urn:orrery:problem:expectation_failed")]).toEqual([417, true]);
    expect(text.toLowerCase()).toContain("x-request-id: my-id.3");
    expect((await subject.ask("GET", "/metrics")).text).toContain('method="POST",route="/v1/sessions",status="417"');
  });

  test("is 400 with the place for a body that is no JSON", async () => {
    const { status, body } = await subject.ask("POST", "/v1/sessions", '{"title":}');
    expect([status, body.type]).toEqual([400, "urn:orrery:problem:malformed_json"]);
    expect(body.detail).toContain("character 9");
    expect((await subject.ask("POST", "/v1/sessions", "")).body.detail).toContain("at least {}");
  });

  test("is 400 with the name for a key that comes twice, also if it is written with an escape", async () => {
    for (const body of ['{"title":"a","mode":"plan","title":"b"}', '{"mode":"plan","m\\u006fde":"yolo"}']) {
      const { status, body: problem } = await subject.ask("POST", "/v1/sessions", body);
      expect([body, status, problem.type]).toEqual([body, 400, "urn:orrery:problem:malformed_json"]);
      expect(problem.detail).toMatch(/"(title|mode)"/);
    }
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

  test("is 422 with the name of a query parameter that is not known, on every route that could take it for one that counts", async () => {
    const none = `/v1/sessions/${session}/calls/call_01a22983-a7ad-76e0-92c7-7b05c2411149`;
    for (
      const path of [
        "/v1/sessions",
        `/v1/sessions/${session}`,
        `/v1/sessions/${session}/events`,
        "/v1/tools",
        "/v1/capabilities",
        "/metrics",
        none,
      ]
    ) {
      const { status, body } = await subject.ask("GET", `${path}?limt=1`);
      expect([path, status, body.errors]).toEqual([path, 422, [{ pointer: "?limt", detail: "is not known here" }]]);
    }
    for (const path of ["prompts", "cancel", "fork", "resume"]) {
      const { status, body } = await subject.ask(
        "POST",
        `/v1/sessions/${session}/${path}?wiat=true`,
        path === "prompts" ? { text: "x" } : {},
      );
      expect([path, status, body.errors?.[0]?.pointer]).toEqual([path, 422, "?wiat"]);
    }
    const { body } = await subject.ask("POST", `/v1/sessions/${session}/prompts`, { txt: "x" });
    expect(body.errors).toEqual([{ pointer: "/text", detail: "is missing" }, { pointer: "/txt", detail: "is not known here" }]);
    expect((await subject.ask("DELETE", `/v1/sessions/${session}?force=true`)).status).toBe(422);
    expect((await subject.ask("GET", `/v1/sessions/${session}?`)).status).toBe(200);
    expect((await subject.ask("GET", "/healthz?probe=1")).status).toBe(200);
  });

  test("says how long a number may be", async () => {
    const { status, body } = await subject.ask("GET", `/v1/sessions/${session}/events?after=1000000000000000`);
    expect([status, body.errors]).toEqual([422, [{ pointer: "?after", detail: "must have at most 15 digits" }]]);
    expect((await subject.ask("GET", `/v1/sessions/${session}/events?after=-1`)).body.errors[0].detail).toBe("must be a whole number");
  });

  test("is 422 with a pointer for text that is no Unicode, wherever it stands in a body", async () => {
    const bodies: readonly (readonly [path: string, body: string, pointer: string])[] = [
      ["", '{"title":"\\ud800"}', "/title"],
      ["", '{"system":"a \\uDFFF b"}', "/system"],
      ["", '{"\\ud83dx":1}', "/\ufffdx"],
      [`/${session}/prompts`, '{"text":"\\ud800 x"}', "/text"],
      [`/${session}/approvals/call_01a22983-a7ad-76e0-92c7-7b05c2411149`, '{"decision":"deny","reason":"\\udc00\\ud800"}', "/reason"],
      [`/${session}/cancel`, '{"a":[{"b/c":"\\ud800"}]}', "/a/0/b~1c"],
    ];
    for (const [path, body, pointer] of bodies) {
      const refused = await subject.ask("POST", `/v1/sessions${path}`, body);
      expect([body, refused.status, refused.body.errors?.map((each: { pointer: string }) => each.pointer)]).toEqual([body, 422, [pointer]]);
    }
    const whole = await subject.ask("POST", "/v1/sessions", '{"title":"\\ud83d\\ude00 \\\\ud800"}');
    expect(whole.status).toBe(201);
    expect((await subject.ask("GET", "/v1/sessions?limit=1")).body.sessions[0].title).toBe("\u{1f600} \\ud800");
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

  const CHUNKED = "Transfer-Encoding: chunked\r\n";
  const framings: Readonly<Record<string, readonly [string, string, number, string]>> = {
    "a size that is none": [CHUNKED, "zz\r\n{}\r\n0\r\n\r\n", 400, "bad_request"],
    "a chunk that does not end where its size says": [CHUNKED, "2\r\n{}XX0\r\n\r\n", 400, "bad_request"],
    "a later chunk that is broken": [CHUNKED, "1\r\n{\r\n-1\r\n}\r\n0\r\n\r\n", 400, "bad_request"],
    "a coding that nobody knows": ["Transfer-Encoding: xchunked\r\n", "2\r\n{}\r\n0\r\n\r\n", 400, "bad_request"],
    "chunked below another coding": ["Transfer-Encoding: chunked, gzip\r\n", "2\r\n{}\r\n0\r\n\r\n", 400, "bad_request"],
    "another coding below chunked": ["Transfer-Encoding: gzip, chunked\r\n", "2\r\n{}\r\n0\r\n\r\n", 501, "unsupported_transfer_coding"],
    "the same in two headers": [`Transfer-Encoding: gzip\r\n${CHUNKED}`, "2\r\n{}\r\n0\r\n\r\n", 501, "unsupported_transfer_coding"],
    "two ways to say where it ends": [`${CHUNKED}Content-Length: 2\r\n`, "2\r\n{}\r\n0\r\n\r\n", 400, "bad_request"],
    "two lengths": ["Content-Length: 2\r\nContent-Length: 3\r\n", "{}x", 400, "bad_request"],
    "a length that is none": ["Content-Length: -1\r\n", "{}", 400, "bad_request"],
  };
  for (const [name, [headers, body, status, code]] of Object.entries(framings)) {
    test(`is ${status} for a body with ${name}`, async () => {
      const raw = await subject.raw();
      let text = "";
      raw.onText((part) => text += part);
      raw.send(`POST /v1/sessions ${head()}Connection: close\r\n${headers}\r\n${body}`);
      await raw.closed;
      expect(text.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
      expect(text.toLowerCase()).toContain("content-type: application/problem+json");
      expect(text).toContain(`"urn:orrery:problem:${code}"`);
      expect(text.match(/HTTP\/1\.1 /g)?.length).toBe(1);
    });
  }

  test("is 401 and not 400 for a broken body of somebody without a token", async () => {
    const anonymous = head().replace(/Authorization:.*\r\n/i, "");
    expect((await rawStatus(subject.port, `POST /v1/sessions ${anonymous}${CHUNKED}\r\nzz\r\n`)).status).toBe(401);
  });

  test("is 431 for more than 100 header fields, however many, and says which limit was passed", async () => {
    for (const [fields, expected] of [[100, 200], [101, 431], [190, 431], [250, 431], [1500, 431]] as const) {
      const own = `Host: 127.0.0.1:${subject.port}\r\nAuthorization: Bearer ${subject.token}\r\n`;
      const more = Array.from({ length: fields - 2 }, (_each, index) => `${index}: x\r\n`).join("");
      const raw = await subject.raw();
      let text = "";
      const all = new Promise<void>((resolve) => raw.onText((part) => (text += part).includes("}") && resolve()));
      raw.send(`GET /v1/sessions HTTP/1.1\r\n${own}${more}\r\n`);
      await Promise.race([all, raw.closed]);
      raw.socket.destroy();
      expect([fields, Number(text.split(" ")[1])]).toEqual([fields, expected]);
      if (expected === 431) expect(text).toContain('"detail":"Cannot read this request as its head has more than 100 fields"');
    }
  });

  test("is 413 for more than 1,000 values, known before the rest is read, and no fault of the JSON", async () => {
    const values = (count: number) => Array.from({ length: count }, (_each, index) => `"k${index}":0`).join(",");
    const types = async (body: string) => {
      const { status, body: problem } = await subject.ask("POST", "/v1/sessions", body);
      return [status, (problem.type as string).split(":").at(-1)];
    };
    // The object is one as well.
    expect(await types(`{${values(999)}}`)).toEqual([422, "invalid"]);
    expect(await types(`{${values(1000)}}`)).toEqual([413, "too_many_values"]);
    expect(await types(`{${values(1000)}, what stands here is not looked at`)).toEqual([413, "too_many_values"]);
    expect(await types(`{"a":${"[".repeat(5000)}`)).toEqual([413, "too_many_values"]);
    expect(await types(`{"a":"${",".repeat(5000)}"}`)).toEqual([422, "invalid"]);
    const { body } = await subject.ask("POST", "/v1/sessions", `{"title":[${"1,".repeat(1500)}1],"title":"b"}`);
    expect(body.detail).toBe("Cannot take this body as it is made of more than 1000 values");
  });

  test("ends what is no HTTP, and heads without bound", async () => {
    expect((await rawStatus(subject.port, "what\r\n\r\n")).status).toBe(400);
    const { status } = await rawStatus(
      subject.port,
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${subject.port}\r\nX: ${"a".repeat(200_000)}\r\n\r\n`,
    );
    expect([0, 400, 431]).toContain(status);
    const large = await rawStatus(
      subject.port,
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${subject.port}\r\nX: ${"a".repeat(17_000)}\r\n\r\n`,
    );
    expect(large.text).toContain('Cannot read this request as its head has more than 16 KiB"');
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
