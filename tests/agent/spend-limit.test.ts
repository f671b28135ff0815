/** A spend limit over real HTTP: one that cannot be held against anything stops the turn, it does not do nothing. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import { delta, DONE, type EndpointReply, type FixtureEndpoint, startEndpoint, streamed } from "../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agent: Agent | null;
let endpoint: FixtureEndpoint | null;

beforeEach(async () => {
  workspace = await createWorkspace();
  [agent, endpoint] = [null, null];
});

afterEach(async () => {
  await agent?.close();
  await endpoint?.close();
  await workspace.remove();
});

const ALL = { prompt_tokens: 1000, completion_tokens: 100 };
const CANNOT = "the spend limit of 5 USD cannot be checked";

/** Asks for the call, or says "done"; with what is reported of its use, if anything. */
function reply(call: string | null, usage?: object, input: object = {}): EndpointReply {
  const calls = call === null ? [] : [{ index: 0, id: "c", type: "function", function: { name: call, arguments: JSON.stringify(input) } }];
  return streamed(
    delta(call === null ? { content: "done" } : { tool_calls: calls }),
    delta({}, call === null ? "stop" : "tool_calls"),
    ...(usage === undefined ? [] : [{ choices: [], usage }]),
    DONE,
  );
}

async function openSession(replies: readonly EndpointReply[], model = "local/m") {
  await workspace.tool("mark", "echo $$");
  await mkdir(join(workspace.home, "config"), { recursive: true });
  await writeFile(join(workspace.home, "config/prices.json"), JSON.stringify({ "local/m": { input: 10, output: 10 } }));
  const settings = { limits: { spend_usd: 5, prices: "prices.json" } };
  await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify(settings));
  endpoint = await startEndpoint((_request, position) => replies[Math.min(position, replies.length - 1)] ?? reply(null));
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home, OPENROUTER_API_KEY: "k" };
  agent = openAgent({ workspace: workspace.path, trustWorkspace: true, model, baseUrl: endpoint.url, env });
  return await agent.create();
}

const asked = () => endpoint?.requests.length;

describe("a spend limit", () => {
  for (
    const [what, usage] of Object.entries({
      none: undefined,
      "the input alone": { prompt_tokens: 1 },
      "the output alone": { completion_tokens: 1 },
    })
  ) {
    test(`ends the turn behind the reply of whose tokens the endpoint reports ${what}`, async () => {
      const session = await openSession([reply("mark", ALL), reply("mark", usage)]);
      const result = await session.prompt("go", { source: "test" });
      expect(result).toMatchObject({
        reason: "stopped",
        detail: expect.stringContaining(CANNOT),
        steps: 2,
        usage: { unreported_replies: 1 },
      });
      expect([asked(), result.calls.length]).toEqual([2, 2]);
    });
  }

  test("ends it too when that reply is the last one, and asks no more until somebody lifts it", async () => {
    const session = await openSession([reply(null)]);
    expect(await session.prompt("go", { source: "test" })).toMatchObject({
      reason: "stopped",
      detail: expect.stringContaining(CANNOT),
      text: "done",
    });
    expect(await session.prompt("go on", { source: "test" })).toMatchObject({ reason: "stopped", detail: expect.stringContaining(CANNOT) });
    expect(asked()).toBe(1);
  });

  test("takes two zeros that were reported for no cost", async () => {
    const session = await openSession([reply("mark", { prompt_tokens: 0, completion_tokens: 0 }), reply(null, ALL)]);
    expect(await session.prompt("go", { source: "test" })).toMatchObject({ reason: "completed", usage: { cost_usd: 0.011 } });
  });

  test("without a price needs the cost of every reply", async () => {
    const session = await openSession([reply("mark", { ...ALL, cost: 0.01 }), reply("mark", ALL)], "openrouter/m");
    expect(await session.prompt("go", { source: "test" })).toMatchObject({
      reason: "stopped",
      detail: expect.stringContaining(CANNOT),
      steps: 2,
    });
  });

  test("that cannot be checked in a session that works for it cannot be checked in its own", async () => {
    const look = { description: "look", prompt: "?" };
    const session = await openSession([reply("delegate", ALL, look), reply("mark"), reply(null, ALL)]);
    const result = await session.prompt("go", { source: "test" });
    expect(result).toMatchObject({ reason: "stopped", detail: expect.stringContaining(CANNOT), usage: { unreported_replies: 1 } });
    expect(asked()).toBe(2);
    const answer = session.messages().find((message) => message.role === "tool");
    expect(answer).toMatchObject({ is_error: true, text: expect.stringContaining("cannot be checked") });
  });
});
