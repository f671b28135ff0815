import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../../lib/platform/digest.ts";
import { type EventReader, startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;
let reader: EventReader;

afterEach(async () => {
  reader.cut();
  await subject.close();
});

const call = (name: string, input: object = {}) => ({ name, arguments: input });
const touching = (file: string) => call("touch_it", { file });

/** Calls that must ask. */
async function start(script: readonly object[], manifest = 'approval = "always"', options: TestServerOptions = {}): Promise<string> {
  subject = await startTestServer({
    script,
    prepare: (workspace) => workspace.tool("touch_it", 'touch "$STELLA_INPUT_FILE"', manifest),
    ...options,
  });
  const session = await subject.open();
  reader = await subject.follow(session);
  return session;
}

async function asked(count: number): Promise<readonly string[]> {
  const requests = () => reader.messages.filter(({ value }) => value.type === "approval_requested");
  await reader.until(() => requests().length >= count);
  return requests().map(({ value }) => value.call as string);
}

const answer = (session: string, id: string, body: object) => subject.ask("POST", `/v1/sessions/${session}/approvals/${id}`, body);
const allow = { decision: "allow" };
const deny = { decision: "deny", reason: "not that one" };
const made = () => ["a", "b", "c"].filter((name) => existsSync(join(subject.workspace.path, name)));
const prompt = (session: string) => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
const ended = () => reader.until(({ value }) => value.type === "turn_ended");

const THREE = [{ calls: [touching("a"), touching("b"), touching("c")] }, { text: "done" }];
const READS = 'approval = "always"\nread_only = true';

describe("three calls that wait", () => {
  test("are answered each for itself, in any order: the one that is allowed runs, and no other", async () => {
    const session = await start(THREE, READS);
    const turn = prompt(session);
    const ids = await asked(3);
    for (const [index, body] of [[2, deny], [0, deny], [1, allow]] as const) {
      const { status, body: taken } = await answer(session, ids[index] ?? "", body);
      expect([status, taken]).toEqual([200, { call: ids[index], decision: body.decision }]);
    }
    expect((await turn).body.calls.map((each: { is_error: boolean }) => each.is_error)).toEqual([true, false, true]);
    expect(made()).toEqual(["b"]);
    const answers = reader.messages.filter(({ value }) => value.type === "approval_answered").map((
      { value },
    ) => [value.call, value.decision, value.by]);
    expect(answers).toEqual([[ids[2], "deny", "http"], [ids[0], "deny", "http"], [ids[1], "allow", "http"]]);
  });

  test("that change something are asked about at once too, answered in any order, and run in theirs", async () => {
    const session = await start([{ calls: [touching("a"), touching("b"), touching("c"), call("no_such_tool")] }, { text: "done" }]);
    const turn = prompt(session);
    const ids = await asked(3);
    const { approvals, calls } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    expect(approvals.map((each: { call: string }) => each.call)).toEqual(ids);
    expect(calls.map((each: { status: string }) => each.status)).toEqual(["asking", "asking", "asking", "requested"]);
    await answer(session, ids[2] ?? "", allow);
    expect(made()).toEqual([]);
    await answer(session, ids[0] ?? "", allow);
    await answer(session, ids[1] ?? "", deny);
    const { reason, calls: ends } = (await turn).body;
    expect([reason, ends.map((each: { is_error: boolean }) => each.is_error)]).toEqual(["completed", [false, true, false, true]]);
    expect(made()).toEqual(["a", "c"]);
    const started = reader.messages.filter(({ value }) => value.type === "call_started").map(({ value }) => value.call);
    expect(started).toEqual([ids[0], ids[2]]);
  });

  test("are taken back together by another mode, and each is judged by it", async () => {
    const session = await start(THREE);
    const turn = prompt(session);
    const [first = ""] = await asked(3);
    await answer(session, first, deny);
    await subject.ask("POST", `/v1/sessions/${session}/mode`, { mode: "yolo" });
    expect((await turn).body.reason).toBe("completed");
    expect(made()).toEqual(["b", "c"]);
  });

  test("and that a hook has a say in are asked about in their turn: an answer before is refused with a word for it", async () => {
    const session = await start(THREE, 'approval = "always"', {
      prepare: async (workspace) => {
        await workspace.tool("touch_it", 'touch "$STELLA_INPUT_FILE"', 'approval = "always"');
        await mkdir(join(workspace.home, "config"), { recursive: true });
        await writeFile(
          join(workspace.home, "config/settings.json"),
          JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: "command", command: "true" }] }] } }),
        );
      },
    });
    const turn = prompt(session);
    const [first = ""] = await asked(1);
    const { calls } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    expect(calls.map((each: { status: string }) => each.status)).toEqual(["asking", "requested", "requested"]);
    const early = await answer(session, calls[2].call, allow);
    expect([early.status, early.body.type]).toEqual([409, "urn:orrery:problem:not_asked"]);
    for (const [index, body] of [deny, allow, deny].entries()) {
      const ids = await asked(index + 1);
      expect([ids.length, ids[0], ids[index]]).toEqual([index + 1, first, calls[index].call]);
      await answer(session, ids[index] ?? "", body);
    }
    await turn;
    expect(made()).toEqual(["b"]);
  });
});

test("the state of a session that waits tells of no result, and what an answer is bound to", async () => {
  const session = await start([{ calls: [touching("a")] }, { text: "done" }]);
  const turn = prompt(session);
  const [id = ""] = await asked(1);
  const { messages, calls, approvals } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
  expect(messages.at(-1)).toMatchObject({ role: "assistant", calls: [{ call: id, name: "touch_it" }] });
  expect(calls).toMatchObject([{ call: id, status: "asking" }]);
  expect(approvals).toMatchObject([{ call: id, input_digest: sha256('{"file":"a"}') }]);
  expect((await answer(session, id, { ...allow, input_digest: approvals[0].input_digest })).status).toBe(200);
  await turn;
  const after = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
  expect(after.messages.at(-2)).toMatchObject({ role: "tool", call: id, is_error: false });
});

describe("an answer", () => {
  test("is refused the second time, for another session, for an altered input, and after the turn was stopped", async () => {
    const session = await start([{ calls: [touching("a"), touching("b")] }, { text: "done" }], READS);
    const other = await subject.open();
    const turn = prompt(session);
    const [first = "", second = ""] = await asked(2);
    const refusal = async (where: string, id: string, body: object) => {
      const { status, body: problem } = await answer(where, id, body);
      return [status, (problem.type as string).replace("urn:orrery:problem:", "")];
    };
    const nowhere = "call_01a22983-a7ad-76e0-92c7-7b05c2411149";
    // The same as for whoever looks at them there.
    for (const [where, id] of [[other, first], [session, nowhere], [other, nowhere]] as const) {
      expect(await refusal(where, id, allow)).toEqual([404, "unknown_call"]);
      expect((await subject.ask("GET", `/v1/sessions/${where}/calls/${id}`)).body.type).toBe("urn:orrery:problem:unknown_call");
    }
    expect(await refusal(session, first, { ...allow, input_digest: sha256('{"file":"b"}') })).toEqual([409, "altered"]);
    expect(made()).toEqual([]);
    expect((await answer(session, first, { ...allow, input_digest: sha256('{"file":"a"}') })).status).toBe(200);
    expect(await refusal(session, first, deny)).toEqual([409, "settled"]);
    await subject.ask("POST", `/v1/sessions/${session}/cancel`, {});
    await turn;
    expect(await refusal(session, second, allow)).toEqual([409, "settled"]);
    expect(await refusal(session, nowhere, allow)).toEqual([404, "unknown_call"]);
    expect(made().includes("b")).toBe(false);
  });

  test("given by two clients at once counts once", async () => {
    const session = await start([{ calls: [touching("a")] }, { text: "done" }]);
    const turn = prompt(session);
    const [id = ""] = await asked(1);
    const statuses = await Promise.all([answer(session, id, allow), answer(session, id, deny)]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 409]);
    await turn;
    const allowed = statuses[0]?.status === 200;
    expect(made()).toEqual(allowed ? ["a"] : []);
  });

  test("of another shape is refused and leaves the call waiting", async () => {
    const session = await start([{ calls: [touching("a")] }, { text: "done" }]);
    const turn = prompt(session);
    const [id = ""] = await asked(1);
    for (const body of [{}, { decision: "yes" }, { decision: "allow", input: {} }, { decision: "allow", input_digest: "x" }]) {
      expect((await answer(session, id, body)).status).toBe(422);
    }
    expect((await answer(session, id, deny)).status).toBe(200);
    expect((await turn).body.reason).toBe("completed");
    expect(made()).toEqual([]);
  });
});

describe("a call that waits", () => {
  test("is part of the state that a client finds when it comes back, with the input as it will run", async () => {
    const session = await start([{ calls: [{ name: "touch_it", arguments: '{"file":"a","n":9007199254740993}' }] }, { text: "done" }]);
    const turn = prompt(session);
    const [id] = await asked(1);
    reader.cut();
    const { text, body } = await subject.ask("GET", `/v1/sessions/${session}`);
    expect(body).toMatchObject({ status: "waiting", turn: 1, approvals: [{ call: id, name: "touch_it", reason: expect.any(String) }] });
    expect(Object.keys(body.approvals[0])).toEqual(["call", "name", "input", "reason", "input_digest"]);
    expect(text).toContain('"input":{"file":"a","n":9007199254740993}');
    reader = await subject.follow(session, { last: body.seq });
    await answer(session, id ?? "", allow);
    expect((await turn).body.reason).toBe("completed");
    expect((await ended()).value.reason).toBe("completed");
    expect((await subject.ask("GET", `/v1/sessions/${session}`)).body).toMatchObject({ status: "idle", approvals: [] });
  });

  test("is settled by a cancel at once, and the turn is idle", async () => {
    const session = await start([{ calls: [touching("a"), touching("b")] }, { text: "done" }]);
    const turn = prompt(session);
    await asked(1);
    await subject.ask("POST", `/v1/sessions/${session}/cancel`, {});
    expect((await turn).body).toMatchObject({
      reason: "cancelled",
      calls: [{ outcome: { kind: "not_started" } }, { outcome: { kind: "not_started" } }],
    });
    expect((await subject.ask("GET", `/v1/sessions/${session}`)).body).toMatchObject({ status: "idle", approvals: [] });
    expect(made()).toEqual([]);
  });

  test("outlives its runtime: it cannot be answered before the session is resumed, and can be then", async () => {
    const session = await start([{ calls: [touching("a")] }, { text: "done" }]);
    const other = subject.another();
    const left = await other.create();
    const requested = new Promise<string>((resolve) =>
      left.watch((event) => event.type === "approval_requested" && "call" in event && resolve(event.call))
    );
    left.prompt("go", { source: "test", approver: () => new Promise(() => undefined) }).catch(() => undefined);
    const id = await requested;
    await other.close();
    expect((await subject.ask("GET", `/v1/sessions/${left.id}`)).body).toMatchObject({ status: "interrupted", approvals: [{ call: id }] });
    expect((await answer(left.id, id, allow)).body.type).toBe("urn:orrery:problem:interrupted");
    const resumed = subject.ask("POST", `/v1/sessions/${left.id}/resume?wait=true`, {});
    let status = 409;
    while (status === 409) status = (await answer(left.id, id, allow)).status;
    expect([status, (await resumed).body.reason]).toEqual([200, "completed"]);
    expect(made()).toEqual(["a"]);
    expect(session).not.toBe(left.id);
  });

  test("in mode headless is denied at once, and the turn goes on", async () => {
    await start([{ calls: [touching("a")] }, { text: "done" }]);
    const session = await subject.open({ mode: "headless" });
    const { body } = await prompt(session);
    expect(body).toMatchObject({ reason: "completed", text: "done", calls: [{ is_error: true, outcome: { kind: "not_started" } }] });
    expect(made()).toEqual([]);
  });
});

describe("a session that another runtime has open", () => {
  test("is answered there: the refusal says so at once", async () => {
    await start(THREE);
    const other = await subject.another({ mode: "normal" }).create();
    const asked = new Promise<string>((resolve) =>
      other.watch((event) => {
        if (event.type === "approval_requested" && "call" in event) resolve(String(event.call));
      })
    );
    other.prompt("go", { source: "test", approver: () => new Promise(() => undefined) }).catch(() => undefined);
    const call = await asked;
    const { status, body } = await subject.ask("POST", `/v1/sessions/${other.id}/approvals/${call}`, { decision: "allow" });
    expect([status, body.type]).toEqual([409, "urn:orrery:problem:held"]);
  });
});

describe("turns that only wait for an answer", () => {
  test("take no place of those that run, nor their sessions of others", async () => {
    const session = await start(THREE, undefined, { server: { max_turns: 1, max_sessions: 2 } });
    const waits = async (id: string) => {
      const reader = await subject.follow(id);
      expect((await subject.ask("POST", `/v1/sessions/${id}/prompts`, { text: "go" })).status).toBe(202);
      await reader.until(({ value }) => value.type === "approval_requested");
      while ((await subject.ask("GET", `/v1/sessions/${id}`)).body.status !== "waiting");
      reader.cut();
    };
    await waits(session);
    for (let count = 0; count < 4; count++) await waits(await subject.open({ mode: "normal" }));
    expect((await subject.ask("GET", "/metrics")).text).toContain("orrery_running_turns 0\n");
    expect((await subject.ask("GET", "/metrics")).text).toContain("orrery_waiting_turns 5\n");
  });
});
