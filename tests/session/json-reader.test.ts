import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseArguments } from "../../lib/session/arguments.ts";
import { type Json, parseJson } from "../../lib/session/json.ts";
import { JsonFault, readDocument } from "../../lib/session/json-reader.ts";

/** A document, and the value that it is the text of, made without any parser. */
interface Written {
  readonly text: string;
  readonly value: Json;
}

const space = fc.constantFrom("", "", "", " ", "\n\t", "\r\n ");

/** Few letters, so that keys share beginnings and shapes, which is what a warm parser confuses. */
const letters = fc.array(fc.constantFrom("a", "b", "0", "_", "\n", '"', "\\", "/", "é", "中", "😀", "\ud800", "\u2028"), { maxLength: 4 })
  .map((each) => each.join(""));

const string = fc.tuple(letters, fc.infiniteStream(fc.nat(2))).map(([value, choice]): Written & { readonly value: string } => ({
  text: `"${value.split("").map((unit) => writeUnit(unit, choice.next().value ?? 0)).join("")}"`,
  value,
}));

function writeUnit(unit: string, choice: number): string {
  if (choice === 0) return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return unit === '"' || unit === "\\" || unit < " " ? JSON.stringify(unit).slice(1, -1) : unit;
}

const scalar = fc.constantFrom<Written>(
  { text: "true", value: true },
  { text: "false", value: false },
  { text: "null", value: null },
  { text: "-0.0", value: -0 },
  { text: "9007199254740993", value: 9007199254740992 },
  { text: "1E+3", value: 1000 },
  { text: "1e999", value: Infinity },
);

const { document } = fc.letrec<{ document: Written }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    string,
    fc.tuple(fc.array(tie("document"), { maxLength: 3 }), space).map(([items, gap]): Written => ({
      text: `[${items.map(({ text }) => gap + text + gap).join(",")}${gap}]`,
      value: items.map(({ value }) => value),
    })),
    fc.tuple(fc.array(fc.tuple(keyOf(), tie("document")), { maxLength: 4 }), space).map(([members, gap]): Written => ({
      text: `{${members.map(([key, { text }]) => `${gap}${key.text}${gap}:${gap}${text}`).join(",")}${gap}}`,
      value: Object.fromEntries(members.map(([key, { value }]) => [key.value, value])),
    })),
  ),
}));

function keyOf() {
  return fc.oneof(string, fc.constantFrom({ text: '"__proto__"', value: "__proto__" }, { text: '"10"', value: "10" }));
}

/** Unlike `toEqual`, tells keys in another order, -0 and a missing own `__proto__`. */
function fingerprint(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(fingerprint).join()}]`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : JSON.stringify(value) ?? typeof value;
  return `{${Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${fingerprint(member)}`).join()}}`;
}

describe("readDocument()", () => {
  test("reads what was written, on every host and however warm it is", () => {
    fc.assert(
      fc.property(document, space, ({ text, value }, gap) => {
        const expected = fingerprint(value);
        expect(fingerprint(readDocument(gap + text + gap).value)).toBe(expected);
        expect(fingerprint(parseJson(gap + text + gap))).toBe(expected);
      }),
      { seed: 35, numRuns: 8000 },
    );
  });

  test("accepts what JSON.parse accepts and nothing else", () => {
    const damaged = fc.tuple(
      document,
      fc.nat(),
      fc.constantFrom("", ",", ":", "}", "]", '"', "\\", "\\u12", "0", "-", ".", "e", "\u0000", "\t"),
    )
      .map(([{ text }, place, insert]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + insert + text.slice(insert === "" ? at + 1 : at);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        const isValid = accepts(() => JSON.parse(text));
        expect([text, accepts(() => readDocument(text))]).toEqual([text, isValid]);
        expect([text, accepts(() => parseJson(text))]).toEqual([text, isValid]);
      }),
      { seed: 36, numRuns: 6000 },
    );
  });

  test("reads a canonical text as the same value and the same text", () => {
    fc.assert(
      fc.property(document, ({ text }) => {
        const { canonical } = readDocument(text);
        expect(readDocument(canonical).canonical).toBe(canonical);
        expect(fingerprint(sorted(readDocument(canonical).value))).toBe(fingerprint(sorted(readDocument(text).value)));
      }),
      { seed: 37, numRuns: 2000 },
    );
  });

  test("refuses what is nested so deep that a stack might end, as a fault like any other", () => {
    const deep = (levels: number) => `{"\\u0061":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    expect(accepts(() => readDocument(deep(1000)))).toBe(true);
    for (const levels of [1001, 1_000_000]) expect(() => readDocument(deep(levels))).toThrow(JsonFault);
    expect(accepts(() => parseJson(deep(1001)))).toBe(true);
  });

  test("takes time in proportion to the text, whatever it is made of", () => {
    const size = 400_000;
    const heavy = ["\\\\", '\\"', "\\u0061", " ", "1,", '"a":', "[", "{"].map((part) => part.repeat(size / part.length));
    const began = performance.now();
    for (const part of heavy) {
      for (const text of [`{"a":"${part}"}`, `{"a":[${part}1]}`, `{"${part}":1}`, part, `{${part}1}`]) {
        parseArguments(text);
        accepts(() => parseJson(text));
      }
    }
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([left], [right]) => left < right ? -1 : 1).map(([key, member]) => [key, sorted(member)]),
  );
}

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    // That it throws is the answer.
    return false;
  }
}
