import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import { type Model, ModelError, type ModelEvent } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import { parseScript, ScriptError } from "../../lib/model/script.ts";
import { createScriptedModel } from "../../lib/model/scripted.ts";
import type { Message } from "../../lib/session/message.ts";
import { startScriptEndpoint } from "../fixtures/endpoint.ts";

const USER: Message = { role: "user", text: "go" };
const never = new AbortController().signal;

function scripted(replies: readonly object[]): Model {
  return createScriptedModel({ id: "script:test", script: parseScript(JSON.stringify({ replies })) });
}

function answered(...results: readonly (readonly [string, string])[]): readonly Message[] {
  return [
    USER,
    { role: "assistant", text: "", calls: results.map(([name], index) => ({ id: `c${index}`, name, arguments: "{}" })) },
    ...results.map(([name, text], index): Message => ({ role: "tool", id: `c${index}`, name, text, is_error: false })),
  ];
}

async function play(model: Model, messages: readonly Message[] = [USER]): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream({ messages, tools: [] }, never)) events.push(event);
  return events;
}

async function failure(model: Model, messages?: readonly Message[]): Promise<readonly [string, string, number | null]> {
  const error = await play(model, messages).then(() => undefined, (reason: unknown) => reason);
  if (!(error instanceof ModelError)) throw new Error("it did not fail as a model does");
  return [error.kind, error.message, error.retry_after_ms];
}

describe("a scripted model", () => {
  test("plays the short form: reasoning, text in pieces, calls, finish and usage", async () => {
    const events = await play(scripted([{
      reasoning: "hm",
      text: ["I ", "read."],
      calls: [{ name: "read_file", arguments: { path: "a" } }, { name: "bash", arguments: '{"cmd":' }, { name: "now" }],
      usage: { output_tokens: 7 },
    }]));
    expect(events).toEqual([
      { type: "reasoning", text: "hm" },
      { type: "text", text: "I " },
      { type: "text", text: "read." },
      { type: "call_announced", position: 0, name: "read_file" },
      { type: "call_ready", position: 0, name: "read_file", arguments: '{"path":"a"}' },
      { type: "call_announced", position: 1, name: "bash" },
      { type: "call_announced", position: 2, name: "now" },
      {
        type: "finished",
        reply: {
          text: "I read.",
          calls: [
            { provider_id: "script_0_0", name: "read_file", arguments: '{"path":"a"}' },
            { provider_id: "script_0_1", name: "bash", arguments: '{"cmd":' },
            { provider_id: "script_0_2", name: "now", arguments: "" },
          ],
          finish: "tool_calls",
          usage: { input_tokens: 0, output_tokens: 7 },
          model: "script:test",
        },
      },
    ]);
  });

  test("plays raw fragments through the same assembly as a real stream", async () => {
    const events = await play(scripted([{
      stream: [
        { call: { index: 0, id: "A", name: "t_a" } },
        { call: { index: 1, id: "B", name: "t_b" } },
        { call: { index: 0, arguments: '{"x":' } },
        { call: { index: 1, arguments: '{"y":' } },
        { call: { index: 0, arguments: "1}" }, wait_ms: 1 },
        { call: { index: 1, arguments: "2}" } },
        { finish: "stop" },
        { text: "never played" },
      ],
    }]));
    expect(events.at(-1)).toMatchObject({
      reply: { text: "", calls: [{ arguments: '{"x":1}' }, { arguments: '{"y":2}' }], finish: "tool_calls" },
    });
  });

  test("keeps the digits of numbers in arguments", async () => {
    const script = parseScript('{"replies":[{"calls":[{"name":"t","arguments":{"a":3.0,"b":9007199254740993}}]}]}');
    const events = await play(createScriptedModel({ id: "s", script }));
    expect(events.at(-1)).toMatchObject({ reply: { calls: [{ arguments: '{"a":3.0,"b":9007199254740993}' }] } });
  });

  test("chooses the reply by the assistant messages of the request, so another process goes on where it was", async () => {
    const replies = [{ calls: [{ name: "a" }] }, { text: "second" }];
    await play(scripted(replies));
    expect((await play(scripted(replies), answered(["a", "x"]))).at(-1)).toMatchObject({ reply: { text: "second" } });
  });

  test("plays attempt after attempt, repeats the last one, and starts over after a success", async () => {
    const model = scripted([{ attempts: [{ text: "a", drop: true }, { text: "b", eof: true }, { text: "c" }] }]);
    expect((await failure(model))[0]).toBe("transport");
    expect((await failure(model))[0]).toBe("transport");
    expect((await play(model)).at(-1)).toMatchObject({ reply: { text: "c" } });
    expect((await failure(model))[0]).toBe("transport");
    const hopeless = scripted([{ drop: true }]);
    for (let attempt = 0; attempt < 3; attempt++) expect((await failure(hopeless))[0]).toBe("transport");
  });

  test("fails as an endpoint fails: by status or by kind, with a Retry-After in seconds", async () => {
    expect(await failure(scripted([{ error: { status: 429, message: "slow down", retry_after: 1.5 } }])))
      .toEqual(["rate_limited", 'Cannot get a reply from "script:test" as the endpoint reports: slow down', 1500]);
    expect((await failure(scripted([{ error: { kind: "context_overflow" } }])))[0]).toBe("context_overflow");
    expect((await failure(scripted([{ error: { status: 401 } }])))[0]).toBe("auth");
  });

  test("puts the latest result of a tool into its text, as it is", async () => {
    const model = scripted([{}, { text: "{{result wc}} of {{ result }} and {{result none}}" }]);
    const events = await play(model, answered(["wc", "12 $& words\n"], ["ls", "a.txt"]));
    expect(events.at(-1)).toMatchObject({ reply: { text: "12 $& words of a.txt and (no result of none)" } });
  });

  test("that is over says so and is not tried again", async () => {
    expect(await failure(scripted([{ text: "a" }]), answered(["a", "x"]))).toEqual([
      "rejected",
      'Cannot get a reply from "script:test" as the script is over: reply 2 was asked for, it has 1',
      null,
    ]);
  });

  test("stops waiting when it is aborted", async () => {
    const reason = new Error("enough");
    const abort = new AbortController();
    const work = (async () => {
      for await (const event of scripted([{ text: ["a", "b"], delay_ms: 60_000 }]).stream({ messages: [USER], tools: [] }, abort.signal)) {
        if (event.type === "text") abort.abort(reason);
      }
    })();
    await expect(work).rejects.toBe(reason);
  });

  for (
    const [wire, create] of Object.entries({ chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel })
  ) {
    test(`gives over a socket in the ${wire} format what it gives in the process`, async () => {
      const script = parseScript(JSON.stringify({
        replies: [
          {
            text: ["I ", "look."],
            reasoning: "hm",
            calls: [{ name: "wc", arguments: { path: "a" } }, { name: "now" }],
            delay_ms: 1,
            usage: { input_tokens: 9, output_tokens: 4, cached_input_tokens: 3 },
          },
          {
            attempts: [{ text: "half", drop: true }, { error: { status: 529 } }, { text: "It has {{result wc}} words.", finish: "length" }],
          },
        ],
      }));
      const endpoint = await startScriptEndpoint(script);
      try {
        const models = [createScriptedModel({ id: "m", script }), create({ id: "m", model: "m", baseUrl: endpoint.url })];
        for (const model of models) {
          const events = await play(model);
          expect(events.map((event) => event.type === "text" || event.type === "reasoning" ? event.text : "").join("")).toBe("hmI look.");
          expect(events.at(-1)).toMatchObject({
            reply: {
              text: "I look.",
              calls: [{ provider_id: "script_0_0", name: "wc", arguments: '{"path":"a"}' }, { provider_id: "script_0_1", name: "now" }],
              finish: "tool_calls",
              usage: { input_tokens: 9, output_tokens: 4, cached_input_tokens: 3 },
            },
          });
          const history = answered(["wc", "12\n"]);
          expect((await failure(model, history))[0]).toBe("transport");
          expect((await failure(model, history))[0]).toBe("overloaded");
          expect((await play(model, history)).at(-1)).toMatchObject({ reply: { text: "It has 12 words.", finish: "length" } });
        }
      } finally {
        await endpoint.close();
      }
    });
  }
});

describe("parseScript()", () => {
  test("takes the example of docs/models.md, and every reply of it can be played", async () => {
    const page = await readFile(fileURLToPath(import.meta.resolve("../../docs/models.md")), "utf8");
    const text = /```json\n(\{\n {2}"replies"[\s\S]*?)```/.exec(page)?.[1] ?? "";
    const model = createScriptedModel({ id: "script:docs", script: parseScript(text) });
    const history: Message[] = [USER];
    for (const _reply of parseScript(text).replies) {
      const last = (await play(model, history).catch(() => play(model, history))).at(-1);
      if (last?.type !== "finished") throw new Error("no reply");
      history.push(...answered(...last.reply.calls.map((call) => [call.name, "42"] as const)).slice(1));
    }
    expect(history.filter((message) => message.role === "tool").map((message) => message.name)).toEqual(["read_file", "wordcount"]);
  });

  const faults: readonly (readonly [string, string])[] = [
    ['{"replies":[\n  {"text":"a",}\n]}', "line 2, column 15"],
    ["", "line 1, column 1"],
    ["[]", "Cannot read script as replies"],
    ["{}", "replies"],
    ['{"replies":[{"txet":"a"}]}', "replies.0.txet is not a known key"],
    ['{"replies":[{"text":1}]}', "replies.0.text: must be a string or a list of strings"],
    ['{"replies":[{"calls":[{"arguments":{}}]}]}', "replies.0.calls.0.name"],
    [
      '{"replies":[{"calls":[{"name":"t","arguments":3}]}]}',
      "replies.0.calls.0.arguments: must be an object, or a string with the raw text",
    ],
    ['{"replies":[{"stream":[{"wait_ms":-1}]}]}', "replies.0.stream.0.wait_ms: must not be negative"],
    ['{"replies":[{"stream":[],"text":"a"}]}', "must be the only key"],
    ['{"replies":[{"attempts":[]}]}', "replies.0.attempts: must not be empty"],
    ['{"replies":[{"error":{"kind":"sad"}}]}', "replies.0.error.kind"],
  ];
  for (const [text, words] of faults) {
    test(`refuses ${text.replaceAll("\n", "⏎") || "an empty file"} and says where`, () => {
      expect(() => parseScript(text)).toThrow(ScriptError);
      expect(() => parseScript(text)).toThrow(words);
    });
  }
});
