/** What the viewer's page makes of events: without a page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Lines } from "../../lib/http/viewer/client/follow.ts";
import { duration } from "../../lib/http/viewer/client/format.ts";
import { Live } from "../../lib/http/viewer/client/live.ts";
import { indexOf } from "../../lib/http/viewer/client/player.ts";
import { createScale, layOut, ticks } from "../../lib/http/viewer/client/scale.ts";
import type { Row, Span } from "../../lib/http/viewer/client/spans.ts";
import { Story } from "../../lib/http/viewer/client/story.ts";
import { toVisible, toVisibleOutput } from "../../lib/http/viewer/client/text.ts";
import type { Frame, RecordedEvent } from "../../lib/http/viewer/client/wire.ts";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

const SEED = { seed: 20261130, numRuns: 200 };
let subject: TestServer;
let events: readonly RecordedEvent[];
// deno-lint-ignore no-explicit-any
let state: any;

beforeAll(async () => {
  const early = "read_only = true\nspeculation_safe = true";
  subject = await startTestServer({
    prepare: async (workspace) => {
      await workspace.tool("look", "sleep 0.15; echo seen", early);
      await workspace.tool("fails", "exit 3");
    },
    script: [
      {
        stream: [
          { call: { index: 0, id: "a", name: "look", arguments: { at: 1 } } },
          { call: { index: 1, id: "b", name: "look", arguments: { at: 2 } } },
          { wait_ms: 1500, finish: "tool_calls", usage: { input_tokens: 10, output_tokens: 2, cost_usd: 0.5 } },
        ],
      },
      {
        attempts: [
          { stream: [{ call: { index: 0, id: "c", name: "look", arguments: { at: 3 } } }, { wait_ms: 1000, drop: true }] },
          {
            calls: [
              { name: "fails", arguments: {} },
              { name: "nothing", arguments: {} },
              { name: "task_create", arguments: { subject: "Test" } },
              { name: "save_state", arguments: { key: "k", value: "v" } },
            ],
            usage: { input_tokens: 5, output_tokens: 1 },
          },
        ],
      },
      { text: "done" },
    ],
  });
  const session = await subject.open({ title: "A session" });
  await subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
  events = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body.events;
  state = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
}, 30_000);
afterAll(() => subject.close());

describe("a story", () => {
  test("says of a session what its state says", () => {
    const story = Story.of(events);
    expect(story.seq).toBe(state.seq);
    expect(story.header).toMatchObject({ title: "A session", model: state.model, mode: state.mode, workspace: state.workspace });
    expect([...story.tasks.values()]).toEqual(state.tasks);
    expect(story.tasks.size).toBe(1);
    expect([...story.scratch]).toEqual(state.state_keys);
    expect(story.usage).toEqual(state.usage);
    const { saved_ms, wasted, wasted_ms } = story.speculation;
    expect({ saved_ms, wasted, wasted_ms }).toEqual(state.speculation);
    expect([wasted, wasted_ms > 0]).toEqual([1, true]);
    const calls = [...story.calls.values()].map(({ call, name, status, ended }) => [call, name, status, ended?.outcome, ended?.result]);
    // deno-lint-ignore no-explicit-any
    expect(calls).toEqual(state.calls.map((each: any) => [each.call, each.name, each.status, each.outcome, each.result]));
    expect(story.turn).toEqual({ kind: "ended", turn: 1, reason: "completed" });
  });

  test("of any prefix, taken further, is the story of the whole", () => {
    const whole = JSON.stringify(toPlain(Story.of(events)));
    for (let cut = 0; cut <= events.length; cut++) {
      const story = Story.of(events, cut);
      for (const event of events.slice(cut)) story.apply(event);
      expect(JSON.stringify(toPlain(story))).toBe(whole);
    }
  });

  test("draws what ran early beside the reply that was being written", () => {
    const { all } = Story.of(events).spans;
    const [reply] = all.filter(({ row }) => row === "model");
    const used = all.filter(({ row, tone }) => row === "early" && tone === "used");
    expect(used.length).toBe(2);
    for (const { from } of used) expect([from >= (reply?.from ?? 0), from < (reply?.to ?? 0)]).toEqual([true, true]);
    expect(all.filter(({ row, tone }) => row === "early" && tone === "unused").map(({ name }) => name)).toEqual(["look"]);
    expect(all.filter(({ row, tone }) => row === "model" && tone === "bad").length).toBe(1);
    expect(all.filter(({ to }) => to === null)).toEqual([]);
  });

  test("shows what it does not know as a remark, and goes on", () => {
    const strange = { v: 9, session: state.session, seq: 1, at: "2026-01-01T00:00:00.000Z", type: "invented", text: "?" };
    const damaged = { type: "damaged", seq: 2, reason: "the row is torn", text: "{" } as const;
    const story = Story.of([strange as unknown as RecordedEvent, damaged]);
    expect(story.items.map((item) => item.kind === "remark" && item.lines)).toEqual([
      ["An event of another version: invented"],
      ["Event 2 cannot be read: the row is torn"],
    ]);
  });

  test("of events in any order is still a story: strays change nothing and throw nothing", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...events]), (some) => {
        const story = Story.of(some);
        layOut(story.spans.all, createScale(story.spans.all, story.at), story.at, { width: 900, from: 0, to: 1 });
        expect(story.items.length).toBeLessThanOrEqual(some.length);
      }),
      SEED,
    );
  });
});

function toPlain(story: Story): object {
  const { items, spans, speculation, tasks, usage, turn, seq } = story;
  return { items, spans: spans.all, speculation, tasks: [...tasks], usage, turn, seq };
}

describe("the axis", () => {
  const rows: readonly Row[] = ["model", "early", "call", "wait"];
  const spans = fc.array(
    fc.record({ row: fc.constantFrom(...rows), from: fc.nat(10_000_000), length: fc.option(fc.nat(60_000)) }),
    { maxLength: 400 },
  ).map((list) =>
    list.map(({ row, from, length }, index): Span => ({
      id: String(index),
      row,
      from,
      to: length === null ? null : from + length,
      turn: 1,
      step: 1,
      seq: index + 1,
      name: "x",
      call: null,
      tone: "good",
      fate: "",
    }))
  );
  const NOW = 10_100_000;

  test("keeps the order of times and stays between its ends", () => {
    fc.assert(
      fc.property(spans, fc.array(fc.nat(NOW)), (list, times) => {
        const scale = createScale(list, NOW);
        const places = times.sort((left, right) => left - right).map(scale.place);
        for (const [index, place] of places.entries()) {
          expect(place).toBeGreaterThanOrEqual(index === 0 ? 0 : places[index - 1] ?? 0);
          expect(place).toBeLessThanOrEqual(1);
        }
        expect(ticks(scale, 10).length).toBeLessThanOrEqual(12);
      }),
      SEED,
    );
  });

  test("never has more bars than it has room for, and none is lost", () => {
    fc.assert(
      fc.property(spans, fc.integer({ min: 50, max: 2000 }), (list, width) => {
        const { bars } = layOut(list, createScale(list, NOW), NOW, { width, from: 0, to: 1 });
        expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(list.length);
        expect(bars.length).toBeLessThanOrEqual(rows.length * 5 * (width / 3 + 1));
        for (const { left, right, line } of bars) expect([left >= 0, right > left, line < 5]).toEqual([true, true, true]);
      }),
      SEED,
    );
  });

  test("shortens idle time but not what ran, and says so", () => {
    const span = (from: number, to: number, row: Row = "call"): Span => ({
      ...{ id: `${from}`, row, from, to, turn: 1, step: 1, seq: from, name: "x", call: null, tone: "good", fate: "" },
    });
    const scale = createScale([span(0, 1000), span(1000, 3_601_000, "wait"), span(3_601_000, 3_602_000)], 3_602_000);
    expect(scale.place(1000)).toBeGreaterThan(0.4);
    expect(scale.place(1000)).toBeCloseTo(1 - scale.place(3_601_000), 9);
    expect(scale.breaks.map(({ ms }) => ms)).toEqual([3_600_000]);
    expect(ticks(scale, 10).map(({ ms }) => ms)).toEqual([0, 3_601_000, 3_602_000]);
  });
});

describe("text", () => {
  test("shows what would hide or turn what follows", () => {
    expect(toVisible("rm -rf \u202e/tmp\u202c")).toBe("rm -rf ⟨U+202E⟩/tmp⟨U+202C⟩");
    expect(toVisible("a\u0000b\u200bc\u2066d\ufeff\u{e0041}\r\ne\rf\tg")).toBe(
      "a⟨U+0000⟩b⟨U+200B⟩c⟨U+2066⟩d⟨U+FEFF⟩⟨U+E0041⟩\ne⟨U+000D⟩f\tg",
    );
    expect(toVisible("naïve 日本語 مرحبا 👩‍💻 ❤️")).toBe("naïve 日本語 مرحبا 👩‍💻 ❤️");
  });

  test("drops the colours of a terminal and nothing else", () => {
    expect(toVisibleOutput("\u001b[1;31mred\u001b[0m \u001b[2J")).toBe("red ⟨U+001B⟩[2J");
  });

  test("comes in lines, wherever the pieces were cut", () => {
    const frames: readonly Frame[] = [{ type: "heartbeat" }, ...events.slice(0, 5), { type: "reset", reason: "ahead", head: 3 }];
    const sent = frames.map((frame) => `${JSON.stringify(frame)}\n`).join("");
    fc.assert(
      fc.property(fc.array(fc.nat(sent.length), { maxLength: 30 }), (cuts) => {
        const lines = new Lines();
        const ends = [...cuts.sort((left, right) => left - right), sent.length];
        const taken = ends.flatMap((end, index) => lines.take(sent.slice(ends[index - 1] ?? 0, end)));
        expect(JSON.stringify(taken)).toBe(JSON.stringify(frames));
      }),
      SEED,
    );
  });

  test("says times as people do", () => {
    expect([0, 999, 1000, 1234, 12_345, 60_000, 100_000, 3_725_000].map(duration)).toEqual([
      ..."0 ms,999 ms,1 s,1.23 s,12.3 s,1 min 00 s,1 min 40 s,1 h 02 min".split(","),
    ]);
  });
});

test("what is live is bounded, and gone when the log has it", () => {
  const live = new Live();
  const delta = { type: "text_delta", session: state.session, step: 1, attempt: 1, text: "x".repeat(50_000) } as const;
  for (let index = 0; index < 10; index++) live.take(delta);
  expect(live.writing?.text.length).toBe(64_000);
  expect(live.writing?.partial).toBe(true);
  for (const event of events) live.settle(event);
  expect(live.writing).toBeNull();
});

test("a place in the log is found in a log with holes", () => {
  const log = [2, 3, 7, 9].map((seq) => ({ seq }) as RecordedEvent);
  expect([1, 2, 6, 7, 100].map((seq) => indexOf(log, seq))).toEqual([-1, 0, 1, 2, 3]);
});
