/** The samples of the Stella SDK's page in TypeScript: what the Python originals return (seed.test.ts), these return. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import type { JsonObject } from "../../../lib/session/json.ts";
import { fixtures } from "./run-launch.ts";
import { callModule, describeModuleFile } from "./run-module.ts";

const TOOLS = "twins/tools.ts";

function place(env: Readonly<Record<string, string>> = {}) {
  return { workspace: fixtures, env: { PATH: process.env["PATH"] ?? "", ...env } };
}

function call(name: string, input: JsonObject, file = TOOLS, env: Readonly<Record<string, string>> = {}) {
  return callModule(join(fixtures, file), name, input, place(env));
}

describe("a sample in TypeScript", () => {
  test("has the schema that the page prints for create_ticket", async () => {
    const described = await describeModuleFile(join(fixtures, TOOLS), place());
    if (described.kind === "broken") throw new Error(JSON.stringify(described));
    const { name, description, parameters } = described.tools.find((each) => each.name === "create_ticket") ?? {};
    expect({ name, description, parameters }).toEqual({
      name: "create_ticket",
      description: "Create a support ticket.",
      parameters: {
        type: "object",
        properties: {
          title: { type: "string", description: "Ticket title" },
          description: { type: "string", description: "Detailed description of the issue" },
          priority: { type: "string", description: "Priority level (low, medium, high)", default: "medium" },
        },
        required: ["title", "description"],
      },
    });
  });

  const samples: readonly (readonly [string, JsonObject, unknown])[] = [
    ["search_knowledge_base", { query: "tea" }, "all about tea"],
    ["create_ticket", { title: "a", description: "b" }, { ticket_id: "T-1", status: "created" }],
    ["search_products", { query: "a", category: null }, [{ name: "Anvil", price: 9.5, id: 1 }, { name: "Apple", price: 3, id: 2 }]],
    ["search_products", { query: "a", category: "food", max_results: 1 }, [{ name: "Apple", price: 3, id: 2 }]],
    [
      "schedule_appointment",
      { date: "2026-12-01", time: "10:00", service: "cut", customer_name: "Ada" },
      { confirmation_number: "A-1", date: "2026-12-01", time: "10:00", message: "Appointment scheduled for 2026-12-01 at 10:00" },
    ],
    ["get_account_balance", { account_id: "1" }, { balance: 12.5, currency: "EUR" }],
    ["get_account_balance", { account_id: "none" }, { error: "Account not found" }],
    ["get_account_balance", { account_id: "secret" }, { error: "Not authorized to access this account" }],
    ["get_account_balance", { account_id: "broken" }, { error: "Failed to retrieve balance: the ledger is closed" }],
    ["transfer_funds", { from_account: "1", to_account: "2", amount: 5 }, { transfer_id: "X-1", status: "completed" }],
  ];
  for (const [name, input, returned] of samples) {
    test(`returns what its original does: ${name}(${JSON.stringify(input)})`, async () => {
      expect((await call(name, input)).result).toEqual({ is_error: false, text: JSON.stringify(returned), data: returned });
    });
  }

  test("may be a class", async () => {
    expect((await call("search_knowledge_base", { query: "tea" }, "twins/class_tool.ts")).result.data).toBe("all about tea");
  });

  for (
    const [input, message] of [
      [{ from_account: "1", to_account: "2", amount: 0 }, "Amount must be positive"],
      [{ from_account: "1", to_account: "2", amount: 20_000 }, "Amount exceeds transfer limit"],
      [{ from_account: "1", to_account: "none", amount: 1 }, "Invalid account"],
    ] as const
  ) {
    test(`refuses by ValidationError: ${message}`, async () => {
      expect((await call("transfer_funds", input)).result).toEqual({ is_error: true, text: message });
    });
  }

  test("tells what it does: search_flights", async () => {
    const { result, messages } = await call("search_flights", { origin: "OSL", destination: "BGO", date: "2026-12-01" });
    expect(result.data).toEqual([{ flight_number: "OR 12", departure: "2026-12-01T08:00", arrival: "2026-12-01T09:30", price: 99 }]);
    expect(messages).toMatchObject([{
      type: "agent_status",
      data: { status: "thinking", message: "Searching flights from OSL to BGO..." },
    }]);
  });
});

describe("a sample in TypeScript that talks to a server", () => {
  let server: Server;
  let url = "";

  beforeAll(async () => {
    server = createServer((request, response) => {
      const found = request.url === "/orders/7";
      response.writeHead(found ? 200 : 404, { "content-type": "application/json" }).end(found ? '{"status":"shipped"}' : "{}");
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

  test("reads what it says, and its 404: check_order_status", async () => {
    const env = { API_URL: url };
    expect((await call("check_order_status", { order_id: "7" }, TOOLS, env)).result.data).toEqual({ status: "shipped" });
    expect((await call("check_order_status", { order_id: "8" }, TOOLS, env)).result).toEqual({
      is_error: false,
      text: '{"error":"Order not found"}',
      data: { error: "Order not found" },
    });
  });
});
