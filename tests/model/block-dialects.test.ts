/** Habits of servers of the two formats with blocks, crossed as in dialects.test.ts. */
import { expect, test } from "bun:test";
import { type TypedDocument, typedSse } from "../fixtures/sse.ts";
import { askDialect, brief, cannotRun, cross, type Meant, notAskedFor, type Said } from "./dialects.ts";

const THREE: readonly Meant[] = [
  { name: "read_file", input: { path: "a" } },
  { name: "read_file", input: { path: "b" } },
  { name: "list", input: {} },
];
const RIGHT = JSON.stringify(THREE.map(({ name, input }) => brief({ name, arguments: JSON.stringify(input) })));

function isRightOrRefused(call: Said): boolean {
  return cannotRun(brief(call)) || RIGHT.includes(JSON.stringify(brief(call)));
}

const thirds = (text: string) => [text.slice(0, 2), text.slice(2, 5), text.slice(5)].filter((each) => each !== "");

/** The lists one after another, or one of each in turn. */
function order<T>(lists: readonly (readonly T[])[], interleaved: boolean): readonly T[] {
  if (!interleaved) return lists.flat();
  const longest = Math.max(...lists.map((each) => each.length));
  return Array.from({ length: longest }, (_row, at) => lists.flatMap((each) => each.slice(at, at + 1))).flat();
}

/** What a stream says before it says all of it once more. */
function sayBefore(
  again: "nothing" | "the reply" | "its items",
  start: TypedDocument,
  events: readonly TypedDocument[],
  random: number,
): readonly TypedDocument[] {
  const said = again === "nothing" ? [] : events.slice(0, random % (events.length + 1));
  return again === "the reply" ? [...said, start] : said;
}

test("any way of saying calls as items of a response gives these calls, in this order", async () => {
  const wrong: object[] = [];
  const all = cross({
    begin: ["empty", "whole", "missing"],
    deltas: ["pieces", "whole", "none"],
    done: ["both", "arguments", "item", "none"],
    output: ["all", "empty", "renamed", "missing"],
    ids: ["kept", "changed", "missing"],
    index: ["counted", "reused", "missing"],
    order: ["in turn", "interleaved"],
    again: ["nothing", "the reply", "its items"],
  });
  for (const [number, habits] of all.entries()) {
    // Every way to say something again with some of the others.
    if (habits.again !== "nothing" && number % 4 !== 1) continue;
    if (habits.again === "its items" && habits.begin === "missing") continue;
    const isSaid = habits.begin === "whole" || habits.deltas !== "none" || habits.done !== "none" || habits.output !== "missing";
    const hasOutput = habits.output === "all" || habits.output === "renamed";
    const isNamed = habits.begin !== "missing" || habits.done === "both" || habits.done === "item" || hasOutput;
    const hasArguments = habits.begin === "whole" || habits.deltas !== "none" || habits.done !== "none" || hasOutput;
    const tells = habits.index === "counted" || habits.ids === "kept";
    if (!isSaid || !isNamed || !hasArguments || (habits.order === "interleaved" && !tells)) continue;
    // Pieces without a beginning, a number or an id are of no call that can be told.
    if (habits.begin === "missing" && !tells && !(habits.deltas === "none" && habits.done === "item")) continue;
    const item = (call: number, text: string, id = `fc_${call}`) => {
      const { name = "" } = THREE[call] ?? {};
      return { type: "function_call", ...(habits.ids === "missing" ? {} : { id }), call_id: `call_${call}`, name, arguments: text };
    };
    let changes = 0;
    const place = (call: number) => {
      const index = { counted: call + 1, reused: 0, missing: undefined }[habits.index];
      const item_id = { kept: `fc_${call}`, changed: `x${changes++}`, missing: undefined }[habits.ids];
      return { ...(index === undefined ? {} : { output_index: index }), ...(item_id === undefined ? {} : { item_id }) };
    };
    const lists = THREE.map(({ input }, call): readonly TypedDocument[] => {
      const text = JSON.stringify(input);
      const id = habits.ids === "changed" ? `x${changes++}` : `fc_${call}`;
      const pieces = { pieces: thirds(text), whole: [text], none: [] }[habits.deltas];
      const hasItem = habits.done === "both" || habits.done === "item";
      return [
        ...(habits.begin === "missing"
          ? []
          : [{ type: "response.output_item.added", ...place(call), item: item(call, habits.begin === "whole" ? text : "", id) }]),
        ...pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...place(call), delta })),
        ...(habits.done === "both" || habits.done === "arguments"
          ? [{ type: "response.function_call_arguments.done", ...place(call), arguments: text }]
          : []),
        ...(hasItem ? [{ type: "response.output_item.done", ...place(call), item: item(call, text, id) }] : []),
      ];
    });
    const output = THREE.map(({ input }, call) => item(call, JSON.stringify(input), habits.output === "renamed" ? `z${call}` : undefined));
    const response = {
      status: "completed",
      ...{ all: { output }, renamed: { output }, empty: { output: [] }, missing: {} }[habits.output],
    };
    const created = { type: "response.created", response: {} };
    const events = order(lists, habits.order === "interleaved");
    const before = sayBefore(habits.again, created, events, number);
    const stream = typedSse(created, ...before, ...events, { type: "response.completed", response });
    const result = await askDialect("responses", stream);
    const seen = JSON.stringify(result.reply?.calls.map(brief));
    // Nothing tells which call such pieces are of: then a call is right, or it cannot run.
    const isUntold = habits.begin === "missing" && habits.index !== "counted" &&
      (habits.order === "interleaved" || (habits.deltas === "whole" && habits.done === "none"));
    const isFine = isUntold ? result.reply?.calls.every(isRightOrRefused) : seen === RIGHT && notAskedFor(result).length === 0;
    if (isFine !== true) wrong.push({ ...habits, seen, ready: result.ready });
  }
  expect(wrong).toEqual([]);
}, 60_000);

test("any way of saying calls as blocks of a message gives these calls, or none if it breaks off", async () => {
  const wrong: object[] = [];
  const all = cross({
    input: ["empty", "whole", "missing"],
    deltas: ["pieces", "whole", "none"],
    stop: ["said", "missing"],
    ids: ["kept", "missing"],
    index: ["counted", "reused", "missing"],
    order: ["in turn", "interleaved"],
    thought: ["none", "signed at once", "signed later", "redacted"],
    reason: ["right", "lying", "missing", "early"],
    end: ["message_stop", "clean", "broken"],
    again: ["nothing", "the reply", "its items"],
  });
  for (const [number, habits] of all.entries()) {
    if (number % 5 !== 1) continue;
    if (habits.deltas === "none" && habits.input !== "whole") continue;
    if (habits.order === "interleaved" && habits.index !== "counted") continue;
    // Without ids and numbers a block that comes again is another one.
    if (habits.again === "its items" && (habits.ids === "missing" || habits.reason === "early")) continue;
    const place = (call: number) => {
      const index = { counted: call + 1, reused: 0, missing: undefined }[habits.index];
      return index === undefined ? {} : { index };
    };
    const thoughts = {
      "none": [],
      "signed at once": [{ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "Hm.", signature: "s" } }],
      "signed later": [
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
        { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "s" } },
      ],
      "redacted": [{ type: "content_block_start", index: 0, content_block: { type: "redacted_thinking", data: "s" } }],
    }[habits.thought];
    const lists = THREE.map(({ name, input }, call): readonly TypedDocument[] => {
      const text = JSON.stringify(input);
      const pieces = { pieces: thirds(text), whole: [text], none: [] }[habits.deltas];
      const start = { empty: { input: {} }, whole: { input }, missing: {} }[habits.input];
      const id = habits.ids === "missing" ? {} : { id: `toolu_${call}` };
      return [
        { type: "content_block_start", ...place(call), content_block: { type: "tool_use", ...id, name, ...start } },
        ...pieces.map((partial_json) => ({
          type: "content_block_delta",
          ...place(call),
          delta: { type: "input_json_delta", partial_json },
        })),
        ...(habits.stop === "said" ? [{ type: "content_block_stop", ...place(call) }] : []),
      ];
    });
    const blocks = order(lists, habits.order === "interleaved");
    const finish = (stop_reason: string) => ({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 7 } });
    const start = { type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } };
    const stream = typedSse(
      start,
      ...sayBefore(habits.again, start, blocks, number),
      ...thoughts,
      ...(thoughts.length > 0 ? [{ type: "content_block_stop", index: 0 }] : []),
      { type: "ping" },
      ...(habits.reason === "early" ? [...blocks.slice(0, 1), finish("end_turn"), ...blocks.slice(1)] : blocks),
      ...(habits.reason === "right" ? [finish("tool_use")] : habits.reason === "lying" ? [finish("end_turn")] : []),
      ...(habits.end === "message_stop" ? [{ type: "message_stop" }] : []),
    );
    const { reply, ready } = await askDialect("anthropic", stream, habits.end === "broken");
    const isWhole = habits.end === "message_stop" || habits.reason === "right" || habits.reason === "lying" ||
      (habits.reason === "early" && habits.end === "clean");
    const seen = reply === null ? null : JSON.stringify(reply.calls.map(brief));
    const signed = JSON.stringify(reply?.provider_blocks ?? "").includes('"s"');
    if (
      seen !== (isWhole ? RIGHT : null) || (isWhole && signed !== (habits.thought !== "none")) || notAskedFor({ reply, ready }).length > 0
    ) {
      wrong.push({ ...habits, seen, ready, signed });
    }
  }
  expect(wrong).toEqual([]);
}, 60_000);
