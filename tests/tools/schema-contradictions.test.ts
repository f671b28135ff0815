import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileSchema } from "../../lib/tools/schema.ts";

/** `severity code pointer` of each. */
async function problemsOf(schema: unknown): Promise<readonly string[]> {
  const { problems } = await compileSchema(schema, "input", "refuse");
  return problems.map(({ severity, code, pointer }) => `${severity} ${code} ${pointer}`);
}

/** The same of one property, without its address. */
async function ofProperty(property: unknown): Promise<readonly string[]> {
  return (await problemsOf({ properties: { a: property } })).map((problem) => problem.replace(" /properties/a", " "));
}

async function remediesOf(property: unknown): Promise<readonly string[]> {
  return (await compileSchema({ properties: { a: property } }, "input", "refuse")).problems.map(({ remedy }) => remedy);
}

describe("a schema that contradicts itself", () => {
  test("is refused for choices that are not of its type, with what would be right (case 83)", async () => {
    expect(await ofProperty({ type: "string", enum: [1, true, "x"] })).toEqual(["error schema_enum /enum/0"]);
    expect(await remediesOf({ type: "string", enum: [1, true, "x"] })).toEqual(['Quote them: "1", "true".']);
    expect(await remediesOf({ type: "integer", enum: [1, "2"] })).toEqual(["Write it without quotes: 2."]);
    expect(await remediesOf({ type: "boolean", enum: ["true", "false"] })).toEqual(["Write them without quotes: true, false."]);
    expect(await remediesOf({ type: "integer", enum: [1, 1.5] })).toEqual(["Write a value of that type, or correct the type."]);
    expect(await ofProperty({ type: ["string", "null"], enum: ["a", null] })).toEqual([]);
    expect(await ofProperty({ type: "integer", enum: [1, 2.0] })).toEqual([]);
    expect(await ofProperty({ enum: [1, "a", null] })).toEqual([]);
  });

  test("is refused if no choice is left, and warned of those that are none", async () => {
    expect(await ofProperty({ type: "integer", enum: [1, 20], maximum: 10 })).toEqual(["warning schema_enum /enum/1"]);
    expect(await ofProperty({ type: "integer", enum: [11, 20], maximum: 10 })).toEqual(["error schema_enum /enum/0"]);
    expect(await ofProperty({ type: "string", enum: ["a", "B"], pattern: "^[a-z]$" })).toEqual(["warning schema_enum /enum/1"]);
  });

  test("is refused for a default or a constant that does not fit, however deep it does not", async () => {
    expect(await ofProperty({ type: "string", default: 7 })).toEqual(["error schema_default /default"]);
    expect(await remediesOf({ type: "string", default: 7 })).toEqual(['Quote it: "7".']);
    expect(await ofProperty({ enum: ["a", "b"], default: "c" })).toEqual(["error schema_default /default"]);
    expect(await ofProperty({ type: "integer", maximum: 10, default: 50 })).toEqual(["error schema_default /default"]);
    expect(await ofProperty({ type: "string", const: 5 })).toEqual(["error schema_const /const"]);
    expect(await ofProperty({ items: { type: "string" }, default: ["a", 1] })).toEqual(["error schema_default /default"]);
    expect(await ofProperty({ properties: { b: { minimum: 1 } }, default: { b: 0 } })).toEqual(["error schema_default /default"]);
    expect(await ofProperty({ type: "string", default: "x" })).toEqual([]);
    const referring = { properties: { a: { $ref: "#/$defs/A", default: 5 } }, $defs: { A: { type: "string" } } };
    expect(await problemsOf(referring)).toEqual(["error schema_default /properties/a/default"]);
  });

  test("is refused for bounds that nothing fits", async () => {
    const empty: readonly (readonly [object, string])[] = [
      [{ minimum: 5, maximum: 3 }, "minimum"],
      [{ minimum: 3, exclusiveMaximum: 3 }, "minimum"],
      [{ exclusiveMinimum: 3, maximum: 3 }, "exclusiveMinimum"],
      [{ minimum: 3, exclusiveMinimum: true, maximum: 3 }, "minimum"],
      [{ type: "integer", minimum: 1.2, maximum: 1.8 }, "minimum"],
      [{ type: "integer", exclusiveMinimum: 1, exclusiveMaximum: 2 }, "exclusiveMinimum"],
      [{ multipleOf: 5, minimum: 1, maximum: 4 }, "multipleOf"],
      [{ minLength: 5, maxLength: 3 }, "minLength"],
      [{ minItems: 5, maxItems: 3 }, "minItems"],
      [{ minProperties: 5, maxProperties: 3 }, "minProperties"],
      [{ contains: true, minContains: 5, maxContains: 3 }, "minContains"],
      [{ required: ["b", "c"], properties: { b: true, c: true }, maxProperties: 1 }, "maxProperties"],
      [{ properties: { b: true }, additionalProperties: false, minProperties: 2 }, "minProperties"],
    ];
    for (const [property, keyword] of empty) expect(await ofProperty(property)).toEqual([`error schema_bounds /${keyword}`]);
    const open = [
      { minimum: 3, maximum: 3 },
      { minimum: 1.2, maximum: 1.8 },
      { type: "integer", minimum: 1.2, maximum: 2 },
      { multipleOf: 5, minimum: 1, maximum: 5 },
      { multipleOf: 0.1, minimum: 0.3, maximum: 0.3 },
      { minLength: 3, maxLength: 3 },
    ];
    for (const property of open) expect(await ofProperty(property)).toEqual([]);
  });

  test("is refused for a property that must and may not be there, and warned of one that is not described", async () => {
    const path = { path: { type: "string" } };
    expect(await problemsOf({ required: ["pth"], properties: path, additionalProperties: false })).toEqual([
      "error schema_required /required",
    ]);
    expect(await problemsOf({ required: ["pth"], properties: path })).toEqual(["warning schema_required /required"]);
    expect(await problemsOf({ required: ["path"], properties: { path: false } })).toEqual(["error schema_required /required"]);
    const { problems } = await compileSchema({ required: ["pth"], properties: path }, "input", "refuse");
    expect(problems[0]?.remedy).toBe('Did you mean "path"?');
    expect(await problemsOf({ required: ["constructor"], properties: path })).toEqual(["warning schema_required /required"]);
    expect(await problemsOf({ required: ["f"], properties: { f: "object" } })).toEqual(["warning schema_property /properties/f"]);
    expect(await problemsOf({ required: ["f"], properties: 5, additionalProperties: false })).toEqual(["error schema_keyword /properties"]);
    const described = [
      { properties: { a: true, b: true }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      { required: ["x_1"], patternProperties: { "^x_": true }, additionalProperties: false },
      { required: ["other"], additionalProperties: { type: "string" } },
      { required: ["b"], allOf: [{ properties: { b: true } }] },
      { properties: { a: true }, if: { required: ["c"] }, then: { required: ["a"] } },
    ];
    for (const schema of described) expect(await problemsOf(schema)).toEqual([]);
  });

  test("is warned of a keyword that means nothing for its type", async () => {
    expect(await ofProperty({ type: "string", minimum: 5 })).toEqual(["warning schema_no_effect /minimum"]);
    expect(await ofProperty({ type: "integer", minLength: 3, maxLength: 1 })).toEqual([
      "warning schema_no_effect /minLength",
      "warning schema_no_effect /maxLength",
    ]);
    expect(await ofProperty({ type: "string", required: ["b"] })).toEqual(["warning schema_no_effect /required"]);
    expect(await ofProperty({ type: ["string", "integer"], minimum: 5 })).toEqual([]);
  });

  test("is warned of bounds for contains without it, and of a name that is required twice", async () => {
    expect(await ofProperty({ type: "array", items: {}, minContains: 3, maxContains: 1 })).toEqual([
      "warning schema_no_effect /minContains",
      "warning schema_no_effect /maxContains",
    ]);
    expect(await ofProperty({ type: "array", items: {}, contains: {}, minContains: 3, maxContains: 1 })).toEqual([
      "error schema_bounds /minContains",
    ]);
    expect(await problemsOf({ properties: { p: {} }, required: ["p", "p"] })).toEqual(["warning schema_required /required"]);
  });

  test("is found at any depth, but not below a negation", async () => {
    const wrong = { type: "string", enum: [1] };
    const schema = {
      properties: { list: { type: "array", items: { properties: { b: wrong } } }, pair: { prefixItems: [wrong] } },
      anyOf: [{ properties: { c: wrong } }],
      $defs: { D: wrong },
      not: { properties: { e: wrong } },
    };
    expect((await problemsOf(schema)).toSorted()).toEqual([
      "error schema_enum /$defs/D/enum/0",
      "error schema_enum /anyOf/0/properties/c/enum/0",
      "error schema_enum /properties/list/items/properties/b/enum/0",
      "error schema_enum /properties/pair/prefixItems/0/enum/0",
    ]);
  });

  test("is told so beside other faults, and is only warned where its author cannot be asked", async () => {
    const schema = { properties: { a: { type: "string", default: 5 }, b: { $ref: "#/nowhere" } } };
    expect(await problemsOf(schema)).toEqual(["error schema_ref /properties/b/$ref", "error schema_default /properties/a/default"]);
    const own = { properties: { a: { type: "string", default: 5 } } };
    expect((await compileSchema(own, "input", "warn")).problems.map(({ severity }) => severity)).toEqual(["warning"]);
    expect((await compileSchema(own)).problems).toEqual([]);
  });

  test("never takes long or throws, and keeps its first error behind any number of warnings", async () => {
    const properties = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, { type: "string", minimum: 1 }]));
    const { schema, problems } = await compileSchema(
      { properties: { ...properties, z: { type: "string", default: 1 } } },
      "input",
      "refuse",
    );
    expect([schema, problems.length, problems.at(-1)?.code]).toEqual([undefined, 201, "schema_default"]);
    const names = Array.from({ length: 90 }, (_, index) => `${"x".repeat(2000)}${index}`);
    const patternProperties = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`(?:x{1,300}){1,3}y${index}`, true]));
    expect((await compileSchema({ required: names, patternProperties }, "input", "refuse")).problems.length).toBeLessThan(100);
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (source) => {
        const { schema: compiled, problems } = await compileSchema({ properties: { a: source } }, "input", "refuse");
        expect(compiled === undefined).toBe(problems.some(({ severity }) => severity === "error"));
      }),
      { numRuns: 200, seed: 11 },
    );
  });
});
