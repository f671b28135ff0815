import { afterEach, describe, expect, test } from "bun:test";
import type { Model, ModelRequest } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import type { Message } from "../../lib/session/message.ts";
import { type EndpointReply, type FixtureEndpoint, httpError, startEndpoint } from "../fixtures/endpoint.ts";
import { type TypedDocument, typedSse } from "../fixtures/sse.ts";
import { collect, errorOf, HELLO, recorded, replyOf, toHistory } from "./asking.ts";

const KEY = "sk-canary-0123456789";
const open: FixtureEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

async function serve(
  ...replies: readonly EndpointReply[]
): Promise<{ readonly model: Model; readonly requests: FixtureEndpoint["requests"] }> {
  const endpoint = await startEndpoint(replies);
  open.push(endpoint);
  const model = createResponsesModel({ id: "openai/gpt", model: "gpt", baseUrl: endpoint.url, apiKey: KEY, keyVariable: "FIXTURE_KEY" });
  return { model, requests: endpoint.requests };
}

function call(type: string, fields: object): TypedDocument {
  return { type: `response.${type}`, output_index: 0, item_id: "fc_1", ...fields };
}

const ADDED = call("output_item.added", {
  item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "read_file", arguments: "" },
});
const COMPLETED = { type: "response.completed", response: { status: "completed", error: null, incomplete_details: null } };

describe("a Responses stream", () => {
  test("announces a call with its item and gives it the moment its arguments are whole (M1)", async () => {
    const [announced, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { model } = await serve({
      steps: [
        { write: typedSse(ADDED) },
        { until: announced.promise },
        { write: typedSse(call("function_call_arguments.delta", { delta: '{"path":"a"}' })) },
        { until: ready.promise },
        { write: typedSse(call("function_call_arguments.done", { arguments: '{"path":"a"}' }), COMPLETED) },
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

  test("gives the parts of a message that come only as a whole, once, however parts are numbered", async () => {
    const content = ["part one", " PART TWO"].map((text) => ({ type: "output_text", text }));
    const item = { type: "message", id: "msg_1", role: "assistant", content };
    const said = (index: number, text: string) => call("output_text.delta", { item_id: "msg_1", content_index: index, delta: text });
    const done = { ...COMPLETED, response: { ...COMPLETED.response, output: [item] } };
    const textOf = async (...events: readonly TypedDocument[]) => {
      const { model } = await serve({ steps: [{ write: typedSse(...events, call("output_item.done", { item }), done) }] });
      return (await replyOf(model)).text;
    };
    expect(await textOf(said(0, "part one"))).toBe("part one PART TWO");
    expect(await textOf(said(0, "part one"), said(0, " PART TWO"))).toBe("part one PART TWO");
    expect(await textOf()).toBe("part one PART TWO");
  });

  test("is not called complete when it says that it is not", async () => {
    const response = { status: "incomplete", incomplete_details: null, error: null, output: [] };
    const { model } = await serve({
      steps: [{ write: typedSse(call("output_text.delta", { delta: "I will not del" }), { type: "response.incomplete", response }) }],
    });
    expect(await replyOf(model)).toMatchObject({ text: "I will not del", finish: "length" });
  });

  test("may say a call only as a whole, in parts and then differently, or without any arguments", async () => {
    const done = (text: string) => call("function_call_arguments.done", { arguments: text });
    const part = call("function_call_arguments.delta", { delta: '{"a":' });
    const item = (text: string) =>
      call("output_item.done", { item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "t", arguments: text } });
    const argumentsOf = async (...events: readonly TypedDocument[]) => {
      const { model } = await serve({ steps: [{ write: typedSse(...events, COMPLETED) }] });
      return (await replyOf(model)).calls.map((each) => each.arguments);
    };
    expect(await argumentsOf(item('{"a":1}'))).toEqual(['{"a":1}']);
    expect(await argumentsOf(ADDED, done('{"a":1}'))).toEqual(['{"a":1}']);
    expect(await argumentsOf(ADDED, part, done('{"a":1}'))).toEqual(['{"a":1}']);
    expect(await argumentsOf(ADDED, done(""))).toEqual(["{}"]);
    const [spoiled = ""] = await argumentsOf(ADDED, part, done('{"b":2}'));
    expect(() => JSON.parse(spoiled)).toThrow();
  });

  test("is complete only when it says so", async () => {
    const begun = typedSse(ADDED, call("function_call_arguments.delta", { delta: '{"path":"a"}' }));
    for (const end of [[], [{ wait_ms: 20 }, { drop: true } as const], [{ write: "data: [DONE]\n\n" }]]) {
      const { model } = await serve({ steps: [{ write: begun }, ...end] });
      expect((await errorOf(collect(model))).kind).toBe("transport");
    }
  });

  test("that is none is malformed: a chat stream, a response that has not ended", async () => {
    for (const document of [{ choices: [{ delta: { content: "a" } }] }, { object: "response", status: "queued", output: [] }]) {
      const { model } = await serve({ steps: [{ write: `data: ${JSON.stringify(document)}\n\n` }] });
      expect(await errorOf(collect(model))).toMatchObject({ kind: "malformed" });
    }
  });
});

describe("a Responses endpoint", () => {
  test("is asked without what it refuses, from then on", async () => {
    const { model, requests } = await serve(
      httpError(400, { error: { message: "Encrypted content is not supported with this model.", param: "include" } }),
      httpError(400, {
        error: { message: "Your organization must be verified to generate reasoning summaries.", param: "reasoning.summary" },
      }),
      await recorded("responses/text.sse"),
      await recorded("responses/text.sse"),
    );
    await replyOf(model);
    await replyOf(model);
    expect(requests.map(({ body }) => ["include" in body, "reasoning" in body])).toEqual([
      [true, true],
      [false, true],
      [false, false],
      [false, false],
    ]);
  });

  test("gets back reasoning, phases and calls as they came and in their order, and only the model that wrote them does", async () => {
    const { model, requests } = await serve(await recorded("responses/parallel.sse"), await recorded("responses/text.sse"));
    const history = toHistory(await replyOf(model));
    await replyOf(model, { messages: [{ role: "user", text: "go" }, ...history], tools: [] });
    const input = [
      {
        type: "reasoning",
        id: "rs_01",
        summary: [{ type: "summary_text", text: "**Planning**\n\nTwo files." }, { type: "summary_text", text: "Read both." }],
        encrypted_content: "gAAAAABb2c3==",
      },
      { role: "assistant", content: "I look at both.", phase: "commentary" },
      { type: "function_call", call_id: "call_aa", name: "read_file", arguments: '{"path":"a.txt"}' },
      { type: "function_call", call_id: "call_bb", name: "read_file", arguments: '{"path":"b.txt"}' },
      { type: "function_call", call_id: "call_cc", name: "list_tasks", arguments: "{}" },
      { type: "function_call_output", call_id: "call_aa", output: "result of read_file" },
      { type: "function_call_output", call_id: "call_bb", output: "result of read_file" },
      { type: "function_call_output", call_id: "call_cc", output: "result of list_tasks" },
    ];
    expect(requests[1]?.body.input).toEqual([{ role: "user", content: [{ type: "input_text", text: "go" }] }, ...input]);

    const other = await startEndpoint([await recorded("responses/text.sse")]);
    open.push(other);
    await replyOf(createResponsesModel({ id: "openai/other", model: "other", baseUrl: other.url }), { messages: history, tools: [] });
    const [, { phase: _phase, ...message }] = input as [object, Record<string, unknown>];
    expect(other.requests[0]?.body.input).toEqual([message, ...input.slice(2)]);
  });

  test("that cannot read earlier reasoning is asked without it", async () => {
    const unreadable =
      "The encrypted content gAAA...3== could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
    const { model, requests } = await serve(
      await recorded("responses/parallel.sse"),
      httpError(400, { error: { message: unreadable, code: "invalid_encrypted_content" } }),
      await recorded("responses/text.sse"),
    );
    const request: ModelRequest = { messages: toHistory(await replyOf(model)), tools: [] };
    expect((await replyOf(model, request)).text).toContain("knackig");
    const types = requests.map(({ body }) =>
      (body.input as readonly { readonly type?: string }[]).filter((item) => item.type === "reasoning").length
    );
    expect(types).toEqual([0, 1, 0]);
    expect(requests[2]?.body.include).toEqual(["reasoning.encrypted_content"]);
  });

  test("gets no reasoning that leads to nothing, or that only it could look up", async () => {
    const message = (opaque: object): Message => ({
      role: "assistant",
      text: "a",
      calls: [],
      provider_blocks: [{ wire: "responses", model: "openai/gpt", blocks: [{ text: 1 }, { opaque }] }],
    });
    const { model, requests } = await serve(await recorded("responses/text.sse"));
    const looked: Message = {
      ...message({}),
      provider_blocks: [{ wire: "responses", model: "openai/gpt", blocks: [{ opaque: { id: "rs" } }, { text: 1 }] }],
    } as Message;
    await replyOf(model, { messages: [message({ id: "rs", encrypted_content: "x" }), looked], tools: [] });
    const text = { role: "assistant", content: "a" };
    expect(requests[0]?.body.input).toEqual([text, text]);
  });
});

describe("a Responses endpoint's errors", () => {
  const event = (fields: object): EndpointReply => ({
    steps: [{ write: typedSse({ type: "response.created" }, { type: "error", ...fields }) }],
  });
  const failed = (code: string): EndpointReply => ({
    steps: [{ write: typedSse({ type: "response.failed", response: { status: "failed", error: { code, message: "it says" } } }) }],
  });
  const cases: readonly (readonly [string, EndpointReply, string])[] = [
    ["an error event with a code", event({ code: "server_error", message: "oops" }), "transport"],
    [
      "an error event with an error inside",
      event({
        error: { type: "invalid_request_error", code: "context_length_exceeded", message: "Your input exceeds the context window" },
      }),
      "context_overflow",
    ],
    ["an error event for a spent quota", event({ code: "insufficient_quota", message: "You exceeded your current quota" }), "auth"],
    ["a failed response", failed("server_error"), "transport"],
    ["a response that failed for its rate", failed("rate_limit_exceeded"), "rate_limited"],
    ["a response that failed for its prompt", failed("invalid_prompt"), "rejected"],
    ["HTTP 401", httpError(401, { error: { message: `Incorrect API key provided: ${KEY}`, code: "invalid_api_key" } }), "auth"],
    ["HTTP 429 for a spent quota", httpError(429, { error: { message: "quota", type: "insufficient_quota" } }), "auth"],
    [
      "HTTP 404 with the model's name",
      httpError(404, { error: { message: "The model 'x' does not exist", code: "model_not_found" } }),
      "unknown_model",
    ],
  ];
  for (const [name, reply, kind] of cases) {
    test(`${name} is ${kind}`, async () => {
      const error = await errorOf(collect((await serve(reply)).model));
      expect([error.kind, error.message.includes(KEY)]).toEqual([kind, false] as [typeof error.kind, boolean]);
    });
  }

  test("a server that knows only chat completions is told apart", async () => {
    const error = await errorOf(collect((await serve(httpError(404, "404 page not found"))).model));
    expect(error.message).toContain("A server that knows only chat completions is local/NAME");
  });
});
