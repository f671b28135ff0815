/**
 * Every habit of a chat-completions server crossed with every other. What comes out is what the server meant: its calls
 * in their order, or an attempt that broke off. No call is ready early that the reply does not ask for, and none has half
 * its arguments.
 */
import { expect, test } from "bun:test";
import { DONE, sse } from "../fixtures/sse.ts";
import { askDialect, brief, cannotRun, type Choice, cross, type Meant, notAskedFor } from "./dialects.ts";

const replies: Readonly<Record<string, readonly Meant[]>> = {
  "one call": [{ name: "read_file", input: { path: "a" } }],
  "one tool twice": [{ name: "read_file", input: { path: "a" } }, { name: "read_file", input: { path: "b" } }],
  "three tools": [
    { name: "read_file", input: { path: "a" } },
    { name: "write_file", input: { path: "b", text: "{}" } },
    { name: "list", input: {} },
  ],
  "a name that begins the next": [{ name: "read", input: { path: "a" } }, { name: "read_file", input: { path: "a" } }],
  "a name that the next begins": [{ name: "read_file", input: { n: 1 } }, { name: "read", input: { n: { n: 1 } } }],
  "equal calls": [{ name: "list", input: { n: 1 } }, { name: "list", input: { n: 1 } }],
  "a tool that is unknown": [{ name: "raed_file", input: { path: "a" } }, { name: "list", input: { n: 1 } }],
};

const HABITS = {
  ids: ["missing", "repeated", "invented", "first"],
  index: ["missing", "reused", "counted", "gaps"],
  names: ["first", "repeated", "cumulative", "incremental"],
  args: ["fragments", "whole", "cumulative", "object", "empty", "snapshots", "placeholder"],
  start: ["with arguments", "alone"],
  order: ["in turn", "one list", "interleaved"],
} as const;
const ENDS = {
  finish: ["right", "lying", "missing", "early"],
  end: ["done", "clean", "broken"],
  content: ["text", "parts", "null"],
  usage: ["last", "with finish", "cumulative", "none"],
} as const;

type Habits = Choice<typeof HABITS>;
type Ends = Choice<typeof ENDS>;

const everyEnd = cross(ENDS);
const everyHabit = cross(HABITS).filter(isPossible);
const told = everyHabit.filter(isTold);

/** Calls in one list come in one piece; calls that come in turns have indexes or ids. */
function isPossible({ ids, index, names, args, start, order }: Habits): boolean {
  if (start === "alone" && args === "empty") return false;
  // A name with other arguments and without the same id is another call's.
  if ((args === "snapshots" || args === "placeholder") && ids !== "repeated" && names !== "first" && names !== "incremental") return false;
  if (order === "one list") return start === "with arguments" && ["whole", "object", "empty"].includes(args) && names === "first";
  if (order === "interleaved") return index === "counted" || index === "gaps" || ids === "repeated";
  return true;
}

/** True unless ids alone tell calls apart that come in turns: ids may be invented, so such a call is right or cannot run. */
function isTold({ index, order }: Habits): boolean {
  return order !== "interleaved" || index === "counted" || index === "gaps";
}

/** True if nothing tells the second of two calls from the first said again, or from more of its name: then they are one. */
function isOneCall(first: Meant, second: Meant, { ids, index, names, args, start, order }: Habits): boolean {
  if (order === "one list" || index === "counted" || index === "gaps") return false;
  if (args === "snapshots" || args === "placeholder") return false;
  if (args === "fragments" || args === "cumulative" || names === "cumulative" || names === "incremental") return false;
  // Without arguments an id alone may be invented.
  if (args === "empty") return first.name === second.name || (ids === "missing" && second.name.startsWith(first.name));
  const tellsIds = ids === "repeated" || ids === "first" || (ids === "invented" && start === "with arguments");
  return !tellsIds && first.name === second.name && JSON.stringify(first.input) === JSON.stringify(second.input);
}

interface Piece {
  readonly name?: string;
  readonly arguments?: string | object;
}

const thirds = (text: string) => [text.slice(0, 2), text.slice(2, 5), text.slice(5)].filter((each) => each !== "");
/** An object that grows by one member after the other. */
function snapshots(input: object): readonly object[] {
  const members = Object.entries(input);
  return Array.from({ length: members.length + 1 }, (_none, size) => Object.fromEntries(members.slice(0, size)));
}

const grown = (parts: readonly string[]) => parts.map((_part, at) => parts.slice(0, at + 1).join(""));

/** What is said of a call, chunk by chunk. */
function piecesOf({ name, input }: Meant, { names, args, start }: Habits): readonly Piece[] {
  const text = JSON.stringify(input);
  const parts = names === "incremental" ? thirds(name) : names === "cumulative" ? grown(thirds(name)) : [name];
  const plain = { fragments: thirds(text), whole: [text], cumulative: grown(thirds(text)), object: [input], empty: [""] };
  const grows = { snapshots: snapshots(input), placeholder: ["{}", ...thirds(text)] };
  const again = names === "repeated" || names === "cumulative" ? { name } : {};
  const [first, ...more] = { ...plain, ...grows }[args];
  const last = { name: parts.at(-1) ?? name };
  const begins = start === "alone" ? [{ ...last, arguments: "" }, { ...again, arguments: first }] : [{ ...last, arguments: first }];
  return [
    ...parts.slice(0, -1).map((part) => ({ name: part, arguments: "" })),
    ...begins,
    ...more.map((each) => ({ ...again, arguments: each })),
  ] as readonly Piece[];
}

let invented = 0;

function toFragment(piece: Piece, call: number, at: number, { ids, index }: Habits): object {
  const known = ids === "repeated" || (ids === "first" && at === 0) ? `id${call}` : undefined;
  const id = ids === "invented" ? `new${invented++}` : known;
  const place = { missing: undefined, reused: 0, counted: call, gaps: call * 3 + 2 }[index];
  return { ...(place === undefined ? {} : { index: place }), ...(id === undefined ? {} : { id }), type: "function", function: piece };
}

/** The lists of fragments of all chunks. */
function listsOf(meant: readonly Meant[], habits: Habits): readonly (readonly object[])[] {
  const calls = meant.map((each, call) => piecesOf(each, habits).map((piece, at) => toFragment(piece, call, at, habits)));
  if (habits.order === "one list") return [calls.flat()];
  if (habits.order === "in turn") return calls.flat().map((each) => [each]);
  const longest = Math.max(...calls.map((pieces) => pieces.length));
  return Array.from({ length: longest }, (_row, at) => calls.flatMap((pieces) => pieces.slice(at, at + 1))).flat().map((each) => [each]);
}

function chunk(delta: object, finish_reason: string | null = null, usage?: object): object {
  return { id: "c", model: "m", choices: [{ index: 0, delta, finish_reason }], ...(usage === undefined ? {} : { usage }) };
}

const CONTENT = { text: "hi", parts: [{ type: "text", text: "hi" }], null: null };
const COUNTS = { prompt_tokens: 5, completion_tokens: 7 };

function chunksOf(meant: readonly Meant[], habits: Habits, { finish, end, content, usage }: Ends): readonly (object | string)[] {
  const soFar = (n: number) => usage === "cumulative" ? { prompt_tokens: 5, completion_tokens: n } : undefined;
  const reason = { right: "tool_calls", lying: "stop", missing: null, early: null }[finish];
  const atEnd = usage === "with finish" || usage === "cumulative" ? COUNTS : undefined;
  return [
    chunk({ role: "assistant", content: CONTENT[content] }, null, soFar(1)),
    ...listsOf(meant, habits).map((list, at) => chunk({ tool_calls: list }, finish === "early" && at === 0 ? "stop" : null, soFar(at))),
    ...(reason === null && atEnd === undefined ? [] : [chunk({}, reason, atEnd)]),
    ...(usage === "last" ? [{ id: "c", model: "m", choices: [], usage: COUNTS }] : []),
    ...(end === "done" ? [DONE] : []),
  ];
}

/** The calls that must come of it. */
function expected(meant: readonly Meant[], habits: Habits): readonly string[] {
  const wanted = habits.args === "empty" ? meant.map(({ name }) => ({ name, input: {} })) : meant;
  const kept = wanted.filter((each, at) => {
    const next = wanted[at + 1];
    return next === undefined || !isOneCall(each, next, habits);
  });
  return kept.map(({ name, input }) => brief({ name, arguments: JSON.stringify(input) }));
}

test("any way of saying calls gives these calls, in this order", async () => {
  const wrong: object[] = [];
  for (const [title, meant] of Object.entries(replies)) {
    for (const habits of everyHabit) {
      const ends = { finish: "right", end: "done", content: "text", usage: "last" } as const;
      const result = await askDialect("chat", sse(...chunksOf(meant, habits, ends)));
      const calls = result.reply?.calls.map(brief) ?? [];
      const right = expected(meant, habits);
      const isFine = isTold(habits)
        ? JSON.stringify(calls) === JSON.stringify(right) && notAskedFor(result).length === 0
        : calls.every((call) => right.includes(call) || cannotRun(call));
      if (!isFine) wrong.push({ title, ...habits, calls, ready: result.ready });
    }
  }
  expect(wrong).toEqual([]);
}, 60_000);

test("any way to end gives the whole reply or none", async () => {
  const wrong: object[] = [];
  const meant = replies["three tools"] ?? [];
  for (const [at, habits] of told.entries()) {
    // Every habit with some of the ends, and every end with some of the habits.
    for (const ends of everyEnd.filter((_end, number) => number % 24 === at % 24)) {
      const { reply, ...rest } = await askDialect("chat", sse(...chunksOf(meant, habits, ends)), ends.end === "broken");
      const isWhole = ends.finish === "right" || ends.finish === "lying" || ends.end === "done" ||
        (ends.finish === "early" && (ends.end === "clean" || (habits.order === "one list" && habits.args !== "empty")));
      const tokens = ends.usage === "none" ? 0 : 7;
      const seen = reply && { calls: reply.calls.map(brief), text: reply.text, finish: reply.finish, tokens: reply.usage.output_tokens };
      const right = { calls: expected(meant, habits), text: ends.content === "null" ? "" : "hi", finish: "tool_calls", tokens };
      if (JSON.stringify(seen) !== JSON.stringify(isWhole ? right : null)) wrong.push({ ...habits, ...ends, seen, ...rest });
    }
  }
  expect(wrong).toEqual([]);
}, 60_000);

test("a stream that breaks off, wherever, is no reply before its finish reason", async () => {
  const wrong: object[] = [];
  const meant = replies["three tools"] ?? [];
  for (const habits of told.filter((_habits, number) => number % 3 === 0)) {
    for (const finish of ["right", "early"] as const) {
      const chunks = chunksOf(meant, habits, { finish, end: "clean", content: "text", usage: "none" });
      // What breaks off right behind a whole call with a finish reason cannot be told from an honest end.
      for (let length = 1; length < chunks.length; length++) {
        const { reply } = await askDialect("chat", sse(...chunks.slice(0, length)), true);
        const looksHonest = finish === "early" && length === 2 && ["whole", "object", "snapshots", "placeholder"].includes(habits.args);
        if (reply !== null && !looksHonest) wrong.push({ ...habits, finish, length, of: chunks.length, calls: reply.calls });
      }
    }
  }
  expect(wrong).toEqual([]);
}, 60_000);
