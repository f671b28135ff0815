import { describe, expect, test } from "bun:test";
import { MAX_DESCRIPTION, MAX_SCHEMAS_BYTES, readListing } from "../../../lib/tools/mcp/listing.ts";

const tool = (name: string, inputSchema?: unknown, more: object = {}) => ({ name, description: `Does ${name}.`, inputSchema, ...more });
/** A schema of about so many bytes. */
const schemaOf = (bytes: number) => ({ type: "object", properties: { a: { type: "string", description: "x".repeat(bytes - 80) } } });

describe("readListing()", () => {
  test("takes every way to say that there are no parameters", async () => {
    const schemas = [undefined, null, {}, true, { type: "object" }];
    const { offers, broken } = await readListing("s", schemas.map((schema, index) => tool(`t${index}`, schema)));
    expect(broken).toEqual([]);
    for (const { schema } of offers) {
      expect(JSON.parse(JSON.stringify(schema.declared))).toEqual({ type: "object", properties: {} });
      expect(schema.check({})).toEqual([]);
    }
  });

  test("takes every dialect, two schemas of one name, and the same list twice", async () => {
    const dialects = [
      "http://json-schema.org/draft-04/schema#",
      "http://json-schema.org/draft-07/schema#",
      "https://json-schema.org/draft/2019-09/schema",
      "https://json-schema.org/draft/2020-12/schema",
      "urn:unknown",
    ];
    const tools = dialects.map(($schema, index) =>
      tool(`t${index}`, { $schema, $id: "urn:same", type: "object", properties: { n: { type: "integer" } } })
    );
    const [first, second] = [await readListing("s", tools), await readListing("s", tools)];
    expect(first.offers.map(({ schema }) => schema.check({ n: "x" }).length)).toEqual([1, 1, 1, 1, 1]);
    expect(second.offers.map(({ digest }) => digest)).toEqual(first.offers.map(({ digest }) => digest));
  });

  test("keeps $defs, and checks through them", async () => {
    const schema = {
      type: "object",
      properties: { f: { $ref: "#/$defs/F" } },
      $defs: { F: { enum: ["fit", "raw"] } },
      additionalProperties: false,
    };
    const { offers: [offer] } = await readListing("s", [tool("t", schema)]);
    expect(JSON.parse(JSON.stringify(offer?.schema.declared))).toEqual(schema);
    expect(offer?.schema.check({ f: "bad" })).toHaveLength(1);
  });

  test("lets a schema that cannot be used take down its own tool alone", async () => {
    const { offers, broken } = await readListing("s", [
      tool("missing", { type: "object", properties: { f: { $ref: "#/$defs/Missing" } } }),
      tool("remote", { type: "object", properties: { f: { $ref: "https://example.invalid/x" } } }),
      tool("list", { type: "array" }),
      tool("good", { type: "object", properties: { type: { type: "string" }, required: {}, $ref: {} }, required: ["type"] }, {
        outputSchema: { $ref: "#/nowhere" },
      }),
      "no tool",
      { name: 5 },
      tool("line\nbreak"),
    ]);
    expect(offers.map((offer) => offer.tool)).toEqual(["good"]);
    expect(offers[0]?.schema.check({})).toHaveLength(1);
    expect(broken.map(({ tool: name, reason }) => [name, /cannot be used|not an object|no name|control character/.test(reason)])).toEqual([
      [null, true],
      [null, true],
      [null, true],
      ["list", true],
      ["missing", true],
      ["remote", true],
    ]);
  });

  test("opens a schema that is too large, and says so to people and to the model", async () => {
    const { offers: [offer], remarks } = await readListing("s", [tool("t", schemaOf(17_000))]);
    expect(offer?.schema.check({ anything: [1] })).toEqual([]);
    expect(offer?.description).toContain("too large to be shown");
    expect(remarks).toEqual([expect.stringContaining('the schema of "t" has 1') as never]);
  });

  test("bounds all schemas of a server together, by name and not by order", async () => {
    const tools = Array.from({ length: 20 }, (_, index) => tool(`t${String(index).padStart(2, "0")}`, schemaOf(10_000)));
    const [forward, backward] = [await readListing("s", tools), await readListing("s", tools.toReversed())];
    const total = forward.offers.reduce((sum, { schema }) => sum + JSON.stringify(schema.declared).length, 0);
    expect(total).toBeLessThan(MAX_SCHEMAS_BYTES + 20 * 100);
    expect(forward.remarks.length).toBeGreaterThan(0);
    expect(backward.offers.map(({ digest }) => digest)).toEqual(forward.offers.map(({ digest }) => digest));
  });

  test("cuts a description at a character's border and takes an absent one", async () => {
    const { offers: [long, none] } = await readListing("s", [
      tool("a", {}, { description: "😀".repeat(5000) }),
      tool("b", {}, { description: undefined }),
    ]);
    expect([...(long?.description ?? "")].length).toBe(MAX_DESCRIPTION);
    expect(long?.description.isWellFormed()).toBe(true);
    expect(none?.description).toBe('The tool "b" of the MCP server "s".');
  });

  test("survives a schema that is nested deeper than the stack", async () => {
    const deep = JSON.parse(`${'{"not":'.repeat(5000)}{}${"}".repeat(5000)}`) as unknown;
    const { offers } = await readListing("s", [tool("deep", deep), tool("good", {})]);
    expect(offers.map((offer) => offer.tool)).toContain("good");
  });

  test("keeps the first of two tools of one name", async () => {
    const { offers, remarks } = await readListing("s", [tool("t", {}, { description: "first" }), tool("t", {}, { description: "second" })]);
    expect(offers.map(({ description }) => description)).toEqual(["first"]);
    expect(remarks).toEqual(['it lists "t" more than once; the first is used']);
  });
});
