import { afterEach, describe, expect, test } from "bun:test";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import type { Model, ModelRequest } from "../../lib/model/model.ts";
import type { Message } from "../../lib/session/message.ts";
import { type EndpointReply, type FixtureEndpoint, httpError, startEndpoint } from "../fixtures/endpoint.ts";
import { type TypedDocument, typedSse } from "../fixtures/sse.ts";
import { collect, errorOf, HELLO, recorded, replyOf, toHistory } from "./asking.ts";

const KEY = "sk-ant-canary-0123456789";
const open: FixtureEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

interface Served {
  readonly model: Model;
  readonly requests: FixtureEndpoint["requests"];
}

async function serve(...replies: readonly EndpointReply[]): Promise<Served> {
  return await serveAs("claude-next", ...replies);
}

async function serveAs(name: string, ...replies: readonly EndpointReply[]): Promise<Served> {
  const endpoint = await startEndpoint(replies);
  open.push(endpoint);
  const model = createAnthropicModel({
    id: `anthropic/${name}`,
    model: name,
    baseUrl: endpoint.url,
    apiKey: KEY,
    keyVariable: "FIXTURE_KEY",
  });
  return { model, requests: endpoint.requests };
}

/** The messages that go out, without the marks for the cache. */
async function sent(...messages: readonly Message[]): Promise<unknown> {
  const { model, requests } = await serve(await recorded("anthropic/text.sse"));
  await replyOf(model, { messages, tools: [] });
  return JSON.parse(JSON.stringify(requests[0]?.body.messages).replaceAll(/,?"cache_control":\{"type":"ephemeral"\}/g, ""));
}

function assistant(text: string, ...blocks: readonly object[]): Message {
  const provider_blocks = [{ wire: "anthropic", model: "anthropic/claude-next", blocks }];
  return { role: "assistant", text, calls: [], provider_blocks };
}

const START = { type: "message_start", message: { model: "claude-next", usage: { input_tokens: 1, output_tokens: 1 } } };
const TOOL = { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "toolu_1", name: "read_file", input: {} } };
const END = [{ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } }, { type: "message_stop" }] as const;

describe("a Messages stream", () => {
  test("passes over blocks of other kinds with all that belongs to them", async () => {
    const other = (index: number, type: string) => [
      { type: "content_block_start", index, content_block: { type, id: "x", name: "web_search", input: {} } },
      { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: '{"query":"x"}' } },
      { type: "content_block_stop", index },
    ];
    const text = [
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "The answer." } },
    ];
    const call = [
      { ...TOOL, index: 2 },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"path":"a"}' } },
      { type: "content_block_stop", index: 2 },
    ];
    const events = [START, ...other(0, "server_tool_use"), ...text, ...call, ...other(3, "mcp_tool_use"), ...END];
    const { model } = await serve({ steps: [{ write: typedSse(...events) }] });
    const reply = await replyOf(model);
    expect(reply.text).toBe("The answer.");
    expect(reply.calls).toEqual([{ provider_id: "toolu_1", name: "read_file", arguments: '{"path":"a"}' }]);
  });

  test("announces a call with its block and gives it the moment its arguments are whole (M1)", async () => {
    const [announced, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const piece = { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"path":"a"}' } };
    const { model } = await serve({
      steps: [
        { write: typedSse(START, TOOL) },
        { until: announced.promise },
        { write: typedSse(piece) },
        { until: ready.promise },
        { write: typedSse({ type: "content_block_stop", index: 0 }, ...END) },
      ],
    });
    const seen: string[] = [];
    for await (const event of model.stream(HELLO, new AbortController().signal)) {
      seen.push(event.type);
      if (event.type === "call_announced") announced.resolve();
      if (event.type === "call_ready") ready.resolve();
    }
    expect(seen).toEqual(["call_announced", "call_ready", "finished"]);
  });

  test("gives a call without arguments when its block is over, not when the stream is", async () => {
    const ready = Promise.withResolvers<void>();
    const stop = { type: "content_block_stop", index: 0 };
    const { model } = await serve({
      steps: [{ write: typedSse(START, TOOL, stop) }, { until: ready.promise }, { write: typedSse(...END) }],
    });
    for await (const event of model.stream(HELLO, new AbortController().signal)) {
      if (event.type !== "call_ready") continue;
      expect(event.arguments).toBe("{}");
      ready.resolve();
    }
  });

  test("that is cut off at a call's name does not ask for that call", async () => {
    const cut = { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 5 } };
    const { model } = await serve({ steps: [{ write: typedSse(START, TOOL, { type: "content_block_stop", index: 0 }, cut) }] });
    expect(await replyOf(model)).toMatchObject({ calls: [], finish: "length" });
  });

  test("is complete with its stop reason, and without it only at its end", async () => {
    const text = { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } };
    const replyTo = async (...events: readonly TypedDocument[]) =>
      (await replyOf((await serve({ steps: [{ write: typedSse(...events) }] })).model)).text;
    expect(await replyTo(START, text, END[0])).toBe("a");
    expect(await replyTo(START, text, END[1])).toBe("a");
    for (const events of [[START, text], [START, text, { type: "ping" }], [END[1]]]) {
      const { model } = await serve({ steps: [{ write: typedSse(...events) }] });
      expect((await errorOf(collect(model))).kind).toBe("transport");
    }
  });

  test("that is none is malformed, such as a chat stream", async () => {
    const { model } = await serve({ steps: [{ write: `data: ${JSON.stringify({ choices: [{ delta: { content: "a" } }] })}\n\n` }] });
    expect(await errorOf(collect(model))).toMatchObject({ kind: "malformed" });
  });
});

describe("a Messages request", () => {
  test("carries the key and the version in their own headers", async () => {
    const { model, requests } = await serve(await recorded("anthropic/text.sse"));
    await replyOf(model);
    const { path, headers } = requests[0] ?? { path: "", headers: {} as Record<string, undefined> };
    expect([path, headers["x-api-key"], headers["anthropic-version"], headers.authorization]).toEqual([
      "/v1/messages",
      KEY,
      "2023-06-01",
      undefined,
    ]);
  });

  test("has roles that alternate: results come first in the message after their calls", async () => {
    expect(
      await sent(
        { role: "user", text: "a" },
        { role: "user", text: "b" },
        { role: "assistant", text: " \n", calls: [{ id: "c1", name: "t", arguments: '{"n":1}' }] },
        { role: "tool", id: "c1", name: "t", text: "", is_error: true },
        { role: "user", text: "c" },
        assistant(""),
        { role: "user", text: "d" },
      ),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "t", input: { n: 1 } }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "The call failed without a message.", is_error: true },
          { type: "text", text: "c" },
          { type: "text", text: "d" },
        ],
      },
    ]);
  });

  test("keeps the digits of a call's numbers", async () => {
    let body = "";
    const fetch = (_url: string, init: RequestInit) => {
      body = String(init.body);
      return Promise.resolve(new Response(typedSse(START, ...END)));
    };
    const model = createAnthropicModel({ id: "anthropic/m", model: "m", baseUrl: "http://127.0.0.1:9/v1", fetch });
    const calls = [{ id: "c1", name: "t", arguments: '{"big":9007199254740993,"n":3.0}' }];
    await replyOf(model, { messages: [{ role: "assistant", text: "", calls }], tools: [] });
    expect(body).toContain('"input":{"big":9007199254740993,"n":3.0}');
  });

  test("marks the end of the system text, of this request and of the last one for the cache", async () => {
    const { model, requests } = await serve(await recorded("anthropic/text.sse"));
    const turn = (text: string): readonly Message[] => [{ role: "user", text }, { role: "assistant", text: "ok", calls: [] }];
    await replyOf(model, { messages: [{ role: "system", text: "s" }, ...turn("a"), ...turn("b"), { role: "user", text: "c" }], tools: [] });
    const body = JSON.stringify(requests[0]?.body);
    const marked = [...body.matchAll(/"text":"(\w+)","cache_control"/g)].map((match) => match[1]);
    expect(marked).toEqual(["s", "b", "c"]);
  });

  test("lets a model think as it finds right, unless the model is older than that", async () => {
    const asked = async (name: string) => {
      const { model, requests } = await serveAs(name, await recorded("anthropic/text.sse"));
      await replyOf(model);
      return "thinking" in (requests[0]?.body ?? {});
    };
    for (const name of ["claude-sonnet-4-6", "claude-opus-4-7", "claude-opus-5", "claude-haiku-5-20270101", "glm-5"]) {
      expect([name, await asked(name)]).toEqual([name, true]);
    }
    const older = [
      "claude-sonnet-4-5",
      "claude-haiku-4-5-20251001",
      "claude-opus-4-20250514",
      "claude-opus-4-1",
      "claude-sonnet-4-0",
      "claude-3-7-sonnet-latest",
    ];
    for (const name of older) expect([name, await asked(name)]).toEqual([name, false]);
  });

  test("asks for less if the model allows less, and without what it refuses, from then on", async () => {
    const { model, requests } = await serve(
      httpError(400, {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-next",
        },
      }),
      httpError(400, {
        type: "error",
        error: { type: "invalid_request_error", message: "adaptive thinking is not supported on this model" },
      }),
      await recorded("anthropic/text.sse"),
      await recorded("anthropic/text.sse"),
    );
    await replyOf(model);
    await replyOf(model);
    expect(requests.map(({ body }) => [body.max_tokens, "thinking" in body])).toEqual([[32_000, true], [8192, true], [8192, false], [
      8192,
      false,
    ]]);
  });
});

describe("a refusal", () => {
  test("is judged by what the endpoint says, not by what we add: a model may be called thinking", async () => {
    const { model, requests } = await serveAs("some-thinking", httpError(400, { error: { message: "messages: too odd" } }));
    expect((await errorOf(collect(model))).kind).toBe("rejected");
    expect(requests.length).toBe(1);
  });
});

describe("thoughts", () => {
  test("go back as they came, in their place among text and calls, through the log", async () => {
    const { model, requests } = await serve(await recorded("anthropic/interleaved.sse"), await recorded("anthropic/text.sse"));
    const request: ModelRequest = { messages: [{ role: "user", text: "go" }, ...toHistory(await replyOf(model))], tools: [] };
    await replyOf(model, request);
    expect((requests[1]?.body.messages as readonly unknown[])[1]).toEqual({
      role: "assistant",
      content: [
        { type: "redacted_thinking", data: "EmwKAhgBEgy3va3==" },
        { type: "thinking", thinking: "", signature: "EuYBCkQ==" },
        { type: "text", text: "Both." },
        { type: "tool_use", id: "toolu_01I", name: "read_file", input: { path: "a" } },
        { type: "thinking", thinking: "And the other.", signature: "EuYBCkR==" },
        { type: "tool_use", id: "toolu_02I", name: "read_file", input: { path: "b" } },
      ],
    });
  });

  test("without a signature, at the end of a message, or of another model stay behind", async () => {
    const signed = { opaque: { type: "thinking", thinking: "t", signature: "s" } };
    const foreign = {
      ...assistant("a"),
      provider_blocks: [{ wire: "anthropic", model: "anthropic/other", blocks: [signed, { text: 1 }] }],
    } as Message;
    expect(
      await sent(
        { role: "user", text: "1" },
        assistant("a", { opaque: { type: "thinking", thinking: "cut", signature: "" } }, { text: 1 }, signed),
        { role: "user", text: "2" },
        assistant("", signed),
        { role: "user", text: "3" },
        foreign,
      ),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "1" }] },
      { role: "assistant", content: [{ type: "text", text: "a" }] },
      { role: "user", content: [{ type: "text", text: "2" }, { type: "text", text: "3" }] },
      { role: "assistant", content: [{ type: "text", text: "a" }] },
    ]);
  });

  test("whose signature the endpoint does not accept are left out, and the model still thinks", async () => {
    const { model, requests } = await serve(
      await recorded("anthropic/thinking.sse"),
      httpError(400, {
        type: "error",
        error: { type: "invalid_request_error", message: "messages.1.content.0: Invalid `signature` in `thinking` block" },
      }),
      await recorded("anthropic/text.sse"),
    );
    const messages: readonly Message[] = [{ role: "user", text: "go" }, ...toHistory(await replyOf(model))];
    await replyOf(model, { messages, tools: [] });
    expect(requests.map(({ body }) => [JSON.stringify(body.messages).includes("signature"), "thinking" in body])).toEqual([
      [false, true],
      [true, true],
      [false, true],
    ]);
  });
});

describe("a Messages endpoint's errors", () => {
  const said = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_1" });
  const cases: readonly (readonly [number, string, string, string])[] = [
    [200, "overloaded_error", "Overloaded", "overloaded"],
    [200, "rate_limit_error", "slow", "rate_limited"],
    [200, "api_error", "Internal server error", "transport"],
    [200, "timeout_error", "took too long", "transport"],
    [200, "authentication_error", "invalid x-api-key", "auth"],
    [200, "permission_error", "no", "auth"],
    [200, "request_too_large", "Request exceeds the maximum size", "context_overflow"],
    [200, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"],
    [400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", "context_overflow"],
    [400, "invalid_request_error", "messages: roles must alternate", "rejected"],
    [400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API", "auth"],
    [401, "authentication_error", `invalid x-api-key ${KEY}`, "auth"],
    [403, "permission_error", "no", "auth"],
    [404, "not_found_error", "model: claude-nope", "unknown_model"],
    [404, "not_found_error", "Not Found", "unreachable"],
    [413, "request_too_large", "Request exceeds the maximum size", "context_overflow"],
    [429, "rate_limit_error", "This request would exceed your rate limit", "rate_limited"],
    [500, "api_error", "Internal server error", "transport"],
    [529, "overloaded_error", "Overloaded", "overloaded"],
  ];
  for (const [status, type, message, kind] of cases) {
    test(`${status === 200 ? "an event" : `HTTP ${status}`} with ${type} "${message.replace(KEY, "…")}" is ${kind}`, async () => {
      const reply = status === 200 ? { steps: [{ write: typedSse(START, said(type, message)) }] } : httpError(status, said(type, message));
      const error = await errorOf(collect((await serve(reply)).model));
      expect([error.kind, error.message.includes(KEY)]).toEqual([kind, false] as [typeof error.kind, boolean]);
    });
  }
});
