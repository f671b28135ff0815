import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { faultPosition, parseArguments } from "../../lib/session/arguments.ts";
import { canonicalText, canonicalValue, type Json, numberToken, parseKeepingNumbers } from "../../lib/session/json.ts";

describe("parseArguments()", () => {
  test("takes blank text and null as an empty object", () => {
    for (const text of ["", "  ", "\n\t", "null", " null "]) {
      expect(parseArguments(text)).toEqual({ kind: "input", input: { value: {}, text: "{}" } });
    }
  });

  test("refuses whatever is not one JSON object, and never runs it as an empty one", () => {
    for (
      const text of [
        "{",
        '{"a":1,}',
        "file_path=foo",
        "[]",
        '"x"',
        "7",
        "true",
        '{"a":"b',
        "{}{}",
        '{"a":1} trailing',
        "{'a':1}",
        '{"a":01}',
        "{}\u0000",
      ]
    ) {
      expect([text, parseArguments(text).kind]).toEqual([text, "malformed"]);
    }
  });

  test("refuses what is made of more than 50,000 values, or nested deeper than 256 levels", () => {
    const list = (length: number) => `{"a":[${Array.from({ length }, () => "0").join(",")}]}`;
    const nest = (levels: number) => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect([parseArguments(list(49_998)).kind, parseArguments(nest(255)).kind]).toEqual(["input", "input"]);
    expect(parseArguments(list(49_999))).toMatchObject({
      message: expect.stringContaining("The arguments are made of more than 50000 values."),
    });
    expect(parseArguments(nest(256))).toMatchObject({
      message: expect.stringContaining("The arguments are nested deeper than 256 levels"),
    });
  });

  test("refuses a key that comes twice, however it is written and however deep, as a script would see only one", () => {
    for (const text of ['{"path":"a","path":"b"}', '{"a":{"x":1,"\\u0078":2}}', '{"a":[{"__proto__":1,"__proto__":2}]}']) {
      const parsed = parseArguments(text);
      expect(parsed.kind === "malformed" ? parsed.message : "").toContain("comes a second time at character");
    }
    expect(parseArguments('{"a":{"a":[{"a":1},{"a":1}]}}').kind).toBe("input");
  });

  test("says where the text goes wrong", () => {
    const cases: readonly (readonly [string, string])[] = [
      ['{"a":1,}', "at character 7"],
      ["{", "the text ends at character 1"],
      ['{"a":"b', "the text ends at character 7"],
      ['{"a":"\n"}', "at character 6"],
      ['{"a":"b\\n\n"}', "at character 9"],
      ['{"a":"b\\x"}', "at character 8"],
      ['{"a":"\\u12g4"}', "at character 10"],
      ['{"a":"\\u12', "the text ends at character 10"],
      ["file_path=foo", "at character 0"],
      ["{}{}", "at character 2"],
      ['{"a":01}', "at character 6"],
    ];
    for (const [text, where] of cases) {
      const parsed = parseArguments(text);
      expect(parsed.kind === "malformed" ? parsed.message : "").toContain(where);
    }
  });

  test("shows what it received, capped and well-formed", () => {
    const parsed = parseArguments(`{"a":"${"x".repeat(5000)}\ud800`);
    if (parsed.kind !== "malformed") throw new Error("must be malformed");
    expect(parsed.message.length).toBeLessThan(800);
    expect(parsed.message.isWellFormed()).toBe(true);
  });

  test("keeps the digits of numbers and sorts keys", () => {
    const parsed = parseArguments('{ "b" : 9007199254740993, "a" : [3.0, 1e3, -0] , "c":{"z":1,"y":2} }');
    expect(parsed).toMatchObject({ kind: "input", input: { text: '{"a":[3.0,1e3,-0],"b":9007199254740993,"c":{"y":2,"z":1}}' } });
  });

  test("keeps a key called __proto__ as a key", () => {
    const parsed = parseArguments('{"__proto__":{"polluted":1},"a":1}');
    expect(parsed).toMatchObject({ kind: "input", input: { text: '{"__proto__":{"polluted":1},"a":1}' } });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("refuses nesting that would exhaust a stack, at once", () => {
    expect(parseArguments(`{"a":${"[".repeat(300)}${"]".repeat(300)}}`).kind).toBe("malformed");
    expect(parseArguments(`{"a":${"[".repeat(5_000_000)}`).kind).toBe("malformed");
  });
});

describe("faultPosition()", () => {
  test("finds no fault inside what JSON.parse accepts, and one in what can no longer become valid", () => {
    const nearJson = fc.oneof(
      fc.json(),
      fc.tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", '"', "\\", "0", " ", "x")).map(([text, at, insert]) => {
        const cut = at % (text.length + 1);
        return text.slice(0, cut) + insert + text.slice(cut + 1);
      }),
    );
    fc.assert(
      fc.property(nearJson, (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        const fault = faultPosition(text);
        if (valid) expect([text, fault]).toEqual([text, text.length]);
        else if (fault === text.length) expect([text, mayGoOn(text)]).toEqual([text, true]);
      }),
      { seed: 7, numRuns: 2000 },
    );
  });
});

/** Whether some ending makes the text valid: what is open is closed, what is begun is finished. */
function mayGoOn(text: string): boolean {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  const string = /"(?:[^"\\]|\\.)*\\?$/.exec(bare)?.[0] ?? "";
  const closers = [...bare.slice(0, bare.length - string.length)].reduce(
    (open: string, each) => each === "{" ? `}${open}` : each === "[" ? `]${open}` : /[\]}]/.test(each) ? open.slice(1) : open,
    "",
  );
  const begun = string === "" ? [""] : ['"', 'n"', '0"', '00"', '000"', '0000"'];
  return begun.flatMap((ending) => ["", "0", ":0", '"":0'].map((middle) => ending + middle)).some((ending) => {
    try {
      JSON.parse(text + ending + closers);
      return true;
    } catch {
      return false;
    }
  });
}

describe("canonicalText()", () => {
  test("does not depend on key order or white space", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const shuffled = JSON.stringify(reverseKeys(value as Json), null, 3);
        expect(canonicalText(shuffled)).toBe(canonicalText(JSON.stringify(value)));
        expect(canonicalText(JSON.stringify(value))).toBe(canonicalValue(JSON.parse(JSON.stringify(value)) as Json));
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  test("is what a tree of raw numbers would be written as, whatever the document", () => {
    const text = fc.oneof(
      fc.json(),
      fc.array(fc.constantFrom('"a"', '"\\u0061"', '"\\\\"', '"\\""', '"\\ud800"', "1e3", "-0.0", "true", "null", "[]", "{ }"), {
        maxLength: 6,
      })
        .map((parts) =>
          `{ ${parts.map((part, index) => `${part === '"a"' ? part : `"k${index % 2}"`} : [ ${part} , ${part} ]`).join(" ,\n")} }`
        ),
    );
    const byTree = (value: unknown): string => {
      const token = numberToken(value);
      if (token !== null) return token;
      if (typeof value !== "object" || value === null) return JSON.stringify(value);
      if (Array.isArray(value)) return `[${value.map(byTree).join(",")}]`;
      const members = value as Record<string, unknown>;
      return `{${Object.keys(members).sort().map((key) => `${JSON.stringify(key)}:${byTree(members[key])}`).join(",")}}`;
    };
    fc.assert(
      fc.property(text, (source) => expect(canonicalText(source)).toBe(byTree(parseKeepingNumbers(source)))),
      { seed: 8, numRuns: 1000 },
    );
  });

  test("writes a key as it is, however it is escaped", () => {
    expect(canonicalText('{"b":0,"\\u0061":1,"\\"":2,"\\\\":3,"\\ud800":4}')).toBe('{"\\"":2,"\\\\":3,"a":1,"b":0,"\\ud800":4}');
  });

  test("of a text that is no document throws", () => {
    for (const text of ["", "{", '{"a"', "[1,", "{} x"]) expect(() => canonicalText(text)).toThrow();
  });

  test("tells numbers apart that a script can tell apart", () => {
    expect(canonicalText("9007199254740993")).not.toBe(canonicalText("9007199254740992"));
    expect(canonicalText("3.0")).not.toBe(canonicalText("3"));
  });
});

function reverseKeys(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reverseKeys);
  return Object.fromEntries(Object.entries(value).reverse().map(([key, member]) => [key, reverseKeys(member as Json)]));
}
