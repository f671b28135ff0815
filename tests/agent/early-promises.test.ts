/** What issue and documents promise of early runs beyond the plain case: what starts, what it costs, what is said of it. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FeedEvent } from "../../lib/agent/feed.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { chatReply, delta, type EndpointStep, sse } from "../fixtures/endpoint.ts";
import { arrive, callChunk, callChunks, discards, DONE, EarlyGround, END, eventsOf, mostAtOnce } from "./early-ground.ts";

const ground = new EarlyGround();
const SAFE = "read_only = true\nspeculation_safe = true";
const early = (type: string) => (told: FeedEvent) => told.type === type;
const startedNames = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => event.type === "speculation_started" ? [event.name] : []);

describe("a read starts early", () => {
  test("though a change is announced after it, before its own arguments are there", async () => {
    const piece = (index: number, name: string | null, text: string): EndpointStep => {
      const head = name === null ? {} : { id: `c${index}`, type: "function" };
      const call = { index, ...head, function: { ...(name === null ? {} : { name }), arguments: text } };
      return { write: sse(delta({ tool_calls: [call] })) };
    };
    const { events } = await ground.playHeld(early("speculation_ended"), (held) => [
      { steps: [piece(0, "look", ""), piece(1, "add", '{"n":'), piece(0, null, '{"n":1}'), held, piece(1, null, "2}"), END] },
      chatReply({ text: "done" }),
    ]);
    expect(startedNames(events)).toEqual(["look"]);
    expect([ground.runsOf("runs-1"), ground.runsOf("added")]).toEqual([1, 1]);
  });

  test("though it would need approval, if the user always allows it", async () => {
    await ground.workspace.tool("careful", "echo ok", `${SAFE}\napproval = "always"`);
    const reply = { stream: [arrive(0, "careful", {}), { wait_ms: 200, text: "…" }] };
    const asked = await ground.play([reply, DONE], { mode: "normal", approver: () => Promise.resolve({ decision: "allow", by: "test" }) });
    expect(startedNames(asked.events)).toEqual([]);
    await ground.workspace.write("../home/config/settings.json", JSON.stringify({ alwaysAllow: ["careful"] }));
    const { events } = await ground.play([reply, DONE], { mode: "normal" });
    expect(startedNames(events)).toEqual(["careful"]);
  });

  for (const signal of ["stop", "now"] as const) {
    test(`not once the turn is to stop (${signal}), even if its arguments came with the same piece`, async () => {
      const stop = new AbortController();
      const { agent, session } = await ground.open([{ stream: [arrive(0, "look", { n: 1 }), { wait_ms: 100, text: "…" }] }, DONE]);
      session.watch((told) => {
        if (!("seq" in told) && told.type === "status" && told.status === "call_announced") {
          stop.abort({ reason: "cancelled", detail: "test" });
        }
      });
      expect(await session.prompt("go", { source: "test", [signal]: stop.signal })).toMatchObject({ reason: "cancelled" });
      expect(startedNames(await eventsOf(agent, session.id))).toEqual([]);
    });
  }
});

describe("a read starts", () => {
  test("at the last byte of its arguments, before anything behind that is read", async () => {
    // Nothing keeps this reply from being committed at once: a start that is put off by any timer comes too late.
    const { events } = await ground.play([{ stream: [arrive(0, "look", { n: 1 })] }, DONE]);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("speculation_started")).toBeGreaterThan(-1);
    expect(types.indexOf("speculation_started")).toBeLessThan(types.indexOf("reply_committed"));
  });

  test("in no attempt that has failed, though a place is free by then that it was waiting for", async () => {
    await ground.workspace.tool("hold", 'echo run >> "holds-$STELLA_INPUT_N"; until [ -e go ]; do sleep 0.02; done; echo held', SAFE);
    const reads = Array.from({ length: 9 }, (_none, index) => arrive(index, "hold", { n: index }));
    const failing = { stream: [...reads, { error: { kind: "overloaded", retry_after: 2 } }] };
    const { agent, session } = await ground.open([{ attempts: [failing, { stream: reads }] }, DONE]);
    let left = 8;
    const between: string[] = [];
    session.watch((told) => {
      if (told.type === "attempt_failed") writeFileSync(join(ground.workspace.path, "go"), "");
      if (told.type === "speculation_ended") left--;
      if (told.type === "attempt_started") between.push(`${left} left`);
    });
    expect((await session.prompt("go", { source: "test" })).reason).toBe("completed");
    // All of the first eight had ended before the second attempt: it is in between that the ninth must not start.
    expect(between.slice(0, 2)).toEqual(["8 left", "0 left"]);
    const started = (await eventsOf(agent, session.id)).flatMap((event) => event.type === "speculation_started" ? [event.attempt] : []);
    expect(started).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 2]);
    for (let index = 0; index < 9; index++) expect([index, ground.runsOf(`holds-${index}`)]).toEqual([index, 1]);
  }, 30_000);
});

describe("calls that take over what has ended", () => {
  test("are recorded in the order of the reply, and those that have not ended start in it", async () => {
    await ground.workspace.tool("hold", "until [ -e go ]; do sleep 0.02; done; echo held", SAFE);
    let left = 7;
    // The later ones are as ready as the first, whose result has to be read and whose file has to be looked at.
    await ground.workspace.write("f.txt", "x\n".repeat(20_000));
    const reads = Array.from({ length: 3 }, () => ["read_file", { path: "f.txt" }] as const);
    const looks = Array.from({ length: 4 }, (_none, n) => ["look", { n }] as const);
    const { events } = await ground.playHeld(
      (told) => told.type === "speculation_ended" && --left === 0,
      (held) => [{ steps: [callChunks(...reads, ["hold", {}], ...looks), held, END] }, chatReply({ text: "done" })],
      (session) => {
        session.watch((told) => {
          if (told.type === "call_ended" && ++left === 7) writeFileSync(join(ground.workspace.path, "go"), "");
        });
      },
    );
    const asked = events.flatMap((event) => event.type === "reply_committed" ? event.calls.map(({ call }) => call) : []);
    const order = (type: "call_started" | "call_ended") =>
      events.flatMap((event) => event.type === type ? [asked.indexOf(event.call)] : []);
    expect([order("call_started"), order("call_ended")]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 5, 6, 7, 3]]);
    expect(discards(events)).toEqual([]);
  });
});

describe("what was begun early", () => {
  for (const [what, behind] of Object.entries({ "is not asked for": [], "stands behind it": [callChunk("trap", {}, 1)] })) {
    test(`and ${what} is gone, and recorded so, before a call starts that changes something`, async () => {
      await ground.workspace.tool("trap", "[ -e pid ] && exit; trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done", SAFE);
      await ground.workspace.tool("change", 'if kill -0 "$(cat pid)" 2>/dev/null; then echo there; else echo gone; fi');
      const asked = [callChunk("change", {}), ...behind];
      const isThere = async () => {
        while (!existsSync(join(ground.workspace.path, "pid"))) await new Promise((resolve) => setTimeout(resolve, 5));
      };
      const { events, results } = await ground.playHeld(early("speculation_started"), (held) => [
        { steps: [callChunk("trap", {}), held, { drop: true }] },
        { steps: [...asked, END] },
        chatReply({ text: "done" }),
      ], isThere);
      expect(results[0]).toBe("gone\n");
      const order = events.flatMap(({ type }) => /^speculation_(ended|discarded)$|^call_started$/.test(type) ? [type] : []);
      expect(order.slice(0, 3)).toEqual(["speculation_ended", "speculation_discarded", "call_started"]);
    }, 30_000);
  }

  test("and is not asked for keeps neither a call nor the turn waiting, though it ignores SIGTERM", async () => {
    // The grace of a cancelled call, 1.5 s, would be enough for what it does then.
    await ground.workspace.tool("trap", "trap 'sleep 1; touch graced' TERM; while :; do sleep 0.05; done", SAFE);
    const traps = Array.from({ length: 8 }, (_none, index) => arrive(index, "trap", { n: index }));
    const attempts = [{ stream: [...traps, { wait_ms: 300, drop: true }] }, { stream: [arrive(0, "look", { n: 1 })] }];
    const { events } = await ground.play([{ attempts }, DONE]);
    expect(discards(events)).toEqual(Array.from({ length: 8 }, () => "not_asked"));
    expect(existsSync(join(ground.workspace.path, "graced"))).toBe(false);
  });

  test("counts with what runs again because its result does not fit: eight at once in all", async () => {
    await ground.workspace.tool("fickle", 'mkdir "fickle-$STELLA_INPUT_N" 2>/dev/null && exit 1; sleep 0.3; echo ok', SAFE);
    await ground.workspace.tool("slow", "sleep 0.3; echo slow", "read_only = true");
    const calls = [
      ...Array.from({ length: 6 }, (_none, index) => arrive(index, "fickle", { n: index })),
      ...Array.from({ length: 6 }, (_none, index) => arrive(6 + index, "slow", { n: index })),
    ];
    const { events } = await ground.play([{ stream: [...calls, { wait_ms: 200, text: "…" }] }, DONE]);
    expect(discards(events)).toEqual(Array.from({ length: 6 }, () => "failed"));
    expect(mostAtOnce(events)).toBeLessThanOrEqual(8);
    expect(events.filter((event) => event.type === "call_ended" && event.outcome.kind === "exited")).toHaveLength(12);
  });

  test("gives its call the time that it really took", async () => {
    const { events } = await ground.playHeld(early("speculation_ended"), (held) => [
      { steps: [callChunk("look", { n: 1, s: "0.1" }), held, END] },
      chatReply({ text: "done" }),
    ]);
    const [run] = events.flatMap((event) => event.type === "speculation_ended" ? [event.duration_ms] : []);
    const [call] = events.flatMap((event) => event.type === "call_ended" ? [event.duration_ms] : []);
    expect(run).toBeGreaterThan(100);
    expect(call).toBe(run as number);
  });

  const swaps = {
    "its time, not its size": (file: string) => utimesSync(file, 1, 1),
    "its inode, not its size and time": (file: string) => {
      const { atime, mtime } = statSync(file);
      writeFileSync(`${file}.new`, "new\n");
      utimesSync(`${file}.new`, atime, mtime);
      renameSync(`${file}.new`, file);
    },
    "its content, with the time set back": (file: string) => {
      const { atime, mtime } = statSync(file);
      writeFileSync(file, "new\n");
      utimesSync(file, atime, mtime);
    },
    "who may read it": async (file: string) => {
      // Where times are told in whole seconds, this one has to have gone by.
      const { ctimeMs } = statSync(file);
      while (ctimeMs % 1000 === 0 && Date.now() < ctimeMs + 1000) await new Promise((resolve) => setTimeout(resolve, 10));
      chmodSync(file, 0o000);
    },
  };
  for (const [what, change] of Object.entries(swaps)) {
    test(`is stale when a file that it read changed ${what}`, async () => {
      const file = await ground.workspace.write("f.txt", "old\n");
      utimesSync(file, 1_700_000_000, 1_700_000_000);
      const { events } = await ground.playHeld(
        early("speculation_ended"),
        (held) => [{ steps: [callChunk("read_file", { path: "f.txt" }), held, END] }, chatReply({ text: "done" })],
        () => change(file),
      );
      expect(discards(events)).toEqual(["stale"]);
    });
  }
});

describe("what is said of early runs", () => {
  const superseded = (told: FeedEvent) => !("seq" in told) && told.type === "status" && told.status === "superseded";

  test("the text of an attempt that failed is superseded before the next begins", async () => {
    const attempts = [{ stream: [{ text: "dead" }, { wait_ms: 20, drop: true }] }, { stream: [{ text: "live" }] }];
    const { session } = await ground.open([{ attempts }]);
    const told: string[] = [];
    session.watch((event) => {
      if (!("seq" in event) && event.type === "text_delta") told.push(`${event.text} ${event.attempt}`);
      if (event.type === "attempt_failed") told.push("failed");
      if (superseded(event)) told.push(`superseded ${"attempt" in event ? event.attempt : "?"}`);
    });
    await session.prompt("go", { source: "test" });
    expect(told).toEqual(["dead 1", "superseded 1", "failed", "live 2"]);
  });

  test("so is that of an attempt that was cancelled", async () => {
    const stop = new AbortController();
    const { session } = await ground.open([{ stream: [{ text: "partial" }, { wait_ms: 30_000, text: "never" }] }]);
    const told: FeedEvent[] = [];
    session.watch((event) => {
      told.push(event);
      if (event.type === "text_delta") stop.abort({ reason: "cancelled", detail: "test" });
    });
    await session.prompt("go", { source: "test", stop: stop.signal });
    const kinds = told.map((event) => superseded(event) ? "superseded" : event.type);
    expect(kinds.slice(kinds.indexOf("text_delta"))).toEqual(["text_delta", "superseded", "turn_ended"]);
  });

  test("a turn's result says what was saved and what was wasted", async () => {
    const { result, session } = await ground.playHeld(early("speculation_ended"), (held) => [
      { steps: [callChunk("look", { n: 1, s: "0.2" }), held, END] },
      chatReply({ text: "done" }),
    ]);
    expect(result.speculation).toEqual({ saved_ms: session.state().speculation.saved_ms, wasted: 0, wasted_ms: 0 });
    const wasted = await ground.play([{
      attempts: [{ stream: [arrive(0, "look", { n: 2 }), { wait_ms: 100, drop: true }] }, { stream: [{ text: "no" }] }],
    }]);
    const took = wasted.events.flatMap((event) => event.type === "speculation_ended" ? [event.duration_ms] : []);
    expect(wasted.result.speculation).toEqual({ saved_ms: 0, wasted: 1, wasted_ms: took[0] as number });
  });

  test("nothing was saved where a read of the same reply took as long after it", async () => {
    await ground.workspace.tool("slow", "sleep 0.6; echo slow", "read_only = true");
    const calls = [arrive(0, "look", { n: 1, s: "0.2" }), arrive(1, "slow", {})];
    const { events, result } = await ground.play([{ stream: [...calls, { wait_ms: 400, text: "…" }] }, DONE]);
    expect(events.filter((event) => event.type === "call_ended" && event.speculation !== undefined)).toHaveLength(1);
    expect(result.speculation.saved_ms).toBe(0);
  });

  test("a fork from the middle of one ends it in its own log, and says that it is not its own", async () => {
    const { agent, session, events } = await ground.playHeld(early("speculation_ended"), (held) => [
      { steps: [callChunk("look", { n: 1 }), held, END] },
      chatReply({ text: "done" }),
    ]);
    const at = events.find((event) => event.type === "speculation_spawned")?.seq;
    const forked = await eventsOf(agent, (await agent.fork(session.id, at)).session);
    const of = forked.filter((event) => event.type.startsWith("speculation_")).map((event) => event.type);
    expect(of).toEqual(["speculation_started", "speculation_spawned", "speculation_ended", "speculation_discarded"]);
    expect(forked.find((event) => event.type === "speculation_ended")).toMatchObject({
      outcome: { kind: "not_started", reason: "forked" },
    });
  });
});

test("results come in the order of the calls, whichever run ended first", async () => {
  const calls = [arrive(0, "look", { n: 1, s: "0.3" }), arrive(1, "look", { n: 2 })];
  const { results, events } = await ground.play([{ stream: [...calls, { wait_ms: 500, text: "…" }] }, DONE]);
  expect(results).toEqual(["seen 1\n", "seen 2\n"]);
  const ended = events.flatMap((event) => event.type === "speculation_ended" ? [event.speculation] : []);
  const started = events.flatMap((event) => event.type === "speculation_started" ? [event.speculation] : []);
  expect(ended).toEqual(started.toReversed());
});
