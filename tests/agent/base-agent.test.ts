import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import {
  Agent,
  BaseAgent,
  type BaseAgentOptions,
  createApp,
  type FeedEvent,
  isKnown,
  NoResponse,
  openAgent,
  type Session,
  type SessionEvent,
  Tool,
  tool,
  ValidationError,
} from "../../mod.ts";
import { chatReply, type FixtureEndpoint, httpError, startEndpoint } from "../fixtures/endpoint.ts";
import { record, whereAmI } from "../fixtures/sdk/embedded/tools.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;
let agents: BaseAgent[];

beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
  agents = [];
});
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await endpoint?.close();
  await workspace.remove();
});

const getWeather = tool({
  name: "get_weather",
  description: "Tell the weather.",
  inProcess: true,
  parameters: v.object({ city: v.pipe(v.string(), v.description("Where")) }),
  execute({ city }, { status }) {
    status("thinking", `looking at ${city}`);
    if (city === "Atlantis") throw new ValidationError("There is no such city");
    return { temp: 65, conditions: "sunny" };
  },
});

class WeatherAgent extends Agent {
  override readonly tools = [getWeather];
  override readonly systemPrompt = "You know the weather.";
}

/** What every agent of these tests is opened with; the model's replies are played in order. */
async function options(...replies: readonly Parameters<typeof chatReply>[0][]): Promise<BaseAgentOptions> {
  endpoint = await startEndpoint(replies.map((reply) => chatReply(reply)));
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  return { workspace: workspace.path, model: "local/test", baseUrl: endpoint.url, env };
}

function kept<A extends BaseAgent>(agent: A): A {
  agents.push(agent);
  return agent;
}

async function eventsOf(agent: BaseAgent): Promise<readonly SessionEvent[]> {
  const { id } = await agent.session();
  return (await agent.runtime.events(id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
}

const call = (name: string, input: object) => ({ name, arguments: JSON.stringify(input) });

const TOKEN = "a-token-for-this-test";

describe("an agent whose model answers", () => {
  test("is a session: its tools are offered, called and recorded, and nothing else is", async () => {
    const agent = kept(new WeatherAgent(await options({ calls: [call("get_weather", { city: "Oslo" })] }, { text: "It is sunny." })));
    const live: FeedEvent[] = [];
    (await agent.session()).watch((event) => void live.push(event));
    expect(await agent.generateResponse("How is it in Oslo?")).toBe("It is sunny.");
    const [first, second] = endpoint?.requests ?? [];
    expect(first?.body["messages"]).toMatchObject([{ role: "system", content: "You know the weather." }, {
      role: "user",
      content: "How is it in Oslo?",
    }]);
    expect((first?.body["tools"] as readonly { function: { name: string } }[]).map((each) => each.function.name)).toEqual(["get_weather"]);
    expect((second?.body["messages"] as readonly object[]).at(-1)).toMatchObject({
      role: "tool",
      content: '{"temp":65,"conditions":"sunny"}',
    });
    const events = await eventsOf(agent);
    expect(events.find((event) => event.type === "call_started")).toMatchObject({ worker: "in-process" });
    const end = events.find((event) => event.type === "call_ended");
    expect(end).toMatchObject({ outcome: { kind: "returned" }, result: { data: { temp: 65, conditions: "sunny" } } });
    expect(live).toContainEqual(
      expect.objectContaining({ status: "thinking", text: "looking at Oslo", call: end?.type === "call_ended" ? end.call : "" }),
    );
    expect(agent.history).toMatchObject([
      { role: "user" },
      { role: "assistant", content: null, tool_calls: [{ function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }] },
      { role: "tool" },
      { role: "assistant", content: "It is sunny." },
    ]);
    const [listing] = (await agent.runtime.toolbox()).listings;
    expect(listing).toMatchObject({
      name: "get_weather",
      in_process: true,
      status: "offered",
      origin: { system: "sdk", scope: "session" },
    });
  });

  test("calls a tool that a module exports in a process of its own", async () => {
    const agent = kept(new BaseAgent(await options({ calls: [call("where_am_i", {})] }, { text: "There." })));
    agent.registerTool(whereAmI);
    expect(await agent.generateResponse("Where?")).toBe("There.");
    const events = await eventsOf(agent);
    const pid = events.find((event) => event.type === "call_spawned");
    expect(events.find((event) => event.type === "call_ended")).toMatchObject({
      result: { data: pid?.type === "call_spawned" ? pid.pid : 0 },
    });
    expect(pid).not.toMatchObject({ pid: process.pid });
  });

  test("throws what went wrong, with how the turn ended", async () => {
    const given = await options();
    await endpoint?.close();
    endpoint = await startEndpoint([httpError(401, { error: { message: "who are you?" } })]);
    const agent = kept(new WeatherAgent({ ...given, baseUrl: endpoint.url }));
    const refused = await agent.generateResponse("Hello?").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NoResponse);
    expect(refused).toMatchObject({ result: { reason: "failed", error: { kind: "auth" } } });
  });

  test("goes on with a session that another agent began", async () => {
    const shared = await options({ text: "Sunny." }, { text: "As I said." });
    const first = kept(new WeatherAgent(shared));
    await first.generateResponse("How is it?");
    const { id } = await first.session();
    await first.close();
    const second = kept(new WeatherAgent({ ...shared, session: id }));
    expect(await second.generateResponse("Again?")).toBe("As I said.");
    expect((endpoint?.requests[1]?.body["messages"] as readonly object[]).length).toBe(4);
  });
});

describe("tools of an agent", () => {
  test("are defined in the shape of chat completions, whichever way they came", async () => {
    class Echo extends Tool {
      readonly name = "echo";
      readonly description = "Echo.";
      readonly parameters = v.object({});
      override readonly inProcess = true;
      execute() {
        return null;
      }
    }
    const agent = kept(new WeatherAgent(await options()));
    agent.registerTool(new Echo());
    agent.registerTool(record);
    expect(agent.getToolDefinitions().map((each) => [each.type, each.function.name])).toEqual([
      ["function", "get_weather"],
      ["function", "echo"],
      ["function", "record"],
    ]);
    expect(agent.getToolDefinitions()[0]?.function).toEqual({
      name: "get_weather",
      description: "Tell the weather.",
      parameters: { type: "object", properties: { city: { type: "string", description: "Where" } }, required: ["city"] },
    });
  });

  test("say where they run, have their own names, and are registered before the agent works", async () => {
    const agent = kept(new WeatherAgent(await options({ text: "Hello." })));
    const closure = { name: "closure", description: "", parameters: v.object({}), execute: () => 1 };
    expect(() => agent.registerTool(tool(closure))).toThrow(/neither exported by a module nor runs in this process/);
    expect(() => agent.registerTool(tool({ ...closure, inProcess: true, module: import.meta.url }))).toThrow(/both/);
    expect(() => agent.registerTool(tool({ ...closure, name: "two words", inProcess: true }))).toThrow(/name: must be/);
    expect(() => agent.registerTool(tool({ ...closure, parameters: v.object({ at: v.date() }), inProcess: true }))).toThrow(/date/);
    agent.registerTool(tool({ ...closure, name: "get_weather", inProcess: true }));
    expect(await agent.generateResponse("Hello").catch(String)).toContain('two tools named "get_weather"');
    expect(() => agent.registerTool(record)).toThrow(/is at work/);
  });

  test("can be called alone: gated and supervised, with what went wrong as a value", async () => {
    const agent = kept(new WeatherAgent(await options()));
    agent.registerTool(record);
    expect(await agent.executeTool("get_weather", { city: "Oslo" })).toEqual({ temp: 65, conditions: "sunny" });
    expect(await agent.executeTool("get_weather", '{"city":"Atlantis"}')).toEqual({ error: "There is no such city" });
    expect(await agent.executeTool("get_weather", {})).toEqual({ error: expect.stringContaining("city") });
    expect(await agent.executeTool("get_wether", {})).toEqual({ error: expect.stringContaining("get_weather") });
    expect(await agent.executeTool("bash", { command: "touch canary" })).toEqual({ error: expect.any(String) });
    expect(await agent.executeTool("record", { line: "a" })).toEqual({ recorded: "a" });
    expect(readFileSync(join(workspace.path, "effects"), "utf8")).toBe("a\n");
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  });

  const bad: readonly (readonly [string, () => unknown, string])[] = [
    ["never returns", () => new Promise(() => {}), "timed out after 200 ms"],
    ["throws what is no error", () => Promise.reject("a text"), "what is not an error: a text"],
    ["returns what JSON cannot hold", () => ({ n: 1n }), '["n"] is of type bigint'],
  ];
  for (const [what, execute, text] of bad) {
    test(`that ${what} in this process is an error and not the end of the agent`, async () => {
      const agent = kept(new BaseAgent(await options()));
      agent.registerTool(tool({ name: "bad", description: "", parameters: v.object({}), inProcess: true, timeoutMs: 200, execute }));
      agent.registerTool(getWeather);
      expect(await agent.executeTool("bad", {})).toEqual({ error: expect.stringContaining(text) });
      expect(await agent.executeTool("get_weather", { city: "Oslo" })).toMatchObject({ temp: 65 });
    });
  }
});

/** The loop of the SDK's page: a model of its own, notifications, and the tools by `executeTool`. */
class LoopAgent extends WeatherAgent {
  readonly asked: { readonly messages: readonly object[]; readonly tools: readonly object[] }[] = [];

  override async generateResponse(input: string): Promise<string> {
    const messages: object[] = [{ role: "system", content: this.systemPrompt }, ...this.history, { role: "user", content: input }];
    let message = this.#complete(messages);
    while (message.tool_calls !== undefined) {
      messages.push(message);
      for (const { id, function: { name, arguments: args } } of message.tool_calls) {
        await this.sendToolCall(name, args);
        const result = await this.executeTool(name, JSON.parse(args));
        await this.sendToolResult(id, result);
        messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(result) });
      }
      message = this.#complete(messages);
    }
    return message.content ?? "";
  }

  #complete(
    messages: readonly object[],
  ): { content?: string; tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[] } {
    this.asked.push({ messages: [...messages], tools: this.getToolDefinitions() });
    if (this.asked.length % 2 === 0) return { content: "It is sunny." };
    return {
      tool_calls: ["Oslo", "Atlantis"].map((city, index) => ({
        id: `call_${index}`,
        function: { name: "get_weather", arguments: JSON.stringify({ city }) },
      })),
    };
  }
}

describe("an agent that is offered all", () => {
  test("can show a model of its own what it may call, in its turn and once its session is open", async () => {
    class Everything extends BaseAgent {
      override readonly tools = [getWeather];
      inside: readonly string[] = [];
      override async generateResponse(name: string): Promise<string> {
        this.inside = named(this);
        const shown = this.getToolDefinitions().find(({ function: { name: each } }) => each === name);
        return `${JSON.stringify(shown?.function.parameters["type"])} ${JSON.stringify(await this.executeTool(name, {})).slice(0, 9)}`;
      }
    }
    const named = (agent: BaseAgent) => agent.getToolDefinitions().map(({ function: { name } }) => name);
    const agent = kept(new Everything({ ...await options(), offer: "all" }));
    expect(named(agent)).toEqual(["get_weather"]);
    expect(await agent.generateResponse("get_environment")).toMatch(/^"object" "/);
    expect(agent.inside).toContain("get_weather");
    expect(agent.inside).toContain("read_file");
    expect(named(agent)).toEqual([...agent.inside]);
    const own = kept(new Everything(await options()));
    await own.generateResponse("get_weather");
    expect([own.inside, named(own)]).toEqual([["get_weather"], ["get_weather"]]);
  });
});

describe("a program without types", () => {
  test("is told at the door of a prompt, a title or a system prompt that is no text", async () => {
    const silent = undefined as unknown as string;
    const agent = kept(new WeatherAgent(await options({ text: "Hello." })));
    expect(await failureOf(agent.generateResponse(silent))).toBe("TypeError: Cannot take undefined for a prompt, which must be a text");
    const asked = (await agent.session()).prompt({ text: "go" } as unknown as string, { source: "test" });
    expect(await failureOf(asked)).toBe("TypeError: Cannot take a value of type object for a prompt, which must be a text");
    const loop = kept(new LoopAgent(await options()));
    expect(await failureOf(loop.generateResponse(silent))).toContain("Cannot take undefined for a prompt");
    expect(await failureOf(loop.executeTool(silent, {}))).toContain("Cannot take undefined for the name of a tool");
    expect(await failureOf(agent.runtime.create({ title: 5 as unknown as string }))).toContain("type number for a title");
    expect(await failureOf(agent.runtime.create({ system: 5 as unknown as string }))).toContain("type number for a system prompt");
    expect((await agent.session()).state().counts.turns).toBe(0);
    expect(await agent.generateResponse("go")).toBe("Hello.");
  });

  test("is told also of what code asks its model", async () => {
    class Silent extends BaseAgent {
      override async generateResponse(_input: string): Promise<string> {
        return await super.generateResponse(null as unknown as string);
      }
    }
    expect(await failureOf(kept(new Silent(await options())).generateResponse("go"))).toContain("Cannot take null for a prompt");
  });
});

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(() => "", (error: unknown) => String(error));
}

describe("an agent with a loop of its own", () => {
  test("has its calls recorded, gated and told like those of a model, and told once", async () => {
    const agent = kept(new LoopAgent(await options()));
    const live: FeedEvent[] = [];
    (await agent.session()).watch((event) => void live.push(event));
    expect(await agent.generateResponse("How is it?")).toBe("It is sunny.");
    expect(agent.asked[1]?.messages.slice(3)).toEqual([
      { role: "tool", tool_call_id: "call_0", content: '{"temp":65,"conditions":"sunny"}' },
      { role: "tool", tool_call_id: "call_1", content: '{"error":"There is no such city"}' },
    ]);
    const events = await eventsOf(agent);
    expect(events.filter((event) => event.type === "call_ended").map((event) => event.result.is_error)).toEqual([false, true]);
    expect(events.at(-1)).toMatchObject({ type: "turn_ended", reason: "completed" });
    expect(live.filter((event) => "sent" in event && ["tool_call", "tool_result"].includes(event.sent?.type ?? ""))).toEqual([]);
    expect(await agent.generateResponse("And now?")).toBe("It is sunny.");
    expect(agent.asked[2]?.messages.length).toBe(1 + 6 + 1);
    expect(endpoint?.requests).toEqual([]);
  });

  test("may make calls together, tell of work that is no call, and have the model answer in the end", async () => {
    class Both extends WeatherAgent {
      override async generateResponse(input: string): Promise<string> {
        await this.sendStatus("thinking", "before");
        const both = await Promise.all([this.executeTool("get_weather", { city: "A" }), this.executeTool("get_weather", { city: "B" })]);
        await this.sendToolCall("elsewhere", { n: both.length }, "mine");
        await sleep(20);
        await this.sendToolResult("mine", 7);
        await this.sendProgress("work", 50);
        await this.updateTodo([{ id: "1", description: "answer" }]);
        return (await super.generateResponse(`${input} Be brief.`)).toUpperCase();
      }
    }
    const agent = kept(new Both(await options({ calls: [call("get_weather", { city: "C" })] }, { text: "Sunny." })));
    const live: FeedEvent[] = [];
    (await agent.session()).watch((event) => void live.push(event));
    expect(await agent.generateResponse("How is it?")).toBe("SUNNY.");
    const events = await eventsOf(agent);
    expect(events.flatMap((event) => event.type === "reply_committed" ? [event.calls.length] : [])).toEqual([2, 1, 0]);
    expect(events.filter((event) => event.type === "turn_ended").length).toBe(1);
    expect(events.flatMap((event) => event.type === "reply_committed" ? [event.usage.input_tokens] : [])).toEqual([0, 10, 10]);
    const [asked] = endpoint?.requests ?? [];
    expect((asked?.body["messages"] as readonly object[])[1]).toMatchObject({ role: "user", content: "How is it? Be brief." });
    const sent = live.flatMap((event) => "sent" in event && event.sent !== undefined && event.call === undefined ? [event.sent] : []);
    expect(sent.map(({ type }) => type)).toEqual(["agent_status", "tool_call", "tool_result", "progress_update", "todo_list"]);
    expect(sent[1]?.data).toEqual({ tool_name: "elsewhere", arguments: { n: 2 }, call_id: "mine" });
    expect(agent.history.at(-1)).toMatchObject({ role: "assistant", content: "SUNNY." });
  });

  test("is heard when it speaks and in that order, over HTTP too: before a call that it makes then, and while one runs", async () => {
    const [begun, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = tool({
      name: "slow",
      description: "Slow.",
      inProcess: true,
      parameters: v.object({}),
      execute: async () => {
        begun.resolve();
        await told.promise;
      },
    });
    class Teller extends Agent {
      override readonly tools = [slow];
      override async generateResponse(_input: string): Promise<string> {
        for (const n of [1, 2, 3]) await this.sendProgress(`file${n}`, 100);
        await this.sendToolCall("elsewhere", {}, "mine");
        await this.sendStatus("before");
        const call = this.executeTool("slow", {});
        await begun.promise;
        await this.sendStatus("meanwhile");
        await call;
        return "done";
      }
    }
    const agent = kept(new Teller(await options()));
    const heard: string[] = [];
    // A session that is not the agent's own, as those are that are begun over HTTP.
    const session = await agent.runtime.create();
    session.watch((event) => {
      if ("sent" in event && event.sent !== undefined) heard.push(event.sent.type === "agent_status" ? event.status : event.sent.type);
      else if (["call_started", "call_ended"].includes(event.type)) heard.push(event.type);
      if (heard.at(-1) === "meanwhile") told.resolve();
    });
    await session.prompt("go", { source: "test" });
    expect(heard).toEqual([...Array(3).fill("progress_update"), "tool_call", "before", "call_started", "meanwhile", "call_ended"]);
  });

  test("that is closed says so, and which session a new one can go on with", async () => {
    const agent = kept(new LoopAgent(await options()));
    await agent.generateResponse("How is it?");
    const { id } = await agent.session();
    await agent.close();
    for (const act of [() => agent.generateResponse("again"), () => agent.executeTool("get_weather", {}), () => agent.resume()]) {
      expect(String(await act().catch((error: unknown) => error))).toContain(`it is closed: make a new agent with session: "${id}"`);
    }
  });

  test("is stopped with its turn: what it waits for and what it asks for then is refused, and the session goes on", async () => {
    const reached = Promise.withResolvers<void>();
    const refusals: unknown[] = [];
    const wait = tool({
      name: "wait",
      description: "Wait.",
      inProcess: true,
      parameters: v.object({}),
      execute: () => {
        reached.resolve();
        return new Promise(() => {});
      },
    });
    class Patient extends Agent {
      override readonly tools = [wait];
      override async generateResponse(input: string): Promise<string> {
        if (input !== "wait") return `fine: ${input}`;
        for (let attempt = 0; attempt < 2; attempt++) await this.executeTool("wait", {}).catch((error: unknown) => refusals.push(error));
        throw refusals[0];
      }
    }
    const agent = kept(new Patient(await options()));
    const now = new AbortController();
    const turn = (await agent.session()).prompt("wait", { source: "test", now: now.signal });
    await reached.promise;
    now.abort({ reason: "cancelled", detail: "enough" });
    expect(await turn).toMatchObject({ reason: "cancelled", calls: [{ outcome: { kind: "cancelled" } }] });
    expect(refusals).toMatchObject([{ name: "AbortError" }, { name: "AbortError" }]);
    expect(await agent.generateResponse("again")).toBe("fine: again");
  });

  test("that returns no text fails the turn, and nothing is taken for the answer", async () => {
    const given: readonly (readonly [unknown, string])[] = [
      [undefined, "nothing"],
      [null, "null"],
      [{ text: "a" }, "a value of type object"],
      [7, "a value of type number"],
    ];
    const values = given.map(([value]) => value);
    class Wordless extends Agent {
      override generateResponse(_input: string): Promise<string> {
        return Promise.resolve(values.shift() as string);
      }
    }
    const agent = kept(new Wordless(await options()));
    for (const [, what] of given) {
      const refused = await agent.generateResponse("go").catch((error: unknown) => error);
      expect(refused).toMatchObject({ name: "NoResponse", cause: expect.any(TypeError) });
      expect(String(refused)).toContain(`generateResponse returned ${what}, and must return the answer as a string`);
    }
    expect((await eventsOf(agent)).filter(({ type }) => type === "reply_committed")).toEqual([]);
  });

  test("that throws fails the turn, and the session goes on", async () => {
    class Moody extends WeatherAgent {
      override async generateResponse(input: string): Promise<string> {
        if (input === "bad") throw new RangeError("not today");
        return `fine: ${input}`;
      }
    }
    const agent = kept(new Moody(await options()));
    const refused = await agent.generateResponse("bad").catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: "NoResponse", result: { reason: "failed" }, cause: expect.any(RangeError) });
    expect(String(refused)).toContain("not today");
    expect(await agent.generateResponse("good")).toBe("fine: good");
  });

  test("is told results under ids that pair up, whether a call was made, only told, told without an id, or answered later", async () => {
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    class Teller extends WeatherAgent {
      override async generateResponse(_input: string): Promise<string> {
        // A made call whose result is never told, and one that is answered after another.
        await this.sendToolCall("get_weather", { city: "A" });
        await this.executeTool("get_weather", { city: "A" });
        await this.sendToolCall("mine", { n: 1 }, "m1");
        await this.sendToolCall("get_weather", { city: "B" }, "w1");
        const weather = await this.executeTool("get_weather", { city: "B" });
        await this.sendToolResult("m1", 1);
        await this.sendToolResult("w1", weather);
        // The convention of the SDK's page: no id, and the model's id for the result.
        await this.sendToolCall("mine", '{"n":2}');
        await pause();
        await this.sendToolResult("of_the_model", 2);
        await this.sendToolCall("mine", { n: 3 });
        await this.sendToolResult("of_the_model_too", 3);
        return "told";
      }
    }
    const agent = kept(new Teller(await options()));
    const live: FeedEvent[] = [];
    (await agent.session()).watch((event) => void live.push(event));
    await agent.generateResponse("go");
    const sent = live.flatMap((event) => "sent" in event && event.sent?.type.startsWith("tool_") ? [event.sent] : []);
    const calls = sent.flatMap(({ type, data }) => type === "tool_call" ? [data as { tool_name: string; call_id: string }] : []);
    const results = sent.flatMap(({ type, data }) => type === "tool_result" ? [data as { result: unknown; call_id: string }] : []);
    expect(calls.map(({ tool_name }) => tool_name)).toEqual(["mine", "mine", "mine"]);
    expect(results.map(({ result }) => result)).toEqual([1, 2, 3]);
    expect(results.map(({ call_id }) => call_id)).toEqual(calls.map(({ call_id }) => call_id));
    expect(calls[0]?.call_id).toBe("m1");
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(3);
  });

  test("speaks for itself inside another agent's turn, and after its own", async () => {
    const inner = kept(new WeatherAgent(await options()));
    const spoken: { readonly inner: unknown[]; readonly outer: unknown[] } = { inner: [], outer: [] };
    class Outer extends WeatherAgent {
      later = Promise.withResolvers<void>();
      override async generateResponse(_input: string): Promise<string> {
        await inner.sendStatus("inner");
        await this.sendStatus("outer");
        void this.later.promise.then(() => this.sendStatus("after"));
        return "done";
      }
    }
    const outer = kept(new Outer(await options()));
    const hear = async (agent: BaseAgent, into: unknown[]) =>
      (await agent.session()).watch((event) => void ("sent" in event && event.sent !== undefined && into.push(event.status)));
    await hear(inner, spoken.inner);
    await hear(outer, spoken.outer);
    await outer.generateResponse("go");
    outer.later.resolve();
    await sleep(0);
    expect(spoken).toEqual({ inner: ["inner"], outer: ["outer", "after"] });
  });

  test("gets what a tool returned however small the model's window is, and an error for what the log does not hold whole", async () => {
    const rows = tool({
      name: "rows",
      description: "Rows.",
      inProcess: true,
      parameters: v.object({ count: v.number() }),
      execute: ({ count }) => Array.from({ length: count }, (_row, index) => index),
    });
    class Reader extends Agent {
      override readonly tools = [rows];
      override async generateResponse(input: string): Promise<string> {
        const first = await this.executeTool("rows", { count: 5000 });
        const said = await super.generateResponse(input);
        const second = await this.executeTool("rows", { count: 5001 });
        const most = await this.executeTool("rows", { count: 50_000 });
        const lengths = [first, second].map((each) => Array.isArray(each) ? each.length : each);
        return JSON.stringify([...lengths, said, most]);
      }
    }
    const given = await options();
    await endpoint?.close();
    const tooLong = { error: { message: "This model's maximum context length is 8192 tokens.", code: "context_length_exceeded" } };
    endpoint = await startEndpoint([httpError(400, tooLong), chatReply({ text: "read" })]);
    const agent = kept(new Reader({ ...given, baseUrl: endpoint.url }));
    expect(JSON.parse(await agent.generateResponse("go"))).toEqual([5000, 5001, "read", { error: expect.stringContaining("64 KiB") }]);
    const alone = await agent.executeTool("rows", { count: 50_000 });
    expect(alone).toEqual({ error: expect.stringContaining("64 KiB") });
  });

  test("cannot change the log by what it does to a result", async () => {
    class Careless extends WeatherAgent {
      override async generateResponse(_input: string): Promise<string> {
        const weather = await this.executeTool("get_weather", { city: "Oslo" }) as { temp: number };
        weather.temp = 0;
        return "done";
      }
    }
    const agent = kept(new Careless(await options()));
    await agent.generateResponse("go");
    expect((await eventsOf(agent)).find((event) => event.type === "call_ended")).toMatchObject({ result: { data: { temp: 65 } } });
  });

  test("gets arguments that JSON cannot hold back as an error, in a turn and outside of one", async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    class Wrong extends WeatherAgent {
      override async generateResponse(_input: string): Promise<string> {
        return JSON.stringify([await this.executeTool("get_weather", { city: 1n }), await this.executeTool("get_weather", cyclic)]);
      }
    }
    const agent = kept(new Wrong(await options()));
    expect(JSON.parse(await agent.generateResponse("go"))).toEqual([
      { error: expect.stringContaining('["city"] is of type bigint') },
      { error: expect.stringContaining("contains itself") },
    ]);
    expect(await agent.executeTool("get_weather", cyclic)).toEqual({ error: expect.stringContaining("contains itself") });
  });

  test("answers over HTTP too, in as many sessions as there are", async () => {
    const agent = kept(new LoopAgent(await options()));
    const app = await createApp(agent, { token: TOKEN, hosts: ["localhost"] });
    const ask = async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${TOKEN}`, host: "localhost", "content-type": "application/json" };
      const response = await app.request(`http://localhost${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      // deno-lint-ignore no-explicit-any
      return await response.json() as any;
    };
    const { session } = await ask("POST", "/v1/sessions", {});
    expect(await ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "How is it?" })).toMatchObject({
      reason: "completed",
      text: "It is sunny.",
      calls: [{ name: "get_weather", is_error: false }, { name: "get_weather", is_error: true }],
    });
    const { events } = await ask("GET", `/v1/sessions/${session}/events?profile=stella&limit=1000`);
    const ids = (type: string) =>
      events.flatMap((each: { type: string; data: { call_id: string } }) => each.type === type ? [each.data.call_id] : []);
    expect(ids("tool_call").length).toBe(2);
    expect(ids("tool_result")).toEqual(ids("tool_call"));
    await app.drain(0);
  });
});

describe("an agent that was killed in the middle of a call", () => {
  test("takes the turn up again: what was done is not done twice, and what is not known is said", async () => {
    await options();
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: workspace.home,
      ORRERY_HOME: workspace.home,
      WORKSPACE: workspace.path,
      BASE_URL: endpoint?.url ?? "",
    };
    const effects = () => existsSync(join(workspace.path, "effects")) ? readFileSync(join(workspace.path, "effects"), "utf8") : "";
    const first = run(env);
    for (const began = Date.now(); !effects().includes("second");) {
      if (Date.now() - began > 30_000) throw new Error(`The second call did not begin: ${first.printed()}`);
      await sleep(20);
    }
    first.kill();
    await first.ended;
    const session = first.printed().split("\n")[0] ?? "";
    const again = run({ ...env, SESSION: session });
    await again.ended;
    const results = JSON.parse(again.printed().split("\n")[1] ?? "") as readonly object[];
    expect(results).toEqual([{ recorded: "go first" }, { error: expect.stringContaining("unknown") }, { recorded: "go third" }]);
    expect(effects()).toBe("go first\ngo second\ngo third\n");
  }, 90_000);

  test("gets the results of its own calls then, and not those of the same calls that its model made", async () => {
    await options({ calls: [call("count_calls", {})] }, { text: "counted" }, { text: "counted again" });
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: workspace.home,
      ORRERY_HOME: workspace.home,
      WORKSPACE: workspace.path,
      BASE_URL: endpoint?.url ?? "",
    };
    const first = run(env, "consultant.ts");
    for (const began = Date.now(); !existsSync(join(workspace.path, "effects"));) {
      if (Date.now() - began > 30_000) throw new Error(`The last call did not begin: ${first.printed()}`);
      await sleep(20);
    }
    first.kill();
    await first.ended;
    const again = run({ ...env, SESSION: first.printed().split("\n")[0] ?? "" }, "consultant.ts");
    await again.ended;
    expect(JSON.parse(again.printed().split("\n")[1] ?? "")).toEqual([2, { error: expect.stringContaining("unknown") }]);
    expect(readFileSync(join(workspace.path, "calls"), "utf8")).toBe("xx");
  }, 90_000);
});

function run(env: Readonly<Record<string, string>>, file = "recorder.ts") {
  const program = join(import.meta.dirname, "../fixtures/sdk/embedded", file);
  const config = join(import.meta.dirname, "../../deno.json");
  const args = "Deno" in globalThis ? ["run", "-A", "--no-check", "--config", config, program] : [program];
  const child = spawn(process.execPath, args, { cwd: "/", env: { ...env }, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
  return {
    printed: () => text,
    ended: new Promise<void>((resolve) => child.once("close", () => resolve())),
    kill: () => void (child.pid === undefined || process.kill(child.pid, "SIGKILL")),
  };
}

describe("a runtime with tools of its program", () => {
  test("offers them before all others of their names, beside what is found and the built-ins", async () => {
    await workspace.tool("get_weather", "touch canary");
    const runtime = openAgent({
      ...await options({ calls: [call("get_weather", { city: "Oslo" })] }, { text: "Sunny." }),
      trustWorkspace: true,
      tools: [getWeather],
    });
    try {
      const { listings, find } = await runtime.toolbox();
      expect(listings.filter(({ name }) => name === "get_weather").map(({ status, origin }) => `${origin.scope} ${status}`)).toEqual([
        "session offered",
        "workspace shadowed",
      ]);
      expect(find("read_file")).toBeDefined();
      expect((await (await runtime.create()).prompt("go", { source: "test" })).text).toBe("Sunny.");
      expect(existsSync(join(workspace.path, "canary"))).toBe(false);
    } finally {
      await runtime.close();
    }
  });
});

describe("a runtime that lives long", () => {
  test("reads a tool file that has changed again for the next session, and runs it in none that read it before", async () => {
    const source = (answer: number) => `from stella_sdk import tool\n@tool\ndef answer() -> int:\n    "Answer."\n    return ${answer}\n`;
    await workspace.write(".orrery/tools/answer.py", source(1));
    const replies = Array.from({ length: 3 }, () => [{ calls: [call("answer", {})] }, { text: "Done." }]).flat();
    const runtime = openAgent({ ...await options(...replies), trustWorkspace: true });
    try {
      const answerOf = async (session: Session) => {
        await session.prompt("go", { source: "test" });
        const end = (await runtime.events(session.id)).flatMap((row) =>
          row.kind === "event" && row.event.type === "call_ended" ? [row.event] : []
        ).at(-1);
        return (end as { result: { text: string } } | undefined)?.result.text;
      };
      const first = await runtime.create();
      expect(await answerOf(first)).toBe("1");
      await workspace.write(".orrery/tools/answer.py", source(2));
      expect(await answerOf(first)).toContain("its file has changed");
      expect(await answerOf(await runtime.create())).toBe("2");
    } finally {
      await runtime.close();
    }
  }, 30_000);
});
