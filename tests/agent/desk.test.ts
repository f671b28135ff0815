import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import { Desk, type DeskOptions } from "../../lib/agent/desk.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { EventOf } from "../../lib/session/event.ts";
import { chatReply, startEndpoint } from "../fixtures/endpoint.ts";
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

async function openDesk(
  replies: readonly object[],
  options: DeskOptions = {},
  agentOptions: AgentOptions = {},
): Promise<{ agent: Agent; desk: Desk }> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  const agent = openAgent({
    workspace: workspace.path,
    trustWorkspace: true,
    model: await workspace.script(...replies),
    env,
    ...agentOptions,
  });
  agents.push(agent);
  return { agent, desk: new Desk(agent, options) };
}

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(() => "none", (error: { readonly code?: string }) => error.code ?? String(error));
const idOf = async (desk: Desk) => (await desk.create({})).state.session ?? "";
const go = { source: "test", if_busy: "refuse" } as const;
const bash = (command: string) => ({ calls: [{ name: "bash", arguments: { command } }] });
const moment = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Allows the call of the session that waits. */
async function answerOf(desk: Desk, id: string): Promise<void> {
  while ((await desk.view(id)).status !== "waiting") await moment();
  const { turn } = (await desk.view(id)).state;
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  await desk.answer(id, calls.find(({ status }) => status.kind === "asking")?.call ?? "", { decision: "allow", by: "test" });
}

describe("a desk", () => {
  test("opens a session once, however many ask for it at the same time", async () => {
    const { desk } = await openDesk([{ text: ["a", "b"], delay_ms: 60_000 }], { idle_ms: 1 });
    const id = await idOf(desk);
    const answers = await Promise.all(Array.from({ length: 8 }, () => refusalOf(desk.prompt(id, "go", go))));
    expect(answers.filter((each) => each === "none")).toHaveLength(1);
    expect(answers.filter((each) => each === "busy")).toHaveLength(7);
    await desk.cancel(id, 0);
  });

  test("gives back a session that nothing uses, so that another runtime can open it", async () => {
    const { desk } = await openDesk([{ text: "one" }, { text: "two" }], { idle_ms: 1 });
    const other = await openDesk([]);
    const id = await idOf(desk);
    await (await desk.prompt(id, "go", go)).ended;
    while (desk.counts.sessions > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await (await other.desk.prompt(id, "go", go)).ended)?.text).toBe("two");
    expect(await refusalOf(desk.prompt(id, "go", go))).toBe("held");
  });

  test("looks at sessions without opening them", async () => {
    const { desk } = await openDesk([{ text: "one" }]);
    const other = await openDesk([{ text: "one" }]);
    const id = await idOf(other.desk);
    expect((await desk.view(id)).status).toBe("idle");
    expect(await desk.head(id)).toBe(1);
    expect((await desk.list({ limit: 10 }))[0]).toMatchObject({ session: id, status: "held" });
    expect(desk.counts.sessions).toBe(0);
  });

  test("shows a turn as interrupted or held, as it is", async () => {
    const { desk } = await openDesk([]);
    const other = await openDesk([{ text: ["a", "b"], delay_ms: 60_000 }]);
    const id = await idOf(other.desk);
    await other.desk.prompt(id, "go", go);
    expect((await desk.view(id)).status).toBe("held");
    expect((await other.desk.view(id)).status).toBe("running");
    await other.agent.close();
    // Looks that follow each other closely share one: what another runtime does is seen a moment later.
    while ((await desk.view(id)).status === "held") await moment();
    expect((await desk.view(id)).status).toBe("interrupted");
    expect(await refusalOf(desk.prompt(id, "go", go))).toBe("interrupted");
  });

  test("looks at one session without a look at the others", async () => {
    const { desk, agent } = await openDesk([]);
    const other = await openDesk([{ text: ["a", "b"], delay_ms: 60_000 }]);
    const id = await idOf(other.desk);
    await other.desk.prompt(id, "go", go);
    const journal = agent.log as unknown as { list: () => Promise<never> };
    journal.list = () => Promise.reject(new Error("every session was looked at"));
    expect((await desk.view(id)).status).toBe("held");
    expect(await refusalOf(desk.answer(id, "call_none", { decision: "deny", by: "test" }))).toBe("unknown_call");
  });

  test("does not take itself for another runtime while it opens a session", async () => {
    const slow = [{ text: ["a", "b"], delay_ms: 60_000 }];
    const { desk, agent } = await openDesk(slow);
    const other = await openDesk(slow);
    const id = await idOf(other.desk);
    await other.desk.prompt(id, "go", go);
    await other.agent.close();
    const journal = agent.log as { standing: typeof agent.log.standing };
    const standing = journal.standing.bind(journal);
    const opened = Promise.withResolvers<void>();
    journal.standing = async (session) => {
      journal.standing = standing;
      await opened.promise;
      return await standing(session);
    };
    const view = desk.view(id);
    await desk.resume(id);
    opened.resolve();
    expect((await view).status).toBe("running");
    await desk.cancel(id, 0);
  });

  test("goes on after its journal failed in one session, with that session too", async () => {
    const { desk, agent } = await openDesk([{ text: "one" }, { text: "two" }]);
    const [id, bystander] = [await idOf(desk), await idOf(desk)];
    const journal = agent.log as unknown as { append: (...args: unknown[]) => Promise<void> };
    const append = journal.append;
    journal.append = () => Promise.reject(new Error("the disk is gone"));
    expect(await refusalOf(desk.prompt(id, "go", go))).toContain("the disk is gone");
    journal.append = append;
    expect((await (await desk.prompt(bystander, "go", go)).ended)?.reason).toBe("completed");
    expect((await (await desk.prompt(id, "go", go)).ended)?.text).toBe("one");
  });

  test("takes the answer for a session that works for one of its own, and says that both wait", async () => {
    await workspace.tool("danger", "touch canary", 'approval = "always"');
    const call = (name: string, input: object) => ({ calls: [{ name, arguments: JSON.stringify(input) }] });
    const replies = [call("task_create", { subject: "x" }), call("task_assign", { id: "t1", briefing: "Make it." }), call("danger", {})];
    const endpoint = await startEndpoint([...replies, { text: "Made." }, { text: "ok" }].map((reply) => chatReply(reply)));
    try {
      const { agent, desk } = await openDesk([], {}, { mode: "auto-accept", model: "local/test", baseUrl: endpoint.url });
      const id = await idOf(desk);
      const { ended } = await desk.prompt(id, "go", go);
      while ((await desk.view(id)).status !== "waiting") await moment();
      const child = (await agent.list()).find(({ session }) => session !== id)?.session ?? "";
      expect((await desk.view(child)).status).toBe("waiting");
      const asked = (await agent.events(child)).flatMap(({ ...row }) => "event" in row ? [row.event] : []);
      const question = asked.find(({ type }) => type === "approval_requested") as EventOf<"approval_requested">;
      const allow = { decision: "allow", by: "test" } as const;
      expect(await refusalOf(desk.answer(child, question.call, { ...allow, input_digest: "0".repeat(64) }))).toBe("altered");
      expect(await refusalOf(desk.answer(id, question.call, allow))).toBe("unknown_call");
      await desk.answer(child, question.call, { ...allow, input_digest: question.input_digest });
      expect((await ended)?.unanswered).toBe(false);
      expect(existsSync(join(workspace.path, "canary"))).toBe(true);
    } finally {
      await endpoint.close();
    }
  });

  test("drains: nothing new, queued prompts dropped, what runs is let finish", async () => {
    await workspace.tool("gate", "while [ ! -e open ]; do sleep 0.02; done");
    const { desk } = await openDesk([{ calls: [{ name: "gate", arguments: {} }] }, { text: "done" }]);
    const id = await idOf(desk);
    const running = await desk.prompt(id, "go", go);
    const queued = await desk.prompt(id, "more", { ...go, if_busy: "queue" });
    const drained = desk.drain(30_000);
    expect(await queued.ended).toBeNull();
    expect(await refusalOf(desk.create({}))).toBe("draining");
    expect(await refusalOf(desk.prompt(id, "go", go))).toBe("draining");
    await workspace.write("open", "");
    expect((await running.ended)?.reason).toBe("completed");
    expect(await drained).toBe(0);
    expect(desk.counts).toEqual({ sessions: 0, turns: 0, waiting: 0, readers: 0 });
  });

  test("drains: a turn that only waits for an answer is left open at once, and whoever waits for its end is told", async () => {
    const { agent, desk } = await openDesk([bash("touch made"), { text: "done" }], {}, { mode: "normal" });
    const id = await idOf(desk);
    const running = await desk.prompt(id, "go", go);
    const ended = refusalOf(running.ended);
    while ((await desk.view(id)).status !== "waiting") await moment();
    expect(await Promise.all([desk.drain(600_000), desk.drain(600_000)])).toEqual([0, 0]);
    expect(await ended).toBe("draining");
    expect((await desk.view(id)).status).toBe("interrupted");
    const asked = (await agent.events(id)).flatMap((row) =>
      row.kind === "event" && row.event.type === "approval_requested" ? [row.event] : []
    );
    const [event] = asked;
    const call = event !== undefined && "call" in event ? event.call : "";
    expect(await refusalOf(desk.answer(id, call, { decision: "allow", by: "test" }))).toBe("interrupted");
    const next = new Desk(agent);
    const resumed = await next.resume(id);
    while ((await next.view(id)).status !== "waiting") await moment();
    await next.answer(id, call, { decision: "allow", by: "test" });
    expect((await resumed.ended)?.reason).toBe("completed");
    await next.drain(0);
  });

  test("shows a turn that it left open as interrupted at once, whoever looked while it was being left", async () => {
    const { agent, desk } = await openDesk([bash("touch made"), { text: "done" }], {}, { mode: "normal" });
    const id = await idOf(desk);
    (await desk.prompt(id, "go", go)).ended.catch(() => undefined);
    while ((await desk.view(id)).status !== "waiting") await moment();
    const release = agent.release.bind(agent);
    agent.release = async (session) => {
      await desk.view(id);
      await release(session);
    };
    await desk.drain(600_000);
    expect((await desk.view(id)).status).toBe("interrupted");
  });

  test("drains: a question that is answered in time is worked on to the turn's end", async () => {
    const gate = bash("touch begun; while [ ! -e open ]; do sleep 0.02; done");
    const { desk } = await openDesk([gate, { text: "done" }], {}, { mode: "normal" });
    const other = await idOf(desk);
    const holding = await desk.prompt(other, "go", go);
    await answerOf(desk, other);
    const id = await idOf(desk);
    const running = await desk.prompt(id, "go", go);
    while ((await desk.view(id)).status !== "waiting") await moment();
    while (!existsSync(join(workspace.path, "begun"))) await moment();
    const drained = desk.drain(600_000);
    await answerOf(desk, id);
    await workspace.write("open", "");
    expect([(await holding.ended)?.reason, (await running.ended)?.reason, await drained]).toEqual(["completed", "completed", 0]);
  });

  test("drains: what runs is stopped at once when it is told to hurry", async () => {
    const { desk } = await openDesk([bash("touch begun; exec sleep 600"), { text: "done" }], {}, { mode: "yolo" });
    const id = await idOf(desk);
    const running = await desk.prompt(id, "go", go);
    while (!existsSync(join(workspace.path, "begun"))) await moment();
    const now = new AbortController();
    const drained = desk.drain(600_000, now.signal);
    now.abort();
    expect([await drained, (await running.ended)?.reason]).toEqual([1, "stopped"]);
  });
});
