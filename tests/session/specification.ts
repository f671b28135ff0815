/** Given / when / then for `decide` and `evolve`, and a driver that plays random sessions. */
import { expect } from "bun:test";
import type { Command } from "../../lib/session/command.ts";
import { decide } from "../../lib/session/decide.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { fold } from "../../lib/session/evolve.ts";
import { initialState, type SessionState } from "../../lib/session/state.ts";

export const AT = "2026-01-02T03:04:05.678Z";
export const SESSION = "ses_01930000-0000-7000-8000-000000000001";

/** A call id that differs by its number. */
export function callId(number: number): string {
  return `call_01930000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
}

const schema = { type: "object", properties: {} };
const origin = { system: "builtin", scope: "builtin" } as const;

export const OPEN: Command = {
  type: "open",
  at: AT,
  session: SESSION,
  workspace: "/repo",
  model: "script/demo",
  mode: "auto-accept",
  system: "Be brief.",
  tools: [
    { name: "look", origin, digest: "0", description: "reads", input_schema: schema, read_only: true, speculation_safe: true },
    { name: "change", origin, digest: "1", description: "writes", input_schema: schema, read_only: false, speculation_safe: false },
  ],
  runtime: "orrery/test",
};

export const PROMPT: Command = { type: "prompt", at: AT, text: "go", source: "test" };

/** The state after these commands, every one of which must be accepted. */
export function after(...commands: readonly Command[]): { state: SessionState; events: readonly SessionEvent[] } {
  let state = initialState;
  const events: SessionEvent[] = [];
  for (const command of commands) {
    const decision = decide(state, command);
    if (decision.kind === "refused") throw new Error(`${command.type} was refused: ${decision.refusal.message}`);
    state = fold(decision.events, state);
    events.push(...decision.events);
  }
  return { state, events };
}

/** A reply that asks for calls of these tools, numbered from `first`. */
export function reply(names: readonly string[], first = 1): Command {
  return {
    type: "commit_reply",
    at: AT,
    reply: {
      text: names.length === 0 ? "done" : "",
      calls: names.map((name, index) => ({ call: callId(first + index), provider_id: `p${index}`, name, arguments: "{}" })),
      finish: names.length === 0 ? "stop" : "tool_calls",
      usage: { input_tokens: 10, output_tokens: 2 },
      model: "demo",
    },
  };
}

export const STEP: readonly Command[] = [{ type: "begin_step", at: AT }, { type: "begin_attempt", at: AT }];

export function allow(number: number): Command {
  return { type: "allow_call", at: AT, call: callId(number), input: { value: {}, text: "{}" }, by: "policy" };
}

export function start(number: number): Command {
  return { type: "start_call", at: AT, call: callId(number), input_digest: "d", worker: "w1" };
}

export function end(number: number, text = "ok"): Command {
  return {
    type: "end_call",
    at: AT,
    call: callId(number),
    outcome: { kind: "exited", code: 0 },
    result: { is_error: false, text },
    duration_ms: 3,
  };
}

export function given(...commands: readonly Command[]) {
  const { state } = after(...commands);
  return {
    when: (command: Command) => {
      const decision = decide(state, command);
      return {
        then: (...types: readonly string[]) => {
          const given: unknown = decision.kind === "accepted" ? decision.events.map((event) => event.type) : decision.refusal;
          expect(given).toEqual(types);
        },
        thenRefused: (code: string) => {
          const given: unknown = decision.kind === "refused" ? decision.refusal.code : decision.events;
          expect(given).toBe(code);
        },
      };
    },
  };
}
