/** What goes wrong before and during a run: a clear error, the documented exit code, the same keys, nothing lost. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { type FixtureEndpoint, httpError, startEndpoint } from "../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, isSourceOnBun, onDeno, runOrrery, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;

beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
});

afterEach(async () => {
  await endpoint?.close();
  await workspace.remove();
});

const KEYS = ["schema_version", "status", "text", "session", "model", "steps", "calls", "usage", "speculation", "reason"];

/** Runs it for people and for programs: the code must be the same, and the object complete. */
async function expectFailure(
  args: readonly string[],
  code: number,
  words: string,
  start: { env?: Record<string, string>; input?: string | Uint8Array } = {},
): Promise<void> {
  const base = { cwd: workspace.path, home: workspace.home, ...start };
  const plain = await runOrrery(["run", ...args], base);
  expect([plain.code, plain.stdout, plain.stderr]).toEqual([code, "", expect.stringContaining(words)]);
  expect(plain.stderr).not.toMatch(/\n\s+at /);
  const json = await runOrrery(["run", "--output-format", "json", ...args], base);
  const report = JSON.parse(json.stdout) as Record<string, unknown>;
  expect([json.code, report["status"], Object.keys(report)]).toEqual([code, "failed", KEYS]);
  expect(String(report["reason"])).toContain(words);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a model that cannot be used", () => {
  test.skipIf(isSourceOnBun)("1: a current directory that was deleted, as the host says before us (not bun main.ts)", async () => {
    const through = ["/bin/sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh"];
    for (const args of [["version"], ["run", "--output-format", "json", "go"]]) {
      const { code, stdout, stderr } = await runOrrery(args, { cwd: workspace.path, home: workspace.home, through });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(/current working directory/);
    }
  });

  test.skipIf(onDeno)("5: an environment that turns off what every call needs (not Deno, which does not know it)", async () => {
    const model = await workspace.script({ text: "x" });
    await expectFailure(["--model", model, "go"], 5, "BUN_JSC_useJIT=0 turns off the JIT", { env: { BUN_JSC_useJIT: "0" } });
    expect((await runOrrery(["version"], { home: workspace.home, env: { BUN_JSC_useJIT: "0" } })).code).toBe(0);
  });

  test("a name that is no model's: 5, with the choices", async () => {
    await expectFailure(["--model", "nonsense", "go"], 5, "PROVIDER/MODEL");
  });

  test("no model and no key: 5, with the choices", async () => {
    await expectFailure(["go"], 5, "--model");
  });

  test("a missing key: 5, naming the variable", async () => {
    await expectFailure(["--model", "openai/gpt-x", "go"], 5, "OPENAI_API_KEY");
  });

  test("an endpoint that refuses: 6, soon, naming the address", async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1`;
    const before = performance.now();
    await expectFailure(["--model", "local/x", "--base-url", url, "go"], 6, "127.0.0.1");
    expect(performance.now() - before).toBeLessThan(8000);
  });

  test("an endpoint behind a proxy that is not there: 6, naming the proxy's variable", async () => {
    const proxies = { HTTPS_PROXY: "http://127.0.0.1:1", HTTP_PROXY: "http://127.0.0.1:1" };
    await expectFailure(["--model", "local/x", "--base-url", "https://example.invalid/v1", "go"], 6, "HTTPS_PROXY, 127.0.0.1:1", {
      env: proxies,
    });
    endpoint = await startEndpoint(() => httpError(401, {}));
    await expectFailure(["--model", "local/x", "--base-url", endpoint.url, "go"], 6, "HTTP 401", { env: proxies });
  });

  test("a refused key: 6, and the key is nowhere", async () => {
    endpoint = await startEndpoint(() => httpError(401, { error: { message: "Incorrect API key provided: sk-canary" } }));
    const args = ["--model", "local/x", "--base-url", endpoint.url, "go"];
    await expectFailure(args, 6, "ORRERY_LOCAL_API_KEY", { env: { ORRERY_LOCAL_API_KEY: "sk-canary" } });
    const { stdout, stderr } = await runOrrery(["run", ...args], {
      cwd: workspace.path,
      home: workspace.home,
      env: { ORRERY_LOCAL_API_KEY: "sk-canary" },
    });
    expect(stdout + stderr).not.toContain("sk-canary");
  });

  test("a stream that is no stream: 1, showing what came", async () => {
    endpoint = await startEndpoint(() => ({ headers: { "content-type": "text/event-stream" }, steps: [{ write: "data: {nonsense\n\n" }] }));
    await expectFailure(["--model", "local/x", "--base-url", endpoint.url, "go"], 1, "{nonsense");
  });

  test("a script that is a device or a pipe: 5, at once", async () => {
    await expectFailure(["--model", "script:/dev/zero", "go"], 5, "not a regular file");
  });

  test("an unknown provider: 5, naming it", async () => {
    await expectFailure(["--model", "foo/m", "go"], 5, '"foo" is no provider');
  });

  test("a script that does not parse: 5, with the line", async () => {
    const file = await workspace.write("bad.json", '{"replies":[\n{"text":1}\n]}');
    await expectFailure(["--model", `script:${file}`, "go"], 5, "replies");
  });
});

describe("a command that cannot be meant", () => {
  test("a workspace that is a file, or is not there: 2", async () => {
    const file = await workspace.write("plain", "x");
    await expectFailure(["--workspace", file, "--model", "local/x", "--base-url", "http://127.0.0.1:9/v1", "go"], 2, "not a folder");
    await expectFailure(
      ["--workspace", join(workspace.path, "missing"), "--model", "local/x", "--base-url", "http://127.0.0.1:9/v1", "go"],
      2,
      "does not exist",
    );
  });

  test("an empty prompt on standard input: 2", async () => {
    await expectFailure(["--model", "script:none", "-"], 2, "empty", { input: " \n" });
  });

  test("a prompt or an input that is not UTF-8: 2, with the place", async () => {
    const prompt = ["--model", await workspace.script({ text: "x" }), "-"];
    await expectFailure(prompt, 2, "at byte offset 3 (0xff)", { input: Uint8Array.of(0xe4, 0xbd, 0xa0, 0xff, 0x61) });
    await expectFailure(prompt, 2, "at byte offset 1 (0xc3)", { input: Uint8Array.of(0x61, 0xc3) });
    await expectFailure(prompt, 2, "at byte offset 0 (0xc3)", { input: Uint8Array.of(0xc3, 0x28) });
    const start = { cwd: workspace.path, home: workspace.home, input: Uint8Array.of(0x7b, 0xff, 0x7d) };
    const called = await runOrrery(["tools", "call", "read_file", "--input", "-"], start);
    expect([called.code, called.stderr]).toEqual([2, expect.stringContaining("at byte offset 1 (0xff)")]);
  });

  test("a session that is not there, or is no id: 2", async () => {
    const model = ["--model", await workspace.script({ text: "x" })];
    await expectFailure([...model, "--session", "ses_01930000-0000-7000-8000-000000000001", "go"], 2, "there is none");
    await expectFailure([...model, "--session", "../../etc/passwd", "go"], 2, "not the id of one");
  });

  test("a prompt that does not come: 124 when the wall clock ends", async () => {
    const model = ["--model", await workspace.script({ text: "x" })];
    const waiting = startOrrery(["run", ...model, "--timeout", "1", "--output-format", "json", "-"], {
      cwd: workspace.path,
      home: workspace.home,
      open: true,
    });
    const { code, stdout } = await ended(waiting);
    expect([code, JSON.parse(stdout)]).toMatchObject([124, { status: "failed", reason: expect.stringContaining("wall clock") }]);
  });

  test("an unknown option and an unknown command: 2", async () => {
    const start = { cwd: workspace.path, home: workspace.home };
    expect((await runOrrery(["run", "--nonsense", "go"], start)).code).toBe(2);
    expect((await runOrrery(["nonsense"], start)).code).toBe(2);
  });
});

describe("a journal that cannot be used", () => {
  test("a file that is no database: named, and left as it is", async () => {
    await mkdir(join(workspace.home, "data"), { recursive: true });
    const path = join(workspace.home, "data/journal.sqlite");
    await writeFile(path, "this is not a database, but somebody's notes\n".repeat(100));
    await expectFailure(["--model", await workspace.script({ text: "x" }), "go"], 1, path);
    expect(await readFile(path, "utf8")).toContain("this is not a database");
  });

  // Root may write anywhere, so the permission alone shows nothing there; a file in the place of the folder does.
  test("a data folder that cannot be written: named", async () => {
    if (process.getuid?.() === 0) {
      await writeFile(join(workspace.home, "data"), "a file where a folder must be");
    } else {
      await mkdir(join(workspace.home, "data"));
      await chmod(join(workspace.home, "data"), 0o500);
    }
    await expectFailure(["--model", await workspace.script({ text: "x" }), "go"], 1, join(workspace.home, "data"));
  });
});
