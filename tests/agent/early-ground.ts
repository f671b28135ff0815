/** What tests of early runs share: a workspace with tools of each kind, and models whose streams wait for what is to happen. */
import { afterEach, beforeEach } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { FeedEvent } from "../../lib/agent/feed.ts";
import type { Session } from "../../lib/agent/session.ts";
import { isKnown, type SessionEvent } from "../../lib/session/event.ts";
import { delta, DONE as SSE_DONE, type EndpointReply, type EndpointStep, sse, startEndpoint } from "../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

export const DONE = { text: "done" };

export const arrive = (index: number, name: string, input: object) => ({ call: { index, id: `c${index}`, name, arguments: input } });

/** One call as a chat-completions stream announces it. */
export function callChunk(name: string, input: object, index = 0): EndpointStep {
  const call = { index, id: `c${index}`, type: "function", function: { name, arguments: JSON.stringify(input) } };
  return { write: sse(delta({ tool_calls: [call] })) };
}

/** One stream with a call of each of these, in their order. */
export function callChunks(...calls: readonly (readonly [name: string, input: object])[]): EndpointStep {
  const tool_calls = calls.map(([name, input], index) => {
    return { index, id: `c${index}`, type: "function", function: { name, arguments: JSON.stringify(input) } };
  });
  return { write: sse(delta({ tool_calls })) };
}

export const END: EndpointStep = { write: sse(delta({}, "tool_calls"), SSE_DONE) };

export function discards(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event) => event.type === "speculation_discarded" ? [event.reason] : []);
}

/** The most runs, of early runs and calls of their own, that the log shows at the same time. */
export function mostAtOnce(events: readonly SessionEvent[]): number {
  let [running, most] = [0, 0];
  for (const event of events) {
    if (event.type === "speculation_started" || event.type === "call_spawned") running++;
    if (event.type === "speculation_ended" || (event.type === "call_ended" && event.speculation === undefined)) running--;
    most = Math.max(most, running);
  }
  return most;
}

/** A fresh workspace for each test of a file; agents that tests open are closed after them. */
export class EarlyGround {
  #workspace: TestWorkspace | null = null;
  #agents: Agent[] = [];

  constructor() {
    beforeEach(async () => {
      this.#workspace = await createWorkspace();
      this.#agents = [];
      await this.workspace.tool(
        "look",
        'echo run >> "runs-$STELLA_INPUT_N"; sleep "${STELLA_INPUT_S:-0}"; echo "seen $STELLA_INPUT_N"',
        "read_only = true\nspeculation_safe = true",
      );
      await this.workspace.tool("peek", 'echo run >> peeked; echo "peeked"', "read_only = true");
      await this.workspace.tool("add", 'printf "%s\\n" "$STELLA_INPUT_N" >> added; echo "added $STELLA_INPUT_N"');
    });
    afterEach(async () => {
      await Promise.all(this.#agents.map((agent) => agent.close()));
      await this.#workspace?.remove();
    });
  }

  get workspace(): TestWorkspace {
    if (this.#workspace === null) throw new Error("There is a workspace only in a test");
    return this.#workspace;
  }

  async open(replies: readonly object[], options: Partial<AgentOptions> = {}): Promise<{ agent: Agent; session: Session }> {
    const { path, home } = this.workspace;
    const env = { PATH: process.env["PATH"] ?? "", HOME: home, ORRERY_HOME: home };
    const agent = openAgent({ workspace: path, trustWorkspace: true, model: await this.workspace.script(...replies), env, ...options });
    this.#agents.push(agent);
    return { agent, session: await agent.create() };
  }

  async play(replies: readonly object[], options: Partial<AgentOptions> = {}) {
    const { agent, session } = await this.open(replies, options);
    const result = await session.prompt("go", { source: "test" });
    return { agent, session, result, events: await eventsOf(agent, session.id), results: resultsOf(session) };
  }

  /** Plays replies whose streams wait until the session has told of an event, so that the order does not hang on the clock. */
  async playHeld(
    awaited: (told: FeedEvent) => boolean,
    replies: (held: EndpointStep) => readonly EndpointReply[],
    then: (session: Session) => unknown = () => undefined,
    options: Partial<AgentOptions> = {},
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const endpoint = await startEndpoint(replies({ until: promise }));
    try {
      const { agent, session } = await this.open([], { model: "local/test", baseUrl: endpoint.url, ...options });
      session.watch((told) => {
        if (awaited(told)) Promise.resolve(then(session)).then(() => resolve(), reject);
      });
      const result = await session.prompt("go", { source: "test" });
      return { agent, session, result, events: await eventsOf(agent, session.id), results: resultsOf(session) };
    } finally {
      await endpoint.close();
    }
  }

  /** How often a tool has added a line to this file. */
  runsOf(name: string): number {
    try {
      return readFileSync(join(this.workspace.path, name), "utf8").trim().split("\n").length;
    } catch {
      // It was never written.
      return 0;
    }
  }
}

export async function eventsOf(agent: Agent, session: string): Promise<readonly SessionEvent[]> {
  return (await agent.events(session)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
}

function resultsOf(session: Session): readonly string[] {
  return session.messages().flatMap((message) => message.role === "tool" ? [message.text] : []);
}
