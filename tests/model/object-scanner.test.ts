import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ObjectScanner } from "../../lib/model/object-scanner.ts";

const SEED = 20261129;

function scan(text: string): string {
  return new ObjectScanner().feed(text);
}

function isJsonObject(text: string): boolean {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** JSON-like text that is often broken in one place. */
const nearJson = fc.tuple(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
  fc.nat(),
  fc.constantFrom("", "}", "{", ",", '"', "\\", "0", "-", "e", " ", "\n", "[", "]", ":"),
  fc.boolean(),
)
  .map(([value, at, insert, spaced]) => {
    const text = JSON.stringify(value, null, spaced ? 2 : undefined);
    const position = at % (text.length + 1);
    return text.slice(0, position) + insert + text.slice(position);
  });

describe("the object scanner", () => {
  test("says complete exactly for the texts that JSON.parse takes and that are objects", () => {
    fc.assert(fc.property(nearJson, (text) => expect(scan(text) === "complete").toBe(isJsonObject(text))), { seed: SEED, numRuns: 3000 });
  });

  test("never calls the beginning of a valid object invalid, and calls it complete only at its end", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const text = JSON.stringify(value);
        const scanner = new ObjectScanner();
        for (let index = 0; index < text.length; index++) {
          expect(scanner.feed(text.charAt(index))).toBe(index === text.length - 1 ? "complete" : "open");
        }
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  test("takes every kind of number, escape and literal, and none that JSON lacks", () => {
    for (
      const value of [
        "0",
        "-0",
        "10",
        "1.5",
        "-1.25e+10",
        "1E5",
        "1e-2",
        "true",
        "false",
        "null",
        '"\\u00e9\\n\\/"',
        "[]",
        "[[],{}]",
        "[ 1 , 2 ]",
      ]
    ) {
      expect([value, scan(`{"a":${value}}`)]).toEqual([value, "complete"]);
    }
    for (
      const value of [
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "--1",
        "tru",
        "True",
        "NaN",
        "'a'",
        '"\\x"',
        '"\\u00g0"',
        '"\n"',
        "[1,]",
        "[,1]",
        "{,}",
        '{"a"}',
        "{a:1}",
      ]
    ) {
      expect([value, scan(`{"a":${value}}`)]).toEqual([value, "invalid"]);
    }
  });

  test("takes white space around an object and nothing else", () => {
    expect(scan(' \r\n\t{"a":1} \n')).toBe("complete");
    for (const text of ['{"a":1}}', "{}{}", "{} x", "x{}", "[]", '"x"', "1", "null", "\u00a0{}"]) {
      expect([text, scan(text)]).toEqual([text, "invalid"]);
    }
    expect(scan("")).toBe("open");
  });

  test("gives up on nesting deeper than arguments may have", () => {
    const nested = (levels: number) => '{"a":'.repeat(levels - 1) + "{" + "}".repeat(levels);
    expect(scan(nested(256))).toBe("complete");
    expect(scan(nested(257))).toBe("invalid");
  });
});
