import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { Session } from "../../lib/agent/session.ts";
import type { StopReason, TurnResult } from "../../lib/agent/turn.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { fold } from "../../lib/session/evolve.ts";
import { chatReply, httpError, startEndpoint } from "../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agents: Agent[];

beforeEach(async () => {
  workspace = await createWorkspace();
  agents = [];
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await workspace.remove();
});

function open(model: string, options: Partial<AgentOptions> = {}): Agent {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model, env, ...options });
  agents.push(agent);
  return agent;
}

interface Played {
  readonly agent: Agent;
  readonly session: Session;
  readonly result: TurnResult;
  readonly events: readonly SessionEvent[];
}

async function play(replies: readonly object[], options: Partial<AgentOptions> = {}): Promise<Played> {
  const agent = open(await workspace.script(...replies), options);
  const session = await agent.create();
  const result = await session.prompt("go", { source: "test" });
  return { agent, session, result, events: await eventsOf(agent, session.id) };
}

async function eventsOf(agent: Agent, id: string): Promise<readonly SessionEvent[]> {
  return (await agent.events(id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
}

function resultsOf(session: Session): readonly string[] {
  return session.messages().flatMap((message) => message.role === "tool" ? [message.text] : []);
}

/** The names of the tools in a request. */
function offeredBy(body: Readonly<Record<string, unknown>>): readonly string[] {
  const tools = (body["tools"] ?? []) as readonly { readonly function: { readonly name: string } }[];
  return tools.map((tool) => tool.function.name);
}

const DONE = { text: "done" };
const call = (name: string, input: object = {}) => ({ name, arguments: input });

describe("a turn", () => {
  test("runs what the model asks for and ends when it asks for nothing", async () => {
    await workspace.write("a.txt", "alpha\n");
    await workspace.tool("hello", 'printf "hello %s" "$STELLA_INPUT_WHO"');
    const { result, session } = await play([{ calls: [call("read_file", { path: "a.txt" }), call("hello", { who: "you" })] }, DONE]);
    expect(result).toMatchObject({ reason: "completed", text: "done", steps: 2, unanswered: false });
    expect(resultsOf(session)[0]).toContain("alpha");
    expect(resultsOf(session)[1]).toBe("hello you");
  });

  test("records intent before effect and one end for each call, numbered without a gap", async () => {
    await workspace.tool("hello", "echo hi");
    const { events } = await play([{ calls: [call("hello")] }, DONE]);
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
    const types = events.map((event) => event.type).filter((type) => type.startsWith("call_"));
    expect(types).toEqual(["call_allowed", "call_started", "call_spawned", "call_ended"]);
  });

  test("gives results in call order though reads end in another order", async () => {
    await workspace.tool("slow", "sleep 0.3; echo slow", "read_only = true");
    await workspace.tool("fast", "echo fast", "read_only = true");
    const { session, events } = await play([{ calls: [call("slow"), call("fast")] }, DONE]);
    expect(resultsOf(session)).toEqual(["slow\n", "fast\n"]);
    const names = new Map(events.flatMap((event) => event.type === "call_started" ? [[event.call, event.name]] : []));
    const ends = events.flatMap((event) => event.type === "call_ended" ? [names.get(event.call)] : []);
    expect(ends).toEqual(["fast", "slow"]);
  });

  test("fails if all that the model has to say is nothing", async () => {
    for (const text of ["", " \n"]) {
      const { result, events } = await play([{ text, usage: { input_tokens: 7, output_tokens: 1 } }]);
      expect(result).toMatchObject({ reason: "failed", detail: expect.stringContaining("reply was empty"), usage: { input_tokens: 7 } });
      expect(events.at(-1)).toMatchObject({ type: "turn_ended", reason: "failed" });
    }
    const cut = await play([{ text: "", finish: "length" }]);
    expect(cut.result.detail).toContain("finish: length");
  });

  test("runs a call that is not read-only alone and in its place", async () => {
    await workspace.tool("look", "cat log 2>/dev/null; true", "read_only = true");
    await workspace.tool("add", 'sleep 0.1; printf "%s" "$STELLA_INPUT_LETTER" >> log; cat log');
    const { session } = await play([
      { calls: [call("add", { letter: "a" }), call("look"), call("add", { letter: "b" }), call("look")] },
      DONE,
    ]);
    expect(resultsOf(session)).toEqual(["a", "a", "ab", "ab"]);
  });

  test("never runs malformed arguments and says where they are wrong; blank ones are an empty object", async () => {
    await workspace.tool("touch_it", "touch canary; echo ran");
    const { session } = await play([
      { calls: [{ name: "touch_it", arguments: '{"a":1,}' }] },
      { calls: [{ name: "touch_it", arguments: "[]" }] },
      DONE,
    ]);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    expect(resultsOf(session)[0]).toContain("at character 7");
    expect(resultsOf(session)[1]).toContain("not an array");
    const blank = await play([{ calls: [{ name: "touch_it", arguments: "  " }] }, DONE]);
    expect(resultsOf(blank.session)).toEqual(["ran\n"]);
  });

  test("keeps an unknown tool's call and answers it with near names", async () => {
    await workspace.tool("hello", "echo hi");
    const { session, result } = await play([{ calls: [call("helo")] }, DONE]);
    expect(resultsOf(session)[0]).toContain('Did you mean "hello"?');
    expect(result.reason).toBe("completed");
  });

  test("stops on purpose at the step cap", async () => {
    await workspace.tool("again", "echo again");
    const { result } = await play(Array.from({ length: 5 }, () => ({ calls: [call("again")] })), { maxSteps: 3 });
    expect(result).toMatchObject({ reason: "stopped", steps: 3 });
  });

  test("denies a call that must ask when nobody can be asked, and goes on", async () => {
    await workspace.tool("danger", "touch canary", 'approval = "always"');
    const { result, session } = await play([{ calls: [call("danger")] }, DONE]);
    expect(result).toMatchObject({ reason: "completed", unanswered: true, text: "done" });
    expect(resultsOf(session)[0]).toContain("nobody can be asked");
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  });

  test("runs a call that a person allowed, and not one that was refused", async () => {
    await workspace.tool("danger", 'touch "$STELLA_INPUT_FILE"', 'approval = "always"');
    const { result, session } = await play([{ calls: [call("danger", { file: "yes" }), call("danger", { file: "no" })] }, DONE], {
      approver: (question) =>
        Promise.resolve(
          question.input.value["file"] === "yes"
            ? { decision: "allow", by: "test" }
            : { decision: "deny", by: "test", reason: "not that one" },
        ),
    });
    expect(result.unanswered).toBe(false);
    expect([existsSync(join(workspace.path, "yes")), existsSync(join(workspace.path, "no"))]).toEqual([true, false]);
    expect(resultsOf(session)[1]).toBe("not that one");
  });

  test("offers the model in each request what its mode may let run, and the log says so", async () => {
    await workspace.tool("danger", "touch canary", 'approval = "always"');
    await workspace.tool("look", "echo seen", "read_only = true");
    // Hidden ones that are called by name, and a failed attempt after which the mode is another: the same step goes on.
    const replies = [chatReply({ calls: [call("danger")] }), httpError(503, "busy"), chatReply({ text: "done" })];
    const endpoint = await startEndpoint(replies);
    try {
      const agent = open("local/test", { mode: "plan", baseUrl: endpoint.url });
      const session = await agent.create();
      const stop = session.watch((event) => {
        if (event.type === "attempt_failed") void session.changeMode("yolo", "test");
      });
      await session.prompt("go", { source: "test" });
      stop();
      const sent = endpoint.requests.map(({ body }) => offeredBy(body));
      expect(sent.map((names) => ["look", "danger", "write_file"].map((name) => names.includes(name)))).toEqual([
        [true, false, false],
        [true, false, false],
        [true, true, true],
      ]);
      const events = await eventsOf(agent, session.id);
      const recorded = events.flatMap((event) =>
        event.type === "session_opened" || event.type === "tools_changed" ? [event.tools.map(({ name }) => name)] : []
      );
      expect(recorded).toEqual([[...sent[0] ?? []], [...sent[2] ?? []]]);
      expect(resultsOf(session)[0]).toContain("not available in mode plan");
      expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    } finally {
      await endpoint.close();
    }
  });

  test("does not run a call that a person allowed in a mode that by then rules it out", async () => {
    await workspace.tool("danger", "touch canary", 'approval = "always"');
    const sessions: Session[] = [];
    const agent = open(await workspace.script({ calls: [call("danger")] }, DONE), {
      mode: "normal",
      approver: async () => {
        await sessions[0]?.changeMode("plan", "test");
        return { decision: "allow", by: "test" };
      },
    });
    sessions.push(await agent.create());
    await sessions[0]?.prompt("go", { source: "test" });
    expect(sessions.flatMap(resultsOf)[0]).toContain("not available in mode plan");
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  });

  for (
    const { mode, ran, reasons } of [
      { mode: "yolo", ran: true, reasons: ["normal", "normal"] },
      { mode: "plan", ran: false, reasons: ["normal", "normal"] },
      { mode: "auto-accept", ran: false, reasons: ["normal", "normal", "auto-accept", "auto-accept"] },
    ] as const
  ) {
    test(`judges every call of a reply anew that is not decided when the mode becomes ${mode}`, async () => {
      await workspace.tool("look", 'echo "$STELLA_INPUT_N" >> seen', 'approval = "always"\nread_only = true');
      await workspace.tool("danger", "touch canary", 'approval = "always"');
      const opened = Promise.withResolvers<Session>();
      const agent = open(await workspace.script({ calls: [call("look", { n: 1 }), call("look", { n: 2 }), call("danger")] }, DONE), {
        mode: "normal",
        approver: async ({ input, reason }, signal) => {
          // The first question is never answered: only a change of mode can end it.
          if (!reason.endsWith("mode normal")) return { decision: "deny", by: "test", reason: "no" };
          if (input.value["n"] === 2) await (await opened.promise).changeMode(mode, "test");
          return await new Promise((resolve) => signal.addEventListener("abort", () => resolve({ decision: "allow", by: "late" })));
        },
      });
      const session = await agent.create();
      opened.resolve(session);
      expect(await session.prompt("go", { source: "test" })).toMatchObject({ reason: "completed", unanswered: false });
      expect([existsSync(join(workspace.path, "seen")), existsSync(join(workspace.path, "canary"))]).toEqual([ran, ran]);
      const events = await eventsOf(agent, session.id);
      const asked = events.flatMap((event) => event.type === "approval_requested" ? [event.reason.split(" ").at(-1)] : []);
      expect(asked).toEqual(mode === "auto-accept" ? [...reasons, "auto-accept"] : [...reasons]);
      expect(events.filter((event) => event.type === "call_ended")).toHaveLength(3);
      expect(fold(events)).toEqual(session.state());
      const refused = { yolo: "", plan: "not available in mode plan", "auto-accept": "no" }[mode];
      expect(resultsOf(session).every((text) => text.includes(refused))).toBe(true);
    });
  }

  test("leaves tools of an untrusted workspace inert", async () => {
    await workspace.tool("hello", "touch canary");
    const { session, result } = await play([{ calls: [call("hello")] }, DONE], { trustWorkspace: false });
    expect(resultsOf(session)[0]).toContain("not trusted");
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    expect(result.reason).toBe("completed");
  });
});

describe("a stream that breaks", () => {
  test("never runs a call twice that is not safe to repeat, and keeps one text", async () => {
    await workspace.tool("append_line", 'printf "%s\\n" "$STELLA_INPUT_L" >> lines');
    const reply = { text: "Hi ", calls: [call("append_line", { l: "x" })] };
    const { session, events } = await play([{ attempts: [{ ...reply, drop: true }, reply] }, DONE]);
    expect(readFileSync(join(workspace.path, "lines"), "utf8")).toBe("x\n");
    expect(session.messages().filter((message) => message.role === "assistant").map((message) => message.text)).toEqual(["Hi ", "done"]);
    expect(events.filter((event) => event.type === "attempt_failed")).toHaveLength(1);
  });

  test("ends the turn as failed when no attempt is left, with the model's own error", async () => {
    const { result } = await play([{ error: { kind: "auth", message: "the key was refused" } }]);
    expect(result).toMatchObject({ reason: "failed", error: { kind: "auth" } });
  });
});

describe("an endpoint that cannot be reached", () => {
  const unreachable = { error: { kind: "unreachable", message: "refused" } };

  test("is tried twice in every turn of a session that never had an answer", async () => {
    const { agent, session, result } = await play([unreachable]);
    const again = await session.prompt("again", { source: "test" });
    expect([result.error?.kind, again.error?.kind]).toEqual(["unreachable", "unreachable"]);
    expect((await eventsOf(agent, session.id)).filter((event) => event.type === "attempt_started")).toHaveLength(4);
  });

  test("is tried on where a reply had already begun", async () => {
    const { result } = await play([{ attempts: [{ text: "Hi", drop: true }, unreachable, unreachable, DONE] }]);
    expect(result).toMatchObject({ reason: "completed", text: "done" });
  });
});

describe("a turn whose journal fails", () => {
  /** From now on no event of this type can be recorded. */
  function refuseEvents(type: string): void {
    const database = openDatabase(join(workspace.home, "data/journal.sqlite"), { busy_timeout_ms: 5000 });
    database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.body ->> 'type' = '${type}'
      BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`);
    database.close();
  }

  function acceptEvents(): void {
    const database = openDatabase(join(workspace.home, "data/journal.sqlite"), { busy_timeout_ms: 5000 });
    database.exec("DROP TRIGGER refuse");
    database.close();
  }

  const PENDING = { kind: "not_started", reason: "pending" };
  const outcomesSoFar = (session: Session): readonly object[] => session.soFar()?.calls.map((each) => each.outcome) ?? [];

  async function playUpTo(refused: string): Promise<{ readonly session: Session; readonly events: readonly SessionEvent[] }> {
    await workspace.tool("hello", "echo hi");
    const agent = open(await workspace.script({ text: "I look.", calls: [call("hello"), call("hello")] }, DONE));
    const session = await agent.create();
    await session.changeMode("yolo", "test");
    refuseEvents(refused);
    await expect(session.prompt("go", { source: "test" })).rejects.toThrow();
    return { session, events: await eventsOf(agent, session.id) };
  }

  test("tells of a call whose end is not in the log as one that is not known", async () => {
    const { session, events } = await playUpTo("call_ended");
    expect(events.some((event) => event.type === "call_ended")).toBe(false);
    expect(outcomesSoFar(session)).toEqual([{ kind: "unknown", cause: "not_recorded" }, PENDING]);
  });

  for (const [refused, standing] of [["call_allowed", "requested"], ["call_started", "allowed"]] as const) {
    test(`tells of a call that was only ${standing} as one that waits, which a later runtime runs`, async () => {
      const { session } = await playUpTo(refused);
      expect(outcomesSoFar(session)).toEqual([PENDING, PENDING]);
      await Promise.all(agents.map((agent) => agent.close()));
      acceptEvents();
      const result = await (await open(await workspace.script({}, DONE)).open(session.id)).resume({});
      expect(result?.calls.map((each) => each.outcome)).toEqual([{ kind: "exited", code: 0 }, { kind: "exited", code: 0 }]);
    });
  }

  test("has nothing to tell in a runtime that only found that turn open", async () => {
    const { session } = await playUpTo("call_ended");
    await Promise.all(agents.map((agent) => agent.close()));
    const found = await open(await workspace.script(DONE)).open(session.id);
    expect([found.state().turn.kind, found.soFar()]).toEqual(["running", null]);
  });

  test("does not tell of a reply that is not in the log", async () => {
    const { session, events } = await playUpTo("reply_committed");
    expect(events.some((event) => event.type === "reply_committed")).toBe(false);
    expect(session.soFar()).toMatchObject({ reason: "failed", text: "", calls: [], usage: { input_tokens: 0, output_tokens: 0 } });
  });

  test("tells nothing of the turn before, if not even the prompt is in the log", async () => {
    const { session } = await play([{ text: "first" }, { text: "second" }]);
    refuseEvents("prompted");
    await expect(session.prompt("again", { source: "test" })).rejects.toThrow();
    expect(session.soFar()).toMatchObject({ turn: 2, reason: "failed", text: "", steps: 0, calls: [] });
  });
});

describe("stopping a turn", () => {
  const reason: StopReason = { reason: "cancelled", detail: "test" };

  /** Resolves when the session says that this kind of event happened. */
  function seen(session: Session, type: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = session.watch((event) => {
      if (event.type !== type) return;
      end();
      resolve();
    });
    return promise;
  }

  test("at a safe point lets a running call finish and starts nothing new", async () => {
    await workspace.tool("slow", "until [ -e go ]; do sleep 0.02; done; touch finished; echo ok");
    await workspace.tool("second", "touch second");
    const agent = open(await workspace.script({ calls: [call("slow"), call("second")] }, DONE));
    const session = await agent.create();
    const stop = new AbortController();
    const started = seen(session, "call_spawned");
    const turn = session.prompt("go", { source: "test", stop: stop.signal });
    await started;
    stop.abort(reason);
    await workspace.write("go", "");
    expect(await turn).toMatchObject({ reason: "cancelled" });
    expect([existsSync(join(workspace.path, "finished")), existsSync(join(workspace.path, "second"))]).toEqual([true, false]);
    expect(resultsOf(session)).toEqual(["ok\n", "This call was not run: the turn was cancelled."]);
  });

  test("at once ends the running call and leaves a history that the next prompt can use", async () => {
    await workspace.tool("forever", "echo begun; exec sleep 600");
    const agent = open(await workspace.script({ calls: [call("forever"), call("forever")] }, { text: "next" }));
    const session = await agent.create();
    const now = new AbortController();
    const started = seen(session, "call_spawned");
    const turn = session.prompt("go", { source: "test", now: now.signal });
    await started;
    now.abort(reason);
    expect(await turn).toMatchObject({ reason: "cancelled" });
    expect(resultsOf(session)).toHaveLength(2);
    expect(await session.prompt("again", { source: "test" })).toMatchObject({ reason: "completed", text: "next" });
  });

  test("does not wait for a model that is silent", async () => {
    const agent = open(await workspace.script({ text: ["a"], delay_ms: 60_000 }));
    const session = await agent.create();
    const stop = new AbortController();
    const started = seen(session, "attempt_started");
    const turn = session.prompt("go", { source: "test", stop: stop.signal });
    await started;
    stop.abort(reason);
    expect(await turn).toMatchObject({ reason: "cancelled" });
  });

  test("the wall clock ends the turn and says so", async () => {
    await workspace.tool("forever", "exec sleep 600");
    const agent = open(await workspace.script({ calls: [call("forever")] }));
    const session = await agent.create();
    expect(await session.prompt("go", { source: "test", timeout_ms: 700 })).toMatchObject({ reason: "stopped", timed_out: true });
  });
});

describe("a session", () => {
  test("goes on in another runtime with what it knows", async () => {
    const script = await workspace.script({ text: "first" }, { text: "second" });
    const before = open(script);
    const session = await before.create({ title: "T" });
    await session.prompt("one", { source: "test" });
    await before.close();
    const again = await open(script).open(session.id);
    expect(await again.prompt("two", { source: "test" })).toMatchObject({ turn: 2, text: "second" });
    expect(again.messages().map((message) => message.role)).toEqual(["system", "user", "assistant", "user", "assistant"]);
  });

  test("is trusted in its own workspace by a runtime that was opened elsewhere to trust", async () => {
    await workspace.tool("hello", "echo hi");
    const script = await workspace.script({ calls: [call("hello")] }, DONE, { calls: [call("hello")] }, DONE);
    const before = open(script, { trustWorkspace: false });
    const { id } = await before.create();
    await before.close();
    const session = await open(script, { workspace: workspace.home }).open(id);
    await session.prompt("go", { source: "test" });
    expect(resultsOf(session)).toEqual(["hi\n"]);
  });

  test("is not opened by a runtime that was told to work elsewhere, and is not held by it", async () => {
    const script = await workspace.script(DONE);
    const before = open(script);
    const { id } = await before.create();
    await before.close();
    await expect(open(script, { workspace: workspace.home, onlyHere: true }).open(id)).rejects.toThrow(workspace.path);
    expect((await open(script, { onlyHere: true }).open(id)).id).toBe(id);
  });

  test("refuses a second driver and names the holder", async () => {
    const script = await workspace.script(DONE);
    const session = await open(script).create();
    await session.prompt("one", { source: "test" });
    const error = await open(script).open(session.id).then(() => null, (reason: Error) => reason);
    expect(error?.name).toBe("JournalHeld");
    expect(error?.message).toContain(String(process.pid));
  });

  test("refuses a prompt while a turn runs", async () => {
    await workspace.tool("slow", "sleep 0.3");
    const agent = open(await workspace.script({ calls: [call("slow")] }, DONE));
    const session = await agent.create();
    const turn = session.prompt("one", { source: "test" });
    const refused = await session.prompt("two", { source: "test" }).then(() => null, (reason: Error) => reason);
    expect(refused?.name).toBe("SessionRefusal");
    expect(await turn).toMatchObject({ reason: "completed" });
  });
});

describe("a model that says the request is too long", () => {
  test("is asked again with a shorter one, and the session goes on", async () => {
    await workspace.tool("long", "yes line | head -c 60000");
    const overflow = { error: { kind: "context_overflow", message: "too long" } };
    const agent = open(await workspace.script({ calls: [call("long")] }, { attempts: [overflow, overflow, { text: "fits now" }] }));
    const session = await agent.create();
    expect(await session.prompt("go", { source: "test" })).toMatchObject({ reason: "completed", text: "fits now" });
    const sent = (await eventsOf(agent, session.id)).flatMap((event) => event.type === "attempt_failed" ? [event.request_bytes ?? 0] : []);
    expect(sent[1]).toBeLessThanOrEqual((sent[0] ?? 0) / 2);
    // The log keeps what the model is not shown any more.
    const end = (await eventsOf(agent, session.id)).find((event) => event.type === "call_ended");
    expect(end?.type === "call_ended" ? end.result.text.length : 0).toBe(60_000);
  });

  test("fails when nothing is left to shorten", async () => {
    const overflow = { error: { kind: "context_overflow", message: "too long" } };
    const { result } = await play([{ attempts: [overflow, overflow, overflow, overflow, overflow] }]);
    expect(result).toMatchObject({ reason: "failed", error: { kind: "context_overflow" } });
  });
});

describe("a model that repeats itself", () => {
  test("is told once and then stopped on purpose", async () => {
    await workspace.tool("noop", "echo noop");
    const { result, session } = await play(Array.from({ length: 10 }, () => ({ calls: [call("noop")] })));
    expect(result).toMatchObject({ reason: "stopped", steps: 4 });
    expect(result.detail).toContain("noop");
    expect(session.messages().filter((message) => message.role === "user")).toHaveLength(2);
  });
});
