/** Which run belongs to which of several equal calls, where a reply changes while it is written: none starts twice. */
import { describe, expect, test } from "bun:test";
import process from "node:process";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { FeedEvent } from "../../lib/agent/feed.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { chatReply, delta, type EndpointStep, sse, startEndpoint } from "../fixtures/endpoint.ts";
import { type ScriptWire, scriptWires } from "../fixtures/script-wires.ts";
import { EarlyGround, END, eventsOf } from "./early-ground.ts";

const ground = new EarlyGround();
const ONE = { n: 1 };
const TWO = { n: 2 };

const starts = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => event.type === "speculation_started" ? [JSON.stringify(event.input)] : []);
const unused = (events: readonly SessionEvent[]) => events.filter((event) => event.type === "speculation_discarded").length;
const adopted = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => event.type === "call_ended" ? [event.speculation !== undefined] : []);

/** Plays one stream, whose last step waits until so many runs have ended, and then a reply that ends the turn. */
async function play(steps: readonly EndpointStep[], ends: number, end: EndpointStep, last: EndpointStep, options: Partial<AgentOptions>) {
  const ended = Promise.withResolvers<void>();
  const endpoint = await startEndpoint([{ steps: [...steps, { until: ended.promise }, end] }, { steps: [last] }]);
  try {
    const { home } = ground.workspace;
    const env = { PATH: process.env["PATH"] ?? "", HOME: home, ORRERY_HOME: home, OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
    const { agent, session } = await ground.open([], { baseUrl: endpoint.url, env, ...options });
    let left = ends;
    session.watch((told: FeedEvent) => {
      if (told.type === "speculation_ended" && --left === 0) ended.resolve();
    });
    await session.prompt("go", { source: "test" });
    return await eventsOf(agent, session.id);
  } finally {
    await endpoint.close();
  }
}

describe("a stream that begins anew and asks in another order", () => {
  const wires = { openai: scriptWires[1], anthropic: scriptWires[2] } as const;
  for (const [provider, wire] of Object.entries(wires)) {
    test(`adopts as a second attempt does (${provider})`, async () => {
      if (wire === undefined) throw new Error("A wire format has no script");
      const said = (write: ReturnType<ScriptWire["createWriter"]>, ids: string, inputs: readonly object[]) =>
        inputs.map((input, index): EndpointStep => {
          const fragment = { index, id: `${ids}${index}`, name: "look", arguments: JSON.stringify(input) };
          return { write: write({ type: "call", fragment }) };
        });
      const [dead, live, then] = [wire.createWriter(), wire.createWriter(), wire.createWriter()];
      const steps = [...said(dead, "a", [ONE]), ...said(live, "b", [TWO, ONE])];
      const end = { write: live({ type: "finish", finish: "tool_calls" }) };
      const last = { write: then({ type: "text", text: "done" }) + then({ type: "finish", finish: "stop" }) };
      const events = await play(steps, 2, end, last, { model: `${provider}/test` });
      expect([starts(events).toSorted(), unused(events), adopted(events)]).toEqual([['{"n":1}', '{"n":2}'], 0, [true, true]]);
      expect([ground.runsOf("runs-1"), ground.runsOf("runs-2")]).toEqual([1, 1]);
    });
  }
});

describe("a call that comes to ask for something else", () => {
  const chunk = (index: number, input: unknown): EndpointStep => ({
    write: sse(delta({ tool_calls: [{ index, id: `c${index}`, type: "function", function: { name: "look", arguments: input } }] })),
  });
  const done: EndpointStep = { write: String((chatReply({ text: "done" }).steps[0] as { write: string }).write) };
  const playChat = (steps: readonly EndpointStep[], ends: number) => play(steps, ends, END, done, { model: "local/test" });

  test("leaves its run to the next call that asks for that", async () => {
    const events = await playChat([chunk(0, JSON.stringify(ONE)), chunk(0, JSON.stringify(TWO)), chunk(1, JSON.stringify(ONE))], 2);
    expect([starts(events), unused(events)]).toEqual([['{"n":1}', '{"n":2}'], 0]);
    expect([ground.runsOf("runs-1"), ground.runsOf("runs-2")]).toEqual([1, 1]);
  });

  test("counts no more for what it asked before: an empty object stands for arguments to come", async () => {
    await ground.workspace.tool(
      "look",
      'echo run >> "runs-${STELLA_INPUT_N:-none}"; echo seen',
      "read_only = true\nspeculation_safe = true",
    );
    const events = await playChat([chunk(0, "{}"), chunk(0, JSON.stringify(ONE)), chunk(1, "{}")], 2);
    expect([starts(events), unused(events)]).toEqual([["{}", '{"n":1}'], 0]);
    expect([ground.runsOf("runs-none"), ground.runsOf("runs-1")]).toEqual([1, 1]);
  });

  test("starts once more at most, when it is over, however often its arguments grow", async () => {
    const grown = [{ n: 1 }, { n: 1, a: 1 }, { n: 1, a: 1, b: 2 }, { n: 1, a: 1, b: 2, c: 3 }];
    const events = await playChat([...grown.map((input) => chunk(0, input)), chunk(1, JSON.stringify(TWO))], 3);
    expect([starts(events), unused(events)]).toEqual([['{"n":1}', '{"n":1,"a":1,"b":2,"c":3}', '{"n":2}'], 1]);
  });

  test("beside equal calls that are whole in any order starts as many runs as there are calls", async () => {
    const piece = (index: number, text: string): EndpointStep => ({
      write: sse(delta({ tool_calls: [{ index, function: { arguments: text } }] })),
    });
    const begin = (index: number): EndpointStep => ({
      write: sse(delta({ tool_calls: [{ index, id: `c${index}`, type: "function", function: { name: "look", arguments: "" } }] })),
    });
    const events = await playChat([begin(0), begin(1), piece(1, JSON.stringify(ONE)), piece(0, JSON.stringify(ONE))], 2);
    expect([starts(events), unused(events), adopted(events)]).toEqual([['{"n":1}', '{"n":1}'], 0, [true, true]]);
    expect(ground.runsOf("runs-1")).toBe(2);
  });
});
