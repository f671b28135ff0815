import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Description, ToolDescription } from "../../../lib/tools/sdk/description.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { compileSchema } from "../../../lib/tools/schema.ts";
import { fixtures, placeOf, runLaunch } from "./run-launch.ts";

const string = { type: "string" };
const integer = { type: "integer" };

/** tool of signatures.py, its properties, what is required */
const signatures: readonly (readonly [string, Readonly<Record<string, unknown>>, readonly string[]])[] = [
  [
    "plain",
    {
      a: string,
      b: integer,
      c: { type: "number" },
      d: { type: "boolean" },
      e: { type: "array" },
      f: { type: "object" },
      g: { type: "null" },
    },
    ["a", "b", "c", "d", "e", "f", "g"],
  ],
  [
    "optional",
    {
      a: { type: ["string", "null"] },
      b: { type: ["integer", "null"] },
      c: { type: ["string", "null"] },
      d: { type: ["string", "null"], enum: ["x", "y", null] },
      e: { type: ["array", "null"], items: string },
      f: {},
    },
    ["a"],
  ],
  [
    "generic",
    {
      a: { type: "array", items: string },
      b: { type: "array", items: integer },
      c: { type: "object", additionalProperties: { type: "number" } },
      d: { type: "object", additionalProperties: { type: "array", items: { type: "boolean" } } },
      e: { type: "array", items: string },
      f: { type: "object", additionalProperties: integer },
      g: { type: "array" },
      h: { type: "object" },
    },
    ["a", "b", "c", "d", "e", "f", "g", "h"],
  ],
  [
    "choices",
    {
      a: { type: "string", enum: ["x", "y"] },
      b: { type: ["integer", "string", "null"], enum: [1, "one", null] },
      c: { type: "string", enum: ["low", "high"] },
      d: { type: "integer", enum: [1, 2], default: 1 },
      e: { type: "array", items: { type: "string", enum: ["low", "high"] }, default: [] },
      f: { type: ["string", "null"], enum: ["low", "high", null] },
    },
    ["a", "b", "c"],
  ],
  [
    "unions",
    {
      a: { type: ["integer", "string"] },
      b: { anyOf: [integer, { type: "array", items: string }] },
      c: { anyOf: [{ type: "string", enum: ["low", "high"] }, integer, { type: "null" }] },
      d: { default: "x" },
    },
    ["a", "b", "c"],
  ],
  ["loose", { a: {}, b: { default: 1 }, c: { default: "x" }, d: {}, e: { type: "integer", description: "how many", default: 2 } }, ["a"]],
  ["kinds", { a: string, b: string, c: integer, d: { type: "integer", default: 4 } }, ["a", "b", "c"]],
  ["no_default_in_json", { a: { type: "number" }, b: {} }, []],
  [
    "documented",
    {
      query: { type: "string", description: "The text: with a colon (and brackets)" },
      max_results: { type: "integer", description: "How many to return at most", default: 5 },
      filters: { type: ["object", "null"], description: "Field names to values" },
      mode: { type: "string", description: "The mode", default: "fast" },
    },
    ["query"],
  ],
  ["flush_docstring", {
    query: { type: "string", description: "The query" },
    limit: { type: "integer", description: "The limit", default: 1 },
  }, ["query"]],
  ["from_signature", { text: { type: "string", description: "What to repeat" }, times: { type: "integer", default: 2 } }, ["text"]],
];

describe("a schema from a signature", () => {
  const described = describeFile("python/signatures.py");

  for (const [name, properties, required] of signatures) {
    test(`is right for ${name}()`, async () => {
      expect((await described).get(name)?.parameters).toEqual({ type: "object", properties, required });
    });
  }

  test("is one that inputs can be checked against", async () => {
    for (const { name, parameters } of (await described).values()) {
      expect([name, (await compileSchema(parameters)).problems]).toEqual([name, []]);
    }
  });

  test("is right under `from __future__ import annotations`", async () => {
    expect((await describeFile("python/future.py")).get("modern")?.parameters).toEqual({
      type: "object",
      properties: {
        a: { type: ["string", "null"] },
        b: { type: ["array", "null"], items: string },
        c: { type: ["integer", "string"], default: 1 },
        d: { type: ["number", "null"] },
        e: { type: "string", enum: ["red"], default: "red" },
        f: { type: ["string", "null"], enum: ["x", null] },
      },
      required: ["a"],
    });
  });
});

describe("@tool with options", () => {
  test("takes name, description, read_only, speculation_safe, approval and timeout_ms", async () => {
    const { parameters: _, ...rest } = (await describeFile("python/signatures.py")).get("renamed") ?? {};
    expect(rest).toEqual({
      name: "renamed",
      description: "Said here.",
      read_only: true,
      speculation_safe: true,
      approval: "always",
      timeout_ms: 1234,
    });
  });

  test("takes True for approval and no more than ten minutes", async () => {
    expect((await describeFile("python/signatures.py")).get("clamped")).toMatchObject({ approval: "always", timeout_ms: 600_000 });
  });

  test("is never read-only, speculated or asked about by default", async () => {
    expect((await describeFile("seed/create_ticket.py")).get("create_ticket")).toMatchObject({
      read_only: false,
      speculation_safe: false,
      approval: "never",
      timeout_ms: 30_000,
    });
  });
});

describe("a summary", () => {
  test("is the first paragraph of the docstring", async () => {
    expect((await describeFile("python/signatures.py")).get("documented")?.description).toBe("Search the catalog for products.");
  });
});

describe("a file that has no tools to offer", () => {
  const faults: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    syntax: { code: "python_syntax", line: 3, column: 12 },
    imports_syntax: { code: "python_syntax", line: 2, message: "Cannot load the file: invalid syntax (syntax.py, line 3)" },
    unholdable: {
      code: "tool_invalid",
      message: 'The tools say of themselves what JSON cannot hold: ["tools"][0]["parameters"]["required"] is of type set',
    },
    missing_import: {
      code: "python_load",
      line: 1,
      message: "Cannot load the file: ModuleNotFoundError: No module named 'a_package_that_is_not_there'",
    },
    exits: { code: "python_exit", message: "Cannot load the file as it ends Python with sys.exit(3)" },
    no_execute: { code: "tool_invalid", message: 'Cannot offer tool "idle" as it has no execute()' },
    spelling: { code: "tool_invalid", message: 'Cannot offer tool "odd" as it has "readOnly", which is written "read_only"' },
    type: {
      code: "tool_invalid",
      message:
        'Cannot describe parameter "date" of "when": date has no JSON Schema; use str, int, float, bool, list, dict, Optional, Literal or Enum',
    },
    name: { code: "tool_invalid", message: 'The tool "two words" is wrong: name: must be 1 to 64 letters, digits, _ or -' },
  };
  for (const [file, fault] of Object.entries(faults)) {
    test(`says what is wrong and where: ${file}.py`, async () => {
      const description = await readFile(`python/broken/${file}.py`, 20_000);
      if (description.kind === "described") throw new Error("it was described");
      expect(description.diagnostics).toMatchObject([{ severity: "error", ...fault }]);
    });
  }

  test("says that it took too long", async () => {
    const description = await readFile("python/broken/never.py", 1500);
    expect(JSON.stringify(description)).toContain("timed out after 1500 ms");
  });
});

async function readFile(file: string, timeout_ms: number): Promise<Description> {
  return python.readDescription(await runLaunch(python.describe(join(fixtures, file), placeOf(), timeout_ms)));
}

async function describeFile(file: string): Promise<ReadonlyMap<string, ToolDescription>> {
  const description = await readFile(file, 20_000);
  if (description.kind === "broken") throw new Error(JSON.stringify(description));
  return new Map(description.tools.map((tool) => [tool.name, tool]));
}
