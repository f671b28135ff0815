import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { fetchKeepingAll } from "../../lib/platform/keeping-fetch.ts";
import { fetchByRule, proxyFor } from "../../lib/platform/proxy.ts";
import { sourceCommand } from "../fixtures/supervision.ts";

const VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"];
const KEY = { headers: { authorization: "Bearer sk-canary" } };
const ASKING = { ...KEY, method: "POST", body: "{}" };

let proxy: { readonly server: Server; readonly seen: string[] };
let before: readonly (readonly [string, string | undefined])[];

beforeEach(async () => {
  before = VARIABLES.map((name) => [name, process.env[name]] as const);
  for (const name of VARIABLES) delete process.env[name];
  proxy = await startProxy();
  process.env["HTTP_PROXY"] = process.env["HTTPS_PROXY"] = `http://127.0.0.1:${portOf(proxy.server)}`;
});

afterEach(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await stop(proxy.server);
});

/** Notes what it is asked and refuses it. */
async function startProxy(): Promise<typeof proxy> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
    response.writeHead(502).end();
  });
  server.on("connect", (request, socket) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
    socket.end("HTTP/1.1 502 refused\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, seen };
}

async function startServer(): Promise<Server> {
  const server = createServer((_request, response) => void response.end("the server itself"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

// First of all: Deno reads the variables of its common client once.
describe("a request where the environment names a proxy", () => {
  test("goes through it if it is https, in a tunnel that shows no key", async () => {
    for (const each of [fetchByRule, fetchKeepingAll]) await expect(each("https://example.invalid/v1", ASKING)).rejects.toThrow();
    expect(proxy.seen).toEqual(["CONNECT example.invalid:443 ", "CONNECT example.invalid:443 "]);
  });

  test("goes straight to its server if it is plain http", async () => {
    for (const each of [fetchByRule, fetchKeepingAll]) await expect(each("http://example.invalid/v1", ASKING)).rejects.toThrow();
    expect(proxy.seen).toEqual([]);
  });

  test("goes straight to a server on this machine, and leaves the environment as it was", async () => {
    process.env["NO_PROXY"] = "intranet.example";
    const server = await startServer();
    for (const host of ["127.0.0.1", "localhost"]) {
      expect(await (await fetchByRule(`http://${host}:${portOf(server)}/v1`, KEY)).text()).toBe("the server itself");
    }
    await stop(server);
    expect([proxy.seen, process.env["NO_PROXY"], process.env["no_proxy"]]).toEqual([[], "intranet.example", undefined]);
  });
});

test("a request is not printed, with its key, because the environment has Bun print requests", async () => {
  const server = await startServer();
  const [program = "", ...args] = sourceCommand("./programs/fetch-by-rule.ts");
  const env = { ...process.env, BUN_CONFIG_VERBOSE_FETCH: "curl" };
  // Not spawnSync: the server is ours.
  const child = spawn(program, [...args, `http://127.0.0.1:${portOf(server)}/`], { env });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => void (printed += String(chunk)));
  await new Promise((resolve) => child.on("close", resolve));
  await stop(server);
  expect(printed).toBe("200 the server itself\n");
});

describe("proxyFor()", () => {
  const env = {
    HTTPS_PROXY: "http://user:secret@proxy.example:3128",
    HTTP_PROXY: "proxy.example:3128",
    NO_PROXY: ".intranet.example,one.example",
  };

  test("names the variable and the address without credentials", () => {
    expect(proxyFor("https://api.example/v1", env)).toEqual({ variable: "HTTPS_PROXY", address: "proxy.example:3128", used: true });
    expect(proxyFor("http://api.example/v1", env)).toEqual({ variable: "HTTP_PROXY", address: "proxy.example:3128", used: false });
  });

  test("names none where there is none to name", () => {
    const exempt = ["https://a.intranet.example/", "https://one.example/", "https://localhost:8443/", "http://127.1.2.3/", "http://[::1]/"];
    expect(exempt.map((url) => proxyFor(url, env))).toEqual(exempt.map(() => null));
    expect(proxyFor("https://api.example/v1", {})).toBeNull();
  });
});
