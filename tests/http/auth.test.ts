import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

let subject: TestServer;

beforeAll(async () => {
  subject = await startTestServer();
});
afterAll(() => subject.close());

const ID = "ses_01a22983-a7ad-76e0-92c7-7b05c2411149";
const CALL = "call_01a22983-a7ad-76e0-92c7-7b05c2411149";

/** Everything but health and the exchange of a code. */
const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ["GET", "/metrics"],
  ["GET", "/openapi.json"],
  ["GET", "/v1/capabilities"],
  ["GET", "/v1/tools"],
  ["POST", "/v1/sessions"],
  ["GET", "/v1/sessions"],
  ["GET", `/v1/sessions/${ID}`],
  ["DELETE", `/v1/sessions/${ID}`],
  ["POST", `/v1/sessions/${ID}/prompts`],
  ["GET", `/v1/sessions/${ID}/events`],
  ["POST", `/v1/sessions/${ID}/approvals/${CALL}`],
  ["POST", `/v1/sessions/${ID}/cancel`],
  ["POST", `/v1/sessions/${ID}/fork`],
  ["POST", `/v1/sessions/${ID}/resume`],
  ["GET", `/v1/sessions/${ID}/calls/${CALL}`],
  ["GET", "/nowhere"],
  ["PUT", "/v1/sessions"],
];

describe("every route", () => {
  const ways: Readonly<Record<string, (token: string) => { header?: string; query?: string }>> = {
    "without a token": () => ({}),
    "with a wrong token": (token) => ({ header: `Bearer ${token.slice(0, -1)}x` }),
    "with the scheme alone": () => ({ header: "bearer" }),
    "with another scheme": (token) => ({ header: `Basic ${btoa(`x:${token}`)}` }),
    "with more behind the token": (token) => ({ header: `Bearer ${token} x` }),
    "with the token in the query": (token) => ({ query: `?token=${token}&access_token=${token}` }),
  };
  test("takes the scheme in any case, as RFC 9110 has it", async () => {
    for (const scheme of ["bearer", "BEARER", "Bearer "]) {
      const { status } = await subject.ask("GET", "/v1/capabilities", undefined, { authorization: `${scheme} ${subject.token}` });
      expect([scheme, status]).toEqual([scheme, 200]);
    }
  });

  for (const [name, way] of Object.entries(ways)) {
    test(`answers 401 ${name}, and nothing happens`, async () => {
      const { header, query = "" } = way(subject.token);
      for (const [method, path] of ROUTES) {
        const response = await fetch(subject.server.url + path + query, {
          method,
          headers: { ...(header === undefined ? {} : { authorization: header }), "content-type": "application/json" },
          ...(method === "POST" || method === "PUT" ? { body: "{}" } : {}),
        });
        expect([path, response.status]).toEqual([path, 401]);
        expect(response.headers.get("www-authenticate")).toContain("Bearer");
        expect(response.headers.get("content-type")).toBe("application/problem+json");
        await response.body?.cancel();
      }
      expect((await subject.ask("GET", "/v1/sessions")).body.sessions).toEqual([]);
    });
  }
});

test("health needs no token and says nothing more than that", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const response = await fetch(subject.server.url + path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(Object.keys(await response.json() as object)).toEqual(["status"]);
  }
});

test("a large body without a token is answered, not buffered", async () => {
  const response = await fetch(`${subject.server.url}/v1/sessions`, { method: "POST", body: "x".repeat(12 * 1024 * 1024) });
  expect(response.status).toBe(401);
  await response.text();
});

test("a one-time code gets one token, which is not the server's own", async () => {
  const login = new URL(subject.server.login_url);
  expect(login.origin).toBe(subject.server.url);
  const code = login.hash.replace("#login=", "");
  const exchange = (given: string) =>
    fetch(`${subject.server.url}/v1/login`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "same" },
      body: JSON.stringify({ code: given }),
    });
  expect((await exchange("guess")).status).toBe(401);
  const { token } = await (await exchange(code)).json() as { token: string };
  expect(token).not.toBe(subject.token);
  const again = await exchange(code);
  expect([again.status, (await again.json() as { detail: string }).detail]).toEqual([401, expect.stringContaining("the server's token")]);
  for (const good of [token, subject.token]) {
    expect((await subject.ask("GET", "/v1/sessions", undefined, { authorization: `Bearer ${good}` })).status).toBe(200);
  }
});
