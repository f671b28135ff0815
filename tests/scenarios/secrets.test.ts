/** Keys and tokens of the runtime are in nothing that it writes, prints, answers or hands on. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chatReply, delta, DONE, type FixtureEndpoint, httpError, startEndpoint, streamed } from "../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { type Ended, ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";

/** What nobody but its addressee may see, by where it stands. */
const SECRETS = {
  OPENAI_API_KEY: "sk-openai-canary-0001",
  ANTHROPIC_API_KEY: "sk-anthropic-canary-0002",
  OPENROUTER_API_KEY: "sk-openrouter-canary-0003",
  ORRERY_LOCAL_API_KEY: "sk-local-canary-0004",
  ORRERY_TOKEN: "server-token-canary-0005",
};
/** The user's own: its tools may have them unless the settings say otherwise, which they do here. */
const WITHHELD = { GH_TOKEN: "ghp-canary-0006", TICKETS_PASSWORD: "pw-canary-0007" };
/** In the user's file of MCP servers: each goes to its server and nowhere else. */
const SERVERS = { header: "bearer-canary-0008", variable: "variable-canary-0009" };
const ALL: Readonly<Record<string, string>> = { ...SECRETS, ...WITHHELD, ...SERVERS };

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;
/** Everything that was printed or answered, by what printed it. */
let shown: Map<string, string>;

beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
  shown = new Map();
  await mkdir(join(workspace.home, "config"), { recursive: true });
  const dump = (name: string) => `{ env; cat /proc/$$/cmdline; cat; } > "${workspace.path}/seen-${name}"`;
  const hook = (event: string) => [{ hooks: [{ type: "command", command: dump(event) }] }];
  await writeFile(
    join(workspace.home, "config/settings.json"),
    JSON.stringify({
      tools: { env_withhold: ["credentials"] },
      hooks: { SessionStart: hook("start"), PreToolUse: hook("pre"), PostToolUse: hook("post"), Stop: hook("stop") },
    }),
  );
  await workspace.tool("dump", "env; cat /proc/$$/cmdline /proc/$PPID/cmdline; exit 3");
  const server = fileURLToPath(new URL("../fixtures/mcp/server.mjs", import.meta.url).href);
  await workspace.write(
    ".orrery/mcp.toml",
    `[servers.s]\ncmd = "node"\nargs = [${JSON.stringify(server)}]\n` +
      `[servers.filled]\ncmd = "node"\nargs = ["\${OPENAI_API_KEY}"]\n`,
  );
  await writeFile(
    join(workspace.home, "config/mcp.toml"),
    `[servers.down]\nurl = "http://127.0.0.1:9/mcp"\nheaders = { Authorization = "Bearer ${SERVERS.header}" }\n` +
      `[servers.broken]\ncmd = "node"\nargs = [${JSON.stringify(server)}, "exit"]\nenv = { KEY = "${SERVERS.variable}" }\n`,
  );
});

afterEach(async () => {
  await endpoint?.close();
  await workspace.remove();
});

const start = () => ({ cwd: workspace.path, home: workspace.home, env: { ...SECRETS, ...WITHHELD } });

async function orrery(...args: readonly string[]): Promise<Ended> {
  const result = await runOrrery(args, start());
  shown.set(`orrery ${args.join(" ")}`, `${result.stdout}\n${result.stderr}`);
  return result;
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) =>
    join(entry.parentPath, entry.name)
  );
}

/** Where any of the secrets stands, in the bytes of every file and in everything that was shown. */
function leaks(...except: readonly string[]): readonly string[] {
  const own = [...except, "config/mcp.toml"].map((name) => join(workspace.home, name));
  const files = [...filesBelow(workspace.home), ...filesBelow(workspace.path)].filter((path) => !own.includes(path));
  const places = [...files.map((path) => [path, readFileSync(path).toString("latin1")] as const), ...shown];
  return places.flatMap(([place, text]) =>
    Object.entries(ALL).filter(([, secret]) => text.includes(secret)).map(([name]) => `${name} in ${place}`)
  );
}

const CALLS = {
  calls: [
    { name: "dump", arguments: {} },
    {
      name: "bash",
      arguments: {
        command: 'env; cat /proc/$$/environ /proc/$PPID/cmdline; tr "\\0" "\\n" < /proc/$PPID/environ | grep -E "KEY|ORRERY_TOKEN"',
      },
    },
    { name: "mcp__s__environment", arguments: {} },
    { name: "get_environment", arguments: {} },
  ],
};

describe("secrets of the environment", () => {
  test("reach no tool, hook, server, argument list, log, stream or export", async () => {
    endpoint = await startEndpoint([chatReply(CALLS), chatReply({ text: "done" }), chatReply(CALLS), chatReply({ text: "done" })]);
    const local = ["--model", "local/test", "--base-url", endpoint.url, "--trust-workspace", "--mode", "yolo"];
    const { stdout } = await orrery("run", ...local, "--output-format", "json", "--events", "go");
    const { session, calls } = JSON.parse(stdout) as { session: string; calls: readonly { name: string; outcome: { kind: string } }[] };
    expect(calls.map(({ name, outcome }) => [name, outcome.kind])).toEqual([
      ["dump", "exited"],
      ["bash", "exited"],
      ["mcp__s__environment", "returned"],
      ["get_environment", "returned"],
    ]);
    // The key did go where it belongs, and the tools did see an environment.
    expect(endpoint.requests[0]?.headers["authorization"]).toBe(`Bearer ${SECRETS.ORRERY_LOCAL_API_KEY}`);
    expect([stdout.includes("PATH="), readFileSync(join(workspace.path, "seen-pre"), "utf8").includes("PATH=")]).toEqual([true, true]);
    await orrery("run", ...local, "--output-format", "stream-json", "go");
    await orrery("sessions", "export", session);
    await orrery("sessions", "show", session);
    await orrery("sessions", "show", session, "--json");
    await orrery("sessions", "events", session);
    await orrery("tools", "--trust-workspace");
    await orrery("tools", "--trust-workspace", "--json");
    await orrery("tools", "call", "dump", "--trust-workspace", "--json", "--mode", "yolo");
    await orrery("config", "--json");
    await orrery("trust", "--json");
    await orrery("doctor", "--json", ...local);
    expect(leaks()).toEqual([]);
  }, 60_000);

  test("are not printed because the environment has Bun print requests", async () => {
    endpoint = await startEndpoint([chatReply({ text: "so" })]);
    const local = ["--model", "local/test", "--base-url", endpoint.url];
    const environment = { ...SECRETS, BUN_CONFIG_VERBOSE_FETCH: "curl" };
    const { code, stdout, stderr } = await runOrrery(["run", ...local, "go"], {
      cwd: workspace.path,
      home: workspace.home,
      env: environment,
    });
    expect([code, stdout]).toEqual([0, "so\n"]);
    expect(stderr).not.toMatch(/canary|authorization|curl/i);
  });

  test("do not come back in what an endpoint says of them", async () => {
    const key = SECRETS.ORRERY_LOCAL_API_KEY;
    endpoint = await startEndpoint([
      httpError(401, { error: { message: `Incorrect API key provided: ${key}.`, code: "invalid_api_key" } }),
      httpError(400, `<html>Authorization: Bearer ${key}</html>`),
      streamed(delta({ content: "so" }), { error: { message: `key ${key} has no credit` } }, DONE),
    ]);
    const local = ["--model", "local/test", "--base-url", endpoint.url];
    for (let turn = 0; turn < 3; turn++) {
      const { code } = await orrery("run", ...local, "--output-format", "json", "--events", "go");
      expect(code).not.toBe(0);
    }
    expect([...shown.values()].some((text) => text.includes("[key]"))).toBe(true);
    expect(leaks()).toEqual([]);
  }, 60_000);

  test("are in no answer, page, metric or log line of the server, nor is its token", async () => {
    endpoint = await startEndpoint([chatReply(CALLS), chatReply({ text: "done" })]);
    const local = ["--model", "local/test", "--base-url", endpoint.url, "--trust-workspace", "--mode", "yolo"];
    const child = startOrrery(["serve", ...local, "--port", "0", "--json"], { ...start(), open: true });
    const over = ended(child);
    let token = "";
    let tokenFile = "";
    try {
      const line = await new Promise<string>((resolve) => child.stdout?.once("data", (text: string) => resolve(text)));
      const { url, token_file } = JSON.parse(line) as { url: string; token_file: string };
      tokenFile = token_file;
      token = readFileSync(token_file, "utf8").trim();
      const ask = async (method: string, path: string, body?: object) => {
        const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
        const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
        const text = await response.text();
        shown.set(`${method} ${path}`, JSON.stringify([...response.headers]) + text);
        return text;
      };
      const { session } = JSON.parse(await ask("POST", "/v1/sessions", {})) as { session: string };
      await ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
      const { calls } = JSON.parse(await ask("GET", `/v1/sessions/${session}`)) as { calls: readonly { call: string }[] };
      expect(calls).toHaveLength(CALLS.calls.length);
      for (const { call } of calls) await ask("GET", `/v1/sessions/${session}/calls/${call}`);
      for (const path of ["/v1/sessions", "/v1/tools", "/v1/capabilities", "/metrics", "/openapi.json", "/", "/readyz", "/v1/nothing"]) {
        await ask("GET", path);
      }
      const log = await fetch(`${url}/v1/sessions/${session}/events`, {
        headers: { authorization: `Bearer ${token}`, accept: "application/json" },
      });
      shown.set("events", await log.text());
      shown.set("wrong token", await (await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${token}x` } })).text());
    } finally {
      signal(child, "SIGTERM");
      const { stdout, stderr } = await over;
      shown.set("orrery serve", stdout + stderr);
    }
    expect(leaks()).toEqual([]);
    const withToken = [...filesBelow(workspace.home), ...filesBelow(workspace.path)].filter((path) =>
      readFileSync(path).toString("latin1").includes(token)
    );
    expect([withToken, [...shown].filter(([, text]) => text.includes(token)).map(([place]) => place)]).toEqual([[tokenFile], []]);
  }, 60_000);
});

describe.each([
  ["a password", `http://user:${WITHHELD.TICKETS_PASSWORD}@127.0.0.1:9/v1`],
  ["a key in its query", `http://127.0.0.1:9/v1?api_key=${WITHHELD.TICKETS_PASSWORD}`],
])("an address with %s", (_with, address) => {
  test("is refused wherever it comes from, and not shown", async () => {
    const flag = await orrery("run", "--model", "local/test", "--base-url", address, "go");
    const variable = await runOrrery(["run", "--model", "local/test", "go"], { ...start(), env: { ORRERY_BASE_URL: address } });
    shown.set("environment", variable.stdout + variable.stderr);
    // The command line itself is the user's own.
    shown = new Map([...shown].map(([place, text]) => [place.replace(address, "…"), text]));
    await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify({ base_url: address }));
    const setting = await orrery("config");
    expect([flag.code === 0, variable.code, setting.code]).toEqual([false, 5, 5]);
    expect(leaks("config/settings.json")).toEqual([]);
  }, 60_000);
});
