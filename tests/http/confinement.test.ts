/** What a client may reach of the machine that serves it: folders below the roots, models of providers, and no file by its name. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startServer } from "../../lib/http/serve.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;
let session: string;

const call = (name: string, input: object = {}) => ({ name, arguments: input });
const touch = call("bash", { command: "touch made" });
const folder = () => join(subject.workspace.path, "inner");
const outside = () => join(subject.workspace.path, "..", "outside");

/** A session in a folder below the root, and a folder beside the root. */
async function start(options: TestServerOptions = {}, body: object = { mode: "yolo" }): Promise<void> {
  subject = await startTestServer({ script: [{ calls: [touch] }, { text: "done" }], ...options });
  await Promise.all([mkdir(folder()), mkdir(outside())]);
  session = await subject.open({ workspace: folder(), ...body });
}

async function swap(): Promise<void> {
  await rename(folder(), `${folder()}-before`);
  await symlink(outside(), folder());
}

const ask = (method: string, path: string, body?: object) => subject.ask(method, `/v1/sessions/${session}${path}`, body);
const codeOf = ({ status, body }: { status: number; body: { type?: string } | null }) => [status, body?.type?.split(":").at(-1)];
const GONE = [409, "workspace_gone"];

async function until(status: string): Promise<void> {
  for (;;) {
    const { body } = await ask("GET", "");
    if (body.status === status) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

afterEach(async () => {
  await subject.close();
});

describe("a folder that leads out of the roots since its session was opened", () => {
  test("is not worked in, neither by a session that is open nor by one that is opened again", async () => {
    await start({ server: { idle_ms: 1 } });
    await swap();
    for (let round = 0; round < 2; round++) {
      const refused = await ask("POST", "/prompts?wait=true", { text: "go" });
      expect(codeOf(refused)).toEqual(GONE);
      expect(refused.text).not.toContain("outside");
      while (subject.server.desk.counts.sessions > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(codeOf(await ask("POST", "/fork", {}))).toEqual(GONE);
    const other = await subject.ask("POST", "/v1/sessions", { workspace: folder() });
    expect([other.status, other.body.errors[0].pointer]).toEqual([422, "/workspace"]);
    const tools = await subject.ask("GET", `/v1/tools?workspace=${encodeURIComponent(folder())}`);
    expect([tools.status, tools.body.errors[0].pointer]).toEqual([422, "?workspace"]);
    expect(await readdir(outside())).toEqual([]);
    // What was said in it can still be read, and removed.
    expect([(await ask("GET", "")).status, (await ask("GET", "/events")).status, (await ask("DELETE", "")).status]).toEqual([
      200,
      200,
      204,
    ]);
  });

  test("begins no prompt again that the log has: it is answered as ever, and another with its key refused", async () => {
    await start();
    // It has no answer in memory.
    const other = await startServer(subject.agent, { env: { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home } });
    const send = async (url: string, text: string) => {
      const headers = { authorization: `Bearer ${subject.token}`, "content-type": "application/json", "idempotency-key": "before" };
      const response = await fetch(`${url}/v1/sessions/${session}/prompts`, { method: "POST", headers, body: JSON.stringify({ text }) });
      const { turn, type } = await response.json() as { turn?: number; type?: string };
      return [response.status, turn ?? type?.split(":").at(-1)];
    };
    try {
      expect(await send(subject.server.url, "was there")).toEqual([202, 1]);
      await until("idle");
      await swap();
      for (const url of [subject.server.url, other.url]) {
        expect(await send(url, "was there")).toEqual([202, 1]);
        expect(await send(url, "another")).toEqual([422, "key_reused"]);
      }
      expect(await readdir(outside())).toEqual([]);
    } finally {
      await other.close(0);
    }
  });

  test("is asked for by its absolute path, and is a folder", async () => {
    await start();
    await subject.workspace.write("a-file", "");
    const { path } = subject.workspace;
    for (const workspace of ["", ".", "inner", join(path, "a-file"), join(path, "nothing"), `${path}\0`]) {
      const made = await subject.ask("POST", "/v1/sessions", { workspace });
      expect([workspace, made.status, made.body.errors?.[0].pointer]).toEqual([workspace, 422, "/workspace"]);
      const tools = await subject.ask("GET", `/v1/tools?workspace=${encodeURIComponent(workspace)}`);
      expect([workspace, tools.status, tools.body.errors?.[0].pointer]).toEqual([workspace, 422, "?workspace"]);
    }
    expect((await subject.ask("POST", "/v1/sessions", { workspace: `${folder()}/` })).body.workspace).toBe(folder());
  });

  test("is the same to clients as one that is gone, and can be mended", async () => {
    await start();
    await swap();
    const swapped = await ask("POST", "/prompts", { text: "go" });
    await rm(folder());
    const gone = await ask("POST", "/prompts", { text: "go" });
    expect({ ...gone.body, request_id: "" }).toEqual({ ...swapped.body, request_id: "" });
    await rename(`${folder()}-before`, folder());
    expect((await ask("POST", "/prompts?wait=true", { text: "go" })).body.reason).toBe("completed");
    expect(existsSync(join(folder(), "made"))).toBe(true);
  });

  test("is left by a call that waits for somebody's word: it can be denied, and not allowed", async () => {
    await start({}, { mode: "normal" });
    await ask("POST", "/prompts", { text: "go" });
    await until("waiting");
    const { approvals: [{ call: id }] } = (await ask("GET", "")).body;
    await swap();
    expect(codeOf(await ask("POST", `/approvals/${id}`, { decision: "allow" }))).toEqual(GONE);
    expect((await ask("POST", `/approvals/${id}`, { decision: "deny" })).status).toBe(200);
    await until("idle");
    expect(await readdir(outside())).toEqual([]);
  });

  test("is left by the calls of a turn that runs, from the next one on", async () => {
    await start({
      script: [
        {
          calls: [call("bash", { command: 'here=$(pwd) && mv "$here" "$here-before" && ln -s ../outside "$here"' }), touch],
        },
        { calls: [touch] },
        { text: "done" },
      ],
    });
    expect((await ask("POST", "/prompts?wait=true", { text: "go" })).body.reason).toBe("completed");
    const { calls } = (await ask("GET", "")).body;
    expect(calls.map(({ outcome }: { outcome: { kind: string } }) => outcome.kind)).toEqual(["exited", "not_started", "not_started"]);
    expect(calls[1].result.text).toContain("not there any more as it was");
    expect(await readdir(outside())).toEqual([]);
  });

  test("is left by the hooks of a turn that runs: a call they guard is refused, and none of them is started", async () => {
    const hook = (name: string) => [{ hooks: [{ type: "command", command: `touch ${name}` }] }];
    await start({
      script: [{
        calls: [call("bash", { command: 'here=$(pwd) && mv "$here" "$here-before" && ln -s ../outside "$here"' }), touch],
      }, { text: "done" }],
      prepare: async ({ home }) => {
        await mkdir(join(home, "config"), { recursive: true });
        const hooks = { PreToolUse: hook("before"), PostToolUse: hook("after"), Stop: hook("stop") };
        await writeFile(join(home, "config/settings.json"), JSON.stringify({ hooks }));
      },
    });
    expect((await ask("POST", "/prompts?wait=true", { text: "go" })).body.reason).toBe("completed");
    expect(existsSync(join(`${folder()}-before`, "before"))).toBe(true);
    expect(await readdir(outside())).toEqual([]);
    const { calls } = (await ask("GET", "")).body;
    expect(calls[1].result.text).toContain("not there any more as it was");
    const { events } = (await ask("GET", "/events")).body as { events: readonly { type: string; text?: string; code?: string }[] };
    const failed = events.filter(({ type, code }) => type === "notice" && code === "hook_failed").map(({ text = "" }) => text);
    expect(failed.map((text) => text.includes("not there any more as it was"))).toEqual([true, true]);
  });

  test("is not worked in by a prompt that waited", async () => {
    await start({
      script: [{ calls: [call("bash", { command: "touch ../begun; while [ ! -e ../open ]; do sleep 0.02; done" })] }, { text: "one" }, {
        calls: [touch],
      }, {
        text: "two",
      }],
    });
    await ask("POST", "/prompts", { text: "go" });
    const waits = ask("POST", "/prompts?wait=true", { text: "later", if_busy: "queue" });
    while ((await ask("GET", "")).body.queued.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    while (!existsSync(join(subject.workspace.path, "begun"))) await new Promise((resolve) => setTimeout(resolve, 10));
    await swap();
    await subject.workspace.write("open", "");
    expect(codeOf(await waits)).toEqual(GONE);
    expect(await readdir(outside())).toEqual([]);
  });

  test("does not keep a turn open for ever: it can be cancelled, and not resumed", async () => {
    await start({}, { mode: "normal" });
    await ask("POST", "/prompts", { text: "go" });
    await until("waiting");
    await subject.server.desk.drain(0);
    await swap();
    const { startServer } = await import("../../lib/http/serve.ts");
    const next = await startServer(subject.agent, { env: { ORRERY_HOME: subject.workspace.home, HOME: subject.workspace.home } });
    const send = async (path: string) => {
      const response = await fetch(`${next.url}/v1/sessions/${session}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${subject.token}`, "content-type": "application/json" },
        body: "{}",
      });
      return { status: response.status, body: await response.json() };
    };
    try {
      expect(codeOf(await send("/resume"))).toEqual(GONE);
      expect(await send("/cancel")).toEqual({ status: 202, body: { turn: 1, dropped: 0 } });
      expect((await send("/cancel")).status).toBe(409);
    } finally {
      await next.close(0);
    }
  });
});

describe("a model that a client names", () => {
  beforeEach(() => start());

  const create = (model: string) => subject.ask("POST", "/v1/sessions", { model });

  test("is one of a provider, or the very one that the server was started with", async () => {
    const own = (await ask("GET", "")).body.model as string;
    expect(own).toMatch(/^script:/);
    expect((await create(own)).status).toBe(201);
    const local = await create("local/any");
    expect([local.status, local.body.errors[0].pointer]).toEqual([422, "/model"]);
    for (const name of ["local/m\n", "local/\u001b[31mm", "script:\r"]) {
      const { status, body } = await create(name);
      expect([status, body.errors[0].pointer]).toEqual([422, "/model"]);
      expect(body.detail).toContain("it has a control character in it");
    }
  });

  test("is no file of the server, whatever is in it and whether there is one", async () => {
    const file = join(outside(), "canary.json");
    await writeFile(file, JSON.stringify({ replies: [], canary_key: "canary-value" }));
    const names = [
      file,
      join(outside(), "none"),
      outside(),
      "/proc/self/environ",
      "",
      `${(await ask("GET", "")).body.model}/`.slice("script:".length),
    ];
    for (const name of names) {
      const { status, body } = await create(`script:${name}`);
      expect([name, status]).toEqual([name, 422]);
      const detail = `Cannot use model "script:${name}" here: name one as PROVIDER/MODEL, of a provider that is known`;
      expect(body).toMatchObject({ type: "urn:orrery:problem:unacceptable", detail, errors: [{ pointer: "/model", detail }] });
    }
  });

  test("comes with no address of the client's", async () => {
    const { status, body } = await subject.ask("POST", "/v1/sessions", { model: "local/any", base_url: "http://127.0.0.1:1" });
    expect([status, body.errors[0].pointer]).toEqual([422, "/base_url"]);
  });
});
