import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { illFormedPlaces } from "../../lib/session/well-formed.ts";

const placesIn = (json: string) => illFormedPlaces(json, JSON.parse(json)).map(({ pointer, what }) => `${what} ${pointer}`).sort();

describe("half of a surrogate pair", () => {
  test("is found in every text and every name, with a pointer that is well-formed itself", () => {
    const json = String.raw`{"a":"\ud800","b":[1,"x\uDFff"],"c/~":{"\udc00":"\ud83d\ude00"},"d":"\ude00\ud83d","e":"\\ud800"}`;
    expect(placesIn(json)).toEqual(["name /c~1~0/\ufffd", "text /a", "text /b/1", "text /d"]);
  });

  test("is found in exactly those documents whose texts are not all well-formed, however deep", () => {
    const document = fc.jsonValue({ stringUnit: "binary", maxDepth: 6 });
    fc.assert(
      fc.property(document, (value) => {
        const json = JSON.stringify(value);
        expect(placesIn(json).length > 0).toBe(/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(json));
      }),
      { seed: 11, numRuns: 500 },
    );
    const deep = `${"[".repeat(3000)}"\\ud800"${"]".repeat(3000)}`;
    expect(placesIn(deep)).toHaveLength(1);
  });

  test("is told of a bounded number of places", () => {
    expect(placesIn(JSON.stringify(Array.from({ length: 1000 }, () => "\ud800")))).toHaveLength(16);
  });
});
