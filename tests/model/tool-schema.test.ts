import { describe, expect, test } from "bun:test";
import { toParameters } from "../../lib/model/tool-schema.ts";

describe("toParameters()", () => {
  test("keep every keyword of the root, $defs and recursion included (case 63)", () => {
    const schema = {
      type: "object",
      properties: { f: { $ref: "#/$defs/F" } },
      $defs: { F: { enum: ["fit", "raw"] } },
      additionalProperties: false,
    };
    expect(toParameters(schema)).toEqual(schema);
    const recursive = {
      type: "object",
      properties: { node: { $ref: "#/$defs/N" } },
      $defs: { N: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/N" } } } } },
    };
    expect(toParameters(recursive)).toEqual(recursive);
  });

  test("always are an object with properties (case 64)", () => {
    for (const schema of [{}, { type: "object" }, { type: "object", properties: null }, { properties: [] }]) {
      expect(toParameters(schema)).toEqual({ type: "object", properties: {} });
    }
  });

  test("get missing items, and lose properties that are no schemas (case 67)", () => {
    expect(toParameters({ type: "object", properties: { tags: { type: "array" }, type: "object" } }))
      .toEqual({ type: "object", properties: { tags: { type: "array", items: {} } } });
    const named = {
      type: "object",
      properties: {
        type: { type: "string" },
        properties: { type: "object" },
        required: { type: "boolean" },
        items: {},
        $ref: { type: "string" },
      },
      required: ["type"],
    };
    expect(toParameters(named)).toEqual(named);
    const hostile = JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as Record<string, unknown>;
    expect(JSON.stringify(toParameters(hostile))).toBe('{"properties":{"__proto__":{"type":"string"}},"type":"object"}');
  });

  test("leave their schemas untouched", () => {
    const schema = Object.freeze({ type: "object", properties: Object.freeze({ tags: Object.freeze({ type: "array" }) }) });
    toParameters(schema);
    expect(schema.properties.tags).toEqual({ type: "array" });
  });

  test("has no combinators at the root: their properties are the root's, and what they demand is said (case 67)", () => {
    expect(toParameters({
      description: "Move or copy.",
      properties: { from: { type: "string" } },
      required: ["from"],
      oneOf: [
        { properties: { kind: { const: "move" }, to: { type: "string" } }, required: ["kind", "to"] },
        { $ref: "#/$defs/copy" },
      ],
      $defs: { copy: { allOf: [{ properties: { kind: { const: "copy" }, times: { type: "integer" } } }], required: ["kind"] } },
    })).toEqual({
      type: "object",
      description:
        'Move or copy.\n\nThe whole input must also satisfy {"oneOf":[{"properties":{"kind":{"const":"move"},"to":{"type":"string"}},' +
        '"required":["kind","to"]},{"$ref":"#/$defs/copy"}]}',
      properties: {
        from: { type: "string" },
        kind: { anyOf: [{ const: "move" }, { const: "copy" }] },
        to: { type: "string" },
        times: { type: "integer" },
      },
      required: ["from", "kind"],
      $defs: { copy: { allOf: [{ properties: { kind: { const: "copy" }, times: { type: "integer" } } }], required: ["kind"] } },
    });
  });

  test("takes references at the root that go in circles, nowhere or elsewhere for nothing", () => {
    const loop = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } };
    for (const schema of [loop, { $ref: "#" }, { $ref: "#/$defs/none" }, { $ref: "https://example.com/s.json" }]) {
      expect(toParameters(schema)).toMatchObject({ type: "object", properties: {} });
    }
    expect(toParameters({ allOf: [{ $ref: "#" }, { properties: { a: {} } }] })).toMatchObject({ properties: { a: {} } });
  });

  test("looks at every part of a root once, however often it is referred to", () => {
    const layer = (next: number) => ({
      allOf: Array.from({ length: 20 }, () => ({ $ref: `#/$defs/l${next}` })),
      properties: { [`p${next}`]: {} },
    });
    const $defs = Object.fromEntries(Array.from({ length: 20 }, (_each, at) => [`l${at}`, layer(at + 1)]));
    expect(Object.keys(toParameters({ $ref: "#/$defs/l0", $defs }).properties as object).length).toBe(20);
  });
});
