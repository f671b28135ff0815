import { describe, expect, test } from "bun:test";
import type { EventBody, EventType, SessionEvent, StoredEvent } from "../../../lib/session/event.ts";
import { initialWireState, projectEvent, projectLive, toLiveEvent, type WireMessage } from "../../../lib/tools/sdk/wire.ts";

const SESSION = "ses_00000000-0000-7000-8000-000000000001";
const CALL = "call_00000000-0000-7000-8000-00000000000a";
const OTHER = "call_00000000-0000-7000-8000-00000000000b";
const at = "2026-12-01T10:00:00.000Z";

describe("a session in the SDK's messages (a pin: front ends read these)", () => {
  test("is the calls, their results, the state of the agent and its to-do list", () => {
    const messages = project([
      event("session_opened", { workspace: "/w", model: "m", mode: "normal", system: "", tools: [], runtime: "orrery/1" }),
      event("prompted", { turn: 1, text: "hello", source: "cli" }),
      event("step_started", { turn: 1, step: 1 }),
      event("reply_committed", {
        step: 1,
        attempt: 1,
        text: "",
        calls: [
          { call: CALL, provider_id: "call_x", name: "search", arguments: '{"query":"tea"}' },
          { call: OTHER, name: "search", arguments: '{"query":' },
        ],
        finish: "tool_calls",
        usage: { input_tokens: 1, output_tokens: 1 },
        model: "m",
      }),
      event("call_started", { call: CALL, name: "search", input_digest: "", worker: "w" }),
      event("call_ended", {
        call: CALL,
        outcome: { kind: "exited", code: 0 },
        result: { is_error: false, text: "[1]", data: [1] },
        duration_ms: 1,
      }),
      event("call_ended", {
        call: OTHER,
        outcome: { kind: "not_started", reason: "denied" },
        result: { is_error: true, text: "not JSON" },
        duration_ms: 0,
      }),
      event("task_changed", { task: { id: "1", subject: "look", status: "in_progress" } }),
      event("task_changed", { task: { id: "2", subject: "answer", status: "pending", required: false } }),
      event("task_changed", { task: { id: "1", subject: "look", status: "completed" } }),
      event("task_changed", { task: { id: "2", subject: "answer", status: "deleted" } }),
      event("turn_ended", { turn: 1, reason: "completed" }),
      event("turn_ended", { turn: 2, reason: "failed", detail: "no key" }),
    ]);
    const look = (status: string) => ({ id: "1", description: "look", status, required: true });
    const list = (...items: unknown[]) => ({ type: "todo_list", data: { items, timestamp: at }, timestamp: at });
    expect(messages).toEqual([
      { type: "agent_status", data: { status: "thinking" }, timestamp: at },
      { type: "tool_call", data: { tool_name: "search", arguments: { query: "tea" }, call_id: CALL }, timestamp: at },
      { type: "tool_call", data: { tool_name: "search", arguments: { malformed_arguments: '{"query":' }, call_id: OTHER }, timestamp: at },
      { type: "tool_result", data: { call_id: CALL, result: [1] }, timestamp: at },
      { type: "tool_result", data: { call_id: OTHER, result: null, error: "not JSON" }, timestamp: at },
      list(look("in_progress")),
      list(look("in_progress"), { id: "2", description: "answer", status: "pending", required: false }),
      list(look("completed"), { id: "2", description: "answer", status: "pending", required: false }),
      list(look("completed")),
      { type: "agent_status", data: { status: "ready" }, timestamp: at },
      { type: "agent_status", data: { status: "error", message: "no key" }, timestamp: at },
    ]);
  });

  test("has the text as the result of a tool that returned no value, and null for one that returned null", () => {
    const ended = (result: { is_error: boolean; text: string; data?: unknown }) =>
      project([event("call_ended", { call: CALL, outcome: { kind: "exited", code: 0 }, result, duration_ms: 1 })]).map(({ data }) => data);
    expect(ended({ is_error: false, text: "done" })).toEqual([{ call_id: CALL, result: "done" }]);
    expect(ended({ is_error: false, text: "null", data: null })).toEqual([{ call_id: CALL, result: null }]);
  });

  test("passes over events of a type it does not know", () => {
    const foreign: StoredEvent = { v: 1, session: SESSION, seq: 1, at, type: "later", foreign: { type: "later" } };
    expect(projectEvent(initialWireState, foreign)).toEqual({ state: initialWireState, messages: [] });
  });

  test("every call has one result with its id", () => {
    const ids = (type: string, messages: readonly WireMessage[]) =>
      messages.flatMap((message) => message.type === type ? [(message.data as { call_id: string }).call_id] : []);
    const messages = project([
      event("reply_committed", {
        step: 1,
        attempt: 1,
        text: "",
        calls: [CALL, OTHER].map((call) => ({ call, name: "x", arguments: "{}" })),
        finish: "tool_calls",
        usage: { input_tokens: 1, output_tokens: 1 },
        model: "m",
      }),
      ...[OTHER, CALL].map((call) =>
        event("call_ended", { call, outcome: { kind: "cancelled" }, result: { is_error: true, text: "" }, duration_ms: 0 })
      ),
    ]);
    expect(ids("tool_result", messages).toSorted()).toEqual(ids("tool_call", messages).toSorted());
  });
});

describe("what a running tool sends", () => {
  const sent = { type: "agent_status", data: { status: "thinking", message: "hm" }, timestamp: at };

  test("is a live status, and comes out again as it was sent", () => {
    const live = toLiveEvent(SESSION, sent, CALL);
    expect(live).toEqual({ type: "status", session: SESSION, status: "thinking", text: "hm", call: CALL, sent });
    expect(projectLive(live, at)).toEqual([sent]);
  });

  test("may be of any type", () => {
    const custom = { type: "custom", data: [1], timestamp: at };
    expect(toLiveEvent(SESSION, custom, CALL)).toEqual({ type: "status", session: SESSION, status: "custom", call: CALL, sent: custom });
  });

  test("is told apart from what the runtime says of itself", () => {
    expect(projectLive({ type: "status", session: SESSION, status: "call_announced", text: "search" }, at)).toEqual([]);
    expect(projectLive({ type: "text_delta", session: SESSION, step: 1, attempt: 1, text: "a" }, at)).toEqual([]);
    expect(projectLive({ type: "status", session: SESSION, status: "speaking" }, at)).toEqual([{
      type: "agent_status",
      data: { status: "speaking" },
      timestamp: at,
    }]);
  });
});

function event<T extends EventType>(type: T, body: EventBody<T>): SessionEvent {
  return { v: 1, session: SESSION, seq: 1, at, type, ...body } as unknown as SessionEvent;
}

function project(events: readonly StoredEvent[]): readonly WireMessage[] {
  const messages: WireMessage[] = [];
  let state = initialWireState;
  for (const each of events) {
    const step = projectEvent(state, each);
    messages.push(...step.messages);
    state = step.state;
  }
  return messages;
}
