/** The samples of the Stella SDK's page, as they stand there. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toInput } from "../../../lib/session/json.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { callPython, fixtures, placeOf, runLaunch } from "./run-launch.ts";

describe("the schema of create_ticket", () => {
  test("comes out as the page prints it, in the same order", async () => {
    const description = python.readDescription(
      await runLaunch(python.describe(join(fixtures, "seed/create_ticket.py"), placeOf(), 20_000)),
    );
    if (description.kind === "broken") throw new Error(JSON.stringify(description));
    const [{ name, description: text, parameters } = {}] = description.tools;
    expect(JSON.stringify({ name, description: text, parameters }, null, 2)).toBe(`{
  "name": "create_ticket",
  "description": "Create a support ticket.",
  "parameters": {
    "type": "object",
    "properties": {
      "title": {
        "type": "string",
        "description": "Ticket title"
      },
      "description": {
        "type": "string",
        "description": "Detailed description of the issue"
      },
      "priority": {
        "type": "string",
        "description": "Priority level (low, medium, high)",
        "default": "medium"
      }
    },
    "required": [
      "title",
      "description"
    ]
  }
}`);
  });
});

/** file, tool, input, result as the model reads it */
const samples: readonly (readonly [string, string, Record<string, string | number | null>, string])[] = [
  ["search_knowledge_base", "search_knowledge_base", { query: "tea" }, '"all about tea"'],
  ["class_tool", "search_knowledge_base", { query: "tea" }, '"all about tea"'],
  ["agent_constructor", "search_knowledge_base", { query: "tea" }, '"all about tea"'],
  ["agent_constructor", "get_weather", { city: "Oslo" }, '{"temp":65,"conditions":"sunny"}'],
  ["agent_list", "create_ticket", { title: "a", description: "b" }, '{"ticket_id":"T-1","status":"created"}'],
  ["agent_list", "get_weather", { city: "Oslo" }, '{"temp":65,"conditions":"sunny"}'],
  ["create_ticket", "create_ticket", { title: "a", description: "b", priority: "high" }, '{"ticket_id":"T-1","status":"created"}'],
  [
    "search_products",
    "search_products",
    { query: "a", category: null },
    '[{"name":"Anvil","price":9.5,"id":1},{"name":"Apple","price":3.0,"id":2}]',
  ],
  ["search_products", "search_products", { query: "a", category: "food", max_results: 1 }, '[{"name":"Apple","price":3.0,"id":2}]'],
  [
    "schedule_appointment",
    "schedule_appointment",
    { date: "2026-12-01", time: "10:00", service: "cut", customer_name: "Ada" },
    '{"confirmation_number":"A-1","date":"2026-12-01","time":"10:00","message":"Appointment scheduled for 2026-12-01 at 10:00"}',
  ],
  ["get_account_balance", "get_account_balance", { account_id: "1" }, '{"balance":12.5,"currency":"EUR"}'],
  ["get_account_balance", "get_account_balance", { account_id: "none" }, '{"error":"Account not found"}'],
  ["get_account_balance", "get_account_balance", { account_id: "secret" }, '{"error":"Not authorized to access this account"}'],
  ["get_account_balance", "get_account_balance", { account_id: "broken" }, '{"error":"Failed to retrieve balance: the ledger is closed"}'],
  ["transfer_funds", "transfer_funds", { from_account: "1", to_account: "2", amount: 5 }, '{"transfer_id":"X-1","status":"completed"}'],
];

/** Those that define a tool of the same name, in the order of the page. */
const twins: readonly string[] = ["search_knowledge_base.py", "class_tool.py"];

describe("samples in one file", () => {
  test("that have one name are one tool: the later, as everywhere in Python", async () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-seed-"));
    try {
      for (const [index, order] of [twins, twins.toReversed()].entries()) {
        const file = join(folder, `both_${index}.py`);
        const sources = order.map((name) => readFileSync(join(fixtures, "seed", name), "utf8"));
        writeFileSync(file, `${sources[0]?.replace("return ", 'return "first: " + ')}\n${sources[1]}`);
        const described = python.readDescription(await runLaunch(python.describe(file, placeOf(), 20_000)));
        expect(described).toMatchObject({ kind: "described", tools: [{ name: "search_knowledge_base" }] });
        const [tool] = described.kind === "described" ? described.tools : [];
        if (tool === undefined) throw new Error("It has no tool");
        const run = await runLaunch(python.call(file, tool, toInput({ query: "tea" }), placeOf()));
        expect(python.read(tool.name, run).result.data).toBe("all about tea");
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a sample", () => {
  for (const [file, tool, input, expected] of samples) {
    test(`${file}.py: ${tool}(${JSON.stringify(input)}) returns ${expected.slice(0, 40)}`, async () => {
      expect((await callPython(`seed/${file}.py`, tool, input)).result).toEqual({
        is_error: false,
        text: expected,
        data: JSON.parse(expected),
      });
    });
  }

  for (const [amount, message] of [[0, "Amount must be positive"], [20000, "Amount exceeds transfer limit"]] as const) {
    test(`transfer_funds of ${amount} is an error the model can act on, without a stack`, async () => {
      const { result, run } = await callPython("seed/transfer_funds.py", "transfer_funds", { from_account: "1", to_account: "2", amount });
      expect(result).toEqual({ is_error: true, text: message });
      expect(run.stderr.text).toBe("");
    });
  }

  test("search_flights says what it does through the agent that it does not define", async () => {
    const { result, messages } = await callPython("seed/search_flights.py", "search_flights", {
      origin: "OSL",
      destination: "BGO",
      date: "2026-12-01",
    });
    expect(result.data).toEqual([{ flight_number: "OR 12", departure: "2026-12-01T08:00", arrival: "2026-12-01T09:30", price: 99 }]);
    expect(messages).toEqual([
      {
        type: "agent_status",
        data: { status: "thinking", message: "Searching flights from OSL to BGO..." },
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      },
    ]);
  });
});

describe("a sample that talks to a server", () => {
  let server: Server;
  let url = "";
  const asked: { readonly messages: readonly Record<string, unknown>[]; readonly tools: unknown }[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      void answer(request).then(({ status, body }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      );
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await promise;
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    server.closeAllConnections();
    await promise;
  });

  async function answer(request: IncomingMessage): Promise<{ readonly status: number; readonly body: unknown }> {
    if (request.url === "/orders/7") return { status: 200, body: { status: "shipped" } };
    if (request.url !== "/v1/chat/completions") return { status: 404, body: {} };
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const body = JSON.parse(new TextDecoder().decode(joined(chunks))) as (typeof asked)[number];
    asked.push(body);
    const call = (id: string, city: string) => ({
      id,
      type: "function",
      function: { name: "get_weather", arguments: JSON.stringify({ city }) },
    });
    const message = asked.length === 1
      ? { role: "assistant", content: null, tool_calls: [call("call_a", "Oslo"), call("call_b", "Atlantis")] }
      : { role: "assistant", content: "It is sunny." };
    return { status: 200, body: { choices: [{ message }] } };
  }

  test("check_order_status reads what the server says, and its 404", async () => {
    const found = await callPython("seed/check_order_status.py", "check_order_status", { order_id: "7" }, { API_URL: url });
    expect(found.result.data).toEqual({ status: "shipped" });
    const missing = await callPython("seed/check_order_status.py", "check_order_status", { order_id: "8" }, { API_URL: url });
    expect(missing.result).toEqual({ is_error: false, text: '{"error":"Order not found"}', data: { error: "Order not found" } });
  });

  test("generate_response runs its loop against an endpoint, and its notifications pair up", async () => {
    const { result, messages } = await callPython("seed/agent_loop.py", "ask", { question: "What is the weather?" }, {
      OPENAI_BASE_URL: `${url}/v1`,
    });
    expect(result.data).toBe("It is sunny.");
    expect(asked.length).toBe(2);
    expect(asked[0]?.messages).toEqual([
      { role: "system", content: "You know the weather." },
      { role: "user", content: "What is the weather?" },
    ]);
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    expect(asked[0]?.tools).toEqual([{
      type: "function",
      function: { name: "get_weather", description: "Tell the weather.", parameters },
    }]);
    expect(asked[1]?.messages.slice(3)).toEqual([
      { role: "tool", tool_call_id: "call_a", content: '{"temp": 65, "conditions": "sunny"}' },
      { role: "tool", tool_call_id: "call_b", content: '{"error": "There is no such city"}' },
    ]);
    const [first, second] = messages.flatMap(({ type, data }) => type === "tool_call" ? [(data as { call_id: string }).call_id] : []);
    expect(first).not.toBe(second);
    expect(messages.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: "tool_call", data: { tool_name: "get_weather", arguments: { city: "Oslo" }, call_id: first } },
      { type: "tool_result", data: { call_id: first, result: { temp: 65, conditions: "sunny" } } },
      { type: "tool_call", data: { tool_name: "get_weather", arguments: { city: "Atlantis" }, call_id: second } },
      { type: "tool_result", data: { call_id: second, result: { error: "There is no such city" }, error: "There is no such city" } },
    ]);
  });
});

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
