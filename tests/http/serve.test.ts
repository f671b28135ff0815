import { afterEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { dirname, join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { Hono } from "hono";
import { openAgent } from "../../lib/agent/agent.ts";
import { createApp, openServerLog } from "../../lib/http/embed.ts";
import { readOrCreateToken } from "../../lib/http/token.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { startServer } from "../../lib/http/serve.ts";
import { rawStatus, startTestServer, type TestServer } from "../fixtures/server.ts";
import { createWorkspace } from "../fixtures/workspace.ts";

let subject: TestServer | null = null;

afterEach(async () => {
  await subject?.close();
  subject = null;
});

describe("the token file", () => {
  test("is made with a strong token, for its owner alone, and used again", async () => {
    subject = await startTestServer();
    const { token_file } = subject.server;
    expect(token_file).toBe(join(subject.workspace.home, "data/server.token"));
    expect(statSync(token_file).mode & 0o777).toBe(0o600);
    expect(subject.token.length).toBeGreaterThanOrEqual(43);
    expect(readOrCreateToken(token_file)).toBe(subject.token);
    expect(subject.server.login_url).not.toContain(subject.token);
  });

  test("may be a link; it is refused if others may read what it leads to, or if its token could be guessed", async () => {
    const workspace = await createWorkspace();
    try {
      const file = (name: string, text: string, mode = 0o600) => {
        const path = join(workspace.home, name);
        writeFileSync(path, text);
        chmodSync(path, mode);
        return path;
      };
      const good = "a-token-of-a-good-length";
      expect(readOrCreateToken(file("good", `${good}\n`))).toBe(good);
      expect(readOrCreateToken(file("bare", good))).toBe(good);
      // As secrets are mounted: a link in a folder that is one itself.
      mkdirSync(join(workspace.home, "..2026"), { mode: 0o755 });
      file("..2026/token", good, 0o400);
      symlinkSync("..2026", join(workspace.home, "..data"));
      symlinkSync("..data/token", join(workspace.home, "mounted"));
      expect(readOrCreateToken(join(workspace.home, "mounted"))).toBe(good);
      symlinkSync(file("target", good, 0o644), join(workspace.home, "link"));
      symlinkSync("nowhere", join(workspace.home, "dangling"));
      mkdirSync(join(workspace.home, "folder"), { mode: 0o700 });
      const bad = [
        file("open", good, 0o644),
        file("group", good, 0o640),
        file("short", "short"),
        file("empty", ""),
        file("two", `${good}\n\n`),
        "link",
        "dangling",
        "folder",
      ];
      for (const path of bad) {
        const name = path.startsWith("/") ? path : join(workspace.home, path);
        let message = "none";
        try {
          readOrCreateToken(name);
        } catch (error) {
          message = `${(error as Error).name}: ${(error as Error).message}`;
        }
        expect([path, message.split(" as ")[0]?.startsWith("ConfigError: Cannot use the token")]).toEqual([path, true]);
        expect(message).not.toContain(good);
      }
      expect(() => readOrCreateToken(join(workspace.home, "link"))).toThrow(
        "others may read it or write to it (mode 644): it must be yours or root's",
      );
      expect(() => readOrCreateToken(join(workspace.home, "dangling"))).toThrow("a link to something that is not there");
      expect(existsSync(join(workspace.home, "nowhere"))).toBe(false);
    } finally {
      await workspace.remove();
    }
  });

  test("is made in a folder that is there, or in the program's own", async () => {
    const workspace = await createWorkspace();
    try {
      const [own, other] = [join(workspace.home, "data"), join(workspace.home, "no/such")];
      expect(() => readOrCreateToken(join(other, "token"), own)).toThrow("its folder is not there: make it");
      expect(existsSync(join(workspace.home, "no"))).toBe(false);
      const made = readOrCreateToken(join(own, "more/token"), own);
      expect(readOrCreateToken(join(own, "more/token"))).toBe(made);
      expect(statSync(join(own, "more")).mode & 0o777).toBe(0o700);
    } finally {
      await workspace.remove();
    }
  });
});

describe("where it listens", () => {
  test("elsewhere than on loopback only with a token file that was named", async () => {
    const workspace = await createWorkspace();
    const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
    const agent = openAgent({ workspace: workspace.path, model: await workspace.script(), env });
    try {
      const error = await startServer(agent, { host: "0.0.0.0", env }).then(() => null, (reason: Error) => reason);
      expect([error?.name, error?.message]).toEqual(["UsageError", expect.stringContaining("--token-file")]);
      const token_file = join(workspace.home, "own.token");
      const server = await startServer(agent, { host: "0.0.0.0", env, token_file, allowed_hosts: ["orrery.test:80"] });
      const port = Number(new URL(server.url).port);
      // No browser can be sent to every address.
      expect([server.url, server.login_url]).toEqual([
        `http://0.0.0.0:${port}`,
        expect.stringContaining(`http://127.0.0.1:${port}/#login=`),
      ]);
      const status = async (host: string) => (await rawStatus(port, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status;
      // An address written as a number cannot be another's name; a name must have been named.
      expect(await Promise.all(["10.1.2.3:9000", `127.0.0.1:${port}`, `localhost:${port}`, "orrery.test:80", "orrery.test"].map(status)))
        .toEqual([
          200,
          200,
          200,
          200,
          200,
        ]);
      expect(await Promise.all(["evil.com", `evil.com:${port}`, "10.1.2.3.nip.io", "orrery.test:81"].map(status))).toEqual([
        403,
        403,
        403,
        403,
      ]);
      const refusal = await new Promise<IncomingMessage>((settle) =>
        get({ host: "127.0.0.1", port, path: "/healthz", headers: { host: "orrery:4760" } }, settle)
      );
      expect(await text(refusal)).toContain("--allowed-host");
      await server.close(0);
    } finally {
      await agent.close();
      await workspace.remove();
    }
  });

  test("every address of 127.0.0.0/8 is loopback, and has no name but its own", async () => {
    subject = await startTestServer();
    const env = { ORRERY_HOME: subject.workspace.home };
    const server = await startServer(subject.agent, { host: "127.0.0.2", env }).catch((error: Error) => error);
    // Not every system gives its loopback more than one.
    if (server instanceof Error) return expect(server.message).toContain("this machine has no such address");
    const port = Number(new URL(server.url).port);
    const status = async (host: string) => {
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
      get({ host: "127.0.0.2", port, path: "/healthz", headers: { host } }, (answer) => resolve(answer.resume().statusCode)).on(
        "error",
        reject,
      );
      return await promise;
    };
    expect([server.url, await status(`127.0.0.2:${port}`), await status(`127.0.0.1:${port}`)]).toEqual([
      `http://127.0.0.2:${port}`,
      200,
      403,
    ]);
    await server.close(0);
    const refused = await startServer(subject.agent, { host: "127.evil.test", env }).then(() => null, (error: Error) => error.name);
    expect(refused).toBe("UsageError");
  });

  test("an address that it cannot have is named in the error, with the option that names another", async () => {
    subject = await startTestServer();
    const { agent, port, workspace: { home } } = subject;
    const token_file = join(home, "own.token");
    const refused = (place: { readonly host?: string; readonly port: number }) =>
      startServer(agent, { ...place, token_file, env: { ORRERY_HOME: home } }).then(
        () => null,
        (reason: Error) => `${reason.name}: ${reason.message}`,
      );
    expect(await refused({ port })).toContain(
      `ConfigError: Cannot listen on 127.0.0.1:${port} as that port is taken: give another one with --port`,
    );
    // Of the addresses that are kept for documents.
    expect(await refused({ host: "192.0.2.1", port: 0 })).toBe(
      "ConfigError: Cannot listen on 192.0.2.1:0 as this machine has no such address: give one that it has with --host",
    );
  });

  test("is said as a URL without a slash at its end", async () => {
    subject = await startTestServer();
    expect(subject.server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });
});

test("the log and the journal hold nothing of the token, and the log nothing of what was said", async () => {
  const lines: string[] = [];
  await openServerLog("json", (line) => void lines.push(line));
  subject = await startTestServer({
    prepare: (workspace) => workspace.tool("hello", "echo canary-output"),
    script: [{ text: "canary-reply", calls: [{ name: "hello", arguments: { canary_input: "canary-input" } }] }, { text: "done" }],
  });
  const session = await subject.open({ title: "canary-title" });
  await subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "canary-prompt" });
  await subject.ask("GET", `/v1/sessions/${session}?canary-query=1`);
  await subject.ask("GET", "/canary-path");
  await subject.ask("GET", "/v1/sessions", undefined, { authorization: "Bearer canary-wrong-token-000" });
  const records = lines.map((line) => JSON.parse(line) as { message: string; route?: string; status?: number });
  expect(records.filter(({ message }) => message === "Request").map(({ route, status }) => [route, status])).toEqual([
    ["/v1/sessions", 201],
    ["/v1/sessions/:id/prompts", 200],
    ["/v1/sessions/:id", 422],
    ["other", 404],
    ["/v1/sessions", 401],
  ]);
  expect(lines.join("")).not.toContain("canary");
  expect(lines.join("")).not.toContain(subject.token);
  const stored = ["journal.sqlite", "journal.sqlite-wal"].map((name) => join(dirname(subject?.server.token_file ?? ""), name)).filter(
    existsSync,
  ).map((path) => readFileSync(path, "latin1"));
  expect(stored.join("")).toContain("canary-prompt");
  expect(stored.join("")).not.toContain(subject.token);
});

describe("what it cannot use is said before it listens", () => {
  const cases: Readonly<Record<string, readonly [object, string]>> = {
    "a host with a path": [{ allowed_hosts: ["http://x/y"] }, "UsageError: Cannot allow the host"],
    "an empty host": [{ allowed_hosts: [""] }, "UsageError: Cannot allow the host"],
    "every host": [{ allowed_hosts: ["*"] }, "UsageError: Cannot allow the host"],
    "a name without an address": [{ host: "nonexistent.invalid" }, 'ConfigError: Cannot listen on "nonexistent.invalid" as no address'],
  };
  for (const [name, [options, message]] of Object.entries(cases)) {
    test(name, async () => {
      subject = await startTestServer();
      const env = { ORRERY_HOME: subject.workspace.home };
      const token_file = join(subject.workspace.home, "own.token");
      const error = await startServer(subject.agent, { env, token_file, ...options }).then(() => null, (reason: Error) => reason);
      expect(`${error?.name}: ${error?.message}`).toContain(message);
    });
  }

  test("a model that nobody offers", async () => {
    subject = await startTestServer();
    const error = await startServer(subject.another({ model: "bogus" }), { env: { ORRERY_HOME: subject.workspace.home } }).then(
      () => null,
      (reason: Error) => reason,
    );
    expect(error?.message).toContain("bogus");
  });

  test("a token file that is no file, without waiting for somebody to write to it", async () => {
    const workspace = await createWorkspace();
    try {
      const path = join(workspace.home, "fifo");
      execFileSync("mkfifo", ["-m", "600", path]);
      expect(() => readOrCreateToken(path)).toThrow("it is not a regular file");
    } finally {
      await workspace.remove();
    }
  });
});

describe("the app in another server", () => {
  test("works below a path of it: health and the viewer are open, the rest is not, and places are said as they are there", async () => {
    subject = await startTestServer();
    const app = await createApp(subject.agent, { token: "a-token-of-a-good-length", hosts: ["api.example"] });
    const outer = new Hono();
    outer.route("/orrery", app);
    const ask = (path: string, init: RequestInit = {}) => outer.request(`http://api.example${path}`, init);
    expect([(await ask("/orrery/healthz")).status, (await ask("/orrery")).status, (await ask("/orrery/v1/sessions")).status]).toEqual([
      200,
      200,
      401,
    ]);
    const [page, slashed] = [await ask("/orrery"), await ask("/orrery/")];
    expect([slashed.status, await slashed.text(), slashed.headers.get("content-security-policy")]).toEqual([
      200,
      await page.text(),
      page.headers.get("content-security-policy"),
    ]);
    const others = ["/orrery//", "/orrery/nowhere"].map(async (path) => (await ask(path)).status);
    expect([(await ask("/orrery/", { method: "POST" })).status, ...await Promise.all(others)]).toEqual([404, 401, 401]);
    expect((await ask("/healthz")).status).toBe(404);
    const headers = { authorization: `Bearer ${app.token}`, "content-type": "application/json" };
    const made = await ask("/orrery/v1/sessions", { method: "POST", headers, body: "{}" });
    expect([made.status, (await ask(made.headers.get("location") ?? "", { headers })).status]).toEqual([201, 200]);
    const document = await (await ask("/orrery/openapi.json", { headers })).json() as { servers: unknown };
    expect(document.servers).toEqual([{ url: "/orrery" }]);
    await app.drain(0);
  });

  test("answers without one, with the token it was given, under names it was given", async () => {
    subject = await startTestServer();
    const app = await createApp(subject.agent, { token: "a-token-of-a-good-length", hosts: ["api.example"] });
    const ask = (path: string, headers: Record<string, string> = {}, host = "api.example") =>
      app.request(`http://${host}${path}`, { headers });
    expect((await ask("/healthz")).status).toBe(200);
    expect((await ask("/healthz", {}, "evil.example")).status).toBe(403);
    expect((await ask("/v1/sessions")).status).toBe(401);
    expect((await ask("/v1/sessions", { authorization: `Bearer ${app.token}` })).status).toBe(200);
    await app.drain(0);
    expect((await ask("/readyz")).status).toBe(503);
  });

  test("has a token of its own if it was given none, and answers loopback names on any port", async () => {
    subject = await startTestServer();
    const app = await createApp(subject.agent);
    expect((await app.request("http://localhost:1234/v1/sessions", { headers: { authorization: `Bearer ${app.token}` } })).status).toBe(
      200,
    );
    expect((await app.request("/healthz")).status).toBe(200);
  });

  test("opens sessions in the mode of its agent, which is another than that of serve where nobody chose one", async () => {
    const { another } = subject = await startTestServer();
    const modeOf = async (options: AgentOptions) => {
      const app = await createApp(another(options));
      const headers = { authorization: `Bearer ${app.token}`, "content-type": "application/json" };
      const made = await app.request("/v1/sessions", { method: "POST", headers, body: "{}" });
      return ((await made.json()) as { mode: string }).mode;
    };
    expect([await modeOf({}), await modeOf({ defaultMode: "normal" }), await modeOf({ mode: "plan" })]).toEqual([
      "auto-accept",
      "normal",
      "plan",
    ]);
  });

  test("refuses a token that could be guessed", async () => {
    subject = await startTestServer();
    expect(await createApp(subject.agent, { token: "secret" }).then(() => null, (error: Error) => error.name)).toBe("RangeError");
  });
});
