import { describe, expect, test } from "bun:test";
import { namesIn, toBody } from "../../lib/model/chat-request.ts";
import type { ModelRequest } from "../../lib/model/model.ts";
import { createToolNames } from "../../lib/model/tool-names.ts";
import { toParameters } from "../../lib/model/tool-schema.ts";
import type { Message } from "../../lib/session/message.ts";

function bodyOf(request: Partial<ModelRequest>): Readonly<Record<string, unknown>> {
  const whole = { messages: [], tools: [], ...request };
  return toBody("local/m", "m", whole, namesIn(whole));
}

describe("messages", () => {
  test("go out in the wire's shape, results paired by id and their text as it is", () => {
    const messages: readonly Message[] = [
      { role: "system", text: "Be brief." },
      { role: "user", text: "count" },
      { role: "assistant", text: "", calls: [{ id: "c1", name: "wc", arguments: '{"n":3.0}' }], model: "m" },
      { role: "tool", id: "c1", name: "wc", text: "error: no file", is_error: true },
      { role: "assistant", text: "Done.", calls: [], model: "m" },
    ];
    expect(bodyOf({ messages })).toEqual({
      model: "m",
      stream: true,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "count" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "wc", arguments: '{"n":3.0}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "error: no file" },
        { role: "assistant", content: "Done." },
      ],
    });
  });

  test("carry reasoning back to the model that wrote it, to no other, and never in place of the message", () => {
    const block = (model: string) => ({
      wire: "chat",
      model,
      fields: { reasoning_details: [{ type: "reasoning.encrypted", data: "x" }], content: "forged", role: "system" },
    });
    const message = (model: string): Message => ({
      role: "assistant",
      text: "a",
      calls: [],
      model: "any",
      provider_blocks: [block(model), "odd", null],
    });
    expect(bodyOf({ messages: [message("local/m"), message("local/other")] }).messages).toEqual([
      { reasoning_details: [{ type: "reasoning.encrypted", data: "x" }], role: "assistant", content: "a" },
      { role: "assistant", content: "a" },
    ]);
  });
});

describe("tools", () => {
  const parameters = (schema: Readonly<Record<string, unknown>>) => toParameters(schema);

  test("keep every keyword of the root, $defs and recursion included (case 63)", () => {
    const schema = {
      type: "object",
      properties: { f: { $ref: "#/$defs/F" } },
      $defs: { F: { enum: ["fit", "raw"] } },
      additionalProperties: false,
    };
    expect(parameters(schema)).toEqual(schema);
    const recursive = {
      type: "object",
      properties: { node: { $ref: "#/$defs/N" } },
      $defs: { N: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/N" } } } } },
    };
    expect(parameters(recursive)).toEqual(recursive);
  });

  test("always are an object with properties (case 64)", () => {
    for (const schema of [{}, { type: "object" }, { type: "object", properties: null }, { properties: [] }]) {
      expect(parameters(schema)).toEqual({ type: "object", properties: {} });
    }
  });

  test("keep root combinators, get missing items, and lose properties that are no schemas (case 67)", () => {
    expect(parameters({ type: "object", properties: { tags: { type: "array" }, type: "object" }, oneOf: [{ required: ["tags"] }] }))
      .toEqual({ type: "object", properties: { tags: { type: "array", items: {} } }, oneOf: [{ required: ["tags"] }] });
    const named = {
      type: "object",
      properties: {
        type: { type: "string" },
        properties: { type: "object" },
        required: { type: "boolean" },
        items: {},
        $ref: { type: "string" },
      },
      required: ["type"],
    };
    expect(parameters(named)).toEqual(named);
    const hostile = JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as Record<string, unknown>;
    expect(JSON.stringify(parameters(hostile))).toBe('{"properties":{"__proto__":{"type":"string"}},"type":"object"}');
  });

  test("leave their schemas untouched", () => {
    const schema = Object.freeze({ type: "object", properties: Object.freeze({ tags: Object.freeze({ type: "array" }) }) });
    parameters(schema);
    expect(schema.properties.tags).toEqual({ type: "array" });
  });
});

describe("tool names", () => {
  test("that fit stay, others get an alias that fits and leads back", () => {
    const raw = ["read_file", "git/commit now", "x".repeat(80), "été", "", "a.b", "a_b"];
    const names = createToolNames(raw);
    for (const name of raw) {
      expect(names.toWire(name)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(names.fromWire(names.toWire(name))).toBe(name);
    }
    expect(names.toWire("read_file")).toBe("read_file");
    expect(names.fromWire("invented")).toBe("invented");
  });

  test("get distinct aliases that do not depend on what else is offered (case 59)", () => {
    const long = ["a", "b"].map((end) => "t".repeat(79) + end);
    const [one, two] = long.map((name) => createToolNames(long).toWire(name));
    expect(one === two).toBe(false);
    expect(createToolNames([long[1] ?? ""]).toWire(long[1] ?? "")).toBe(two ?? "");
  });

  test("never collide with a tool that has the alias for its name", () => {
    const alias = createToolNames(["a b"]).toWire("a b");
    const names = createToolNames(["a b", alias]);
    expect(names.fromWire(alias)).toBe(alias);
    expect(names.fromWire(names.toWire("a b"))).toBe("a b");
  });

  test("are the same in the tools and in the history", () => {
    const body = bodyOf({
      messages: [{ role: "assistant", text: "", calls: [{ id: "c", name: "git/commit now", arguments: "{}" }], model: "m" }],
      tools: [{ name: "git/commit now", description: "", input_schema: {} }],
    });
    const names = [...JSON.stringify(body).matchAll(/"name":"([^"]*)"/g)].map((match) => match[1]);
    expect(names.length).toBe(2);
    expect(new Set(names).size).toBe(1);
  });
});
