import { describe, expect, test } from "bun:test";
import { type Schema as OracleSchema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { Json } from "../../lib/session/json.ts";
import { compileOwnSchema } from "../../lib/tools/own-schema.ts";
import { compileSchema } from "../../lib/tools/schema.ts";
import { processorTime } from "../fixtures/processor-time.ts";

async function violationsOf(schema: unknown, value: Json) {
  const { schema: compiled, problems } = await compileSchema(schema);
  if (compiled === undefined) throw new Error(problems.map(({ message }) => message).join("; "));
  return compiled.check(value);
}

async function messagesOf(schema: unknown, value: Json): Promise<readonly string[]> {
  return (await violationsOf(schema, value)).map(({ pointer, message }) => `${pointer} ${message}`);
}

async function errorsOf(schema: unknown): Promise<readonly string[]> {
  return (await compileSchema(schema)).problems.filter(({ severity }) => severity === "error").map(({ code }) => code);
}

describe("violations", () => {
  test("come all at once, each with the pointer of what is wrong", async () => {
    const schema = {
      properties: { path: { type: "string" }, limit: { type: "integer", maximum: 10 }, mode: { enum: ["a", "b"] } },
      required: ["path"],
      additionalProperties: false,
    };
    expect(await messagesOf(schema, { pth: "x", limit: 11.5, mode: "c" })).toEqual([
      ' The input lacks the required property "path"',
      '/limit "limit" must be an integer, but it is 11.5',
      '/mode "mode" must be one of "a", "b", but it is the string "c"',
      '/pth "pth" is not a known property; did you mean "path"? (known: "path", "limit", "mode")',
    ]);
  });

  test("show the choices of an enum as they would be written", async () => {
    const schema = { properties: { a: { enum: [[1, 2], { b: null }, "c"] } } };
    expect(await messagesOf(schema, { a: [3] })).toEqual(['/a "a" must be one of [1,2], {"b":null}, "c", but it is an array']);
  });

  test("point through arrays and escape what a pointer must escape", async () => {
    const schema = { properties: { "a/b~c": { items: { properties: { n: { type: "number" } } } } } };
    expect((await violationsOf(schema, { "a/b~c": [{ n: 1 }, { n: "1" }] })).map(({ pointer }) => pointer)).toEqual(["/a~1b~0c/1/n"]);
  });

  test("say for alternatives why none fits", async () => {
    const schema = { properties: { n: { anyOf: [{ type: "string" }, { type: "integer" }] } } };
    expect(await messagesOf(schema, { n: true })).toEqual([
      '/n "n" fits none of 2 alternatives: "n" must be a string, but it is true; "n" must be an integer, but it is true',
    ]);
  });

  test("are told one by one up to a hundred, and the rest is counted", async () => {
    const many = await violationsOf({ properties: { a: { items: { type: "string" } } } }, {
      a: Array.from({ length: 1000 }, (_, index) => index),
    });
    expect(many.length).toBe(101);
    expect(many.at(-1)).toEqual({ pointer: "", message: "There are 900 more violations" });
  });

  test("are told as far as 64 KiB go, and the rest is counted", async () => {
    const known = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`${index}`.padEnd(80, "x"), {}]));
    const wrong = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`${index}`.padEnd(900, "y"), 1]));
    const found = await violationsOf({ properties: known, additionalProperties: false }, wrong);
    expect(found.reduce((sum, { pointer, message }) => sum + pointer.length + message.length, 0)).toBeLessThan(70_000);
    expect(found.at(-1)?.message).toBe(`There are ${90 - (found.length - 1)} more violations`);
  });

  test("quote a number as it was written, and say where another one is compared", async () => {
    const { schema } = await compileSchema({
      properties: {
        a: { type: "integer" },
        b: { maximum: 1 },
        c: { multipleOf: 5 },
        d: { enum: [1] },
        e: { items: { type: "boolean" } },
        f: { const: 3 },
        g: { exclusiveMinimum: 0 },
        "h/i": { anyOf: [{ type: "string" }] },
      },
    });
    const text = `{"a":1e400,"b":0.2e1,"c":9007199254740995,"d":-0,"e":[1e-2,0.10],"f":3.50,"g":-1e-400,"h/i":12${"0".repeat(500)}}`;
    expect((schema?.check(JSON.parse(text) as Json, text) ?? []).map(({ message }) => message)).toEqual([
      '"a" must be an integer, but it is 1e400, which is too large',
      '"b" must be at most 1, but it is 0.2e1',
      '"c" must be a multiple of 5, but it is 9007199254740995, which counts as 9007199254740996',
      '"d" must be one of 1, but it is -0',
      '"e[0]" must be a boolean, but it is 1e-2',
      '"e[1]" must be a boolean, but it is 0.10',
      '"f" must be exactly 3, but it is 3.50',
      '"g" must be above 0, but it is -1e-400, which counts as 0',
      `"h/i" fits none of 1 alternatives: "h/i" must be a string, but it is 12${"0".repeat(78)}…, which is too large`,
    ]);
  });

  test("do not come from format, which is an annotation", async () => {
    expect(await violationsOf({ properties: { at: { type: "string", format: "date-time" } } }, { at: "yesterday" })).toEqual([]);
  });
});

describe("a schema as an input's", () => {
  test("is an object schema with properties, whatever stood for 'anything' (case 64)", async () => {
    for (const schema of [undefined, null, {}, { type: "object" }, true]) {
      const { schema: compiled } = await compileSchema(schema);
      expect(JSON.parse(JSON.stringify(compiled?.declared))).toEqual({ type: "object", properties: {} });
      expect(compiled?.check({})).toEqual([]);
      expect(compiled?.check({ anything: [1] })).toEqual([]);
    }
  });

  test("keeps $defs and local references, and checks through them (case 63)", async () => {
    const schema = {
      type: "object",
      properties: { f: { $ref: "#/$defs/F" } },
      $defs: { F: { enum: ["fit", "raw"] } },
      additionalProperties: false,
    };
    const { schema: compiled } = await compileSchema(schema);
    expect(JSON.parse(JSON.stringify(compiled?.declared))).toEqual(schema);
    expect(compiled?.check({ f: "fit" })).toEqual([]);
    expect(compiled?.check({ f: "bad" }).map(({ pointer }) => pointer)).toEqual(["/f"]);
  });

  test("may be recursive through the value (case 63)", async () => {
    const schema = {
      properties: { node: { $ref: "#/$defs/Node" } },
      $defs: { Node: { properties: { name: { type: "string" }, children: { items: { $ref: "#/$defs/Node" } } } } },
    };
    expect((await violationsOf(schema, { node: { children: [{ children: [{ name: 1 }] }] } })).map(({ pointer }) => pointer)).toEqual([
      "/node/children/0/children/0/name",
    ]);
  });

  test("is refused if a reference leads nowhere, away, or in a circle on the spot (case 63)", async () => {
    for (const reference of ["#/$defs/Missing", "https://example.com/schema.json", "other.json", "#", "#/properties/f"]) {
      const schema = { properties: { f: { $ref: reference } }, $ref: reference === "#" ? "#" : "#/$defs/Present", $defs: { Present: {} } };
      expect(await errorsOf(schema)).toContain("schema_ref");
    }
    for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
      expect(await errorsOf({ properties: { f: { [keyword]: "#" } } })).toEqual(["schema_ref"]);
    }
  });

  test("is read in its own draft (case 65)", async () => {
    const limit = (draft: string, body: object) => violationsOf({ $schema: draft, properties: { n: body } }, { n: 5 });
    expect((await limit("http://json-schema.org/draft-04/schema#", { minimum: 5, exclusiveMinimum: true })).length).toBe(1);
    expect((await limit("http://json-schema.org/draft-07/schema#", { exclusiveMinimum: 5 })).length).toBe(1);
    const sibling = { $ref: "#/definitions/any", maximum: 1 };
    const withSibling = (draft: string) => violationsOf({ $schema: draft, definitions: { any: {} }, properties: { n: sibling } }, { n: 5 });
    expect((await withSibling("http://json-schema.org/draft-07/schema#")).length).toBe(0);
    expect((await withSibling("https://json-schema.org/draft/2019-09/schema")).length).toBe(1);
    const tuple = (draft: string, body: object) => violationsOf({ $schema: draft, properties: { t: body } }, { t: ["a", 1] });
    expect((await tuple("http://json-schema.org/draft-06/schema#", { items: [{ type: "string" }, { type: "string" }] })).length).toBe(1);
    expect(
      (await tuple("https://json-schema.org/draft/2020-12/schema", { prefixItems: [{ type: "string" }], items: { type: "string" } }))
        .length,
    ).toBe(1);
  });

  test("of an unknown draft works as 2020-12, with a warning (case 65)", async () => {
    const { schema, problems } = await compileSchema({
      $schema: "https://example.com/mine",
      properties: { a: { prefixItems: [{ type: "string" }] } },
    });
    expect(problems.map(({ severity, code }) => [severity, code])).toEqual([["warning", "schema_dialect"]]);
    expect(schema?.check({ a: [1] }).length).toBe(1);
  });

  test("shares nothing with another of the same $id (case 65)", async () => {
    const first = await compileSchema({ $id: "urn:x", properties: { f: { $ref: "urn:x#/$defs/F" } }, $defs: { F: { type: "string" } } });
    const second = await compileSchema({ $id: "urn:x", properties: { f: { $ref: "#/$defs/F" } }, $defs: { F: { type: "number" } } });
    expect(first.schema?.check({ f: "a" })).toEqual([]);
    expect(second.schema?.check({ f: 1 })).toEqual([]);
    expect(first.schema?.check({ f: 1 }).length).toBe(1);
  });

  test("may have properties called like keywords (case 67)", async () => {
    const schema = {
      properties: {
        type: { type: "string" },
        properties: { type: "integer" },
        required: { type: "boolean" },
        items: {},
        $ref: { type: "string" },
      },
    };
    expect(await violationsOf(schema, { type: "x", properties: 1, required: true, items: [], $ref: "y" })).toEqual([]);
    expect((await violationsOf(schema, { type: 1, properties: "1", $ref: 2 })).map(({ pointer }) => pointer)).toEqual([
      "/type",
      "/properties",
      "/$ref",
    ]);
  });

  test("loses a property that is no schema, with a warning, and has items for every array (case 67)", async () => {
    const { schema, problems } = await compileSchema({ properties: { type: "object", tags: { type: "array" } } });
    expect(problems.map(({ severity, pointer }) => [severity, pointer])).toEqual([["warning", "/properties/type"]]);
    expect(JSON.parse(JSON.stringify(schema?.declared))).toEqual({ type: "object", properties: { tags: { type: "array", items: {} } } });
  });

  test("may have alternatives at its root (case 67)", async () => {
    const schema = { oneOf: [{ required: ["a"] }, { required: ["b"] }] };
    expect(await violationsOf(schema, { a: 1 })).toEqual([]);
    expect((await violationsOf(schema, { a: 1, b: 1 })).length).toBe(1);
  });

  test("with a key called __proto__ neither loses it nor is changed by it", async () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"],"additionalProperties":false}',
    ) as unknown;
    expect((await violationsOf(schema, {})).length).toBe(1);
    expect((await violationsOf(schema, JSON.parse('{"__proto__":1}') as Json)).map(({ pointer }) => pointer)).toEqual(["/__proto__"]);
    expect(await violationsOf(schema, JSON.parse('{"__proto__":"x"}') as Json)).toEqual([]);
    expect(await violationsOf({ required: ["toString"] }, {})).toHaveLength(1);
  });

  test("is refused with its keyword if a keyword has the wrong shape", async () => {
    const wrong: readonly object[] = [
      { type: "array" },
      { properties: { a: { type: "strnig" } } },
      { properties: { a: { required: true } } },
      { properties: { a: { enum: [] } } },
      { properties: { a: { minLength: -1 } } },
      { properties: { a: { multipleOf: 0 } } },
      { properties: [] },
      { anyOf: {} },
      { not: 5 },
      { properties: { a: { pattern: "(" } } },
    ];
    for (const schema of wrong) expect((await errorsOf(schema)).length).toBe(1);
  });

  test("of our own that is wrong is a bug, and throws", () => {
    expect(() => compileOwnSchema({ type: "array" })).toThrow(TypeError);
  });
});

describe("checking", () => {
  test("agrees with an independent library wherever that library can be trusted", async () => {
    const leaf = fc.oneof(
      fc.record({ type: fc.constantFrom("string", "number", "integer", "boolean", "null", "object", "array") }),
      fc.record({ enum: fc.array(fc.constantFrom<Json>("a", 1, true, null), { minLength: 1, maxLength: 3 }) }),
      fc.record({ const: fc.constantFrom<Json>("a", 1, [1], { a: 1 }) }),
      fc.record({ minimum: fc.integer({ min: -2, max: 2 }), maxLength: fc.integer({ min: 0, max: 2 }) }),
      fc.record({ required: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }), maxProperties: fc.integer({ min: 0, max: 2 }) }),
      fc.record({ minItems: fc.integer({ min: 0, max: 2 }), uniqueItems: fc.boolean() }),
      fc.boolean(),
    );
    const { schema: anySchema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        leaf,
        fc.record({
          properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
          additionalProperties: tie("schema"),
        }),
        fc.record({ items: tie("schema") }),
        fc.record({ prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }), items: tie("schema") }),
        fc.record({ contains: tie("schema"), minContains: fc.integer({ min: 1, max: 2 }) }),
        fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
        fc.record({ not: tie("schema") }),
        fc.record({ if: tie("schema"), then: tie("schema"), else: tie("schema") }),
        fc.record({ dependentSchemas: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 1 }) }),
        fc.record({ dependentRequired: fc.dictionary(fc.constantFrom("a", "b"), fc.constant(["b"]), { maxKeys: 1 }) }),
        fc.record({ propertyNames: fc.record({ maxLength: fc.integer({ min: 0, max: 1 }) }) }),
      ),
    }));
    const { value: anyValue } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom<Json>("", "a", "abc", 0, 1, -3, 1.5, true, null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(anySchema, anyValue, async (schema, value) => {
        const { schema: compiled } = await compileSchema(typeof schema === "boolean" ? { allOf: [schema] } : schema, "output");
        const oracle = new Validator(structuredClone(schema) as OracleSchema, "2020-12" as SchemaDraft, false);
        expect((compiled?.check(value) ?? []).length === 0).toBe(oracle.validate(value).valid);
      }),
      { numRuns: 2000, seed: 4711 },
    );
  });

  test("knows what other keywords have looked at", async () => {
    const schema = {
      allOf: [{ properties: { a: {} } }],
      anyOf: [{ properties: { b: { const: 1 } }, required: ["b"] }, { properties: { c: {} }, required: ["c"] }],
      unevaluatedProperties: false,
    };
    expect(await violationsOf(schema, { a: 1, b: 1 })).toEqual([]);
    expect((await violationsOf(schema, { a: 1, c: 1, d: 1 })).map(({ pointer }) => pointer)).toEqual(["/d"]);
    expect((await violationsOf(schema, { b: 2, c: 1 })).map(({ pointer }) => pointer)).toEqual(["/b"]);
    const tuple = { properties: { t: { prefixItems: [{}], contains: { const: "x" }, unevaluatedItems: false } } };
    expect(await violationsOf(tuple, { t: [1, "x"] })).toEqual([]);
    expect((await violationsOf(tuple, { t: [1, "x", 2] })).map(({ pointer }) => pointer)).toEqual(["/t/2"]);
  });

  test("counts in decimals and code points", async () => {
    expect(await violationsOf({ properties: { n: { multipleOf: 0.1 } } }, { n: 0.3 })).toEqual([]);
    expect((await violationsOf({ properties: { n: { multipleOf: 0.1 } } }, { n: 0.35 })).length).toBe(1);
    expect(await violationsOf({ properties: { n: { multipleOf: 1e-300 } } }, { n: 1e300 })).toEqual([]);
    const both = { properties: { n: { multipleOf: 0.01 }, s: { type: "string" } } };
    expect((await violationsOf(both, { n: Infinity, s: 1 })).map(({ pointer }) => pointer)).toEqual(["/n", "/s"]);
    expect(await violationsOf({ properties: { s: { maxLength: 2 } } }, { s: "🦉🦉" })).toEqual([]);
  });

  /** What a check may hold up everything else. On an idle machine the worst of these takes a fifth of it. */
  const LIMIT_MS = 1500;
  const list = (length: number, make: (index: number) => Json) => Array.from({ length }, (_none, index) => make(index));
  const table = (length: number, make: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length }, (_none, index) => [`key${index}`, make(index)]));
  const doubled = (levels: number) =>
    Object.fromEntries([
      ["d0", { type: "string" }],
      ...Array.from(
        { length: levels },
        (_, index) => [`d${index + 1}`, { anyOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] }],
      ),
    ]);
  const hostile: readonly (readonly [string, object, () => Json])[] = [
    ["references that double forty times", { properties: { a: { $ref: "#/$defs/d40" } }, $defs: doubled(40) }, () => ({ a: 1 })],
    [
      "a long array of unique items",
      { properties: { a: { uniqueItems: true } } },
      () => ({ a: Array.from({ length: 200_000 }, (_, index) => index) }),
    ],
    [
      "a long array of wrong items",
      { properties: { a: { items: { type: "string" } } } },
      () => ({ a: Array.from({ length: 200_000 }, () => 1) }),
    ],
    ["a nested repeat", { properties: { a: { pattern: "^(a+)+$" } } }, () => ({ a: `${"a".repeat(50_000)}!` })],
    ["a nested repeat over names", { patternProperties: { "^(a+)+$": {} } }, () => ({ [`${"a".repeat(50_000)}!`]: 1 })],
    ["a large program over a long text", { properties: { a: { pattern: "^(?:a?){500}a{500}$" } } }, () => ({ a: "a".repeat(500_000) })],
    [
      "many large choices",
      { properties: { a: { items: { enum: Array.from({ length: 5000 }, (_, index) => [[index]]) } } } },
      () => ({ a: Array.from({ length: 5000 }, () => [[-1]]) }),
    ],
    [
      "many unknown names beside many known ones",
      {
        properties: Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`${"n".repeat(70)}${index}`, {}])),
        additionalProperties: false,
      },
      () => Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`${"m".repeat(70)}${index}`, 1])),
    ],
    [
      "many properties for each of many items",
      { properties: { a: { items: { properties: table(15_000, () => ({})) } } } },
      () => ({ a: list(10_000, () => ({})) }),
    ],
    [
      "many properties for each of many large items",
      { properties: { a: { items: { properties: table(15_000, () => true) } } } },
      () => ({ a: list(50, () => table(15_000, () => 1) as Json) }),
    ],
    [
      "many patterns for names of each of many items",
      { properties: { a: { items: { patternProperties: table(2000, () => ({})) } } } },
      () => ({ a: list(10_000, () => ({})) }),
    ],
    [
      "many needs of names for each of many items",
      {
        properties: {
          a: { items: { dependentRequired: table(15_000, () => []), dependencies: table(15_000, () => ["x"]) } },
        },
      },
      () => ({ a: list(10_000, () => ({ key1: 1 })) }),
    ],
    [
      "a list of types that repeats itself, for many items",
      { properties: { a: { items: { type: list(50_000, () => "string") } } } },
      () => ({ a: list(100_000, () => 1) }),
    ],
    [
      "a list of what is required that names one thing, deep down, for many items",
      {
        properties: { a: { $ref: "#/$defs/d" } },
        $defs: { d: { items: { $ref: "#/$defs/d" }, required: list(10_000, (index) => `r${index}`) } },
      },
      () => ({ a: list(250, () => 1).reduce<Json>((inner) => [inner, {}], list(100, () => ({}))) }),
    ],
    [
      "what nobody has looked at, again and again",
      { allOf: list(200, () => ({ anyOf: [{ unevaluatedProperties: true }] })), unevaluatedProperties: false } as object,
      () => table(20_000, () => 1) as Json,
    ],
    ["unique texts", { properties: { a: { uniqueItems: true } } }, () => ({ a: list(900_000, (index) => `text ${index}`) })],
    [
      "unique objects",
      { properties: { a: { uniqueItems: true } } },
      () => ({ a: list(50_000, (index) => table(20, () => index) as Json) }),
    ],
    [
      "alternatives that each have much to say about long names",
      { anyOf: list(5000, () => ({ additionalProperties: false })) } as object,
      () => Object.fromEntries(list(200, (index) => `${"n".repeat(5000)}${index}`).map((name) => [name, 1])) as Json,
    ],
    [
      "numbers far apart that are to be multiples",
      { properties: { a: { items: { multipleOf: 1e-300 } } } },
      () => ({ a: list(300_000, () => 1e300) }),
    ],
    ["an enum of long texts", { properties: { a: { items: { enum: list(20, (index) => `${"e".repeat(10_000)}${index}`) } } } }, () => ({
      a: list(50_000, () => `${"e".repeat(10_000)}x1`),
    })],
    [
      "a deep value through a reference",
      { properties: { a: { $ref: "#" } } },
      () => Array.from({ length: 5000 }).reduce<Json>((inner) => ({ a: inner }), {}),
    ],
  ];
  for (const [name, schema, value] of hostile) {
    test(`is bounded against ${name}`, async () => {
      const { schema: compiled, problems } = await compileSchema(schema);
      expect(problems).toEqual([]);
      const input = value();
      const start = processorTime();
      compiled?.check(input);
      expect(processorTime() - start).toBeLessThan(LIMIT_MS);
    });
  }

  test("holds up nothing else for long: a timer comes through between hostile checks and hostile loads", async () => {
    let late = 0;
    let last = processorTime();
    const timer = setInterval(() => {
      late = Math.max(late, processorTime() - last);
      last = processorTime();
    }, 5);
    for (const [, schema, value] of hostile) {
      const { schema: compiled } = await compileSchema(schema);
      const input = value();
      await new Promise((resolve) => setTimeout(resolve, 10));
      last = processorTime();
      compiled?.check(input);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    clearInterval(timer);
    expect(late).toBeGreaterThan(0);
    expect(late).toBeLessThan(LIMIT_MS);
  }, 30_000);

  test("that asks for nothing takes any input, however large", async () => {
    const input = table(600_000, () => 1) as Json;
    for (const schema of [undefined, {}, { properties: {}, additionalProperties: true }]) {
      expect(await violationsOf(schema, input)).toEqual([]);
    }
    expect(await violationsOf({ properties: { key5: { type: "integer" } } }, input)).toEqual([]);
  });

  test("never overflows the stack, however deep a value is that is compared or written out", async () => {
    const deep = JSON.parse("[".repeat(20_000) + "]".repeat(20_000)) as Json;
    const other = JSON.parse("[".repeat(20_000) + "]".repeat(20_000)) as Json;
    const { schema } = await compileSchema({ uniqueItems: true }, "output");
    expect(schema?.check([deep, other]).length).toBe(1);
    const { schema: same } = await compileSchema({ const: Array.from({ length: 50 }).reduce<Json>((inner) => [inner], []) }, "output");
    expect(same?.check(deep).length).toBe(1);
  });

  test("speaks of a result as a result, and clips what it quotes", async () => {
    const { schema } = await compileSchema({ type: "object", additionalProperties: false }, "output");
    expect(schema?.check([])[0]?.message).toBe("The result must be an object, but it is an empty array");
    const [fault] = schema?.check({ ["k".repeat(100_000)]: 1 }) ?? [];
    expect((fault?.message.length ?? 0) + (fault?.pointer.length ?? 0)).toBeLessThan(2000);
  });

  test("of one kind of character is affordable for every text that a call may have", async () => {
    const start = processorTime();
    for (const pattern of ["^[a-z]+$", "^.{1,20000000}$", "^\\P{Lu}*$"]) {
      const long = "a".repeat(10 * 1024 * 1024);
      expect(await violationsOf({ properties: { a: { pattern } } }, { a: long })).toEqual([]);
      const [wrong] = await violationsOf({ properties: { a: { pattern: `^[b-z]{1,${long.length}}$` } } }, { a: `${long.slice(1)}B` });
      expect(wrong?.message).toContain("must match the pattern");
    }
    expect(processorTime() - start).toBeLessThan(2000);
  });

  test("that runs out of its budget says so as the one violation", async () => {
    expect(await messagesOf({ properties: { a: { $ref: "#/$defs/d40" } }, $defs: doubled(40) }, { a: 1 })).toEqual([
      " Checking this input against the schema takes too much work; give a smaller input",
    ]);
  });

  test("never throws and always ends, for any schema and any value", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), async (schema, value) => {
        const { schema: compiled, problems } = await compileSchema(schema);
        expect(compiled === undefined).toBe(problems.some(({ severity }) => severity === "error"));
        compiled?.check(value as Json);
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});

describe("a keyword that is not known", () => {
  const warnings = async (schema: object) =>
    (await compileSchema(schema)).problems.map(({ severity, code, pointer, remedy }) => `${severity} ${code} ${pointer}: ${remedy}`);

  test("is warned of with the one that it is near, wherever it stands", async () => {
    const near: Readonly<Record<string, string>> = {
      requird: "required",
      proprties: "properties",
      patern: "pattern",
      minlength: "minLength",
      additional_properties: "additionalProperties",
      enums: "enum",
      ref: "$ref",
      descripton: "description",
      addtionalPropertes: "additionalProperties",
    };
    for (const [keyword, meant] of Object.entries(near)) {
      const warning = (pointer: string) => [`warning schema_unknown_keyword ${pointer}/${keyword}: Did you mean "${meant}"?`];
      expect(await warnings({ [keyword]: 1 })).toEqual(warning(""));
      expect(await warnings({ properties: { requird: { anyOf: [{ [keyword]: {} }] } } })).toEqual(warning("/properties/requird/anyOf/0"));
    }
  });

  test("is an annotation else, of which nothing is said", async () => {
    const words = [
      "x-patern",
      "x_requird",
      "title",
      "readOnly",
      "example",
      "nullable",
      "note",
      "constraints",
      "unit",
      "label",
      "options",
      "if",
    ];
    expect(await warnings(Object.fromEntries(words.map((word) => [word, {}])))).toEqual([]);
    expect(await warnings({ default: { requird: 1 }, enum: [{ requird: 1 }], examples: [{ patern: 1 }] })).toEqual([]);
  });
});

test("a long chain of references is told from one that comes back to itself", async () => {
  const link = (index: number) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }] as const;
  const $defs = { ...Object.fromEntries(Array.from({ length: 6000 }, (_, index) => link(index))), d6000: {} };
  const message = async (schema: object) => (await compileSchema(schema)).problems[0]?.message;
  expect(await message({ properties: { a: { $ref: "#/$defs/d0" } }, $defs })).toContain("more than 500 others");
  expect(await message({ $defs: { a: { $ref: "#/$defs/a" } } })).toContain("back to itself");
});
