import { afterEach, describe, expect, test } from "bun:test";
import { createChatModel } from "../../lib/model/chat.ts";
import type { Model, ModelError, ModelReply } from "../../lib/model/model.ts";
import {
  chatReply,
  delta,
  DONE,
  type EndpointReply,
  type FixtureEndpoint,
  httpError,
  sse,
  startEndpoint,
  streamed,
} from "../fixtures/endpoint.ts";
import { collect, errorOf, HELLO, replyOf } from "./asking.ts";

const KEY = "sk-canary-0123456789";
const open: FixtureEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

async function serve(replies: Parameters<typeof startEndpoint>[0]): Promise<FixtureEndpoint> {
  const endpoint = await startEndpoint(replies);
  open.push(endpoint);
  return endpoint;
}

function modelAt(url: string, idleMs = 5000): Model {
  return createChatModel({ id: "local/fixture", model: "fixture", baseUrl: url, apiKey: KEY, keyVariable: "FIXTURE_KEY", idleMs });
}

async function replyTo(...replies: readonly EndpointReply[]): Promise<ModelReply> {
  return await replyOf(modelAt((await serve(replies)).url));
}

/** Of a stream whose connection breaks once something of it was told. */
async function replyBeforeDrop(...documents: readonly object[]): Promise<ModelReply> {
  const told = Promise.withResolvers<void>();
  const endpoint = await serve([{ steps: [{ write: sse(...documents) }, { until: told.promise }, { drop: true }] }]);
  return await replyOf(modelAt(endpoint.url), HELLO, () => told.resolve());
}

async function errorFrom(...replies: readonly EndpointReply[]): Promise<ModelError> {
  return errorOf(collect(modelAt((await serve(replies)).url)));
}

describe("a streamed reply", () => {
  test("comes as events while it streams: a call is ready before the stream goes on (M1)", async () => {
    const goOn = Promise.withResolvers<void>();
    const call = { index: 0, id: "c1", function: { name: "read_file", arguments: '{"path":"a"}' } };
    const endpoint = await serve([{
      steps: [{ write: sse(delta({ tool_calls: [call] })) }, { until: goOn.promise }, { write: sse(delta({}, "tool_calls"), DONE) }],
    }]);
    const seen: string[] = [];
    for await (const event of modelAt(endpoint.url).stream(HELLO, new AbortController().signal)) {
      seen.push(event.type);
      if (event.type === "call_ready") goOn.resolve();
    }
    expect(seen).toEqual(["call_announced", "call_ready", "finished"]);
  });

  test("asks for a stream with usage, and sends the key only as a bearer token", async () => {
    const endpoint = await serve([chatReply({ text: "hi" })]);
    await collect(modelAt(`${endpoint.url}/`));
    const [request] = endpoint.requests;
    expect([request?.method, request?.path, request?.headers.authorization]).toEqual(["POST", "/v1/chat/completions", `Bearer ${KEY}`]);
    expect(request?.body).toEqual({
      model: "fixture",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("is not complete with a finish reason that more came after, if its connection breaks (case 31)", async () => {
    const call = (index: number, text: string) =>
      delta({ tool_calls: [{ index, id: `c${index}`, function: { name: "add", arguments: text } }] });
    const lies: readonly (readonly object[])[] = [
      [call(0, '{"n":1}'), delta({}, "stop"), call(1, '{"n":')],
      [delta({ content: "Delete " }, "stop"), delta({ content: "nothi" }, "stop")],
      [delta({ content: "Delete " }, "stop"), delta({ content: [{ type: "text", text: "nothi" }] }, "stop")],
      [delta({ content: "a" }), delta({ tool_calls: [{ index: 0, id: "c", function: { name: "add", arguments: '{"n' } }] }, "stop")],
    ];
    for (const chunks of lies) {
      const error = await errorFrom({ steps: [{ write: sse(...chunks) }, { wait_ms: 20 }, { drop: true }] });
      expect(error.kind).toBe("transport");
    }
    const bare = delta({ tool_calls: [{ index: 0, id: "c", function: { name: "add", arguments: "" } }] }, "stop");
    expect((await errorFrom({ steps: [{ write: sse(bare) }, { wait_ms: 20 }, { drop: true }] })).kind).toBe("transport");
    expect((await replyTo(streamed(bare))).calls).toEqual([{ provider_id: "c", name: "add", arguments: "" }]);
    const end = delta({ tool_calls: null }, "tool_calls");
    expect((await replyBeforeDrop(bare, end)).calls).toHaveLength(1);
    const each = ["Delete ", "nothing."].map((text) => delta({ content: text }, "stop"));
    expect((await replyTo(streamed(...each))).text).toBe("Delete nothing.");
    expect((await replyTo(streamed(...each, DONE))).text).toBe("Delete nothing.");
    expect((await replyBeforeDrop(...each.slice(0, 1))).text).toBe("Delete ");
  });

  test("keeps the usage that came when an empty one comes after it", async () => {
    const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } };
    const reply = await replyTo(streamed(delta({ content: "a" }, "stop"), usage, { choices: [], usage: {} }, DONE));
    expect(reply.usage).toEqual({ input_tokens: 7, output_tokens: 3 });
  });

  test("is complete with a finish reason and no [DONE], and with [DONE] and no finish reason", async () => {
    expect(await replyTo(streamed(delta({ content: "a" }), delta({}, "stop")))).toMatchObject({ text: "a", finish: "stop" });
    expect(await replyTo(streamed(delta({ content: "b" }), DONE))).toMatchObject({ text: "b", finish: "stop" });
  });

  test("is complete if the connection breaks after the finish reason", async () => {
    expect(await replyBeforeDrop(delta({ content: "a" }), delta({}, "stop"))).toMatchObject({ text: "a", finish: "stop" });
  });

  test("that just ends, or breaks, is a transport error, never half a reply", async () => {
    const begun = sse(delta({ tool_calls: [{ index: 0, id: "c1", function: { name: "bash", arguments: '{"cmd":"rm -rf b' } }] }));
    expect((await errorFrom({ steps: [{ write: begun }] })).kind).toBe("transport");
    expect((await errorFrom({ steps: [{ write: begun }, { wait_ms: 20 }, { drop: true }] })).kind).toBe("transport");
    expect((await errorFrom({ steps: [{ write: begun + DONE }] })).kind).toBe("transport");
    expect((await errorFrom({ steps: [] })).kind).toBe("transport");
  });

  test("of a second attempt holds nothing of the first (case 31)", async () => {
    const call = (id: string, text: string) => delta({ tool_calls: [{ index: 0, id, function: { name: "bash", arguments: text } }] });
    const endpoint = await serve([
      { steps: [{ write: sse(call("c1", '{"cmd":"rm -rf b')) }, { wait_ms: 20 }, { drop: true }] },
      streamed(call("c2", '{"cmd":"rm -rf build"}'), delta({}, "tool_calls"), DONE),
    ]);
    const model = modelAt(endpoint.url);
    expect((await errorOf(collect(model))).kind).toBe("transport");
    const last = (await collect(model)).at(-1);
    expect(last?.type === "finished" && last.reply.calls).toEqual([{
      provider_id: "c2",
      name: "bash",
      arguments: '{"cmd":"rm -rf build"}',
    }]);
  });

  test("tells finish reasons as they are: lies are corrected, limits are kept", async () => {
    const call = delta({ tool_calls: [{ index: 0, id: "c", function: { name: "t", arguments: "{}" } }] });
    expect((await replyTo(streamed(call, delta({}, "stop")))).finish).toBe("tool_calls");
    expect((await replyTo(streamed(delta({ content: "x" }), delta({}, "tool_calls")))).finish).toBe("stop");
    expect((await replyTo(streamed(call, delta({}, "length")))).finish).toBe("length");
    expect((await replyTo(streamed(delta({ content: "x" }), delta({}, "content_filter")))).finish).toBe("content_filter");
    expect((await replyTo(streamed(delta({ content: "x" }), delta({}, "eos")))).finish).toBe("stop");
  });

  test("keeps a character whose halves come in two deltas whole, and replaces a half that stays alone", async () => {
    const reply = await replyTo({
      steps: [{
        write:
          'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude80b\\ud83d"},"finish_reason":"stop"}]}\n\n',
      }],
    });
    expect(reply.text).toBe("a🚀b\ufffd");
  });

  test("takes text in parts, thoughts in parts, refusals, and arguments as an object with their digits", async () => {
    expect(
      (await replyTo(
        streamed(delta({ content: [{ type: "text", text: "a" }, { type: "thinking", thinking: [{ type: "text", text: "t" }] }] }, "stop")),
      )).text,
    ).toBe("a");
    expect(await replyTo(streamed(delta({ refusal: "I cannot." }, "stop")))).toMatchObject({ text: "I cannot.", finish: "content_filter" });
    const raw =
      'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"c","function":{"name":"t","arguments":{"n":3.0,"big":9007199254740993}}}]},"finish_reason":"tool_calls"}]}\n\n';
    expect((await replyTo({ steps: [{ write: raw }] })).calls).toEqual([{
      provider_id: "c",
      name: "t",
      arguments: '{"n":3.0,"big":9007199254740993}',
    }]);
  });

  test("takes the older function_call and ignores other choices", async () => {
    const reply = await replyTo(streamed(
      {
        choices: [{ index: 1, delta: { content: "other" }, finish_reason: "stop" }, {
          index: 0,
          delta: { function_call: { name: "t", arguments: '{"a"' } },
        }],
      },
      delta({ function_call: { arguments: ":1}" } }, "function_call"),
    ));
    expect(reply).toMatchObject({ text: "", calls: [{ name: "t", arguments: '{"a":1}' }], finish: "tool_calls" });
  });

  test("may come as one JSON document instead of a stream", async () => {
    const whole = {
      model: "whole-1",
      choices: [{
        index: 0,
        message: {
          role: "assistant",
          content: "hi",
          tool_calls: [{ id: "c", type: "function", function: { name: "t", arguments: "{}" } }],
        },
        finish_reason: "tool_calls",
      }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    };
    expect(await replyTo({ headers: { "content-type": "application/json" }, steps: [{ write: `\n${JSON.stringify(whole, null, 2)}` }] }))
      .toEqual({
        text: "hi",
        calls: [{ provider_id: "c", name: "t", arguments: "{}" }],
        finish: "tool_calls",
        usage: { input_tokens: 3, output_tokens: 2 },
        model: "whole-1",
      });
  });

  test("is asked for once more, and from then on, without stream_options if the endpoint refuses those", async () => {
    const refusal = httpError(422, { detail: [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }] });
    const endpoint = await serve([refusal, chatReply({ text: "a" }), chatReply({ text: "b" })]);
    const model = modelAt(endpoint.url);
    await collect(model);
    await collect(model);
    expect(endpoint.requests.map((request) => "stream_options" in request.body)).toEqual([true, false, false]);
  });
});

describe("silence and aborts", () => {
  test("an endpoint that sends no headers, or stops in the middle, is given up after the idle limit (M3)", async () => {
    for (const steps of [[{ until: new Promise(() => {}) }], [{ write: sse(delta({ content: "a" })) }, { hang: true } as const]]) {
      const endpoint = await serve([{ steps }]);
      const error = await errorOf(collect(modelAt(endpoint.url, 100)));
      expect([error.kind, error.message.includes("sent nothing for 0.1 s")]).toEqual(["idle_timeout", true]);
      await endpoint.close();
    }
  }, 20_000);

  test("a stream that goes on for ever is ended, and so is a refusal whose body does", async () => {
    const drip = (write: string) => Array.from({ length: 400 }, () => [{ write }, { wait_ms: 5 }]).flat();
    const endless = await serve([{ steps: drip(sse(delta({ content: "a" }))) }]);
    const model = createChatModel({ id: "local/m", model: "m", baseUrl: endless.url, replyMs: 50 });
    expect(await errorOf(collect(model))).toMatchObject({ kind: "malformed" });
    const refusal = await serve([{ status: 500, steps: drip("x") }]);
    expect(await errorOf(collect(modelAt(refusal.url, 100)))).toMatchObject({ kind: "transport", status: 500 });
    await Promise.all([endless.requests[0]?.closed, refusal.requests[0]?.closed]);
  });

  test("an endpoint that goes silent after the finish reason is not waited for as one that thinks", async () => {
    const endpoint = await serve([{ steps: [{ write: sse(delta({ content: "a" }, "stop")) }, { hang: true }] }]);
    expect(await replyOf(modelAt(endpoint.url, 60_000))).toMatchObject({ text: "a", finish: "stop" });
  }, 20_000);

  test("an abort ends the wait for the next chunk, and for headers, with its reason, and frees the endpoint", async () => {
    const endpoint = await serve([{ steps: [{ write: sse(delta({ content: "a" })) }, { hang: true }] }, {
      steps: [{ until: new Promise(() => {}) }],
    }]);
    const reason = new Error("stopped by a person");
    const abort = new AbortController();
    const seen: string[] = [];
    const work = (async () => {
      for await (const event of modelAt(endpoint.url).stream(HELLO, abort.signal)) {
        seen.push(event.type);
        abort.abort(reason);
      }
    })();
    await expect(work).rejects.toBe(reason);
    expect(seen).toEqual(["text"]);
    await endpoint.requests[0]?.closed;

    const waiting = new AbortController();
    const silent = collect(modelAt(endpoint.url), HELLO, waiting.signal);
    while (endpoint.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    waiting.abort(reason);
    await expect(silent).rejects.toBe(reason);
    await endpoint.requests[1]?.closed;

    await expect(collect(modelAt(endpoint.url), HELLO, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(endpoint.requests.length).toBe(2);
  });

  test("a consumer that leaves early frees the endpoint", async () => {
    const endpoint = await serve([{ steps: [{ write: sse(delta({ content: "a" })) }, { hang: true }] }]);
    for await (const event of modelAt(endpoint.url).stream(HELLO, new AbortController().signal)) if (event.type === "text") break;
    await endpoint.requests[0]?.closed;
  });
});

describe("errors", () => {
  const cases: readonly (readonly [EndpointReply, string, string])[] = [
    [
      httpError(401, { error: { message: `Incorrect API key provided: ${KEY}`, code: "invalid_api_key" } }),
      "auth",
      "Check the key in FIXTURE_KEY",
    ],
    [httpError(403, { message: "no access" }), "auth", "no access"],
    [httpError(402, { error: { message: "Insufficient credits", code: 402 } }), "auth", "Insufficient credits"],
    [httpError(404, { error: { message: "The model `x` does not exist", code: "model_not_found" } }), "unknown_model", "does not exist"],
    [httpError(404, { error: 'model "x" not found, try pulling it first' }), "unknown_model", "try pulling"],
    [httpError(404, "404 page not found"), "unreachable", "most end in /v1"],
    [httpError(400, { error: { message: "x is not a valid model ID", code: 400 } }), "unknown_model", "not a valid model"],
    [httpError(400, { error: { message: "too long", code: "context_length_exceeded" } }), "context_overflow", "too long"],
    [
      httpError(400, { error: { type: "exceed_context_size_error", message: "the request exceeds the available context size" } }),
      "context_overflow",
      "exceeds",
    ],
    [httpError(400, { error: { message: "This model's maximum context length is 8192 tokens" } }), "context_overflow", "8192"],
    [httpError(413, "Payload Too Large"), "context_overflow", "413"],
    [httpError(400, { error: { message: "Invalid schema for function 'x'" } }), "rejected", "Invalid schema"],
    [httpError(422, { detail: [{ loc: ["body", "tools", 0], msg: "field required" }] }), "rejected", "body.tools.0: field required"],
    [httpError(408, { error: "timeout" }), "transport", "timeout"],
    [httpError(500, { error: { message: "boom" } }), "transport", "boom"],
    [httpError(502, "<html>\n<body>Bad gateway</body></html>"), "transport", "Bad gateway"],
    [httpError(503, { error: { message: "Loading model" } }), "overloaded", "Loading model"],
    [httpError(529, { error: { message: "busy" } }), "overloaded", "busy"],
    [httpError(429, { error: { message: "slow down" } }), "rate_limited", "slow down"],
    [httpError(429, { error: { message: "You exceeded your current quota", code: "insufficient_quota" } }), "auth", "quota"],
    [httpError(200, "<!doctype html><title>Sign in</title>"), "malformed", "Sign in"],
    [httpError(200, "hello there"), "malformed", "hello there"],
    [httpError(200, { error: { message: "no such thing", code: 400 } }), "rejected", "no such thing"],
    [httpError(200, { status: "ok" }), "malformed", '"status":"ok"'],
    [streamed("data: {oops\n\n"), "malformed", "{oops"],
    [streamed("data: 17\n\n"), "malformed", "17"],
    [streamed(delta({ content: "a" }), { error: { message: "upstream is full", code: 503 } }), "overloaded", "upstream is full"],
    [streamed(delta({ content: "a" }), { error: { message: "slow", type: "rate_limit_exceeded" } }), "rate_limited", "slow"],
    [streamed(delta({ content: "a" }), { error: { message: "the server had an error" } }), "transport", "had an error"],
    [
      streamed(delta({ content: "a" }), { object: "error", message: "context length exceeded", code: 400 }),
      "context_overflow",
      "context length",
    ],
    [streamed('event: error\ndata: {"message":"too much","code":"overloaded_error"}\n\n'), "overloaded", "too much"],
    [streamed(delta({ content: "a" }), delta({}, "error")), "transport", "in the middle"],
  ];

  for (const [reply, kind, words] of cases) {
    const refused = reply.status !== undefined && reply.status !== 200;
    test(`${refused ? `HTTP ${reply.status}` : "an answer"} with "${words}" is ${kind}`, async () => {
      const error = await errorFrom(reply);
      expect(error.kind).toBe(kind as ModelError["kind"]);
      if (refused) expect(error.status).toBe(reply.status ?? 0);
      expect(error.message).toContain(words);
      expect(error.message).toContain('Cannot get a reply from "local/fixture" as ');
      expect(error.message).not.toContain(KEY);
    });
  }

  test("Retry-After is read in seconds, in milliseconds and as a date, and a wait that is too long is said", async () => {
    const limited = (headers: Record<string, string>) => errorFrom(httpError(429, { error: { message: "slow" } }, headers));
    expect((await limited({ "retry-after": "7" })).retry_after_ms).toBe(7000);
    expect((await limited({ "retry-after": "7", "retry-after-ms": "350.5" })).retry_after_ms).toBe(350.5);
    const inAMinute = (await limited({ "retry-after": new Date(Date.now() + 60_000).toUTCString() })).retry_after_ms ?? 0;
    expect(inAMinute > 50_000 && inAMinute <= 60_000).toBe(true);
    expect((await limited({ "retry-after": "soon" })).retry_after_ms).toBe(null);
    expect((await limited({ "retry-after": "3600" })).message).toContain("It asks to wait 3600 s, longer than the 120 s");
  });

  test("a redirect is not followed, so no other host sees the key", async () => {
    const elsewhere = await serve([chatReply({ text: "stolen" })]);
    const error = await errorFrom(httpError(307, "", { location: `${elsewhere.url}/chat/completions?token=x` }));
    expect([error.kind, elsewhere.requests.length]).toEqual(["rejected", 0]);
    expect(error.message).toContain(`a redirect to ${elsewhere.url}/chat/completions, which is not followed`);
  });

  test("a refused connection and a name that does not resolve are unreachable", async () => {
    const gone = await startEndpoint([]);
    await gone.close();
    for (const url of [gone.url, "http://no-such-host.invalid/v1"]) {
      const error = await errorOf(collect(modelAt(url)));
      expect([url, error.kind]).toEqual([url, "unreachable"]);
      expect(error.message).toContain("Check the base URL and that the server runs");
    }
  });

  test("neither the key nor the query of the base URL is ever shown", async () => {
    const gone = await startEndpoint([]);
    await gone.close();
    const { message } = await errorOf(collect(modelAt(`${gone.url}?api-key=${KEY}`)));
    expect(message).toContain(`${gone.url}/chat/completions`);
    expect(message).not.toContain(KEY);
  });

  test("a connection that is reset before the answer is a transport error", async () => {
    expect((await errorFrom({ steps: [{ drop: true }] })).kind).toBe("transport");
  });

  test("the excerpt of what could not be read has at most 200 characters", async () => {
    const { message } = await errorFrom({ steps: [{ write: `data: ${"x".repeat(5000)}\n\n` }] });
    expect(message.includes("x".repeat(200)) && !message.includes("x".repeat(201))).toBe(true);
  });

  test("a reply with too many calls is malformed", async () => {
    const many = Array.from({ length: 257 }, (_each, index) => ({ index, id: `c${index}`, function: { name: "t", arguments: "{}" } }));
    expect((await errorFrom(streamed(delta({ tool_calls: many }), delta({}, "tool_calls")))).kind).toBe("malformed");
  });
});
