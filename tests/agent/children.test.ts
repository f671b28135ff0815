import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { Approver } from "../../lib/agent/approver.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { createChildren } from "../../lib/agent/children.ts";
import type { StopReason } from "../../lib/agent/turn.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { fold } from "../../lib/session/evolve.ts";
import { chatReply, type FixtureEndpoint, startEndpoint } from "../fixtures/endpoint.ts";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { readFileSync } from "node:fs";

let workspace: TestWorkspace;
let agents: Agent[];
let endpoint: FixtureEndpoint | null;

beforeEach(async () => {
  workspace = await createWorkspace();
  agents = [];
  endpoint = null;
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await endpoint?.close();
  await workspace.remove();
});

/** Answers in the order of the requests: parent and child share the endpoint, and one waits for the other. */
function open(...replies: readonly Parameters<typeof chatReply>[0][]): Promise<Agent> {
  return openWith({}, ...replies);
}

async function openWith(options: Partial<AgentOptions>, ...replies: readonly Parameters<typeof chatReply>[0][]): Promise<Agent> {
  endpoint = await startEndpoint(replies.map((reply) => chatReply(reply)));
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model: "local/test", baseUrl: endpoint.url, env, ...options });
  agents.push(agent);
  return agent;
}

async function eventsOf(agent: Agent, id: string): Promise<readonly SessionEvent[]> {
  return (await agent.events(id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
}

const call = (name: string, input: object) => ({ name, arguments: JSON.stringify(input) });

describe("delegate", () => {
  test("gives the report of a session that may only look, and that is linked to its parent's call", async () => {
    await workspace.write("notes.txt", "alpha\n");
    const agent = await open(
      { calls: [call("delegate", { description: "look", prompt: "What is in notes.txt?" })] },
      { calls: [call("read_file", { path: "notes.txt" }), call("bash", { command: "touch canary" })] },
      { text: "It says alpha." },
      { text: "The report says alpha." },
    );
    const session = await agent.create();
    const result = await session.prompt("go", { source: "test" });
    expect(result).toMatchObject({ reason: "completed", text: "The report says alpha." });
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    const parent = await eventsOf(agent, session.id);
    const end = parent.find((event) => event.type === "call_ended");
    expect(end).toMatchObject({ outcome: { kind: "returned" }, result: { is_error: false, text: "It says alpha." } });
    const child = (await agent.list()).find((each) => each.session !== session.id)?.session ?? "";
    const events = await eventsOf(agent, child);
    expect(events[0]).toMatchObject({
      type: "session_opened",
      parent: { session: session.id, call: end?.type === "call_ended" ? end.call : "" },
      // As much as whoever resumes it by itself needs.
      model: "local/test",
      base_url: endpoint?.url,
    });
    const offered = events[0]?.type === "session_opened" ? events[0].tools : [];
    expect(offered.length).toBeGreaterThan(0);
    expect(offered.filter((tool) => !tool.read_only)).toEqual([]);
    expect(events.find((event) => event.type === "call_denied")).toMatchObject({ by: "unknown_tool" });
  });

  test("says so when the child ends without a report", async () => {
    const agent = await open({ calls: [call("delegate", { description: "look", prompt: "?" })] }, { text: "" }, { text: "ok" });
    const session = await agent.create();
    await session.prompt("go", { source: "test" });
    const end = (await eventsOf(agent, session.id)).find((event) => event.type === "call_ended");
    expect(end).toMatchObject({ result: { is_error: true, text: expect.stringContaining("reply was empty") } });
  });
});

describe("task_assign", () => {
  const steps = [
    { calls: [call("task_create", { subject: "Write it down" })] },
    { calls: [call("task_assign", { id: "t1", briefing: "Put alpha into out.txt." })] },
  ];

  test("briefs a session that can change things, and notes it as the owner", async () => {
    const agent = await open(...steps, { calls: [call("write_file", { path: "out.txt", content: "alpha" })] }, { text: "Written." }, {
      text: "ok",
    });
    const session = await agent.create();
    await session.prompt("go", { source: "test" });
    expect(readFileSync(join(workspace.path, "out.txt"), "utf8")).toBe("alpha");
    const child = (await agent.list()).find((each) => each.session !== session.id)?.session;
    expect(session.state().tasks["t1"]).toMatchObject({ owner: child, briefing: "Put alpha into out.txt." });
  });

  test("cannot be handed on for ever", async () => {
    const down = (depth: number) => [
      { calls: [call("task_create", { subject: `Level ${depth}` })] },
      { calls: [call("task_assign", { id: "t1", briefing: "Go deeper." })] },
    ];
    const agent = await open(...down(0), ...down(1), ...down(2), { text: "too deep" }, { text: "one up" }, { text: "top" });
    const session = await agent.create();
    expect(await session.prompt("go", { source: "test" })).toMatchObject({ reason: "completed", text: "top" });
    expect(await agent.list()).toHaveLength(3);
  });

  test("ends with its parent: what the child had running is gone", async () => {
    await workspace.tool("forever", "echo $$ > pid; exec sleep 600");
    const agent = await open(...steps, { calls: [call("forever", {})] });
    const session = await agent.create();
    const now = new AbortController();
    const turn = session.prompt("go", { source: "test", now: now.signal });
    while (!existsSync(join(workspace.path, "pid"))) await new Promise((resolve) => setTimeout(resolve, 10));
    const reason: StopReason = { reason: "cancelled", detail: "test" };
    now.abort(reason);
    expect(await turn).toMatchObject({ reason: "cancelled" });
    expect(isAlive(Number(readFileSync(join(workspace.path, "pid"), "utf8")))).toBe(false);
    const child = (await agent.list()).find((each) => each.session !== session.id);
    expect(child?.status).toBe("idle");
  });
});

describe("what a child uses and needs", () => {
  const look = { calls: [call("delegate", { description: "look", prompt: "?" })] };

  test("is its parent's use too", async () => {
    const agent = await open(look, { text: "A report." }, { text: "ok" });
    const session = await agent.create();
    const result = await session.prompt("go", { source: "test" });
    expect(result.usage).toMatchObject({ input_tokens: 30, output_tokens: 15 });
    const end = (await eventsOf(agent, session.id)).find((event) => event.type === "call_ended");
    expect(end).toMatchObject({ usage: { input_tokens: 10, output_tokens: 5 } });
  });

  test("and what its early runs saved and wasted is its parent's too", async () => {
    const agent = await open(look, { calls: [call("read_file", { path: "missing.txt" })] }, { text: "A report." }, { text: "ok" });
    const session = await agent.create();
    const result = await session.prompt("go", { source: "test" });
    const id = (await agent.list()).find((each) => each.session !== session.id)?.session ?? "";
    const { saved_ms, wasted, wasted_ms } = fold(await eventsOf(agent, id)).speculation;
    expect(wasted).toBe(1);
    expect(result.speculation).toEqual({ saved_ms, wasted, wasted_ms });
    const end = (await eventsOf(agent, session.id)).find((event) => event.type === "call_ended");
    expect(end).toMatchObject({ child_speculation: { saved_ms, wasted, wasted_ms } });
  });

  test("is its parent's use also where the child could not go on", async () => {
    const agent = await open({ text: "One." });
    const child = await agent.create();
    await child.prompt("go", { source: "test" });
    child.prompt = () => Promise.reject(new Error("its lease is lost"));
    const signals = [new AbortController().signal, new AbortController().signal] as const;
    const { run } = await createChildren(() => Promise.resolve(child), null).run({ title: "", prompt: "x", read_only: false }, ...signals);
    expect(run).toMatchObject({ outcome: { kind: "unknown" }, child: { usage: { input_tokens: 10, output_tokens: 5 } } });
  });

  test("is held to what its parent has left of the spend limit", async () => {
    const price = JSON.stringify({ "local/test": { input: 100_000, output: 0 } });
    await workspace.write("../home/prices.json", price);
    const limits = { spend_usd: 3.5, prices: join(workspace.home, "prices.json") };
    await workspace.write("../home/config/settings.json", JSON.stringify({ limits }));
    // Each reply costs one dollar: the parent's, then two of the child's, then the parent's; then the limit is reached.
    const steps = Array.from({ length: 20 }, () => look);
    const agent = await open(look, { calls: [call("read_file", { path: "a" })] }, { text: "A report." }, ...steps);
    const session = await agent.create();
    const result = await session.prompt("go", { source: "test" });
    expect(result).toMatchObject({ reason: "stopped", detail: expect.stringContaining("spend limit") });
    expect(endpoint?.requests.length).toBeLessThanOrEqual(5);
    expect(result.usage.cost_usd).toBe(endpoint?.requests.length as number);
  });

  test("from a person is asked for where its parent asks, and says which session asks", async () => {
    await workspace.tool("danger", "touch canary", 'approval = "always"');
    const asked: (string | undefined)[] = [];
    const agent = await openWith(
      { mode: "normal" },
      { calls: [call("task_create", { subject: "x" })] },
      { calls: [call("task_assign", { id: "t1", briefing: "x" })] },
      { calls: [call("danger", {})] },
      { text: "Done." },
      { text: "ok" },
    );
    const session = await agent.create();
    const approver: Approver = ({ session, name }) => {
      asked.push(name, session);
      return Promise.resolve({ decision: "allow", by: "test" });
    };
    const result = await session.prompt("go", { source: "test", approver });
    const child = (await agent.list()).find((each) => each.session !== session.id)?.session;
    expect(asked.slice(-2)).toEqual(["danger", child]);
    expect([result.unanswered, existsSync(join(workspace.path, "canary"))]).toEqual([false, true]);
  });

  test("and gets from nobody is its parent's unanswered call too", async () => {
    await workspace.tool("danger", "touch canary", 'approval = "always"');
    const agent = await open(
      { calls: [call("task_create", { subject: "x" })] },
      { calls: [call("task_assign", { id: "t1", briefing: "x" })] },
      { calls: [call("danger", {})] },
      { text: "Could not." },
      { text: "ok" },
    );
    const session = await agent.create();
    expect(await session.prompt("go", { source: "test" })).toMatchObject({ reason: "completed", unanswered: true });
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  });

  test("is bounded in steps, whatever its parent may make", async () => {
    const reads = Array.from({ length: 60 }, (_none, index) => ({ calls: [call("read_file", { path: `f${index}` })] }));
    const agent = await open(look, ...reads, { text: "done" });
    const session = await agent.create();
    await session.prompt("go", { source: "test", timeout_ms: 20_000 });
    const child = (await agent.list()).find((each) => each.session !== session.id)?.session ?? "";
    expect((await eventsOf(agent, child)).at(-1)).toMatchObject({ type: "turn_ended", detail: expect.stringContaining("50") });
  }, 30_000);

  test("and reports in vain trips the repeat guard like any other call", async () => {
    const agent = await open(...Array.from({ length: 20 }, () => [look, { text: "" }]).flat());
    const session = await agent.create();
    expect(await session.prompt("go", { source: "test" })).toMatchObject({
      reason: "stopped",
      detail: expect.stringContaining("repeated calls"),
    });
  });
});
