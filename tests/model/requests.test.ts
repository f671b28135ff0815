import { afterEach, describe, expect, test } from "bun:test";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import type { ModelRequest } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import type { ToolDeclaration } from "../../lib/session/message.ts";
import { compileSchema } from "../../lib/tools/schema.ts";
import { type FixtureEndpoint, httpError, startEndpoint } from "../fixtures/endpoint.ts";
import { transcript } from "../../lib/session/transcript.ts";
import { after, allow, end, OPEN, PROMPT, reply, start, STEP } from "../session/specification.ts";
import { errorOf, replyOf } from "./asking.ts";

const models = { chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel };
type WireName = keyof typeof models;
const open: FixtureEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

/** The body that goes out for a request. */
async function bodyOf(wire: WireName, request: ModelRequest): Promise<Readonly<Record<string, unknown>>> {
  const endpoint = await startEndpoint([httpError(401, "no")]);
  open.push(endpoint);
  await errorOf(replyOf(models[wire]({ id: "p/m", model: "m", baseUrl: endpoint.url }), request));
  return endpoint.requests[0]?.body ?? {};
}

const CONVERSATION: ModelRequest = {
  messages: [
    { role: "system", text: "Be brief." },
    { role: "user", text: "Count." },
    {
      role: "assistant",
      text: "I look.",
      calls: [{ id: "c1", name: "git/log now", arguments: '{"n":3.0}' }, { id: "c2", name: "read", arguments: "{}" }],
    },
    { role: "tool", id: "c1", name: "git/log now", text: "12", is_error: false },
    { role: "tool", id: "c2", name: "read", text: "no such file", is_error: true },
    { role: "assistant", text: "Twelve.", calls: [] },
    { role: "user", text: "Again." },
  ],
  tools: [{ name: "read", description: "Reads.", input_schema: { type: "object", properties: { path: { type: "string" } } } }],
};

/** Pins: what each API is sent, byte for byte in its meaning. */
const bodies: Readonly<Record<WireName, object>> = {
  chat: {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Count." },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "git_log_now_000b0d76", arguments: '{"n":3.0}' } },
          { id: "c2", type: "function", function: { name: "read", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "12" },
      { role: "tool", tool_call_id: "c2", content: "no such file" },
      { role: "assistant", content: "Twelve." },
      { role: "user", content: "Again." },
    ],
    tools: [{
      type: "function",
      function: { name: "read", description: "Reads.", parameters: { type: "object", properties: { path: { type: "string" } } } },
    }],
  },
  responses: {
    model: "m",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    reasoning: { summary: "auto" },
    instructions: "Be brief.",
    input: [
      { role: "user", content: [{ type: "input_text", text: "Count." }] },
      { role: "assistant", content: "I look." },
      { type: "function_call", call_id: "c1", name: "git_log_now_000b0d76", arguments: '{"n":3.0}' },
      { type: "function_call", call_id: "c2", name: "read", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "12" },
      { type: "function_call_output", call_id: "c2", output: "no such file" },
      { role: "assistant", content: "Twelve." },
      { role: "user", content: [{ type: "input_text", text: "Again." }] },
    ],
    tools: [{
      type: "function",
      name: "read",
      description: "Reads.",
      parameters: { type: "object", properties: { path: { type: "string" } } },
      strict: false,
    }],
  },
  anthropic: {
    model: "m",
    max_tokens: 32_000,
    stream: true,
    thinking: { type: "adaptive", display: "summarized" },
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Count." }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "c1", name: "git_log_now_000b0d76", input: { n: 3 } },
          { type: "tool_use", id: "c2", name: "read", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "12" },
          { type: "tool_result", tool_use_id: "c2", content: "no such file", is_error: true, cache_control: { type: "ephemeral" } },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "Twelve." }] },
      { role: "user", content: [{ type: "text", text: "Again.", cache_control: { type: "ephemeral" } }] },
    ],
    tools: [{ name: "read", description: "Reads.", input_schema: { type: "object", properties: { path: { type: "string" } } } }],
  },
};

const CALL_ID = {
  chat: /"id":"(\w+)","type":"function"/g,
  responses: /"type":"function_call","call_id":"(\w+)"/g,
  anthropic: /"type":"tool_use","id":"(\w+)"/g,
};
const RESULT_ID = {
  chat: /"tool_call_id":"(\w+)"/g,
  responses: /"type":"function_call_output","call_id":"(\w+)"/g,
  anthropic: /"tool_use_id":"(\w+)"/g,
};

/** How each API is told of a tool. */
function toWireTool(wire: WireName, { name, description, input_schema: schema }: ToolDeclaration): object {
  switch (wire) {
    case "chat":
      return { type: "function", function: { name, description, parameters: schema } };
    case "responses":
      return { type: "function", name, description, parameters: schema, strict: false };
    case "anthropic":
      return { name, description, input_schema: schema };
  }
}

for (const wire of ["chat", "responses", "anthropic"] as const) {
  describe(`the body of a request (${wire})`, () => {
    test("holds the whole conversation, with results paired and names that fit (case 67)", async () => {
      expect(await bodyOf(wire, CONVERSATION)).toEqual(bodies[wire] as Record<string, unknown>);
    });

    test("shows a tool without, with a null, an empty, a bare or a true schema as one without parameters (case 64)", async () => {
      const sources = { missing: undefined, null: null, empty: {}, bare: { type: "object" }, true: true };
      const tools = await Promise.all(
        Object.entries(sources).map(async ([name, source]): Promise<ToolDeclaration> => {
          const { schema } = await compileSchema(source);
          expect(schema?.check({})).toEqual([]);
          return { name, description: "d", input_schema: schema?.declared ?? {} };
        }),
      );
      const bare = { type: "object", properties: {} };
      expect((await bodyOf(wire, { messages: [], tools })).tools).toEqual(
        tools.map((tool) => toWireTool(wire, { ...tool, input_schema: bare })),
      );
    });

    test("keeps $defs and recursion, and has neither combinators at a root nor arrays without items (cases 63, 67)", async () => {
      const defs = {
        type: "object",
        properties: { f: { $ref: "#/$defs/F" }, node: { $ref: "#/$defs/N" } },
        $defs: {
          F: { enum: ["fit", "raw"] },
          N: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/N" } } } },
        },
        additionalProperties: false,
      };
      const combined = {
        properties: { tags: { type: "array" } },
        oneOf: [{ required: ["tags"] }, { properties: { all: { const: true } } }],
      };
      const tools = [defs, combined].map((input_schema, at): ToolDeclaration => ({ name: `t${at}`, description: "d", input_schema }));
      const flat = {
        type: "object",
        properties: { tags: { type: "array", items: {} }, all: { const: true } },
        description: 'The whole input must also satisfy {"oneOf":[{"required":["tags"]},{"properties":{"all":{"const":true}}}]}',
      };
      expect((await bodyOf(wire, { messages: [], tools })).tools).toEqual(
        [defs, flat].map((input_schema, at) => toWireTool(wire, { name: `t${at}`, description: "d", input_schema })),
      );
    });

    test("has an id of its own for every call, with its result, though the provider repeats its ids", async () => {
      const step = (number: number) => [...STEP, reply(["look"], number), allow(number), start(number), end(number, `r${number}`)];
      const { state } = after(OPEN, PROMPT, ...step(1), ...step(2), ...step(3));
      const body = JSON.stringify(await bodyOf(wire, { messages: transcript(state), tools: [] }));
      const asked = [...body.matchAll(CALL_ID[wire])].map((match) => match[1]);
      const answered = [...body.matchAll(RESULT_ID[wire])].map((match) => match[1]);
      expect([asked.length, new Set(asked).size]).toEqual([3, 3]);
      expect(answered).toEqual(asked);
    });
  });
}
