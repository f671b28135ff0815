import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Hono } from "hono";
import type { AppEnv } from "../../lib/http/env.ts";
import { guardHost } from "../../lib/http/guard.ts";
import { problemResponse, toProblem } from "../../lib/http/problem.ts";
import { rawStatus, startTestServer, type TestServer } from "../fixtures/server.ts";

let subject: TestServer;

beforeAll(async () => {
  subject = await startTestServer();
});
afterAll(() => subject.close());

const PATHS = ["/healthz", "/v1/sessions", "/nowhere", "/v1/sessions/ses_01a22983-a7ad-76e0-92c7-7b05c2411149/events"];

async function statusOf(head: (port: number) => string, path: string, method = "GET", target = path): Promise<number> {
  const auth = `Authorization: Bearer ${subject.token}\r\n`;
  const { status } = await rawStatus(subject.port, `${method} ${target} HTTP/1.1\r\n${head(subject.port)}${auth}\r\n`);
  return status;
}

describe("a request under a name that is not the server's", () => {
  const hosts: Readonly<Record<string, (port: number) => string>> = {
    "another name": (port) => `Host: evil.com:${port}\r\n`,
    "a name below ours": (port) => `Host: localhost.evil.com:${port}\r\n`,
    "a name that resolves to loopback": (port) => `Host: 127.0.0.1.nip.io:${port}\r\n`,
    "another port": () => "Host: 127.0.0.1:1\r\n",
    "no port": () => "Host: 127.0.0.1\r\n",
    "an empty name": () => "Host: \r\n",
    "no Host at all": () => "",
    "user information": (port) => `Host: a@127.0.0.1:${port}\r\n`,
    "a path": (port) => `Host: 127.0.0.1:${port}/x\r\n`,
    "a root dot": (port) => `Host: localhost.:${port}\r\n`,
    "two Host headers, ours first": (port) => `Host: 127.0.0.1:${port}\r\nHost: evil.com\r\n`,
    "two Host headers, ours last": (port) => `Host: evil.com\r\nHost: 127.0.0.1:${port}\r\n`,
    "two Host headers that are the same": (port) => `Host: 127.0.0.1:${port}\r\nHost: 127.0.0.1:${port}\r\n`,
  };
  for (const [name, head] of Object.entries(hosts)) {
    test(`is refused on every path: ${name}`, async () => {
      for (const path of PATHS) expect([400, 403]).toContain(await statusOf(head, path));
    });
  }

  test("is refused if its target names a host, whatever Host says", async () => {
    const own = (port: number) => `Host: 127.0.0.1:${port}\r\n`;
    for (const path of PATHS) {
      expect([400, 403]).toContain(await statusOf(own, path, "GET", `http://evil.com${path}`));
      for (const host of ["127.0.0.1:1", `a@127.0.0.1:${subject.port}`, "127.0.0.1", `127.0.0.1:${subject.port}.evil.com`]) {
        expect([host, await statusOf(own, path, "GET", `http://${host}${path}`)]).toEqual([host, 403]);
      }
      expect(await statusOf(own, path, "GET", `https://127.0.0.1:${subject.port}${path}`)).toBe(403);
      // Both must be right.
      for (const host of ["Host: evil.com\r\n", ""]) {
        expect([400, 403]).toContain(await statusOf(() => host, path, "GET", `http://127.0.0.1:${subject.port}${path}`));
      }
    }
    expect([0, 400, 403]).toContain(await statusOf(own, "", "OPTIONS", "*"));
    const foreign = (port: number) => `Host: evil.com:${port}\r\n`;
    expect(await statusOf(foreign, "", "CONNECT", `127.0.0.1:${subject.port}`)).toBe(403);
    expect(await statusOf((port) => `${own(port)}Origin: http://evil.com\r\n`, "", "CONNECT", "evil.com:443")).toBe(403);
  });
});

test("a request may name its host in its target, as to a proxy: it is answered as one for the path", async () => {
  const { port } = subject;
  const own = () => `Host: localhost:${port}\r\n`;
  for (const host of [`127.0.0.1:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
    expect([host, await statusOf(own, "", "GET", `HTTP://${host}/v1/sessions?limit=1`)]).toEqual([host, 200]);
    expect([host, await statusOf(own, "", "GET", `http://${host}/v1/sessions?limit=0`)]).toEqual([host, 422]);
    expect([host, await statusOf(own, "", "GET", `http://${host}/nothing`)]).toEqual([host, 404]);
    expect([host, await statusOf(own, "", "GET", `http://${host}`)]).toEqual([host, 200]);
  }
  const stranger = () => `${own()}Origin: http://evil.com\r\n`;
  expect(await statusOf(stranger, "", "GET", `http://127.0.0.1:${port}/v1/sessions`)).toBe(403);
});

describe("a request of a page of another origin", () => {
  const origins: Readonly<Record<string, (port: number) => string>> = {
    "null": () => "null",
    "a name that begins like ours": (port) => `http://localhost:${port}.evil.com`,
    "another port": () => "http://127.0.0.1:1",
    "another scheme": (port) => `https://localhost:${port}`,
    "a path behind": (port) => `http://localhost:${port}/`,
    "another site": () => "https://evil.com",
    "empty": () => "",
  };
  for (const [name, origin] of Object.entries(origins)) {
    test(`is refused on every path: ${name}`, async () => {
      const head = (port: number) => `Host: 127.0.0.1:${port}\r\nOrigin: ${origin(port)}\r\n`;
      for (const path of PATHS) expect(await statusOf(head, path)).toBe(403);
    });
  }

  test("gets no leave to read across origins", async () => {
    const request =
      `OPTIONS /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:${subject.port}\r\nOrigin: https://evil.com\r\nAccess-Control-Request-Method: POST\r\n\r\n`;
    const { status, text } = await rawStatus(subject.port, request);
    expect(status).toBe(403);
    expect(text.toLowerCase()).not.toContain("access-control-allow");
  });
});

test("a request under each of the server's own names is answered, with and without its own origin", async () => {
  for (const name of ["127.0.0.1", "localhost", "[::1]", "LocalHost"]) {
    expect(await statusOf((port) => `Host: ${name}:${port}\r\n`, "/healthz")).toBe(200);
    expect(await statusOf((port) => `Host: ${name}:${port}\r\nOrigin: http://localhost:${port}\r\n`, "/v1/sessions")).toBe(200);
  }
});

describe("in a server of another's", () => {
  const app = new Hono<AppEnv>();
  app.onError((error, c) => problemResponse(toProblem(error), c));
  app.use(guardHost(() => ["127.0.0.1", "api.example", "localhost:8080"]));
  app.get("/", (c) => c.text("ok"));
  const status = async (url: string, host: string) => (await app.request(url, { headers: { host } })).status;

  test("a request is for a URL with one of the names, and names one in Host", async () => {
    for (
      const url of [
        "http://evil.com/",
        "https://evil.com:8080/",
        "http://api.example@evil.com/",
        "http://a@api.example/",
        "http://localhost:1/",
      ]
    ) {
      expect([url, await status(url, "api.example")]).toEqual([url, 403]);
    }
    expect(await status("http://api.example/", "evil.com")).toBe(403);
    for (const url of ["http://api.example/", "http://api.example:9/", "http://127.0.0.1:1/", "http://localhost:8080/", "/"]) {
      expect([url, await status(url, "api.example")]).toEqual([url, 200]);
    }
  });

  test("a request without Host, and with a path for a target, is refused", async () => {
    const asked = new Request("http://api.example/");
    Object.defineProperty(asked, "url", { value: "/" });
    expect((await app.fetch(asked)).status).toBe(403);
  });
});

test("a name without a port is one with the port of plain HTTP, in Host and in Origin", async () => {
  const app = new Hono<AppEnv>();
  app.onError((error, c) => problemResponse(toProblem(error), c));
  app.use(guardHost(() => ["127.0.0.1:80", "localhost:80"]));
  app.get("/", (c) => c.text("ok"));
  const status = async (host: string, origin?: string) =>
    (await app.request("/", { headers: { host, ...(origin === undefined ? {} : { origin }) } })).status;
  expect(await Promise.all([status("127.0.0.1"), status("localhost:80"), status("localhost", "http://localhost")])).toEqual([
    200,
    200,
    200,
  ]);
  expect(await Promise.all([status("127.0.0.1:81"), status("localhost", "https://localhost"), status("evil.com")])).toEqual([
    403,
    403,
    403,
  ]);
});
