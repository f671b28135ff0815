import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseLocated, type Path } from "../../lib/config/located-json.ts";

function placeOf(text: string, path: Path): string {
  const located = parseLocated(text);
  if (located.kind === "fault") return located.message;
  const { line, column } = located.positionOf(path);
  return `${line}:${column}`;
}

function faultOf(text: string): string {
  const located = parseLocated(text);
  return located.kind === "fault" ? `${located.position.line}:${located.position.column} ${located.message}` : "none";
}

describe("parseLocated()", () => {
  test("knows the place of every key and element", () => {
    const text = '{\n  "tools": { "ba\\u0073h": "on" },\n  "list": [1,\n    {"x": [ ]}, "]"]\n}';
    expect(placeOf(text, ["tools", "bash"])).toBe("2:14");
    expect(placeOf(text, ["list", 0])).toBe("3:12");
    expect(placeOf(text, ["list", 1, "x"])).toBe("4:6");
    expect(placeOf(text, ["list", 2])).toBe("4:17");
  });

  test("gives for something absent the place of what is around it", () => {
    expect(placeOf('{\n "a": {"b": 1}}', ["a", "c", 3])).toBe("2:2");
    expect(placeOf("\n{}", ["a"])).toBe("2:1");
  });

  test("does not count a byte order mark", () => {
    expect(placeOf('\ufeff{"a": 1}', ["a"])).toBe("1:2");
  });

  test("says where and how a text is not JSON", () => {
    expect(faultOf('{\n  "a": 1,\n}')).toContain("3:1 it is not JSON");
    expect(faultOf('{"a": // no\n 1}')).toContain("comments are not allowed");
    expect(faultOf('{"a": [1')).toContain("it ends too early");
    expect(faultOf("  ")).toContain("it is empty");
    expect(faultOf("{'a': 1}")).toContain("1:2 ");
  });

  test("refuses a key that is written twice, and absurd depth", () => {
    expect(faultOf('{"tools": {"bash": "off",\n "bash": "on"}}')).toBe('2:2 the key "bash" is written twice');
    expect(faultOf('{"a": 1, "\\u0061": 2}')).toContain("written twice");
    expect(faultOf(`${"[".repeat(100)}${"]".repeat(100)}`)).toContain("nested deeper");
    expect(faultOf("[".repeat(1_000_000))).not.toBe("none");
  });

  test("refuses text that is no Unicode, in a value and in a key", () => {
    expect(faultOf('{"a": "b",\n "c": "x\\ud800"}')).toBe("2:7 half of a surrogate pair stands alone in a text");
    expect(faultOf('{"\\uDC00": 1}')).toContain("1:2 half of a surrogate pair");
    expect(faultOf('{"a": "\\ud83d\\ude00 \\\\ud800"}')).toBe("none");
  });

  test("takes any JSON as JSON.parse does, and crashes on no text", () => {
    const spaced = fc.tuple(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, "\t")).map(([text, space]) =>
      JSON.stringify(JSON.parse(text), null, space)
    );
    fc.assert(
      fc.property(fc.oneof(spaced, fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]":,1e-\\u ') })), (text) => {
        const located = parseLocated(text);
        if (located.kind === "located") expect(located.value).toEqual(JSON.parse(text));
      }),
      { seed: 4, numRuns: 2000 },
    );
  });
});
