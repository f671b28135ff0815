/** Replies of which a server says a part, or everything, in one piece instead of in deltas. */
import { afterEach, describe, expect, test } from "bun:test";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import type { ModelReply } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import { delta, type EndpointReply, type FixtureEndpoint, sse, startEndpoint } from "../fixtures/endpoint.ts";
import { type TypedDocument, typedSse } from "../fixtures/sse.ts";
import { collect, HELLO, replyOf } from "./asking.ts";

const models = { chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel };
const open: FixtureEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

async function modelFor(wire: keyof typeof models, reply: EndpointReply) {
  const endpoint = await startEndpoint([reply]);
  open.push(endpoint);
  return models[wire]({ id: "local/m", model: "m", baseUrl: endpoint.url });
}

async function replyTo(wire: keyof typeof models, ...documents: readonly object[]): Promise<ModelReply> {
  const write = wire === "chat" ? sse(...documents) : typedSse(...documents as readonly TypedDocument[]);
  return await replyOf(await modelFor(wire, { steps: [{ write }] }));
}

/** The first `call_ready` of a stream that does not go on before it was seen, and the reply. */
async function readyBefore(wire: keyof typeof models, first: string, rest: string) {
  const seen = Promise.withResolvers<void>();
  const model = await modelFor(wire, { steps: [{ write: first }, { until: seen.promise }, { write: rest }] });
  const ready: string[] = [];
  let reply: ModelReply | undefined;
  for await (const event of model.stream(HELLO, new AbortController().signal)) {
    if (event.type === "finished") reply = event.reply;
    if (event.type !== "call_ready") continue;
    ready.push(event.arguments);
    seen.resolve();
  }
  return { ready, calls: brief(reply) };
}

/** The reply, and the text that was given of it since it began the last time. */
async function tellAll(wire: keyof typeof models, write: string) {
  const events = await collect(await modelFor(wire, { steps: [{ write }] }));
  const last = events.at(-1);
  if (last?.type !== "finished") throw new Error("the stream ended without a reply");
  const begun = events.findLastIndex((event) => event.type === "restarted") + 1;
  return { reply: last.reply, told: events.slice(begun).flatMap((event) => event.type === "text" ? [event.text] : []).join("") };
}

function brief(reply: ModelReply | undefined): readonly string[] {
  return (reply?.calls ?? []).map((call) => `${call.provider_id ?? "-"} ${call.name} ${call.arguments}`);
}

describe("a Messages stream", () => {
  const START = { type: "message_start", message: { model: "m", usage: { input_tokens: 1, output_tokens: 1 } } };
  const END = [{ type: "message_delta", delta: { stop_reason: "tool_use" } }, { type: "message_stop" }];
  const STOP = { type: "content_block_stop", index: 0 };
  const tool = (input: unknown, id: string | null = "a") => ({
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", ...(id === null ? {} : { id }), name: "t", input },
  });
  const piece = (partial_json: string) => ({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } });

  test("gives a call whose block begins with its whole input at once (M1)", async () => {
    expect(await readyBefore("anthropic", typedSse(START, tool({ n: "1" })), typedSse(STOP, ...END))).toEqual({
      ready: ['{"n":"1"}'],
      calls: ['a t {"n":"1"}'],
    });
  });

  test("that has deltas after an input counts the deltas, and never joins the two", async () => {
    expect(await readyBefore("anthropic", typedSse(START, tool({ n: 1 })), typedSse(piece('{"n"'), piece(":2}"), STOP, ...END))).toEqual({
      ready: ['{"n":1}', '{"n":2}'],
      calls: ['a t {"n":2}'],
    });
    expect(brief(await replyTo("anthropic", START, tool({}), piece('{"n"'), piece(":2}"), STOP, ...END))).toEqual(['a t {"n":2}']);
    expect(brief(await replyTo("anthropic", START, tool({}), STOP, ...END))).toEqual(["a t {}"]);
  });

  test("keeps an input whose block never ends, and one that is no object", async () => {
    expect(brief(await replyTo("anthropic", START, tool({ n: 1 }), ...END))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("anthropic", START, tool('{"n":1.0}'), STOP, ...END))).toEqual(['a t {"n":1.0}']);
    expect(brief(await replyTo("anthropic", START, tool([1]), STOP, ...END))).toEqual(["a t [1]"]);
  });

  test("may begin a block twice, and begin the next one at its index without an end of it", async () => {
    expect(brief(await replyTo("anthropic", START, tool({}), tool({}), piece('{"n":1}'), STOP, ...END))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("anthropic", START, tool({}), piece('{"n":1}'), tool({}, null), piece('{"n":1}'), ...END))).toEqual([
      'a t {"n":1}',
      '- t {"n":1}',
    ]);
  });

  test("may begin a block once more with its id: that is one call, whatever of it comes again", async () => {
    const all = [piece('{"n"'), piece(":1}")];
    for (
      const said of [
        [tool({}), ...all, STOP, tool({}), ...all, STOP],
        [tool({}), ...all.slice(0, 1), tool({}), ...all, STOP],
        [tool({}), ...all.slice(0, 1), tool({}), ...all.slice(1), STOP],
        [tool({}), ...all, tool({}), STOP],
        [tool({}), STOP, tool({}), ...all, STOP],
        [tool({}), ...all, STOP, tool({ n: 1 }), STOP],
        [tool({ n: 2 }), STOP, tool({ n: 1 }), STOP],
      ]
    ) {
      expect([said, brief(await replyTo("anthropic", START, ...said, ...END))]).toEqual([said, ['a t {"n":1}']]);
    }
    expect(brief(await replyTo("anthropic", START, tool({}), ...all, STOP, tool({}), ...all.slice(0, 1), ...END))).toEqual(['a t {"n"']);
  });

  test("may begin as a whole once more, under whatever ids: only what it says then counts", async () => {
    const word = (text: string) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    const first = [START, word("He"), word("llo"), tool({}), piece('{"n":')];
    const again = { ...tool({}), content_block: { type: "tool_use", id: "b", name: "t", input: {} } };
    const { reply, told } = await tellAll(
      "anthropic",
      typedSse(...first, START, word("Hello"), word("!"), again, piece('{"n":1}'), ...END),
    );
    expect([reply.text, told, brief(reply)]).toEqual(["Hello!", "Hello!", ['b t {"n":1}']]);
  });

  test("may use an index again for another block, with or without ids", async () => {
    const again = await replyTo("anthropic", START, tool({ n: 1 }, null), STOP, tool({ n: 1 }, null), STOP, tool({}, null), STOP, ...END);
    expect(brief(again)).toEqual(['- t {"n":1}', '- t {"n":1}', "- t {}"]);
  });

  test("may hold everything in its first event, or be one whole message", async () => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "s" },
      { type: "text", text: "hi" },
      { type: "tool_use", id: "a", name: "t", input: { n: 1 } },
    ];
    const usage = { input_tokens: 3, output_tokens: 4 };
    const message = { type: "message", model: "m", content, stop_reason: "tool_use", usage };
    for (const documents of [[{ type: "message_start", message }, ...END], [{ type: "message_start", message }, END[1] ?? {}], [message]]) {
      const reply = await replyTo("anthropic", ...documents);
      expect({ text: reply.text, calls: brief(reply), finish: reply.finish, usage: reply.usage }).toEqual({
        text: "hi",
        calls: ['a t {"n":1}'],
        finish: "tool_calls",
        usage,
      });
      expect(JSON.stringify(reply.provider_blocks)).toContain('"signature":"s"');
    }
    const begun = { type: "content_block_start", index: 0, content_block: { type: "text", text: "hi" } };
    expect((await replyTo("anthropic", { type: "message_start", message }, begun, ...END)).text).toBe("hi");
  });
});

describe("a Responses stream", () => {
  const wire = (text: unknown, more: object = {}) => ({
    type: "function_call",
    id: "fc_1",
    call_id: "a",
    name: "t",
    arguments: text,
    ...more,
  });
  const added = (item: object, output_index = 0) => ({ type: "response.output_item.added", output_index, item });
  const done = (item: object, output_index = 0) => ({ type: "response.output_item.done", output_index, item });
  const completed = (...output: readonly object[]) => ({ type: "response.completed", response: { status: "completed", output } });
  const said = (text: string, id = "msg_1") => ({ type: "message", id, content: [{ type: "output_text", text }] });
  const word = (text: string) => ({ type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: text });

  test("gives a call whose item begins with its whole arguments at once (M1)", async () => {
    const rest = typedSse(done(wire('{"n":1}')), completed(wire('{"n":1}')));
    expect(await readyBefore("responses", typedSse(added(wire('{"n":1}'))), rest)).toEqual({ ready: ['{"n":1}'], calls: ['a t {"n":1}'] });
    const { calls, ready } = await readyBefore("responses", typedSse(added(wire({ n: 1 }))), typedSse(completed()));
    expect([calls, ready]).toEqual([['a t {"n":1}'], ['{"n":1}']]);
  });

  test("that has deltas after whole arguments counts the deltas, and never joins the two", async () => {
    const pieces = ['{"n"', ":1}"].map((text) => ({ type: "response.function_call_arguments.delta", item_id: "fc_1", delta: text }));
    for (const begin of ['{"n":1}', "{}", "", '{"n":']) {
      const reply = await replyTo("responses", added(wire(begin)), ...pieces, done(wire('{"n":1}')), completed());
      expect([begin, brief(reply)]).toEqual([begin, ['a t {"n":1}']]);
    }
  });

  test("never loses arguments: without an end of the item, in its last event, as the beginning of some", async () => {
    expect(brief(await replyTo("responses", added(wire('{"n":1}')), completed(wire('{"n":1}'))))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("responses", added(wire('{"n":1}')), completed()))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("responses", added(wire("")), completed(wire('{"n":1}'))))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("responses", added(wire('{"n":')), completed()))).toEqual(['a t {"n":']);
    const rest = { type: "response.function_call_arguments.delta", item_id: "fc_1", delta: "1}" };
    expect(brief(await replyTo("responses", added(wire('{"n":')), rest, done(wire('{"n":1}')), completed()))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("responses", added(wire('{"n":1}')), done(wire("")), completed()))).toEqual(['a t {"n":1}']);
    const none = [added(wire("")), done(wire(""))];
    expect(brief(await replyTo("responses", ...none, completed(wire('{"n":1}'))))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("responses", ...none, completed(wire(""))))).toEqual(["a t {}"]);
    expect(brief(await replyTo("responses", done(wire({ n: 1 })), completed()))).toEqual(['a t {"n":1}']);
    expect(brief(await replyTo("responses", done(wire([1])), completed()))).toEqual(["a t [1]"]);
  });

  test("may be its last event alone", async () => {
    const thought = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "xyz" };
    const output = [thought, said("one"), wire('{"n":1}'), said("two", "msg_2"), wire('{"n":1}', { id: "fc_2", call_id: "b" })];
    const whole = completed(...output);
    for (const document of [whole, { object: "response", ...whole.response }]) {
      const reply = await replyTo("responses", document);
      expect([reply.text, brief(reply), reply.finish]).toEqual(["one\n\ntwo", ['a t {"n":1}', 'b t {"n":1}'], "tool_calls"]);
      expect(reply.provider_blocks).toEqual([
        { wire: "responses", model: "local/m", blocks: [{ opaque: thought }, { text: 3 }, { call: 0 }, { text: 3 }, { call: 1 }] },
      ]);
    }
  });

  test("is not read twice where its last event says again what came, even under other ids", async () => {
    const part = { type: "response.output_text.done", item_id: "msg_1", output_index: 0, content_index: 0, text: "one" };
    const stream = [word("o"), word("ne"), part, done(said("one")), added(wire('{"n":1}'), 1), done(wire('{"n":1}'), 1)];
    const others = [said("one", "msg_9"), wire('{"n": 1}', { id: "fc_9" })];
    for (const output of [[said("one"), wire('{"n":1}')], others, [...others].reverse(), [wire("{}"), said("")], []]) {
      const reply = await replyTo("responses", ...stream, completed(...output));
      expect([reply.text, brief(reply)]).toEqual(["one", ['a t {"n":1}']]);
    }
    const renamed = await replyTo("responses", ...stream, completed(said("one", "x"), wire('{"n":1}', { id: "y", call_id: "z" })));
    expect(brief(renamed)).toEqual(['a t {"n":1}']);
  });

  test("gets from its last event only the calls that are missing", async () => {
    const output = [wire('{"n":0}', { id: "fc_0", call_id: "z" }), wire('{"n":1}')];
    const reply = await replyTo("responses", added(wire("")), done(wire('{"n":1}')), completed(...output));
    expect(brief(reply)).toEqual(['a t {"n":1}', 'z t {"n":0}']);
  });

  test("may begin an item once more with its id: that is one call, whatever of it comes again", async () => {
    const pieces = ['{"n"', ":1}"].map((delta) => ({
      type: "response.function_call_arguments.delta",
      item_id: "fc_1",
      output_index: 0,
      delta,
    }));
    const all = [added(wire("")), ...pieces];
    const end = done(wire('{"n":1}'));
    for (
      const said of [
        [...all, ...all, end],
        [...all, end, ...all, end],
        [added(wire("")), ...all, end],
        [added(wire("")), ...pieces.slice(0, 1), ...all],
        [...all, added(wire('{"n":1}')), end],
        [...all, end, added(wire(""))],
        [...all, added(wire(""), 4), end],
      ]
    ) {
      for (const last of [completed(), completed(wire('{"n":1}'))]) {
        expect([said, brief(await replyTo("responses", ...said, last))]).toEqual([said, ['a t {"n":1}']]);
      }
    }
    const others = [added(wire("", { name: "u" })), added(wire("", { id: "fc_2" }), 1), added(wire("", { call_id: "b" }), 2)];
    expect(brief(await replyTo("responses", added(wire("")), ...others, completed()))).toHaveLength(4);
  });

  test("asks once for a call that its last event lists twice", async () => {
    const call = wire('{"n":1}');
    const other = wire('{"n":1}', { id: "fc_2", call_id: "b" });
    for (const stream of [[], [added(wire("")), done(call)]]) {
      expect(brief(await replyTo("responses", ...stream, completed(call, call)))).toEqual(['a t {"n":1}']);
      expect(brief(await replyTo("responses", ...stream, completed(call, other, call)))).toEqual(['a t {"n":1}', 'b t {"n":1}']);
      expect(brief(await replyTo("responses", ...stream, completed(call, wire('{"n":2}', { id: "fc_3" }))))).toHaveLength(2);
    }
  });

  test("asks for no call that its last event does not list, if that lists anything and is complete", async () => {
    const stream = [
      added(wire("")),
      done(wire('{"n":1}')),
      added({ type: "reasoning", id: "r", encrypted_content: "x" }, 1),
      added(wire("", { id: "fc_2", call_id: "b" }), 2),
      done(wire('{"n":1}', { id: "fc_2", call_id: "b" }), 2),
    ];
    const listed = await replyTo("responses", ...stream, completed(wire('{"n":1}', { id: "fc_2", call_id: "b" })));
    expect(brief(listed)).toEqual(['b t {"n":1}']);
    expect(listed.provider_blocks).toMatchObject([{ blocks: [{ opaque: { id: "r" } }, { call: 0 }] }]);
    expect(brief(await replyTo("responses", ...stream, completed(said("none"))))).toEqual([]);
    expect(brief(await replyTo("responses", ...stream, completed()))).toHaveLength(2);
  });

  test("may begin as a whole once more, or a text of it: only what it says then counts", async () => {
    const created = { type: "response.created", response: {} };
    const message = added({ type: "message", id: "msg_1", content: [] });
    const begun = [created, message, word("Hel"), word("lo"), added(wire(""), 1)];
    const again = [message, word("Hello"), word("!"), added(wire('{"n":1}', { id: "x", call_id: "y" }), 1)];
    const whole = await tellAll("responses", typedSse(...begun, created, ...again, completed()));
    expect([whole.reply.text, whole.told, brief(whole.reply)]).toEqual(["Hello!", "Hello!", ['y t {"n":1}']]);
    const text = await tellAll("responses", typedSse(...begun, ...again.slice(0, 3), completed(said("Hello!"))));
    expect([text.reply.text, text.told, brief(text.reply)]).toEqual(["Hello!", "Hello!", []]);
  });

  test("may say a text only as a whole: the part's, the item's, a refusal's", async () => {
    const part = { type: "response.output_text.done", item_id: "msg_1", output_index: 0, content_index: 0, text: "one" };
    const begun = {
      type: "response.content_part.done",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "one" },
    };
    for (const event of [part, begun, done(said("one")), added(said("one"))]) {
      expect((await replyTo("responses", event, completed())).text).toBe("one");
      expect((await replyTo("responses", event, done(said("one")), completed(said("one")))).text).toBe("one");
    }
    const refusal = { type: "message", id: "msg_1", content: [{ type: "refusal", refusal: "no" }] };
    expect(await replyTo("responses", completed(refusal))).toMatchObject({ text: "no", finish: "content_filter" });
  });
});

describe("a chat stream", () => {
  const called = (text: unknown, more: object = {}) => ({ function: { name: "t", arguments: text }, ...more });
  const chunk = (...tool_calls: readonly object[]) => delta({ tool_calls });
  const whole = (message: object, more: object = {}) => ({ choices: [{ index: 0, message, finish_reason: "stop", ...more }] });
  const END = delta({}, "tool_calls");

  test("asks for as many calls as one list has entries, equal ones too (case 35)", async () => {
    for (const text of ['{"n":1}', "{}", "", undefined, {}]) {
      const last = typeof text === "object" ? "{}" : text ?? "";
      const two = [`- t ${last}`, `- t ${last}`];
      expect(brief(await replyTo("chat", chunk(called(text), called(text)), END))).toEqual(two);
      expect(brief(await replyTo("chat", whole({ tool_calls: [called(text), called(text)] })))).toEqual(two);
    }
    expect(brief(await replyTo("chat", chunk(called("{}", { id: "x" }), called("{}", { id: "y" })), END))).toEqual(["x t {}", "y t {}"]);
    expect(brief(await replyTo("chat", chunk(called("{}", { index: 0 }), called("{}", { index: 0 })), END))).toEqual(["- t {}", "- t {}"]);
  });

  test("asks once for a call that one list has twice with its id, as no other call has that id", async () => {
    const twice = [called('{"n":1}', { id: "x" }), called('{"n":1}', { id: "x" })];
    const once = ['x t {"n":1}'];
    for (const last of [[END], [whole({ tool_calls: twice })], [END, whole({ tool_calls: twice })]]) {
      expect(brief(await replyTo("chat", chunk(...twice), ...last))).toEqual(once);
      expect(brief(await replyTo("chat", chunk(twice[0] as object), ...last))).toEqual(once);
    }
    expect(brief(await replyTo("chat", whole({ tool_calls: twice })))).toEqual(once);
    const others = [called('{"n":2}', { id: "x" }), called('{"n":1}', { id: "x", index: 1 })];
    expect(brief(await replyTo("chat", chunk(called('{"n":1}', { id: "x", index: 0 }), ...others), END))).toHaveLength(3);
  });

  test("goes on with the last call in later chunks without ids and indexes, or with each at its place in the list", async () => {
    const rest = (text: string) => ({ function: { arguments: text } });
    expect(brief(await replyTo("chat", chunk(called("{}"), called('{"n"')), chunk(rest(":")), chunk(rest("1}")), END))).toEqual([
      "- t {}",
      '- t {"n":1}',
    ]);
    expect(brief(await replyTo("chat", chunk(called('{"n":'), called('{"n":')), chunk(rest("1}"), rest("2}")), END))).toEqual([
      '- t {"n":1}',
      '- t {"n":2}',
    ]);
    const both = chunk(called('{"n":1}'), called('{"n":1}'));
    expect(brief(await replyTo("chat", both, both, END))).toEqual(['- t {"n":1}', '- t {"n":1}']);
    expect(
      brief(
        await replyTo(
          "chat",
          chunk({ index: 0, function: { name: "t", arguments: '{"n"' } }, { index: 0, function: { arguments: ":1}" } }),
          END,
        ),
      ),
    )
      .toEqual(['- t {"n":1}']);
  });

  test("may end with a message that says all: for the first time, once more, or only what is missing", async () => {
    const message = { content: "one", tool_calls: [called('{"n":1}', { id: "a" })] };
    const expected = { text: "one", calls: ['a t {"n":1}'] };
    const take = async (...documents: readonly object[]) => {
      const reply = await replyTo("chat", ...documents);
      return { text: reply.text, calls: brief(reply) };
    };
    expect(await take(whole(message))).toEqual(expected);
    expect(await take(whole(message, { delta: {} }))).toEqual(expected);
    expect(await take(whole(message, { delta: { content: null } }))).toEqual(expected);
    expect(await take(delta({ content: "one" }), chunk(...message.tool_calls), whole(message))).toEqual(expected);
    expect(await take(delta({ content: "one" }), chunk(called("", { id: "a", index: 0 })), whole(message))).toEqual(expected);
    expect(await take(delta({ content: "one" }), chunk(called('{"n"', { id: "a", index: 0 })), whole(message))).toEqual(expected);
    expect(await take(delta({ content: "one" }), whole(message))).toEqual(expected);
    const equal = { tool_calls: [called("{}"), called("{}")] };
    expect((await take(chunk(called("{}")), whole(equal))).calls).toEqual(["- t {}", "- t {}"]);
  });

  test("keeps the arguments of a whole call that are no object, and those of a document in a list", async () => {
    expect(brief(await replyTo("chat", chunk(called([1])), END))).toEqual(["- t [1]"]);
    const model = await modelFor("chat", { steps: [{ write: JSON.stringify([whole({ tool_calls: [called({ n: 1 })] })]) }] });
    expect(brief(await replyOf(model))).toEqual(['- t {"n":1}']);
  });
});
