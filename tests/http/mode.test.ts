import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;

afterEach(() => subject.close());

const TOUCH = [{ calls: [{ name: "touch_it", arguments: {} }] }, { text: "done" }];

async function start(options: TestServerOptions = {}): Promise<string> {
  subject = await startTestServer({
    script: TOUCH,
    prepare: (workspace) => workspace.tool("touch_it", "touch made", 'approval = "always"'),
    ...options,
  });
  return await subject.open({ mode: "normal" });
}

const change = (session: string, body: unknown, headers = {}) => subject.ask("POST", `/v1/sessions/${session}/mode`, body, headers);
const state = async (session: string) => (await subject.ask("GET", `/v1/sessions/${session}`)).body;
const made = () => existsSync(join(subject.workspace.path, "made"));

/** Prompts the session, and waits until its call is asked about. */
async function untilAsked(
  session: string,
): Promise<{ readonly call: string; readonly turn: Promise<{ readonly calls: readonly object[] }> }> {
  const turn = subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" }).then(({ body }) => body);
  const reader = await subject.follow(session);
  const { value } = await reader.until((each) => each.value.type === "approval_requested");
  reader.cut();
  return { call: value.call, turn };
}

describe("a change of mode", () => {
  test("is in the state and in the log, and holds for the next turn", async () => {
    const session = await start();
    const before = await subject.ask("GET", `/v1/sessions/${session}`);
    const { status, body } = await change(session, { mode: "yolo" });
    expect([status, body]).toEqual([200, { mode: "yolo", seq: before.body.seq + 1 }]);
    expect(await state(session)).toMatchObject({ mode: "yolo", seq: body.seq });
    expect((await subject.ask("GET", `/v1/sessions/${session}`, undefined, { "if-none-match": before.headers.get("etag") ?? "" })).status)
      .toBe(200);
    const { events } = (await subject.ask("GET", `/v1/sessions/${session}/events?after=${before.body.seq}`)).body;
    expect(events).toMatchObject([{ type: "mode_changed", mode: "yolo", by: "http" }]);
    await subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
    expect(made()).toBe(true);
  });

  test("to the mode that there is, changes nothing", async () => {
    const session = await start();
    const { seq } = await state(session);
    expect((await change(session, { mode: "normal" })).body).toEqual({ mode: "normal", seq });
    expect((await state(session)).seq).toBe(seq);
  });

  test("decides on a call that waits: it runs where nobody need be asked, and an answer comes too late", async () => {
    const session = await start();
    const { call, turn } = await untilAsked(session);
    expect((await change(session, { mode: "yolo" })).status).toBe(200);
    expect((await turn).calls).toMatchObject([{ call, is_error: false }]);
    expect(made()).toBe(true);
    expect((await subject.ask("POST", `/v1/sessions/${session}/approvals/${call}`, { decision: "deny" })).body.type)
      .toBe("urn:orrery:problem:settled");
  });

  test("decides on a call that waits: it is refused where it may not run", async () => {
    const session = await start();
    const { call, turn } = await untilAsked(session);
    expect((await change(session, { mode: "plan" })).status).toBe(200);
    expect((await turn).calls).toMatchObject([{ call, is_error: true, outcome: { kind: "not_started" } }]);
    expect(made()).toBe(false);
  });

  test("leaves a question open that is one in the new mode too, and its answer counts", async () => {
    const session = await start();
    const { call, turn } = await untilAsked(session);
    await change(session, { mode: "auto-accept" });
    expect((await state(session)).approvals).toMatchObject([{ call }]);
    expect((await subject.ask("POST", `/v1/sessions/${session}/approvals/${call}`, { decision: "allow" })).status).toBe(200);
    expect((await turn).calls).toMatchObject([{ call, is_error: false }]);
  });

  test("is made once, however often it is sent with one key", async () => {
    const session = await start();
    const key = { "idempotency-key": "one" };
    const first = await change(session, { mode: "plan" }, key);
    await change(session, { mode: "normal" });
    const again = await change(session, { mode: "plan" }, key);
    expect([again.body, again.headers.get("idempotency-replayed")]).toEqual([first.body, "true"]);
    expect((await state(session)).mode).toBe("normal");
    expect((await change(session, { mode: "yolo" }, key)).body.type).toBe("urn:orrery:problem:key_reused");
  });
});

describe("a change of mode is refused", () => {
  test("to one that there is not, in another shape, of no session, and by another method", async () => {
    const session = await start();
    for (const body of [{ mode: "YOLO" }, {}, { mode: null }]) {
      const { status, body: problem } = await change(session, body);
      expect([status, problem.errors[0].pointer]).toEqual([422, "/mode"]);
    }
    expect((await change(session, { mode: "plan", by: "root" })).status).toBe(422);
    expect((await change("ses_00000000-0000-7000-8000-000000000000", { mode: "plan" })).status).toBe(404);
    const wrong = await subject.ask("GET", `/v1/sessions/${session}/mode`);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await state(session)).mode).toBe("normal");
  });

  test("where another runtime has the session, or its folder is not the one any more", async () => {
    const session = await start();
    const other = await subject.another({ mode: "normal" }).create();
    await other.settled();
    expect((await change(other.id, { mode: "yolo" })).body.type).toBe("urn:orrery:problem:held");
    const { path } = subject.workspace;
    await rename(path, `${path}-away`);
    await symlink(`${path}-away`, path);
    expect((await change(session, { mode: "yolo" })).body.type).toBe("urn:orrery:problem:workspace_gone");
  });

  test("while the server shuts down", async () => {
    const session = await start({ script: [{ text: ["a", "b"], delay_ms: 60_000 }] });
    await subject.ask("POST", `/v1/sessions/${session}/prompts`, { text: "go" });
    void subject.server.desk.drain(60_000);
    expect((await change(session, { mode: "yolo" })).body.type).toBe("urn:orrery:problem:draining");
  });
});
