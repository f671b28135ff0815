import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rawStatus, startTestServer, type TestServer } from "../fixtures/server.ts";

const root = resolve(import.meta.dirname, "../..");
let subject: TestServer;
let page: Response;
let text: string;

beforeAll(async () => {
  subject = await startTestServer();
  page = await fetch(`${subject.server.url}/`);
  text = await page.text();
});
afterAll(() => subject.close());

const blocks = (tag: string) => [...text.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, "g"))].map(([, body = ""]) => body);
const digest = (body: string) => `'sha256-${createHash("sha256").update(body).digest("base64")}'`;

describe("the page", () => {
  test("is one document that needs no token and holds nothing of the server", () => {
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text.startsWith("<!doctype html><html")).toBe(true);
    expect(text).not.toContain(subject.token);
    expect(text).not.toContain(subject.workspace.path);
  });

  test("asks nobody for anything: what it names lies in itself", () => {
    const markup = text.replace(/<(style|script)\b[^>]*>[\s\S]*?<\/\1>/g, "");
    const named = [...markup.matchAll(/\b(?:src|href|action|srcset|data)="([^"]*)"/g)].map(([, target = ""]) => target);
    expect(named.filter((target) => !target.startsWith("#") && !target.startsWith("data:image/svg+xml,"))).toEqual([]);
    expect(blocks("style").join("")).not.toMatch(/url\(|@import/);
    expect(markup).not.toMatch(/\son\w+=|\sstyle=/);
  });

  test("has a policy that allows its own script and style by their digests, and nothing from text to markup (a pin)", () => {
    const [script = "", style = ""] = [blocks("script")[0], blocks("style")[0]];
    expect([blocks("script").length, blocks("style").length]).toEqual([1, 1]);
    expect(page.headers.get("content-security-policy")?.split("; ")).toEqual([
      "default-src 'none'",
      `script-src ${digest(script)}`,
      `style-src ${digest(style)}`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("cache-control")).toBe("no-store");
  });

  test("is not given under another name, nor to another method", async () => {
    expect((await rawStatus(subject.port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")).status).toBe(403);
    const other = await subject.ask("DELETE", "/");
    expect([other.status, other.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(`${subject.server.url}/`, { method: "HEAD" })).status).toBe(200);
  });

  test("opens nothing else: what it asks for still takes the token", async () => {
    for (const path of ["/v1/sessions", "/v1/capabilities", "/metrics", "/openapi.json", "/script.txt", "/favicon.ico"]) {
      expect([path, (await fetch(subject.server.url + path)).status]).toEqual([path, 401]);
    }
  });
});

test("the script is what its sources are built to: else run `bun run viewer`", () => {
  const command = ["build", "lib/http/viewer/client/main.ts", "--target=browser", "--minify"];
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/bun"), command, { cwd: root, encoding: "utf8" });
  expect(status).toBe(0);
  expect(stdout === readFileSync(join(root, "lib/http/viewer/script.txt"), "utf8")).toBe(true);
}, 20_000);

test("the script has no way to make markup of text, and cannot end its own element", () => {
  const script = readFileSync(join(root, "lib/http/viewer/script.txt"), "utf8");
  expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|localStorage/);
  expect(script).not.toMatch(/<\/script|<!--/i);
});
