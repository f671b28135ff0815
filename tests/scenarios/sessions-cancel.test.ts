/**
 * `sessions cancel` from another process, at any moment and whatever became of the runtime that drives the session:
 * every open call has its end, nothing of it is alive, and the next prompt goes on. Promises P2, P3, P4.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { openAgent } from "../../lib/agent/agent.ts";
import { CancelUnanswered } from "../../lib/agent/cancel.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { isKnown, parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { isAlive } from "../fixtures/alive.ts";
import { endServing, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { type Ended, ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let children: ChildProcess[];

beforeEach(async () => {
  workspace = await createWorkspace();
  children = [];
  await workspace.tool("forever", "echo $$ > pid; exec sleep 300");
  await workspace.tool("brief", "echo yes > started; while [ ! -e go-on ]; do sleep 0.02; done; echo finished");
});

afterEach(async () => {
  await endServing();
  for (const child of children) signal(child, "SIGKILL");
  await workspace.remove();
});

const start = () => ({ cwd: workspace.path, home: workspace.home });
const call = (name: string, input: object = {}) => ({ name, arguments: input });

interface Driven {
  readonly session: string;
  readonly runtime: ChildProcess;
  readonly end: Promise<Ended>;
}

/** A run, as soon as it has told of an event of which this holds. */
async function driveUntil(model: string, reached: (event: SessionEvent) => boolean): Promise<Driven> {
  const args = ["run", "--trust-workspace", "--mode", "yolo", "--model", model, "--output-format", "stream-json", "go"];
  const runtime = startOrrery(args, start());
  children.push(runtime);
  const end = ended(runtime);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  runtime.stdout?.on("data", (chunk: string) => {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const value: unknown = JSON.parse(line);
      if (!("seq" in (value as object))) continue;
      const event = parseEvent(value);
      if (isKnown(event) && reached(event)) resolve(event.session);
    }
  });
  runtime.once("close", () => reject(new Error("It ended before that event")));
  return { session: await promise, runtime, end };
}

async function cancel(session: string, ...flags: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runOrrery(["sessions", "cancel", session, "--json", ...flags], start());
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function eventsOf(session: string): Promise<readonly SessionEvent[]> {
  const { stdout } = await runOrrery(["sessions", "events", session], start());
  return stdout.split("\n").filter((line) => line !== "").map((line) => parseEvent(JSON.parse(line))).filter(isKnown);
}

/** Every call that was asked for has one end, and the turn is over. */
function checkSettled(events: readonly SessionEvent[]): void {
  const asked = events.flatMap((event) => event.type === "reply_committed" ? event.calls.map((each) => each.call) : []);
  const ends = events.flatMap((event) => event.type === "call_ended" ? [event.call] : []);
  expect(ends.toSorted()).toEqual(asked.toSorted());
  expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
  expect(events.at(-1)).toMatchObject({ type: "turn_ended" });
}

async function promptAgain(session: string): Promise<void> {
  const next = await workspace.script(...Array.from({ length: 9 }, () => ({ text: "next" })));
  const { code, stdout, stderr } = await runOrrery(["run", "--session", session, "--model", next, "again"], start());
  expect([code, stdout, stderr]).toEqual([0, "next\n", expect.any(String)]);
}

/** Until a tool has written to this file. */
async function untilThere(name: string): Promise<void> {
  const path = join(workspace.path, name);
  for (let looks = 0; !existsSync(path) || readFileSync(path, "utf8") === ""; looks++) {
    if (looks > 2000) throw new Error(`"${name}" was not written`);
    await sleep(10);
  }
}

/** Until a request has been made and the holder has taken it. */
async function untilHeard(): Promise<void> {
  const journal = openDatabase(join(workspace.home, "data/journal.sqlite"), { busy_timeout_ms: 1000 });
  const waiting = () => Number(journal.prepare("SELECT count(*) AS n FROM requests").get()?.["n"]);
  while (waiting() === 0) await sleep(2);
  while (waiting() > 0) await sleep(2);
  journal.close();
}

/** Each session has another one work, as deep as that goes; the last one runs for ever. */
async function nested(): Promise<string> {
  return await workspace.script(
    { calls: [call("task_create", { subject: "it" }), call("task_assign", { id: "t1", briefing: "Do it." })] },
    { calls: [call("forever")] },
  );
}

function toolPid(): number {
  return Number(readFileSync(join(workspace.path, "pid"), "utf8"));
}

describe("a turn that another process cancels", () => {
  test("while a call runs: the call is ended, its run exits with 3, and the next prompt goes on", async () => {
    const model = await workspace.script({ calls: [call("forever"), call("forever")] }, { text: "not said" });
    const { session, end } = await driveUntil(model, (event) => event.type === "call_spawned");
    await untilThere("pid");
    expect(await cancel(session)).toEqual({ schema_version: 1, cancelled: true, session, turn: 1, by: "holder" });
    expect(isAlive(toolPid())).toBe(false);
    expect((await end).code).toBe(3);
    const events = await eventsOf(session);
    checkSettled(events);
    expect(events.flatMap((event) => event.type === "call_ended" ? [event.outcome] : [])).toEqual([
      { kind: "cancelled" },
      { kind: "not_started", reason: "cancelled" },
    ]);
    expect(events.at(-1)).toMatchObject({ reason: "cancelled", detail: "cancelled by another process" });
    await promptAgain(session);
  }, 30_000);

  test("with a grace: a call that runs may finish, and nothing new begins", async () => {
    const model = await workspace.script({ calls: [call("brief"), call("forever")] }, { text: "not said" });
    const { session, end } = await driveUntil(model, (event) => event.type === "call_spawned");
    await untilThere("started");
    const cancelled = cancel(session, "--grace", "20");
    await untilHeard();
    await workspace.write("go-on", "");
    expect(await cancelled).toMatchObject({ cancelled: true, by: "holder" });
    expect((await end).code).toBe(3);
    const ends = (await eventsOf(session)).flatMap((event) => event.type === "call_ended" ? [event] : []);
    expect(ends.map((each) => each.outcome)).toEqual([{ kind: "exited", code: 0 }, { kind: "not_started", reason: "cancelled" }]);
    expect(ends[0]?.result.text).toBe("finished\n");
  }, 30_000);

  test("while the model is silent", async () => {
    const model = await workspace.script({ stream: [{ wait_ms: 100_000, text: "late" }] });
    const { session, end } = await driveUntil(model, (event) => event.type === "attempt_started");
    expect(await cancel(session)).toMatchObject({ cancelled: true, by: "holder" });
    expect((await end).code).toBe(3);
    checkSettled(await eventsOf(session));
    await promptAgain(session);
  }, 30_000);

  test("while a person is waited for, in a server: the question is withdrawn", async () => {
    await workspace.tool("careful", "echo ran >> effects", 'approval = "always"');
    const model = await workspace.script({ calls: [call("careful")] }, { text: "next" });
    const server = await startServing(workspace, ["--trust-workspace", "--model", model]);
    const { session } = await server.client.create({});
    const asked = Promise.withResolvers<void>();
    const turn = (async () => {
      for await (const event of server.client.run(session, "go")) if (event.type === "approval_requested") asked.resolve();
    })();
    await asked.promise;
    expect(await cancel(session)).toMatchObject({ cancelled: true, by: "holder" });
    await turn;
    checkSettled(await eventsOf(session));
    expect(await server.client.state(session)).toMatchObject({ status: "idle", approvals: [] });
    expect(existsSync(join(workspace.path, "effects"))).toBe(false);
  }, 30_000);

  test("at every event of a session: each call has one end, and the next prompt goes on", async () => {
    await workspace.tool("look", "sleep 0.05; echo seen", "read_only = true");
    await workspace.tool("change", "sleep 0.05; echo done >> effects; echo changed");
    const slow = { wait_ms: 60, text: "…" };
    const model = await workspace.script(
      {
        stream: [slow, { call: { index: 0, id: "a", name: "look", arguments: {} } }, {
          call: { index: 1, id: "b", name: "change", arguments: {} },
        }, slow],
      },
      { calls: [call("nothing"), call("change"), call("look")] },
      { stream: [slow] },
    );
    let whole = 0;
    for (let at = 1; whole === 0; at++) {
      const { session, end } = await driveUntil(model, (event) => event.seq === at);
      await cancel(session);
      const { code } = await end;
      const events = await eventsOf(session);
      checkSettled(events);
      const last = events.at(-1);
      const completed = last?.type === "turn_ended" && last.reason === "completed";
      expect([at, code]).toEqual([at, completed ? 0 : 3]);
      if (at % 4 === 0) await promptAgain(session);
      if (completed && at >= events.length) whole = at;
    }
    expect(whole).toBeGreaterThan(20);
  }, 400_000);

  test("takes the sessions along that work for it, however deep", async () => {
    const { session, end } = await driveUntil(await nested(), (event) => event.type === "call_started" && event.name === "task_assign");
    await untilThere("pid");
    await cancel(session);
    await end;
    expect(isAlive(toolPid())).toBe(false);
    const all = await allSessions();
    expect(all).toHaveLength(3);
    for (const each of all) checkSettled(await eventsOf(each));
  }, 30_000);
});

describe("a turn whose runtime is gone", () => {
  test("is closed without a model: what ran is unknown and gone, and the next prompt goes on", async () => {
    const model = await workspace.script({ calls: [call("forever"), call("brief")] });
    const { session, runtime, end } = await driveUntil(model, (event) => event.type === "call_spawned");
    await untilThere("pid");
    signal(runtime, "SIGKILL");
    await end;
    expect(await cancel(session)).toEqual({ schema_version: 1, cancelled: true, session, turn: 1, by: "us" });
    expect(isAlive(toolPid())).toBe(false);
    const events = await eventsOf(session);
    checkSettled(events);
    expect(events.flatMap((event) => event.type === "call_ended" ? [event.outcome] : [])).toEqual([
      { kind: "unknown", cause: "runtime_died" },
      { kind: "not_started", reason: "cancelled" },
    ]);
    expect(existsSync(join(workspace.path, "started"))).toBe(false);
    await promptAgain(session);
  }, 30_000);

  test("is closed with those of the sessions that worked for it", async () => {
    const { session, runtime, end } = await driveUntil(
      await nested(),
      (event) => event.type === "call_started" && event.name === "task_assign",
    );
    await untilThere("pid");
    signal(runtime, "SIGKILL");
    await end;
    expect(await cancel(session)).toMatchObject({ cancelled: true, by: "us" });
    const all = await allSessions();
    expect(all).toHaveLength(3);
    for (const each of all) checkSettled(await eventsOf(each));
  }, 30_000);

  test("is closed by whoever asked, if the runtime dies before it has heard", async () => {
    const model = await workspace.script({ calls: [call("forever")] });
    const { session, runtime, end } = await driveUntil(model, (event) => event.type === "call_spawned");
    await untilThere("pid");
    process.kill(runtime.pid ?? 0, "SIGSTOP");
    const cancelled = cancel(session);
    await sleep(300);
    signal(runtime, "SIGKILL");
    await end;
    expect(await cancelled).toMatchObject({ cancelled: true, by: "us" });
    checkSettled(await eventsOf(session));
  }, 30_000);
});

describe("a cancel", () => {
  test("that is not answered says so, and does not hold later", async () => {
    const model = await workspace.script({ calls: [call("brief")] }, { text: "done" });
    const { session, runtime, end } = await driveUntil(model, (event) => event.type === "call_spawned");
    process.kill(runtime.pid ?? 0, "SIGSTOP");
    const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
    const agent = openAgent({ workspace: workspace.path, env });
    const problem = await agent.cancel(session, { patience_ms: 400 }).catch((error: unknown) => error);
    await agent.close();
    process.kill(runtime.pid ?? 0, "SIGCONT");
    await workspace.write("go-on", "");
    expect(problem).toBeInstanceOf(CancelUnanswered);
    expect((problem as Error).message).toContain(session);
    expect((await end).code).toBe(0);
  }, 30_000);

  test("of a session in which nothing is open says so, and of one that is not there too", async () => {
    const model = await workspace.script({ text: "done" });
    const { session, end } = await driveUntil(model, (event) => event.type === "turn_ended");
    await end;
    const before = await eventsOf(session);
    expect(await cancel(session)).toEqual({ schema_version: 1, cancelled: false, session, turn: null, by: null });
    const spoken = await runOrrery(["sessions", "cancel", session], start());
    expect([spoken.code, spoken.stdout, spoken.stderr]).toEqual([0, "", expect.stringContaining("Nothing to cancel")]);
    expect(await eventsOf(session)).toEqual([...before]);
    expect((await runOrrery(["sessions", "cancel", session.replace(/.{4}$/, "0000")], start())).code).toBe(2);
    expect((await runOrrery(["sessions", "cancel", session, "--grace", "-1"], start())).code).toBe(2);
  }, 30_000);
});

async function allSessions(): Promise<readonly string[]> {
  const { stdout } = await runOrrery(["sessions", "list", "--json"], start());
  return (JSON.parse(stdout) as { sessions: { session: string }[] }).sessions.map((each) => each.session);
}
