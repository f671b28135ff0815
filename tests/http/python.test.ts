import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CuttingProxy, startCuttingProxy } from "../fixtures/cutting-proxy.ts";
import { httpClientExample, runPython } from "../fixtures/python.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;
let proxy: CuttingProxy | null = null;

async function start(options: TestServerOptions = {}): Promise<string> {
  subject = await startTestServer(options);
  return await subject.open({ mode: "normal" });
}

afterEach(async () => {
  await proxy?.close();
  proxy = null;
  await subject.close();
});

const call = (name: string, input: object = {}) => ({ name, arguments: input });

describe("the example in Python", () => {
  test("runs a prompt to its end and denies what nobody can be asked about", async () => {
    const session = await start({ script: [{ calls: [call("bash", { command: "touch made" })] }, { text: "Not m\u00f6glich." }] });
    const { server, workspace } = subject;
    const { code, stdout, stderr } = await runPython([httpClientExample, server.url, server.token_file, "go", session], workspace.path);
    expect([code, stdout]).toEqual([0, "\nNot m\u00f6glich.\n"]);
    expect(stderr).toContain(`${session}, turn 1\n`);
    expect(stderr).toContain("turn_ended completed");
    expect(existsSync(join(workspace.path, "made"))).toBe(false);
  });

  test("says what the server refuses", async () => {
    await start();
    const { server, workspace } = subject;
    const missing = "ses_00000000-0000-7000-8000-000000000000";
    const { code, stderr } = await runPython([httpClientExample, server.url, server.token_file, "go", missing], workspace.path);
    expect(code).toBe(1);
    expect(stderr).toContain("Cannot run the prompt: 404 urn:orrery:problem:unknown_session");
  });

  test("says in a line what is missing or does not answer", async () => {
    await start();
    const { server, workspace } = subject;
    for (const [url, token] of [[server.url, join(workspace.path, "no-such-file")], ["http://127.0.0.1:1", server.token_file]]) {
      const { code, stderr } = await runPython([httpClientExample, url ?? "", token ?? "", "go"], workspace.path);
      expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
      expect(stderr).toContain("Cannot run the prompt: ");
    }
  });

  test("follows over connections that break anywhere: every event once and in order", async () => {
    const session = await start({
      script: [
        ...Array.from(
          { length: 20 },
          (_each, index) => ({ text: ["a", "b\n", "€"], calls: [call(`nothing_${index}`, { words: "x".repeat(index * 20) })] }),
        ),
        { text: "done" },
      ],
      server: { allowed_hosts: ["127.0.0.1"] },
    });
    proxy = await startCuttingProxy(subject.port, (connection) => 500 + (connection * 7919) % 6000);
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    const program = [
      "import http_client, sys",
      "url, token, session, after = sys.argv[1:]",
      "for event in http_client.Client(url, token).follow(session, int(after)):",
      "    if 'seq' in event: print(event['seq'])",
      "    if event['type'] == 'turn_ended': break",
    ].join("\n");
    const following = runPython(["-c", program, proxy.url, subject.token, session, String(seq)], subject.workspace.path);
    await subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
    const { code, stdout, stderr } = await following;
    const { seq: end } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.trim().split("\n").map(Number)).toEqual(Array.from({ length: end - seq }, (_each, index) => seq + 1 + index));
    expect(proxy.connections).toBeGreaterThan(5);
  }, 60_000);
});
