/** `GET /v1/sessions/{id}/events?profile=stella`: the message shapes of the Stella SDK. */
import { afterEach, describe, expect, test } from "bun:test";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

let subject: TestServer;
afterEach(() => subject.close());

const GREET = `import { tool } from "orrery";
import * as v from "valibot";
export default tool({
  name: "greet", description: "Greet.", parameters: v.object({ name: v.string() }),
  execute({ name }, { status, progress }) {
    status("thinking", "about " + name);
    progress("greeting", 50);
    return { text: "hello " + name };
  },
});
`;

const call = (name: string, input: object = {}) => ({ name, arguments: input });

async function start(): Promise<string> {
  subject = await startTestServer({
    prepare: async (workspace) => void await workspace.write(".orrery/tools/greet.ts", GREET),
    script: [
      { calls: [call("task_create", { subject: "Greet ada" }), call("greet", { name: "ada" }), call("greet", { name: 1 })] },
      { text: "Done.", calls: [call("task_create", { subject: "Greet bob" })] },
      { text: "All done." },
    ],
  });
  return await subject.open();
}

const prompt = (session: string) => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });

interface Message {
  readonly type: string;
  // deno-lint-ignore no-explicit-any
  readonly data: any;
  readonly timestamp: string;
}

describe("the profile of the Stella SDK", () => {
  test("tells calls and results that pair up, what tools say, and the to-do list as a whole", async () => {
    const session = await start();
    const reader = await subject.follow(session, { query: "?profile=stella" });
    await prompt(session);
    await reader.until(({ value }) => value.type === "agent_status" && value.data.status === "ready");
    const messages = reader.messages.map(({ value }) => value as Message);
    for (const message of messages) {
      expect(Object.keys(message).toSorted()).toEqual(["data", "timestamp", "type"]);
      expect(message.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
    const of = (type: string) => messages.filter((message) => message.type === type).map(({ data }) => data);
    const calls = of("tool_call");
    expect(calls).toMatchObject([
      { tool_name: "task_create", arguments: { subject: "Greet ada" } },
      { tool_name: "greet", arguments: { name: "ada" } },
      { tool_name: "greet", arguments: { name: 1 } },
      { tool_name: "task_create", arguments: { subject: "Greet bob" } },
    ]);
    const results = new Map(of("tool_result").map((data) => [data.call_id, data]));
    expect(results.get(calls[1].call_id)).toEqual({ call_id: calls[1].call_id, result: { text: "hello ada" } });
    expect(results.get(calls[2].call_id)).toMatchObject({ result: null, error: expect.stringContaining("/name") });
    expect(results.size).toBe(4);
    expect(of("progress_update")).toEqual([{ task_id: "greeting", progress: 50 }]);
    expect(of("agent_status").map(({ status, message }) => message ?? status)).toEqual([
      "thinking",
      "about ada",
      "thinking",
      "thinking",
      "ready",
    ]);
    expect(of("todo_list").map(({ items }) => items.map((item: { description: string }) => item.description))).toEqual([
      ["Greet ada"],
      ["Greet ada", "Greet bob"],
    ]);
    reader.cut();
  }, 30_000);

  test("goes on behind an id with every message of every later event, and with a list that is whole", async () => {
    const session = await start();
    await prompt(session);
    const page = async (query: string) => (await subject.ask("GET", `/v1/sessions/${session}/events?profile=stella&${query}`)).body;
    const all = await page("limit=1000");
    const plain = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body;
    expect([all.head, all.next]).toEqual([plain.head, undefined]);
    const bodies = (messages: readonly Message[]) => messages.map(({ type, data }) => JSON.stringify([type, data]));
    for (let after = 0; after <= plain.head; after++) {
      const lines = await subject.ask("GET", `/v1/sessions/${session}/events?profile=stella&follow=false&after=${after}`, undefined, {
        accept: "application/x-ndjson",
      });
      const rest = lines.text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Message);
      expect(bodies(rest)).toEqual(bodies(all.events).slice(all.events.length - rest.length));
      expect(bodies((await page(`limit=1000&after=${after}`)).events)).toEqual(bodies(rest));
    }
    // Each event's id stands at the last of its messages.
    const stream = await subject.ask("GET", `/v1/sessions/${session}/events?profile=stella&follow=false`, undefined, {
      accept: "text/event-stream",
    });
    const frames = stream.text.split("\n\n").filter((frame) => frame.includes("data:"));
    const committed = plain.events.find((event: { type: string }) => event.type === "reply_committed").seq;
    const asked = frames.filter((frame) => frame.includes('"tool_call"'));
    expect(asked.map((frame) => /^id: (\d+)/.exec(frame)?.[1] ?? null).slice(0, 3)).toEqual([null, null, String(committed)]);
  }, 30_000);

  test("is refused under another name", async () => {
    const session = await start();
    expect((await subject.ask("GET", `/v1/sessions/${session}/events?profile=other`)).status).toBe(422);
  });
});
