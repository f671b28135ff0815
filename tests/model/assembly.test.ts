import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { MAX_ARGUMENTS } from "../../lib/model/arguments-text.ts";
import { CallAssembly, MAX_CALLS } from "../../lib/model/assembly.ts";
import type { CallFragment, CallProgress } from "../../lib/model/growing-call.ts";
import { ModelError } from "../../lib/model/model.ts";
import { createToolNames } from "../../lib/model/tool-names.ts";
import { parseArguments } from "../../lib/session/arguments.ts";
import { canonicalText } from "../../lib/session/json.ts";

const SEED = 20261129;

function assemble(fragments: readonly CallFragment[], cut = false) {
  const assembly = new CallAssembly();
  const progress: CallProgress[] = [];
  for (const fragment of fragments) progress.push(...assembly.add(fragment));
  const calls = assembly.finish(cut);
  return { calls, progress, ready: progress.filter((each) => each.type === "call_ready") };
}

function brief(fragments: readonly CallFragment[], cut = false): readonly string[] {
  return assemble(fragments, cut).calls.map((call) => `${call.provider_id ?? "-"} ${call.name} ${call.arguments}`);
}

test("a name and an id are well-formed Unicode, whatever came", () => {
  const { calls, progress } = assemble([{ index: 0, id: "a\ud800", name: "to\udc00ol", arguments: "{}" }]);
  expect(calls).toEqual([{ provider_id: "a\ufffd", name: "to\ufffdol", arguments: "{}" }]);
  expect(progress.map(({ name }) => name)).toEqual(["to\ufffdol", "to\ufffdol"]);
});

describe("a new id in every fragment", () => {
  const [index, first] = [{ index: 0 }, { id: "a", name: "t", arguments: '{"n":1}' }];
  const begun = { id: "a", name: "t", arguments: '{"n' };

  for (
    const [title, fragments] of Object.entries({
      "with blanks behind a whole": [{ ...index, ...first }, { ...index, id: "b", arguments: "\n" }],
      "with the arguments once more": [{ ...index, ...first }, { ...index, id: "b", arguments: '{"n":1}' }],
      "with nothing": [{ ...index, ...first }, { ...index, id: "b" }],
      "without an index": [begun, { id: "b", arguments: '":' }, { id: "c", arguments: "1}" }, { id: "d", arguments: "\n" }],
    })
  ) {
    test(`${title} is one call, and none without a name`, () => {
      expect(brief(fragments)).toEqual(['a t {"n":1}']);
    });
  }

  test("opens another call with a name, or with other arguments behind a whole", () => {
    expect(brief([{ ...index, ...first }, { ...index, id: "b", name: "t", arguments: '{"n":1}' }])).toEqual(['a t {"n":1}', 'b t {"n":1}']);
    expect(brief([begun, { id: "b", arguments: '":1}' }, { id: "c", name: "u", arguments: "{}" }])).toEqual(['a t {"n":1}', "c u {}"]);
  });
});

describe("indexes and ids", () => {
  test("interleaved fragments without ids go to the call of their index (case 34)", () => {
    expect(brief([
      { index: 0, id: "A", name: "t_a" },
      { index: 1, id: "B", name: "t_b" },
      { index: 0, arguments: '{"x":' },
      { index: 1, arguments: '{"y":' },
      { index: 0, arguments: "1}" },
      { index: 1, arguments: "2}" },
    ])).toEqual(['A t_a {"x":1}', 'B t_b {"y":2}']);
  });

  test("a new id at an occupied index opens a new call (case 35 a)", () => {
    expect(brief([{ index: 0, id: "a", name: "r", arguments: '{"p":1}' }, { index: 0, id: "b", name: "r", arguments: '{"p":2}' }]))
      .toEqual(['a r {"p":1}', 'b r {"p":2}']);
  });

  test("without indexes a new id opens and a fragment without one continues the last call (case 35 b)", () => {
    expect(brief([
      { id: "a", name: "r", arguments: '{"p":' },
      { arguments: "1}" },
      { id: "b", name: "r" },
      { arguments: '{"p":2}' },
    ])).toEqual(['a r {"p":1}', 'b r {"p":2}']);
  });

  test("without indexes a fragment with a known id continues that call", () => {
    expect(
      brief([{ id: "a", name: "r", arguments: '{"p":' }, { id: "b", name: "s", arguments: '{"q":' }, { id: "a", arguments: "1}" }, {
        id: "b",
        arguments: "2}",
      }]),
    )
      .toEqual(['a r {"p":1}', 'b s {"q":2}']);
  });

  test("a continuation without index follows an indexed start, and the other way round (case 35 c)", () => {
    expect(brief([{ index: 7, id: "a", name: "r" }, { arguments: '{"p":1}' }])).toEqual(['a r {"p":1}']);
    expect(brief([{ id: "a", name: "r" }, { index: 0, arguments: '{"p":' }, { index: 0, arguments: "1}" }])).toEqual(['a r {"p":1}']);
  });

  test("indexes may start anywhere and have holes: calls keep the order of their appearance (case 35 d)", () => {
    expect(brief([{ index: 1, id: "a", name: "r", arguments: "{}" }])).toEqual(["a r {}"]);
    expect(brief([{ index: 9, id: "a", name: "r" }, { index: 2, id: "b", name: "s" }, { index: 9, arguments: "{}" }])).toEqual([
      "a r {}",
      "b s ",
    ]);
  });

  test("a new name at an occupied index opens a new call even without ids", () => {
    expect(brief([{ index: 0, name: "r", arguments: '{"p":1}' }, { index: 0, name: "s", arguments: '{"q":2}' }])).toEqual([
      '- r {"p":1}',
      '- s {"q":2}',
    ]);
  });

  test("whole calls of one tool without ids and indexes stay apart", () => {
    expect(brief([{ name: "r", arguments: '{"p":1}' }, { name: "r", arguments: '{"p":2}' }])).toEqual(['- r {"p":1}', '- r {"p":2}']);
  });

  test("a name without arguments at a complete call opens another if pieces of another object follow (case 35)", () => {
    const again = [{ index: 0, name: "r", arguments: '{"p":1}' }, { index: 0, name: "r", arguments: "" }];
    const { calls, progress } = assemble([...again, { index: 0, arguments: '{"p"' }, { index: 0, arguments: ":2}" }]);
    expect(calls.map((call) => call.arguments)).toEqual(['{"p":1}', '{"p":2}']);
    expect(progress.map((each) => [each.type, each.position])).toEqual([
      ["call_announced", 0],
      ["call_ready", 0],
      ["call_announced", 1],
      ["call_ready", 1],
    ]);
    expect(brief([...again, { index: 0, arguments: " " }, { index: 0, arguments: '{"p":2}' }])).toEqual(['- r {"p":1}', '- r {"p":2}']);
    const unindexed = [{ name: "r", arguments: '{"p":1}' }, { name: "r" }, { arguments: '{"p"' }, { arguments: ":2}" }, { name: "r" }];
    expect(brief(unindexed)).toEqual(['- r {"p":1}', '- r {"p":2}']);
  });

  test("a name without arguments at a complete call is a repeat if nothing follows, the same does, or no object", () => {
    const again = [{ index: 0, name: "r", arguments: '{"p":1}' }, { index: 0, name: "r", arguments: "" }];
    expect(brief(again)).toEqual(['- r {"p":1}']);
    expect(brief([...again, { index: 0, arguments: "\n" }, { index: 0, name: "r" }])).toEqual(['- r {"p":1}']);
    expect(brief([...again, { index: 0, arguments: '{ "p": 1 }' }])).toEqual(['- r {"p":1}']);
    expect(brief([...again, { index: 0, arguments: "}" }])).toEqual(['- r {"p":1}}']);
    expect(brief([...again, { index: 1, name: "r" }, { index: 1, arguments: '{"p":2}' }])).toEqual(['- r {"p":1}', '- r {"p":2}']);
  });

  test("a name that is repeated with every fragment opens nothing", () => {
    expect(brief([{ index: 0, id: "a", name: "r", arguments: '{"p"' }, { index: 0, id: "a", name: "r", arguments: ":1}" }])).toEqual([
      'a r {"p":1}',
    ]);
  });

  test("a fresh id on every fragment of one call opens nothing, and the first id stays", () => {
    expect(brief([
      { index: 0, id: "x1", name: "r" },
      { index: 0, id: "x2", arguments: '{"p":' },
      { index: 0, id: "x3", arguments: "1}" },
      { index: 1, id: "x4", name: "r" },
      { index: 1, id: "x5", arguments: "{}" },
    ])).toEqual(['x1 r {"p":1}', "x4 r {}"]);
  });

  test("an id that arrives late binds, and one that is used twice does not confuse", () => {
    expect(brief([{ index: 0, name: "r" }, { index: 0, id: "a", arguments: "{}" }])).toEqual(["a r {}"]);
    expect(brief([{ index: 0, id: "a", name: "r", arguments: '{"p":1}' }, { index: 1, id: "a", name: "r", arguments: '{"p":2}' }]))
      .toEqual(['a r {"p":1}', 'a r {"p":2}']);
  });

  test("a name that comes again with its id is the same call, with what it says last", () => {
    const all = { index: 0, id: "a", name: "r" };
    const of = (...texts: readonly string[]) => texts.map((text) => ({ ...all, arguments: text }));
    const rest = [{ index: 0, arguments: '{"p"' }, { index: 0, arguments: ":2}" }];
    expect(brief(of("{}", '{"p":1}', '{"p":1,"q":2}'))).toEqual(['a r {"p":1,"q":2}']);
    expect(brief(of('{"p":1}', '{"p":1,"q"', ":2}"))).toEqual(['a r {"p":1,"q":2}']);
    expect(brief([...of('{"p":1}', ""), ...rest])).toEqual(['a r {"p":2}']);
    expect(brief([...of('{"p":1}'), { id: "a", name: "r", arguments: '{"p":2}' }])).toEqual(['a r {"p":2}']);
    expect(brief(of('{"p":1}', "", "\n", '{ "p": 1 }'))).toEqual(['a r {"p":1}']);
    expect(brief(of('{"p":1}', "x"))).toEqual(['a r {"p":1}x']);
    expect(brief([...of('{"p":1}'), { ...all, name: "s", arguments: '{"p":2}' }])).toEqual(['a r {"p":1}', 'a s {"p":2}']);
    const list = new CallAssembly();
    list.addList(of('{"p":1}', '{"p":2}'));
    expect(list.finish(false)).toHaveLength(2);
  });

  test("an empty object that arguments follow stands for them, and so does an object for the one before", () => {
    const begun = { index: 0, id: "a", name: "r" };
    const { ready, calls } = assemble([{ ...begun, arguments: "{}" }, { index: 0, arguments: '{"p"' }, { index: 0, arguments: ":1}" }]);
    expect([ready.map((each) => each.arguments), calls.map((call) => call.arguments)]).toEqual([["{}", '{"p":1}'], ['{"p":1}']]);
    const texts = ["{}", '{"p":1}', '{"p":1,"q":2}', '{"q":2,"p":1}'];
    const snapshots = texts.map((text, at) => ({ ...(at === 0 ? begun : { index: 0 }), arguments: text, whole: true }));
    expect(brief(snapshots)).toEqual(['a r {"p":1,"q":2}']);
    expect(brief([{ ...begun, arguments: "{}" }, { index: 0, arguments: "}" }])).toEqual(["a r {}}"]);
  });

  test("blank strings are absent, and a fragment with nothing in it is nothing", () => {
    expect(brief([{ index: 0 }, { index: 0, id: "", name: "", arguments: "" }])).toEqual([]);
    expect(brief([{ index: 0, id: "a", name: "r", arguments: "" }, { index: 0, id: "", name: "", arguments: "{}" }])).toEqual(["a r {}"]);
  });

  test("a call that never gets a name is kept, without a name", () => {
    expect(brief([{ index: 0, arguments: '{"p":1}' }])).toEqual(['-  {"p":1}']);
  });
});

describe("a name that comes in pieces", () => {
  const names = createToolNames(["read", "read_file", "toto", "a b"]);
  const told = (...said: readonly string[]) => {
    const assembly = new CallAssembly(names);
    const progress = said.flatMap((name) => assembly.add({ index: 0, name }));
    progress.push(...assembly.add({ index: 0, arguments: "{}" }));
    return { told: progress.map((each) => each.name), calls: assembly.finish(false).map((call) => call.name) };
  };

  test("is told when it is a tool's, as that tool's, and never as a piece", () => {
    expect(told("re", "ad_fi", "le")).toEqual({ told: ["read_file", "read_file"], calls: ["read_file"] });
    expect(told("re", "read_fi", "read_file")).toEqual({ told: ["read_file", "read_file"], calls: ["read_file"] });
    expect(told("read", "_file")).toEqual({ told: ["read", "read_file", "read_file"], calls: ["read_file"] });
    expect(told("to", "to")).toEqual({ told: ["toto", "toto"], calls: ["toto"] });
    const alias = names.toWire("a b");
    expect(told(alias.slice(0, 3), alias.slice(3))).toEqual({ told: ["a b", "a b"], calls: ["a b"] });
  });

  test("may begin the call behind one that is over", () => {
    const begun = [{ index: 0, name: "read", arguments: "{}" }, { index: 0, name: "read" }, { index: 0, name: "_fi" }, {
      index: 0,
      name: "le",
    }];
    const assembly = new CallAssembly(names);
    for (const each of [...begun, { index: 0, arguments: '{"n":1}' }]) assembly.add(each);
    expect(assembly.finish(false).map((call) => call.name)).toEqual(["read", "read_file"]);
  });

  test("is told, too, once arguments or another call come", () => {
    expect(told("rea")).toEqual({ told: ["rea", "rea"], calls: ["rea"] });
    const assembly = new CallAssembly(names);
    const progress = [{ index: 0, name: "rea" }, { index: 1, name: "read" }].flatMap((each) => assembly.add(each));
    expect(progress.map(({ position, name }) => `${position} ${name}`)).toEqual(["0 rea", "1 read"]);
  });

  test("of no tool is one call, and a tool's after it another", () => {
    expect(told("ra", "ed", "_file").calls).toEqual(["raed_file"]);
    expect(told("raed", "read_file").calls).toEqual(["raed", "read_file"]);
    expect(told("read", "toto").calls).toEqual(["read", "toto"]);
  });
});

describe("readiness", () => {
  test("comes with the fragment that closes the object, once, and before the next call starts", () => {
    const { progress } = assemble([
      { index: 0, id: "a", name: "r", arguments: '{"p":{"q":"}"' },
      { index: 0, arguments: "}}" },
      { index: 0, arguments: "\n" },
      { index: 1, id: "b", name: "s", arguments: "{}" },
    ]);
    expect(progress).toEqual([
      { type: "call_announced", position: 0, name: "r" },
      { type: "call_ready", position: 0, name: "r", arguments: '{"p":{"q":"}"}}' },
      { type: "call_announced", position: 1, name: "s" },
      { type: "call_ready", position: 1, name: "s", arguments: "{}" },
    ]);
  });

  test("waits for the name if the arguments come first", () => {
    expect(assemble([{ index: 0, arguments: "{}" }, { index: 0, name: "r" }]).progress.map((each) => each.type)).toEqual([
      "call_announced",
      "call_ready",
    ]);
  });

  test("is not given for empty, null, cut or malformed arguments (case 37)", () => {
    for (const text of ["", "  ", "null", "{", '{"a":1,}', "file_path=foo", "[]", '"x"', '{"a":"b', '{"a":1} {"b":2}', '{"a":1}}']) {
      const { ready, calls } = assemble([{ index: 0, id: "a", name: "r", arguments: text }]);
      expect([text, ready.length]).toEqual([text, 0]);
      expect(calls).toEqual([{ provider_id: "a", name: "r", arguments: text }]);
    }
  });

  test("what comes after the object makes the call malformed at the end, with all its text", () => {
    for (const tail of ["}", ' {"b":2}', "x", "</tool_call>"]) {
      const [call] = assemble([{ index: 0, id: "a", name: "r", arguments: '{"a":1}' }, { index: 0, arguments: tail }]).calls;
      expect(call?.arguments).toBe(`{"a":1}${tail}`);
      expect(parseArguments(call?.arguments ?? "").kind).toBe("malformed");
    }
  });
});

describe("servers that repeat themselves", () => {
  test("the whole text so far in every fragment is one call", () => {
    const pieces = ["{", '{"pa', '{"path":"a', '{"path":"a.txt"', '{"path":"a.txt"}', '{"path":"a.txt"}'];
    const { calls, ready } = assemble(pieces.map((text) => ({ index: 0, id: "a", name: "r", arguments: text })));
    expect(calls.map((call) => call.arguments)).toEqual(['{"path":"a.txt"}']);
    expect(ready.length).toBe(1);
  });

  test("blanks behind the whole text so far change nothing, where it may also be read as a continuation", () => {
    const texts = ['{"a":', '{"a":1,"b":', '{"a":1,"b":2}', "\n"];
    expect(brief(texts.map((text) => ({ index: 0, id: "a", name: "r", arguments: text })))).toEqual(['a r {"a":1,"b":2}']);
  });

  test("the whole text once more after the deltas changes nothing, in whatever spacing", () => {
    for (const final of ['{"p":1}', '{ "p": 1 }', '{"p":1}\n']) {
      expect(
        brief([{ index: 0, id: "a", name: "r", arguments: '{"p"' }, { index: 0, arguments: ":1}" }, {
          index: 0,
          id: "a",
          name: "r",
          arguments: final,
        }]),
      )
        .toEqual(['a r {"p":1}']);
    }
  });

  test("the whole text after unfinished deltas completes them", () => {
    expect(
      brief([{ index: 0, id: "a", name: "r", arguments: '{"p"' }, { index: 0, arguments: ":[1" }, { index: 0, arguments: '{"p":[1,2]}' }]),
    )
      .toEqual(['a r {"p":[1,2]}']);
  });

  test("where both readings are possible the deltas win while they can, and a length limit decides nothing", () => {
    const both = [{ index: 0, id: "a", name: "r", arguments: '{"a":' }, { index: 0, arguments: '{"a":1}' }];
    expect(brief([...both, { index: 0, arguments: "}" }])).toEqual(['a r {"a":{"a":1}}']);
    expect(brief(both)).toEqual(['a r {"a":1}']);
    expect(brief(both, true)).toEqual(['a r {"a":{"a":1}']);
    expect(assemble(both).ready).toEqual([]);
  });

  test("a fragment that breaks the pattern spoils the call instead of running something else", () => {
    const [call] = assemble(["{", '{"p', 'ath":1}'].map((text) => ({ index: 0, id: "a", name: "r", arguments: text }))).calls;
    expect(parseArguments(call?.arguments ?? "").kind).toBe("malformed");
  });
});

describe("caps", () => {
  test("arguments longer than the cap are an error", () => {
    const assembly = new CallAssembly();
    assembly.add({ index: 0, name: "r", arguments: `{"a":"` });
    expect(() => assembly.add({ index: 0, arguments: "x".repeat(MAX_ARGUMENTS) })).toThrow(ModelError);
  });

  test("more calls than the cap are an error", () => {
    const assembly = new CallAssembly();
    for (let index = 0; index < MAX_CALLS; index++) assembly.add({ index, name: "r", arguments: "{}" });
    expect(() => assembly.add({ index: MAX_CALLS, name: "r" })).toThrow("more than 256");
  });

  test("a million fragments of one character are taken in linear time", () => {
    const assembly = new CallAssembly();
    assembly.add({ index: 0, name: "r", arguments: '{"a":"' });
    for (let index = 0; index < 1_000_000; index++) assembly.add({ index: 0, arguments: "x" });
    const [last] = assembly.add({ index: 0, arguments: '"}' });
    expect(last?.type === "call_ready" && last.arguments.length).toBe(1_000_008);
  }, 10_000);
});

const input = fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ maxDepth: 3 }));
const wanted = fc.array(fc.record({ name: fc.constantFrom("read", "write", "bash"), input, pretty: fc.boolean() }), {
  minLength: 1,
  maxLength: 5,
});

describe("any chunking of any interleaving", () => {
  test("gives the same calls, and each is ready exactly when its object ends", () => {
    fc.assert(
      fc.property(wanted, fc.infiniteStream(fc.nat()), (calls, random) => {
        const texts = calls.map((call) => JSON.stringify(call.input, null, call.pretty ? 1 : undefined));
        const { fragments, ends } = interleave(calls.map((call) => call.name), texts, random);
        const assembly = new CallAssembly();
        const ready: number[] = [];
        fragments.forEach((fragment, position) => {
          for (const each of assembly.add(fragment)) if (each.type === "call_ready") ready[each.position] = position;
        });
        const order = [...new Set(fragments.map((fragment) => fragment.index ?? 0))];
        expect(assembly.finish(false)).toEqual(
          order.map((index) => ({ provider_id: `c${index}`, name: calls[index]?.name ?? "", arguments: texts[index] ?? "" })),
        );
        expect(ready).toEqual(order.map((index) => ends[index] ?? -1));
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("gives the same calls when every fragment holds the whole text so far", () => {
    fc.assert(
      fc.property(wanted, fc.infiniteStream(fc.nat()), (calls, random) => {
        const texts = calls.map((call) => JSON.stringify(call.input));
        const { fragments } = interleave(calls.map((call) => call.name), texts, random);
        const sent = new Map<number, string>();
        const cumulative = fragments.map((fragment) => {
          const index = fragment.index ?? 0;
          const whole = (sent.get(index) ?? "") + (fragment.arguments ?? "");
          sent.set(index, whole);
          return { ...fragment, arguments: whole };
        });
        const order = [...new Set(fragments.map((fragment) => fragment.index ?? 0))];
        expect(assemble(cumulative).calls.map((call) => call.arguments)).toEqual(order.map((index) => texts[index] ?? ""));
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

describe("one index for all calls, and no ids", () => {
  test("gives every call that says something else than the one before, wherever and however often its name comes", () => {
    const differing = fc.array(fc.record({ name: fc.constantFrom("read", "write"), input }), { minLength: 1, maxLength: 5 })
      .filter((calls) => calls.every((call, at) => toText(call) !== toText(calls[at - 1])));
    fc.assert(
      fc.property(differing, fc.constantFrom("first", "each", "last"), fc.infiniteStream(fc.nat()), (calls, names, random) => {
        const fragments = calls.flatMap(({ name, input }): CallFragment[] => {
          const pieces = cutUp(JSON.stringify(input), random).map((text) => ({ index: 0, arguments: text }));
          if (names === "each") return pieces.map((piece) => ({ ...piece, name }));
          return [{ index: 0, name, arguments: "" }, ...pieces, ...(names === "last" ? [{ index: 0, name, arguments: "" }] : [])];
        });
        const { calls: got, ready } = assemble(fragments);
        expect(got).toEqual(calls.map(({ name, input }) => ({ name, arguments: JSON.stringify(input) })));
        expect(ready.length).toBe(calls.length);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

function toText(call: { readonly input: object } | undefined): string {
  return call === undefined ? "" : canonicalText(JSON.stringify(call.input));
}

function cutUp(text: string, random: Iterator<number>): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const size = 1 + (random.next().value as number) % 9;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** Cuts each text at random places and mixes the pieces; the first piece of a call carries its id and name. */
function interleave(names: readonly string[], texts: readonly string[], random: Iterator<number>) {
  const left = texts.map((text, index) => ({ text, index, begun: false }));
  const fragments: CallFragment[] = [];
  const ends: number[] = [];
  const draw = (limit: number) => (random.next().value as number) % limit;
  while (left.length > 0) {
    const at = draw(left.length);
    const call = left[at];
    if (call === undefined) break;
    const size = call.begun ? 1 + draw(Math.min(call.text.length, 9)) : draw(Math.min(call.text.length, 3));
    const first = call.begun ? {} : { id: `c${call.index}`, name: names[call.index] ?? "" };
    fragments.push({ index: call.index, ...first, arguments: call.text.slice(0, size) });
    call.text = call.text.slice(size);
    call.begun = true;
    if (call.text === "") {
      ends[call.index] = fragments.length - 1;
      left.splice(at, 1);
    }
  }
  return { fragments, ends };
}

describe("a call that is said once more as a whole", () => {
  const settled = (pieces: readonly string[], whole: string) => {
    const assembly = new CallAssembly();
    const progress = [
      ...assembly.add({ index: 0, id: "a", name: "t" }),
      ...pieces.flatMap((piece) => assembly.add({ index: 0, arguments: piece })),
      ...assembly.settle({ index: 0, id: "a", name: "t", arguments: whole }),
    ];
    const ready = progress.flatMap((each) => each.type === "call_ready" ? [each.arguments] : []);
    return { ready, calls: assembly.finish(false).map((call) => call.arguments) };
  };

  test("is ready once, with that whole, whatever part of it had come", () => {
    const object = fc.dictionary(
      fc.string({ unit: fc.constantFrom('"', ":", "{", "}", ",", "a"), maxLength: 3 }),
      fc.jsonValue({ maxDepth: 1 }),
    );
    fc.assert(
      fc.property(object, fc.nat(), fc.nat(), (value, first, second) => {
        const whole = JSON.stringify(value);
        const [from = 0, to = 0] = [first % (whole.length + 1), second % (whole.length + 1)].sort((left, right) => left - right);
        expect(settled([whole.slice(0, from), whole.slice(from, to)], whole)).toEqual({ ready: [whole], calls: [whole] });
      }),
      { seed: SEED, numRuns: 500, examples: [[{ ":": 1 }, 2, 2]] },
    );
  });

  test("cannot run if the whole is another one", () => {
    const { ready, calls } = settled(['{"a":'], '{"b":2}');
    expect([ready, parseArguments(calls[0] ?? "").kind]).toEqual([[], "malformed"]);
    expect(parseArguments(settled(['{"a":1}'], '{"b":2}').calls[0] ?? "").kind).toBe("malformed");
  });
});

describe("a call whose arguments were a whole object, and go on", () => {
  const grown = ['{"a":1}', '{"a":1,"b":2}', '{"a":1,"b":2,"c":3}'];
  const readies = (progress: readonly CallProgress[]) =>
    progress.flatMap((each) => each.type === "call_ready" ? [`${each.position} ${each.arguments}`] : []);
  const grow = (assembly: CallAssembly) =>
    grown.flatMap((text) => readies(assembly.add({ index: 0, id: "a", name: "t", arguments: text, whole: true })));

  test("is ready at once, and once more when it is over: with the next call, its end or the reply's", () => {
    const [first, last] = [`0 ${grown[0]}`, `0 ${grown[2]}`];
    const next = new CallAssembly();
    expect(grow(next)).toEqual([first]);
    expect(readies(next.add({ index: 1, id: "b", name: "t", arguments: "{}" }))).toEqual([last, "1 {}"]);
    const end = new CallAssembly();
    expect([grow(end), readies(end.end(0)), readies(end.endAll())]).toEqual([[first], [last], []]);
    const reply = new CallAssembly();
    expect([grow(reply), readies(reply.endAll())]).toEqual([[first], [last]]);
  });

  test("is ready again at once where the first were none", () => {
    const assembly = new CallAssembly();
    const pieces = ["{}", '{"a":', "1}"].map((text, index) => ({
      index: 0,
      ...index === 0 ? { id: "a", name: "t" } : {},
      arguments: text,
    }));
    expect(pieces.map((piece) => readies(assembly.add(piece)))).toEqual([["0 {}"], [], ['0 {"a":1}']]);
  });

  test("is not ready again if what follows is no object", () => {
    const assembly = new CallAssembly();
    assembly.add({ index: 0, id: "a", name: "t", arguments: '{"a":1}' });
    expect(readies([...assembly.add({ index: 0, arguments: ',"b":2}' }), ...assembly.endAll()])).toEqual([]);
  });
});

describe("a call that is over", () => {
  const ended = (cut: boolean, initial = "") => {
    const assembly = new CallAssembly();
    assembly.begin({ index: 0, id: "a", name: "t", arguments: '{"other":1}' });
    assembly.add({ index: 0, arguments: '{"a":1}' });
    const begun = assembly.begin({ index: 1, id: "b", name: "t", arguments: initial });
    const progress = [begun, assembly.end(0), assembly.end(1), assembly.end(7)].map((each) => each.length);
    return { progress, calls: assembly.finish(cut).map((call) => call.arguments) };
  };

  test("has the arguments that came, else those it began with, else none", () => {
    // With the second call the first is over, so that what took the place of its beginning is told as well.
    expect(ended(false)).toEqual({ progress: [2, 0, 1, 0], calls: ['{"a":1}', "{}"] });
    expect(ended(false, '{"b":2}')).toEqual({ progress: [3, 0, 0, 0], calls: ['{"a":1}', '{"b":2}'] });
  });

  test("is left out if a length limit ended the reply before its arguments began", () => {
    for (const none of ["", "{}", "{ }"]) expect(ended(true, none).calls).toEqual(['{"a":1}']);
    expect(ended(true, '{"b":2}').calls).toEqual(['{"a":1}', '{"b":2}']);
    expect(brief([{ index: 0, id: "a", name: "t" }], true)).toEqual([]);
    expect(brief([{ index: 0, id: "a", name: "t" }], false)).toEqual(["a t "]);
  });
});
