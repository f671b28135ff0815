import { afterEach, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/http.md"), "utf8");
const script = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block).join("\necho; echo ---\n");
const hasCurl = (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, "curl")));

let subject: TestServer | null = null;

afterEach(async () => {
  await subject?.close();
  subject = null;
});

test.skipIf(!hasCurl)("the page's commands do what the page says", async () => {
  subject = await startTestServer({
    prepare: (workspace) => workspace.tool("touch_it", "touch made", 'approval = "always"'),
    script: [{ text: "about 400" }, { calls: [{ name: "touch_it", arguments: {} }] }, { text: ["slow", "ly"], delay_ms: 60_000 }],
  });
  const { code, out, err } = await run(script, { URL: subject.server.url, TOKEN: subject.token });
  expect([code, err, code === 0 ? "" : out.slice(-600)]).toEqual([0, "", ""]);
  const blocks = out.split("\n---\n");
  expect(blocks[0]).toContain('"api":"v1"');
  expect(blocks[1]).toBe("200 text/html; charset=utf-8\n");
  expect(blocks[2]).toContain('"status":401');
  expect(blocks[3]).toContain('"title":"Count words"');
  expect(blocks[4]).toContain('"text":"about 400"');
  expect(blocks[5]).toBe('{"turn":2}{"turn":2}');
  expect(blocks[6]).toContain('"decision":"allow"');
  expect(blocks[7]).toContain('{"mode":"auto-accept","seq":');
  expect(blocks[8]).toContain('"dropped":1');
  expect(existsSync(join(subject.workspace.path, "made"))).toBe(true);
  expect(blocks[9]).toMatch(/^\{"turn":1,"reason":"completed","text":"about 400"/);
  expect(blocks[10]).toContain("id: 1\ndata: {");
  expect(blocks[11]).toContain('{"status":"ready"}');
}, 30_000);

test("the page has a command for every route, and names every problem", async () => {
  subject = await startTestServer();
  const { paths } = (await subject.ask("GET", "/openapi.json")).body as { paths: Record<string, object> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );
  const shown = new Set(script.split("\n").flatMap(requestsOf));
  expect(operations.length).toBeGreaterThan(15);
  expect(operations.filter((operation) => !shown.has(operation))).toEqual([]);
  const source = readFileSync(join(import.meta.dirname, "../../lib/http/problem.ts"), "utf8");
  const codes = [...source.matchAll(/^ {2}(\w+): [45]\d\d,$/gm)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(25);
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});

/** What a line of the script asks for, as OpenAPI names it. */
function requestsOf(line: string): readonly string[] {
  return [...line.matchAll(/\b(curl|ask|send) ([^|]*?)"\$URL(\/[^"?]*)/g)].map(([, command = "", options = "", path = ""]) => {
    const method = /-X (\w+)/.exec(options)?.[1] ?? (command === "send" || / -d /.test(options) ? "POST" : "GET");
    return `${method} ${path.replace(/\$(SESSION|FORK)/, "{id}").replace("$CALL", "{call}")}`;
  });
}

async function run(text: string, env: Readonly<Record<string, string>>): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn("/bin/sh", ["-eu", "-c", text], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = [[] as Uint8Array[], [] as Uint8Array[]];
  child.stdout.on("data", (bytes: Uint8Array) => void out.push(bytes));
  child.stderr.on("data", (bytes: Uint8Array) => void err.push(bytes));
  const code = await new Promise<number | null>((resolve, reject) =>
    void child.once("error", reject).once("close", (status) => resolve(status))
  );
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}
