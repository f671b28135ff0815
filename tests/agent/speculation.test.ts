import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { Session } from "../../lib/agent/session.ts";
import { isKnown } from "../../lib/session/event.ts";
import { chatReply, delta, type EndpointReply, type EndpointStep, sse, startEndpoint } from "../fixtures/endpoint.ts";
import { type ScriptWire, scriptWires } from "../fixtures/script-wires.ts";
import { arrive, callChunk, discards, DONE, EarlyGround, END, mostAtOnce } from "./early-ground.ts";

const ground = new EarlyGround();
const DROP: EndpointStep = { drop: true };
const runsOf = (name: string) => ground.runsOf(name);
const playHeld = (type: string, replies: (held: EndpointStep) => readonly EndpointReply[], then?: () => void) =>
  ground.playHeld((told) => told.type === type, replies, then);
const play = (replies: readonly object[], options: Partial<AgentOptions> = {}) => ground.play(replies, options);

describe("speculation", () => {
  test("runs a safe read while the stream goes on, and the call adopts it", async () => {
    const { events, session, result } = await playHeld("speculation_ended", (held) => [
      { steps: [callChunk("look", { n: 1 }), held, END] },
      chatReply({ text: "done" }),
    ]);
    expect(runsOf("runs-1")).toBe(1);
    const order = events.map((event) => event.type);
    expect(order.indexOf("speculation_ended")).toBeLessThan(order.indexOf("reply_committed"));
    expect(order).not.toContain("call_spawned");
    const end = events.find((event) => event.type === "call_ended");
    expect(end).toMatchObject({
      outcome: { kind: "exited", code: 0 },
      result: { text: "seen 1\n" },
      speculation: expect.stringMatching(/^spec_/),
    });
    expect(session.state().speculation).toMatchObject({ open: [], wasted: 0, wasted_ms: 0 });
    expect(result.reason).toBe("completed");
  });

  test("starts a call whose name comes in pieces, and none behind a name that grows into that of another kind of tool", async () => {
    const named = (index: number, name: string, text = "") => ({
      write: sse(delta({ tool_calls: [{ index, function: { name, arguments: text } }] })),
    });
    const grown = [named(0, "lo"), named(0, "ok", '{"n":1}')];
    const early = await playHeld("speculation_ended", (held) => [{ steps: [...grown, held, END] }, chatReply({ text: "done" })]);
    expect([runsOf("runs-1"), discards(early.events)]).toEqual([1, []]);
    await ground.workspace.tool("look_away", "echo x >> away");
    const steps = [named(0, "look"), named(0, "look_away", "{}"), named(1, "look", '{"n":2}'), { wait_ms: 200 }, END];
    const fenced = await ground.playHeld(() => true, () => [{ steps }, chatReply({ text: "done" })]);
    expect(fenced.events.map((event) => event.type)).not.toContain("speculation_started");
    expect([runsOf("runs-2"), runsOf("away")]).toEqual([1, 1]);
  });

  test("starts nothing early that is not safe to repeat, or that comes after a call that is not read-only", async () => {
    const reply = {
      stream: [arrive(0, "peek", {}), arrive(1, "look", { n: 1 }), arrive(2, "add", { n: 1 }), arrive(3, "look", { n: 2 }), {
        wait_ms: 300,
        text: "…",
      }],
    };
    const { events } = await play([reply, DONE]);
    expect(events.flatMap((event) => event.type === "speculation_started" ? [event.input] : [])).toEqual([{ n: 1 }]);
    expect([runsOf("runs-1"), runsOf("runs-2"), runsOf("peeked"), runsOf("added")]).toEqual([1, 1, 1, 1]);
  });

  test("an attempt that breaks hands its runs to the next, whatever ids and spacing that one uses", async () => {
    const { events } = await play([{
      attempts: [
        { stream: [arrive(0, "look", { n: 1, s: "0.4" }), { wait_ms: 100, drop: true }] },
        { stream: [{ call: { index: 0, id: "other", name: "look", arguments: '{ "s": "0.4", "n": 1 }' } }] },
      ],
    }, DONE]);
    expect(runsOf("runs-1")).toBe(1);
    expect(events.filter((event) => event.type === "speculation_started")).toHaveLength(1);
    expect(events.find((event) => event.type === "call_ended")).toMatchObject({ speculation: expect.stringMatching(/^spec_/) });
    expect(discards(events)).toEqual([]);
  });

  test("ends and reports what no attempt of the step asked for", async () => {
    const { events } = await playHeld("speculation_spawned", (held) => [
      { steps: [callChunk("look", { n: 1, s: "5" }), held, { drop: true }] },
      chatReply({ text: "never mind" }),
    ]);
    expect(discards(events)).toEqual(["not_asked"]);
    expect(events.find((event) => event.type === "speculation_ended")).toMatchObject({ outcome: { kind: "cancelled" } });
    const types = events.map((event) => event.type);
    expect(types.indexOf("speculation_discarded")).toBeLessThan(types.indexOf("turn_ended"));
  });

  test("says that the input changed when the same tool is asked for something else", async () => {
    const { events } = await play([{
      attempts: [{ stream: [arrive(0, "look", { n: 1 }), { wait_ms: 100, drop: true }] }, { stream: [arrive(0, "look", { n: 2 })] }],
    }, DONE]);
    expect(discards(events)).toEqual(["input_changed"]);
  });

  test("equal calls of one reply run as often as they are asked, also over a retry", async () => {
    const twice = [arrive(0, "look", { n: 1 }), arrive(1, "look", { n: 1 }), { wait_ms: 200, text: "…" }];
    await play([{ attempts: [{ stream: [...twice, { drop: true }] }, { stream: twice }] }, DONE]);
    expect(runsOf("runs-1")).toBe(2);
  });

  test("throws a failed early result away and runs the call again", async () => {
    const replies = (
      held: EndpointStep,
    ) => [{ steps: [callChunk("read_file", { path: "late.txt" }), held, END] }, chatReply({ text: "done" })];
    const late = () => writeFileSync(join(ground.workspace.path, "late.txt"), "there now\n");
    const { events, results } = await playHeld("speculation_ended", replies, late);
    expect(results[0]).toContain("there now");
    expect(discards(events)).toEqual(["failed"]);
  });

  test("calls a read of several files failed if one was missing, and reads them again", async () => {
    await ground.workspace.write("here.txt", "here\n");
    const input = { files: [{ path: "here.txt" }, { path: "late.txt" }] };
    const replies = (held: EndpointStep) => [{ steps: [callChunk("read_file", input), held, END] }, chatReply({ text: "done" })];
    const missing = await playHeld("speculation_ended", replies);
    expect([discards(missing.events), missing.results[0]?.includes("could not be read")]).toEqual([["failed"], true]);
    const late = await playHeld("speculation_ended", replies, () => writeFileSync(join(ground.workspace.path, "late.txt"), "there now\n"));
    expect([discards(late.events), late.results[0]?.includes("there now")]).toEqual([["failed"], true]);
    const both = await playHeld("speculation_ended", replies);
    expect([discards(both.events), both.results[0]?.includes("there now")]).toEqual([[], true]);
  });

  test("serves a file that is still what it was, and not one that has changed since it was read early", async () => {
    await ground.workspace.write("f.txt", "old\n");
    const replies = (
      held: EndpointStep,
    ) => [{ steps: [callChunk("read_file", { path: "f.txt" }), held, END] }, chatReply({ text: "done" })];
    const same = await playHeld("speculation_ended", replies);
    expect([discards(same.events), same.results[0]?.includes("old")]).toEqual([[], true]);
    const changed = await playHeld("speculation_ended", replies, () => writeFileSync(join(ground.workspace.path, "f.txt"), "newer\n"));
    expect([discards(changed.events), changed.results[0]?.includes("newer")]).toEqual([["stale"], true]);
  });

  test("does not serve a file that was moved out of the workspace and left a link", async () => {
    const file = await ground.workspace.write("f.txt", "inside\n");
    const replies = (
      held: EndpointStep,
    ) => [{ steps: [callChunk("read_file", { path: "f.txt" }), held, END] }, chatReply({ text: "done" })];
    const moved = await playHeld("speculation_ended", replies, () => {
      renameSync(file, join(ground.workspace.home, "f.txt"));
      symlinkSync(join(ground.workspace.home, "f.txt"), file);
    });
    expect([discards(moved.events), moved.results[0]?.includes("inside")]).toEqual([["stale"], false]);
  });

  test("does not serve a read from before a write of the same reply", async () => {
    await ground.workspace.write("f.txt", "old\n");
    const write = { call: { index: 0, id: "w", name: "write_file" } };
    const { session } = await play([{ calls: [{ name: "read_file", arguments: { path: "f.txt" } }] }, {
      stream: [write, arrive(1, "read_file", { path: "f.txt" }), {
        wait_ms: 200,
        call: { index: 0, arguments: '{"path":"f.txt","content":"new\\n"}' },
      }],
    }, DONE]);
    const texts = session.messages().flatMap((message) => message.role === "tool" ? [message.text] : []);
    expect(texts[2]).toContain("new");
  });

  test("bounds a reply with a hundred reads by eight at once and starts none twice", async () => {
    const stream = [...Array.from({ length: 100 }, (_none, index) => arrive(index, "look", { n: index })), { wait_ms: 300, text: "…" }];
    const { events } = await play([{ stream }, DONE]);
    let running = 0;
    let most = 0;
    for (const event of events) {
      if (event.type === "speculation_started") running++;
      if (event.type === "speculation_ended") running--;
      most = Math.max(most, running);
    }
    expect(most).toBeLessThanOrEqual(8);
    for (let index = 0; index < 100; index++) expect([index, runsOf(`runs-${index}`)]).toEqual([index, 1]);
  });

  test("can be turned off", async () => {
    const { events } = await play([{ stream: [arrive(0, "look", { n: 1 }), { wait_ms: 200, text: "…" }] }, DONE], { speculation: false });
    expect(events.some((event) => event.type.startsWith("speculation_"))).toBe(false);
    expect(runsOf("runs-1")).toBe(1);
  });
});

describe("what runs early", () => {
  const board = "cat board 2>/dev/null; true";

  test("never asks a person, and never passes a fence in the stream or in the committed reply", async () => {
    await ground.workspace.tool(
      "careful",
      "touch early-careful; echo ok",
      'read_only = true\nspeculation_safe = true\napproval = "always"',
    );
    const { events } = await play([{ stream: [arrive(0, "careful", {}), { wait_ms: 200, text: "…" }] }, DONE]);
    expect(events.some((event) => event.type === "speculation_started")).toBe(false);

    await ground.workspace.tool("board", board, "read_only = true\nspeculation_safe = true");
    await ground.workspace.tool("write_board", "echo written > board");
    // In the stream the read comes first; in the reply that counts, the write does.
    const first = { stream: [arrive(0, "board", {}), { wait_ms: 150, drop: true }] };
    const second = { stream: [arrive(0, "write_board", {}), arrive(1, "board", {})] };
    const fenced = await play([{ attempts: [first, second] }, DONE]);
    expect(discards(fenced.events)).toEqual(["fenced"]);
    expect(fenced.session.messages().flatMap((message) => message.role === "tool" ? [message.text] : [])[1]).toBe("written\n");
  });

  test("together with calls of the reply keeps to eight at once", async () => {
    const unsafe = Array.from({ length: 8 }, (_none, index) => arrive(index, "peek", { n: index, s: "0.2" }));
    await ground.workspace.tool("peek", 'sleep "${STELLA_INPUT_S:-0}"; echo peeked', "read_only = true");
    const safe = Array.from({ length: 8 }, (_none, index) => arrive(8 + index, "look", { n: index, s: "0.4" }));
    const { events } = await play([{ stream: [...unsafe, ...safe, { wait_ms: 100, text: "…" }] }, DONE]);
    expect(mostAtOnce(events)).toBeLessThanOrEqual(8);
    expect(events.filter((event) => event.type === "call_ended")).toHaveLength(16);
  });

  test("side by side saves the time of the longest, once, less what the calls still took", async () => {
    let left = 6;
    const calls = Array.from({ length: 6 }, (_none, index) => ({
      index,
      id: `c${index}`,
      type: "function",
      function: { name: "look", arguments: JSON.stringify({ n: index, s: "0.1" }) },
    }));
    const { session, events } = await ground.playHeld(
      (told) => told.type === "speculation_ended" && --left === 0,
      (held) => [{ steps: [{ write: sse(delta({ tool_calls: calls })) }, held, END] }, chatReply({ text: "done" })],
    );
    const durations = events.flatMap((event) => event.type === "call_ended" ? [event.duration_ms] : []);
    expect(durations).toHaveLength(6);
    const times = (type: string) => events.flatMap((event) => event.type === type ? [Date.parse(event.at)] : []);
    const waited = Math.max(...times("call_ended")) - (times("reply_committed")[0] ?? NaN);
    expect(session.state().speculation.saved_ms).toBeCloseTo(Math.max(0, Math.max(...durations) - waited), 5);
  });

  test("is stale when its program was changed since", async () => {
    const replies = (held: EndpointStep) => [{ steps: [callChunk("look", { n: 1 }), held, END] }, chatReply({ text: "done" })];
    const { events, results } = await playHeld(
      "speculation_ended",
      replies,
      () => writeFileSync(join(ground.workspace.path, "bin/look"), "#!/bin/sh\necho other\n"),
    );
    expect([discards(events), results]).toEqual([["stale"], ["other\n"]]);
  });
});

describe("a stop", () => {
  function seen(session: Session, type: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    session.watch((event) => {
      if (event.type === type) resolve();
    });
    return promise;
  }
  const reply = (s: string) => ({ stream: [arrive(0, "look", { n: 1, s }), { wait_ms: 50, text: "…" }] });

  test("at a safe point lets the early run that a call waits for finish, once", async () => {
    const { agent, session } = await ground.open([reply("0.8"), DONE]);
    const stop = new AbortController();
    const committed = seen(session, "call_allowed");
    const turn = session.prompt("go", { source: "test", stop: stop.signal });
    await committed;
    stop.abort({ reason: "cancelled", detail: "test" });
    expect(await turn).toMatchObject({ reason: "cancelled", calls: [{ outcome: { kind: "exited", code: 0 } }] });
    expect(runsOf("runs-1")).toBe(1);
    const events = (await agent.events(session.id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
    expect(events.some((event) => event.type === "call_spawned")).toBe(false);
  });

  test("at once gives the call the end that it would have had without an early run, which is not adopted", async () => {
    const ends: unknown[] = [];
    const thrown: unknown[] = [];
    for (const speculation of [true, false]) {
      const { agent, session } = await ground.open([reply("300"), DONE], { speculation });
      const now = new AbortController();
      const begun = speculation
        ? Promise.all([seen(session, "speculation_spawned"), seen(session, "call_allowed")])
        : seen(session, "call_spawned");
      const turn = session.prompt("go", { source: "test", now: now.signal });
      await begun;
      now.abort({ reason: "cancelled", detail: "test" });
      await turn;
      const events = (await agent.events(session.id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
      ends.push(events.flatMap((event) => event.type === "call_ended" ? [[event.outcome, event.result, event.speculation]] : []));
      thrown.push([discards(events), session.state().speculation.wasted]);
    }
    expect(ends[0]).toEqual(ends[1]);
    expect(thrown).toEqual([[["cancelled"], 1], [[], 0]]);
  });
});

describe("P7", () => {
  const call = fc.record({
    tool: fc.constantFrom("board", "board", "board", "peek", "add"),
    n: fc.nat({ max: 2 }),
    wait_ms: fc.constantFrom(0, 0, 5, 30),
    spaces: fc.nat({ max: 2 }),
    size: fc.integer({ min: 1, max: 12 }),
  });
  const calls = fc.array(call, { minLength: 1, maxLength: 6 });
  const ids = fc.constantFrom("c", "call_", "toolu_");
  const attempt = fc.record({ calls, ids });
  // An attempt that drops asks for a part of what the last one asks for, or for something else.
  const dropped = fc.record({ at: fc.nat({ max: 6 }), other: fc.option(calls), ids });
  const script = fc.array(fc.record({ reply: attempt, drops: fc.array(dropped, { maxLength: 1 }) }), { minLength: 1, maxLength: 2 });
  const wires = [
    { wire: scriptWires[0], model: "local/test" },
    { wire: scriptWires[1], model: "openai/test" },
    { wire: scriptWires[2], model: "anthropic/test" },
  ] as const;

  type Asked = typeof call extends fc.Arbitrary<infer T> ? T : never;
  type Script = typeof script extends fc.Arbitrary<infer T> ? T : never;
  type Writer = ReturnType<ScriptWire["createWriter"]>;

  /** A call in pieces of some size, with some space in its arguments. */
  function toSteps({ tool, n, wait_ms, spaces, size }: Asked, index: number, ids: string, write: Writer): readonly EndpointStep[] {
    const text = JSON.stringify(tool === "peek" ? {} : { n }, null, spaces);
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_none, at) => text.slice(at * size, (at + 1) * size));
    const first = { index, id: `${ids}${index}`, name: tool, arguments: "" };
    const fragments = [first, ...pieces.map((piece) => ({ index, arguments: piece }))];
    return [{ wait_ms }, ...fragments.map((fragment) => ({ write: write({ type: "call", fragment }) }))];
  }

  /** Reads take a moment and show all that was added before: one that ran too early, or too late, tells. */
  function toReplies(script: Script, wire: ScriptWire): readonly EndpointReply[] {
    const stream = (calls: readonly Asked[], ids: string, write: Writer) =>
      calls.flatMap((each, index) => toSteps(each, index, ids, write));
    const replies = script.flatMap(({ reply, drops }): EndpointReply[] => {
      const failed = drops.map(({ at, other, ids }) => {
        const write = wire.createWriter();
        return { steps: [{ write: write({ type: "text", text: "…" }) }, ...stream((other ?? reply.calls).slice(0, at), ids, write), DROP] };
      });
      const write = wire.createWriter();
      const said = stream(reply.calls, reply.ids, write);
      return [...failed, { steps: [...said, { wait_ms: 40 }, { write: write({ type: "finish", finish: "tool_calls" }) }] }];
    });
    const write = wire.createWriter();
    return [...replies, { steps: [{ write: write({ type: "text", text: "done" }) + write({ type: "finish", finish: "stop" }) }] }];
  }

  async function playOver(script: Script, { wire, model }: typeof wires[number], speculation: boolean) {
    if (wire === undefined) throw new Error("There is no such wire");
    const endpoint = await startEndpoint(toReplies(script, wire));
    try {
      const env = { PATH: process.env["PATH"] ?? "", HOME: ground.workspace.home, OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
      const played = await play([], { speculation, model, baseUrl: endpoint.url, env: { ...env, ORRERY_HOME: ground.workspace.home } });
      await played.agent.close();
      return played;
    } finally {
      await endpoint.close();
    }
  }

  test("with and without speculation, in every format, the transcript is the same and every unsafe tool ran exactly once", async () => {
    await ground.workspace.tool("board", "sleep 0.02; cat added", "read_only = true\nspeculation_safe = true");
    const early = new Map<string, number>(wires.map(({ model }) => [model, 0]));
    await fc.assert(
      fc.asyncProperty(script, fc.constantFrom(...wires), async (script, wire) => {
        const added = script.flatMap(({ reply }) => reply.calls).filter(({ tool }) => tool === "add");
        const shown: unknown[] = [];
        for (const speculation of [true, false]) {
          writeFileSync(join(ground.workspace.path, "added"), "");
          writeFileSync(join(ground.workspace.path, "peeked"), "");
          const { session, events, result } = await playOver(script, wire, speculation);
          expect(result.reason).toBe("completed");
          // An id of ours differs from run to run.
          shown.push(JSON.stringify(session.messages()).replace(/call_[0-9a-f]{32}/g, "call"));
          expect(readFileSync(join(ground.workspace.path, "added"), "utf8")).toBe(added.map(({ n }) => `${n}\n`).join(""));
          const peeks = script.flatMap(({ reply }) => reply.calls).filter(({ tool }) => tool === "peek").length;
          expect(readFileSync(join(ground.workspace.path, "peeked"), "utf8")).toBe("run\n".repeat(peeks));
          const adopted = events.filter((event) => event.type === "call_ended" && event.speculation !== undefined).length;
          early.set(wire.model, (early.get(wire.model) ?? 0) + adopted);
        }
        expect(shown[0]).toEqual(shown[1]);
      }),
      { seed: 11, numRuns: 30, endOnFailure: true },
    );
    // The property says nothing of a format in which nothing ever ran early.
    for (const [, adopted] of early) expect(adopted).toBeGreaterThan(3);
  }, 180_000);
});
